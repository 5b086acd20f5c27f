//! What a case costs, stage by stage: the bare export, the run with everything it looks at, the judgement.
//!
//! `scripts/bench` adds what only separate processes can show: libFuzzer's own rate, Atheris, Hypothesis.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use dlpack_fuzz::case::{Case, Rng, Vocabulary, generate};
use dlpack_fuzz::host::{Detail, Options, Session};
use dlpack_fuzz::oracle::{Grade, Profile, judge};
use pyo3::prelude::*;
use std::hint::black_box;

/// Cases of one batch: as the generator draws them, less those that kill NumPy.
fn cases() -> Vec<Case> {
    let (mut rng, vocabulary) = (Rng::new(1), Vocabulary::default());
    let drawn = std::iter::repeat_with(|| generate(&mut rng, &vocabulary));
    drawn.filter(|case| case.tensor.dtype.item_size() > 0).take(1000).collect()
}

fn stages(criterion: &mut Criterion) {
    let options = Options { env: None, backend: "numpy".into() };
    let mut session = Session::open(&options).expect("scripts/setup has run");
    let cases = cases();
    let profile = Profile::named("spec").expect("the default");

    let mut group = criterion.benchmark_group("stage");
    group.throughput(Throughput::Elements(cases.len() as u64));
    group.bench_function("decode", |bencher| {
        let bytes: Vec<_> = cases.iter().map(Case::encode).collect();
        bencher.iter(|| bytes.iter().for_each(|bytes| drop(black_box(Case::decode(bytes)))));
    });
    group.bench_function("run", |bencher| {
        bencher.iter(|| cases.iter().for_each(|case| drop(session.run(case, Detail::Brief))));
    });
    let seen: Vec<_> = (cases.iter())
        .filter_map(|case| Some((case, session.run(case, Detail::Brief).ok()?)))
        .collect();
    group.throughput(Throughput::Elements(seen.len() as u64));
    group.bench_function("judge", |bencher| {
        bencher.iter(|| {
            (seen.iter()).for_each(|(case, seen)| {
                drop(black_box(judge(case, seen, &profile, Grade::Violation)));
            });
        });
    });
    group.finish();

    // What no harness can do without: a new array, the call, the capsule's death.
    criterion.bench_function("bare export of a new array", |bencher| {
        Python::attach(|py| {
            let numpy = py.import("numpy").expect("numpy");
            let new = numpy.getattr("ndarray").expect("a type");
            let (shape, dlpack) = ((2, 3), pyo3::intern!(py, "__dlpack__"));
            bencher.iter_batched(
                || (),
                |()| new.call1((shape,)).and_then(|array| array.call_method0(dlpack)).map(drop),
                BatchSize::SmallInput,
            );
        });
    });
}

criterion_group!(benches, stages);
criterion_main!(benches);
