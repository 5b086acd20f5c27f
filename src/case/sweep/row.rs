//! The rows of the decision table as calls.

use crate::case::class::{Class, table_classes};
use crate::case::{Call, Case, Keyword, Probes, Tensor};

/// A row of the decision table for an array on the CPU.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    dl_device: &'static Class,
    copy: &'static Class,
    max_version: &'static Class,
    stream: &'static Class,
}

impl Row {
    /// How many rows there are: 7 × 4 × 7 × 7.
    pub const COUNT: usize = 1372;

    /// The row at a place of the table, modulo their number.
    pub fn at(place: usize) -> Self {
        let mut place = place % Self::COUNT;
        let mut next = |keyword| {
            let classes = table_classes(keyword);
            let class = &classes[place % classes.len()];
            place /= classes.len();
            class
        };
        // The last column changes fastest.
        let stream = next(Keyword::Stream);
        let max_version = next(Keyword::MaxVersion);
        let copy = next(Keyword::Copy);
        Self { dl_device: next(Keyword::DlDevice), copy, max_version, stream }
    }

    /// The classes as `decision_table.tsv` names them: dl_device, copy, max_version, stream.
    pub fn names(&self) -> [&'static str; 4] {
        [self.dl_device.name, self.copy.name, self.max_version.name, self.stream.name]
    }

    /// A call of this row; `turn` picks among the concrete values of each class.
    pub fn call(&self, turn: usize) -> Call {
        // The classes turn at different speeds, so that all combinations of their values come up.
        let arg =
            |class: &Class, speed: usize| class.samples[turn / speed % class.samples.len()].arg();
        Call {
            stream: arg(self.stream, 1),
            max_version: arg(self.max_version, 2),
            dl_device: arg(self.dl_device, 1),
            copy: arg(self.copy, 1),
            ..Call::default()
        }
    }
}

/// The rows in the order of `decision_table.tsv`.
pub fn rows() -> impl ExactSizeIterator<Item = Row> {
    (0..Row::COUNT).map(Row::at)
}

/// Every row with every combination of its concrete values, on six float32.
pub fn calibration() -> impl Iterator<Item = (Row, Case)> {
    rows().flat_map(|row| {
        let product = |keyword: Keyword, class: &'static Class| {
            class.samples.iter().map(move |sample| (keyword, sample))
        };
        product(Keyword::DlDevice, row.dl_device).flat_map(move |device| {
            product(Keyword::Copy, row.copy).flat_map(move |copy| {
                product(Keyword::MaxVersion, row.max_version).flat_map(move |version| {
                    product(Keyword::Stream, row.stream).map(move |stream| {
                        let mut call = Call::default();
                        for (keyword, sample) in [device, copy, version, stream] {
                            *call.arg_mut(keyword) = sample.arg();
                        }
                        (row, Case::new(Tensor::plain(), call, Probes::NONE))
                    })
                })
            })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Arg;
    use std::collections::HashSet;

    #[test]
    fn rows_are_the_table_and_have_no_twins() {
        let names: HashSet<_> = rows().map(|row| row.names()).collect();
        assert_eq!((rows().len(), names.len()), (1372, 1372));
        assert_eq!(Row::at(0).names(), ["absent", "absent", "absent", "none"]);
        assert_eq!(Row::at(1).names(), ["absent", "absent", "absent", "m1"]);
        assert_eq!(Row::at(1371).names(), ["malformed", "False", "malformed", "bad"]);
    }

    #[test]
    fn the_calibration_has_every_row_with_all_its_values() {
        let cases: Vec<_> = calibration().collect();
        assert_eq!(cases.len(), 14_976);
        let calls: HashSet<_> = cases.iter().map(|(_, case)| &case.call).collect();
        assert_eq!(calls.len(), cases.len());
        let single: Vec<_> = Keyword::ALL
            .into_iter()
            .flat_map(table_classes)
            .filter(|class| class.samples.len() < 2)
            .map(|class| class.name)
            .collect();
        // Those have one value only.
        let due = [
            "m1", "zero", "absent", "None", "1.0", "absent", "None", "absent", "None", "True",
            "False",
        ];
        assert_eq!(single, due);
    }

    #[test]
    fn the_turn_goes_through_all_values_of_a_class() {
        for row in rows() {
            let calls: HashSet<_> = (0..28).map(|turn| row.call(turn)).collect();
            for (class, keyword) in
                [(row.dl_device, Keyword::DlDevice), (row.max_version, Keyword::MaxVersion)]
            {
                let values: HashSet<&Arg> = calls.iter().map(|call| call.arg(keyword)).collect();
                assert_eq!(values.len(), class.samples.len(), "{}", class.name);
            }
        }
    }
}
