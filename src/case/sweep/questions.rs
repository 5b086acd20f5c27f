//! The **questions**: cases that every library is asked word for word, so that their answers can be compared.
//! Every row of the decision table once, every single odd argument, every element type, and every layout.

use super::layouts::LAYOUTS;
use super::rows;
use crate::case::class::{Class, classes};
use crate::case::sample::Sample;
use crate::case::{Access, Call, Case, Dtype, Keyword, Probes, Tensor, Vocabulary};
use std::collections::HashSet;

/// The questions, the same ones in the same order every time. No two are alike, and all are normal.
pub fn questions() -> Vec<Case> {
    let plain = Call::default();
    let versioned = Call::default().with(Keyword::MaxVersion, Sample::Pair(1, 0).arg());
    let on_plain = |call| (Tensor::plain(), call);
    let table = rows().map(|row| on_plain(row.call(0)));
    let single = Keyword::ALL.into_iter().flat_map(|keyword| {
        (classes(keyword).iter().flat_map(Class::all))
            .map(move |sample| on_plain(Call::default().with(keyword, sample.arg())))
    });
    let mut tensors: Vec<Tensor> = (Vocabulary::default().dtypes.into_iter())
        .map(|(dtype, _)| Tensor { dtype, ..Tensor::plain() })
        .collect();
    tensors.extend(LAYOUTS.iter().map(|layout| layout.tensor(Dtype::FLOAT32)));
    tensors.push(Tensor { access: Access::ReadOnly, ..Tensor::plain() });
    let arrays = (tensors.into_iter())
        .flat_map(|tensor| [plain.clone(), versioned.clone()].map(|call| (tensor.clone(), call)));
    let mut seen = HashSet::new();
    (table.chain(single).chain(arrays))
        .map(|(tensor, call)| Case::new(tensor, call, Probes::NONE).normalized())
        .filter(|case| seen.insert(case.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_every_type_and_every_layout_is_asked_for_once() {
        let questions = questions();
        assert!((1500..2500).contains(&questions.len()), "{}", questions.len());
        let unique: HashSet<String> = questions.iter().map(Case::to_string).collect();
        assert_eq!(unique.len(), questions.len());
        for text in [
            "array(shape=(6,), dtype='float32').__dlpack__()",
            "array(shape=(6,), dtype='float32').__dlpack__(copy=1)",
            "array(shape=(6,), dtype='bfloat16').__dlpack__(max_version=(1, 0))",
            "array(shape=(5,), dtype='float32', strides=(-4,)).__dlpack__()",
            "array(shape=(6,), dtype='float32', writable=False).__dlpack__()",
        ] {
            assert!(unique.contains(text), "{text}");
        }
    }
}
