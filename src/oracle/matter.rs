//! The **matter** of a case: what there is for rules to speak of. A rule names the matter that it cannot do
//! without, and is only asked where that is present: most of them have nothing to say of most cases.

use super::Context;
use super::export::Layer;
use crate::abi::DLDevice;
use crate::case::Extra;

/// A set of things that a case or its observation may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Matter(u32);

impl Matter {
    /// Nothing: a rule that is asked whatever was seen.
    pub const ANY: Self = Self(0);
    /// An export that returned.
    pub const RESULT: Self = Self(1);
    /// An export that ended in a managed tensor whose tensor can be read.
    pub const TENSOR: Self = Self(1 << 1);
    /// One with a versioned struct, readable or not.
    pub const VERSIONED: Self = Self(1 << 2);
    /// One with a legacy struct.
    pub const LEGACY: Self = Self(1 << 3);
    /// An export that raised.
    pub const EXCEPTION: Self = Self(1 << 4);
    /// A second export.
    pub const COMPARISON: Self = Self(1 << 5);
    /// A keyword of the case's call that is not left out.
    pub const STREAM: Self = Self(1 << 6);
    pub const MAX_VERSION: Self = Self(1 << 7);
    pub const DL_DEVICE: Self = Self(1 << 8);
    pub const COPY: Self = Self(1 << 9);
    /// A positional argument or an unknown keyword.
    pub const EXTRA: Self = Self(1 << 10);
    /// An array, or a library, that nobody may write to.
    pub const READ_ONLY: Self = Self(1 << 11);
    /// An array that is not on device (1, 0), as far as it says where it is.
    pub const ELSEWHERE: Self = Self(1 << 12);
    /// An element type that is not one of the array API standard's, or has swapped bytes.
    pub const OTHER_DTYPE: Self = Self(1 << 13);
    /// An exporter that lacks a keyword or a method.
    pub const OLDER: Self = Self(1 << 14);
    /// The C exchange API was tried.
    pub const EXCHANGE: Self = Self(1 << 15);

    /// The case has a life.
    pub const LIFE: Self = Self(1 << 16);

    pub(super) const EACH: [Self; 17] = {
        let mut each = [Self::ANY; 17];
        let mut bit = 0;
        while bit < each.len() {
            each[bit] = Self(1 << bit);
            bit += 1;
        }
        each
    };

    /// What there is of all this.
    pub(super) fn of(ctx: &Context) -> Self {
        let seen = ctx.seen;
        let call = &ctx.case.call;
        let mut matter = Self::ANY;
        let mut add = |present: bool, what: Self| matter.0 |= if present { what.0 } else { 0 };
        for (_, outcome) in ctx.outcomes() {
            let raised = outcome.raised().is_some();
            add(raised, Self::EXCEPTION);
            add(!raised, Self::RESULT);
        }
        for export in ctx.exports() {
            add(export.diagnosis.header == Layer::Sound, Self::TENSOR);
            add(export.is_versioned(), Self::VERSIONED);
            add(!export.is_versioned(), Self::LEGACY);
        }
        add(!seen.further.is_empty(), Self::COMPARISON);
        add(call.stream.is_given(), Self::STREAM);
        add(call.max_version.is_given(), Self::MAX_VERSION);
        add(call.dl_device.is_given(), Self::DL_DEVICE);
        add(call.copy.is_given(), Self::COPY);
        add(call.extra != Extra::Nothing, Self::EXTRA);
        add(seen.source.writable == Some(false) || !seen.exporter.mutable, Self::READ_ONLY);
        add(seen.device_before.device() != Some(DLDevice::CPU), Self::ELSEWHERE);
        add(!ctx.case.tensor.dtype.is_standard(), Self::OTHER_DTYPE);
        let exporter = &seen.exporter;
        add(exporter.keywords != [true; 4] || exporter.methods != [true; 2], Self::OLDER);
        add(seen.exchange.is_some(), Self::EXCHANGE);
        add(seen.life.is_some(), Self::LIFE);
        matter
    }

    /// Everything in `needed` is here.
    pub fn has(self, needed: Self) -> bool {
        self.0 & needed.0 == needed.0
    }

    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
