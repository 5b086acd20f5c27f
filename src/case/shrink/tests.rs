use super::*;
use crate::case::{Rng, Vocabulary, generate};

/// The case that greedy reduction ends at, and the number of candidates tried.
fn reduce(mut case: Case, holds: impl Fn(&Case) -> bool) -> (Case, usize) {
    let mut tried = 0;
    while let Some(simpler) = shrink(&case).inspect(|_| tried += 1).find(|simpler| holds(simpler)) {
        assert!(weight(&simpler) < weight(&case));
        case = simpler;
    }
    (case, tried)
}

fn gaps(case: &Case) -> bool {
    let tensor = &case.tensor;
    let plain = Tensor { layout: Layout::C, ..tensor.clone() }.byte_strides();
    let strides = tensor.byte_strides();
    tensor.dtype.name() == "void"
        && tensor.dtype.size == 0
        && tensor.shape.iter().enumerate().any(|(a, &n)| n > 1 && strides[a] != plain[a])
}

#[test]
fn a_stride_in_an_array_without_bytes_shrinks_to_one_axis() {
    let text = "array(shape=(3, 1, 7, 2), dtype='void[0]', strides=(8, -16, 1024, 0), lead=5, \
                writable=False, contents=2, object='subclass').__dlpack__(copy=True, \
                max_version=(1, 99), stream=None, **fresh) + plain, repeat, all-none";
    let (least, tried) = reduce(text.parse().unwrap(), gaps);
    assert_eq!(least.to_string(), "array(shape=(2,), dtype='void[0]', strides=(1,)).__dlpack__()");
    assert!(tried < 1000, "{tried}");
}

#[test]
fn every_case_shrinks_to_the_least_one() {
    let mut rng = Rng::new(11);
    for _ in 0..300 {
        let case = generate(&mut rng, &Vocabulary::default());
        let (least, tried) = reduce(case, |_| true);
        assert_eq!(least.to_string(), "array(shape=(), dtype='float32').__dlpack__()");
        assert!(tried < 100, "{tried}");
    }
}

#[test]
fn candidates_are_normal_and_strictly_simpler() {
    let mut rng = Rng::new(12);
    for _ in 0..2_000 {
        let case = generate(&mut rng, &Vocabulary::default());
        for candidate in shrink(&case) {
            assert!(weight(&candidate) < weight(&case), "{candidate} of {case}");
            assert_eq!(candidate.clone().normalized(), candidate);
        }
    }
}

#[test]
fn a_fault_of_one_argument_keeps_that_argument_only() {
    let text = "array(shape=(2, 3), dtype='int64', order='F').__dlpack__(copy=False, \
                dl_device=(10, 0), max_version=(1, 0)) + repeat";
    let unsupported = |case: &Case| {
        let pair = case.call.dl_device.value().and_then(Value::as_pair);
        pair.is_some_and(|(device_type, _)| device_type > 1)
    };
    let (least, _) = reduce(text.parse().unwrap(), unsupported);
    assert_eq!(least.to_string(), "array(shape=(), dtype='float32').__dlpack__(dl_device=(2, 0))");
}
