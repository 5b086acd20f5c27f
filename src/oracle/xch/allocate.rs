//! `managed_tensor_allocator` and `current_work_stream`.

use super::{judged, seen, shown};
use crate::abi::DLDevice;
use crate::oracle::{
    Allocation, Context, Grade, Knob, Matter, Out, Prototype, Rule, Stream, Verdict, What,
};

pub(super) const RULES: &[Rule] = &[
    Rule { id: "XCH-STREAM-CPU", needs: Matter::EXCHANGE, judge: stream_cpu },
    Rule { id: "XCH-STREAM-OTHER", needs: Matter::EXCHANGE, judge: stream_other },
    Rule { id: "XCH-ALLOC-PROTO", needs: Matter::EXCHANGE, judge: prototype },
    Rule { id: "XCH-ALLOC-RESULT", needs: Matter::EXCHANGE, judge: result },
    Rule { id: "XCH-ALLOC-ERR", needs: Matter::EXCHANGE, judge: error },
    Rule { id: "XCH-ALLOC-NOGIL", needs: Matter::EXCHANGE, judge: no_gil },
];

fn streams<'a>(ctx: &Context<'a>) -> &'a [Stream] {
    seen(ctx).map_or(&[], |exchange| &exchange.streams)
}

fn stream_cpu(ctx: &Context) -> Verdict {
    let cpu = streams(ctx).iter().find(|stream| stream.device == DLDevice::CPU);
    judged(cpu, |stream| {
        let (grade, key) = match (stream.answer.succeeded(), stream.answer.out) {
            (true, Out::Null) => return Verdict::Holds,
            (true, Out::Set) => (Grade::Info, "a stream"),
            (true, Out::Untouched) => (Grade::Warning, "not written"),
            (false, _) => (Grade::Warning, "fails"),
        };
        ctx.breaks(grade, || {
            shown(
                key,
                "0 and a stream, which may simply be NULL, for the CPU",
                stream.answer.to_string(),
                What::ExchangeStream,
                stream,
            )
        })
    })
}

/// An error or no stream; the exception is XCH-RET's.
fn stream_other(ctx: &Context) -> Verdict {
    let others = || streams(ctx).iter().filter(|stream| stream.device != DLDevice::CPU);
    let odd = others().find(|stream| stream.answer.succeeded() && stream.answer.out != Out::Null);
    match odd {
        Some(stream) => ctx.breaks(Grade::Info, || {
            shown(
                "a stream",
                "an error or NULL for a device that is not there",
                stream.to_string(),
                What::ExchangeStream,
                stream,
            )
        }),
        None if others().next().is_none() => Verdict::Silent,
        None => Verdict::Holds,
    }
}

fn all<'a>(ctx: &Context<'a>) -> &'a [Allocation] {
    seen(ctx).map_or(&[], |exchange| &exchange.allocations)
}

/// The plain prototype gave what it asked for.
fn works(ctx: &Context) -> bool {
    let plain = all(ctx).iter().find(|it| it.prototype == Prototype::Plain);
    plain.is_some_and(|it| it.answer.succeeded() && it.fits())
}

fn prototype(ctx: &Context) -> Verdict {
    let garbage = all(ctx).iter().find(|it| it.prototype == Prototype::Garbage);
    judged(garbage.filter(|_| works(ctx)), |it| {
        ctx.require(it.answer.succeeded() && it.fits(), Grade::Violation, || {
            shown(
                if it.answer.succeeded() { "result" } else { "refused" },
                "a result that data, strides and byte_offset of the prototype do not change",
                it.to_string(),
                What::ExchangeAllocation,
                it,
            )
        })
    })
}

fn result(ctx: &Context) -> Verdict {
    let mut holds = false;
    let mut info = None;
    for it in all(ctx) {
        let is_required = matches!(it.prototype, Prototype::NoElements | Prototype::NoAxes);
        let (grade, expected) = match it.prototype {
            // XCH-ALLOC-PROTO's, and a mistake of the caller's.
            Prototype::Garbage | Prototype::Negative => continue,
            // XCH-ALLOC-ERR's.
            _ if it.answer.succeeded() && it.complaints > 0 => continue,
            _ if it.answer.succeeded() && it.prototype.is_absurd() => {
                (Grade::Violation, "an error, since no memory is that large")
            }
            _ if it.answer.succeeded() && it.fits() => {
                holds = true;
                continue;
            }
            _ if it.answer.succeeded() => {
                (Grade::Violation, "writable memory of the requested dtype, shape and device")
            }
            _ if is_required && works(ctx) => {
                (Grade::Violation, "an array without elements or axes like any other")
            }
            // A library may have fewer axes than DLPack.
            Prototype::Shape if works(ctx) => (Grade::Info, "an array of the case's shape"),
            _ => continue,
        };
        let break_here =
            || shown(it.prototype.name(), expected, it.to_string(), What::ExchangeAllocation, it);
        if grade == Grade::Violation {
            return ctx.breaks(grade, break_here);
        }
        info.get_or_insert_with(|| ctx.breaks(grade, break_here));
    }
    match info {
        Some(verdict) => verdict,
        None if holds => Verdict::Holds,
        None => Verdict::Silent,
    }
}

fn error(ctx: &Context) -> Verdict {
    let judged = || all(ctx).iter().filter(|it| it.prototype != Prototype::Negative);
    let disagrees = |it: &&Allocation| it.answer.succeeded() != (it.complaints == 0);
    let expected = "SetError once with -1, and never with 0";
    let shown =
        |key, it: &Allocation| shown(key, expected, it.to_string(), What::ExchangeAllocation, it);
    if let Some(it) = judged().find(disagrees) {
        let key = if it.answer.succeeded() { "SetError with 0" } else { "no SetError" };
        return ctx.breaks(Grade::Violation, || shown(key, it));
    }
    match judged().find(|it| it.complaints > 1) {
        Some(it) => ctx.breaks(Grade::Warning, || shown("twice", it)),
        None if judged().next().is_none() => Verdict::Silent,
        None => Verdict::Holds,
    }
}

/// Nobody says that it must work without the GIL; that it came back at all is told.
fn no_gil(ctx: &Context) -> Verdict {
    let seen = seen(ctx).and_then(|exchange| exchange.without_gil.as_ref());
    judged(seen.zip(ctx.profile.setting(Knob::AllocNogil).grade()), |(it, grade)| {
        ctx.require(it.answer.succeeded() && it.fits(), grade, || {
            shown(
                "refused",
                "the same result without the GIL",
                it.to_string(),
                What::ExchangeAllocation,
                it,
            )
        })
    })
}
