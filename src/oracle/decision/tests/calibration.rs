//! A lawful exporter is not accused whatever is asked of it, and every refusal can be settled.

use super::*;

fn values(keyword: Keyword) -> Vec<Value> {
    let pair = Value::pair;
    let list = Value::Seq(SeqKind::List, [Scalar::Int(1), Scalar::Int(0)].as_slice().into());
    let int_enum = [Scalar::IntEnum(1), Scalar::Int(0)];
    match keyword {
        Stream => [-1, 0, 1, 2, 3, -2, i64::MIN].map(Value::int).into_iter().collect(),
        MaxVersion => {
            vec![pair(0, 0), pair(0, 8), pair(1, 0), pair(1, 1), pair(1, 99), pair(2, 0), list]
        }
        DlDevice => vec![
            pair(1, 0),
            Value::Own,
            Value::Seq(SeqKind::Tuple, int_enum.as_slice().into()),
            pair(1, 3),
            pair(10, 0),
            pair(17, 0),
            pair(0, 0),
            pair(1, -1),
            Value::int(1),
            list,
        ],
        Copy => vec![Value::bool(true), Value::bool(false), Value::int(0)],
    }
}

pub fn every_call() -> Vec<Call> {
    Keyword::ALL.into_iter().fold(vec![Call::default()], |calls, keyword| {
        let mut args = vec![Arg::Absent, Arg::NONE];
        args.extend(values(keyword).into_iter().map(Arg::Given));
        calls
            .iter()
            .flat_map(|call| args.iter().map(|arg| call.clone().with(keyword, arg.clone())))
            .collect()
    })
}

/// The calibration: whatever is asked of a lawful exporter, its answer is granted, and so is any probe's.
#[test]
fn a_lawful_exporter_is_never_accused_whatever_the_call_and_the_array() {
    let plain = Tensor::plain();
    let arrays = [
        plain.clone(),
        Tensor { access: Access::ReadOnly, ..plain.clone() },
        Tensor { shape: Shape::from_slice(&[0, 3]), ..plain.clone() },
        Tensor { dtype: Dtype::named("object", 0).unwrap(), ..plain.clone() },
        Tensor { dtype: Dtype::named("int16", 0).unwrap().swapped(), ..plain.clone() },
        Tensor { device: CUDA, ..plain.clone() },
    ];
    for array in arrays {
        for call in every_call() {
            let bare = Scene::new(array.clone(), call);
            bare.assert_lawful();
            let scene = Probes::ALL.iter().fold(bare, Scene::with);
            scene.assert_lawful();
        }
    }
}

#[test]
fn a_refusal_asks_for_the_probes_that_settle_it() {
    let call = call(&[versioned(), (Copy, Value::bool(false))]);
    let scene = Scene::new(Tensor::plain(), call);
    let probes = |outcome: &Outcome| probes_to_settle(&scene.case, DLDevice::CPU, outcome);
    assert!(probes(&scene.seen.export).is_empty());
    let refused = probes(&raised(ErrorClass::Buffer));
    for probe in [Probe::Plain, Probe::CpuDevice, Probe::Version199, Probe::CopyNone] {
        assert!(refused.contains(probe), "{}", probe.name());
    }
    // BufferError is due for this device: nothing to settle.
    let foreign = Scene::of(&[(DlDevice, Value::pair(10, 0))]);
    assert!(probes_to_settle(&foreign.case, DLDevice::CPU, &foreign.seen.export).is_empty());
}

#[test]
fn with_the_probes_it_asks_for_a_refusal_is_always_judged() {
    for call in every_call() {
        let scene = Scene::new(Tensor::plain(), call).raising(ErrorClass::Runtime);
        if Classes::of(&scene.case.call, DLDevice::CPU).is_err() {
            continue;
        }
        let probes = probes_to_settle(&scene.case, DLDevice::CPU, &scene.seen.export);
        // Where another order succeeds the order is to blame.
        let settled = probes.iter().fold(scene, |scene, probe| match probe {
            Probe::Reordered => scene.with_raised(probe, ErrorClass::Runtime),
            _ => scene.with(probe),
        });
        assert_ne!(blame(&settled), Word::NotJudged, "{:?}", settled.case.call);
    }
}
