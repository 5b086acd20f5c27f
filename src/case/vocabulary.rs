//! A **vocabulary** says what a system under test can be asked: the generator draws nothing else, so that
//! no run is spent on arrays that cannot be built.

use super::{Dtype, MAX_NDIM, Object, Tensor};
use crate::abi::{DLDataType, DLDataTypeCode, DLDevice};

/// What a backend can express, each with the weight with which it is drawn.
#[derive(Clone, Debug)]
pub struct Vocabulary {
    pub dtypes: Vec<(Dtype, u16)>,
    pub objects: Vec<(Object, u16)>,
    pub max_ndim: usize,
    /// All equally often.
    pub devices: Vec<DLDevice>,
    /// The array that is asked for where any would do: the decision table's calls are made on it.
    pub ordinary: Tensor,
    /// How arguments are spelled.
    pub surface: Surface,
}

/// What carries the arguments of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
    /// Keywords and objects of any type.
    Python,
    /// A struct of numbers.
    C,
}

/// The objects that NumPy has stand first in [`Object::ALL`].
const NUMPY_OBJECTS: usize = 8;

impl Default for Vocabulary {
    /// Everything that NumPy could have, on the CPU. Usual types make up two thirds; each exotic one is met
    /// within a few hundred draws; the types without bytes are favoured, because they have crashed
    /// exporters (EXC-NO-CRASH).
    fn default() -> Self {
        use super::DtypeClass::*;
        let mut dtypes = Vec::new();
        for row in 0..Dtype::TABLE.len() as u8 {
            let plain = Dtype::from_row(row, 0);
            if plain.is_flexible() {
                let sizes: &[(u16, u16)] = &[(0, 12), (1, 3), (3, 3), (8, 3), (16, 2)];
                dtypes.extend(
                    sizes.iter().map(|&(size, weight)| (Dtype::from_row(row, size), weight)),
                );
            } else {
                let weight = match plain.class() {
                    Bool | Integer | Float | Complex => 20,
                    Extended | LongDouble | NonNumeric => 5,
                    SubByte => 4,
                };
                dtypes.push((plain, weight));
            }
        }
        let swapped: Vec<_> = (dtypes.iter())
            .filter(|(dtype, _)| dtype.has_byte_order())
            .map(|&(dtype, weight)| (dtype.swapped(), (weight / 5).max(1)))
            .collect();
        dtypes.extend(swapped);
        let objects = (Object::ALL[..NUMPY_OBJECTS].iter())
            .map(|&object| match object {
                Object::Array => (object, 200),
                // Python code that never frees all it allocates in the same run: each costs a search for
                // leaks.
                Object::Masked => (object, 1),
                _ => (object, 4),
            })
            .collect();
        Self {
            dtypes,
            objects,
            max_ndim: MAX_NDIM,
            devices: vec![DLDevice::CPU],
            ordinary: Tensor::plain(),
            surface: Surface::Python,
        }
    }
}

impl Vocabulary {
    /// What an exporter in C can be asked that names these types and devices. `None`: all types with one lane,
    /// host memory.
    pub fn of_c(triples: Option<&[DLDataType]>, devices: Option<&[DLDevice]>) -> Self {
        let offers = |triple: DLDataType| match triples {
            Some(triples) => triples.contains(&triple),
            None => triple.lanes == 1 && triple.code.0 <= DLDataTypeCode::FLOAT4_E2M1FN.0,
        };
        let mut dtypes: Vec<(Dtype, u16)> = Vec::new();
        for row in 0..Dtype::TABLE.len() as u8 {
            let dtype = Dtype::from_row(row, 0);
            let Some(triple) = dtype.info().triple.filter(|&triple| offers(triple)) else {
                continue;
            };
            // `longlong` is another name of int64.
            if dtypes.iter().all(|(other, _)| other.info().triple != Some(triple)) {
                dtypes.push((dtype, if dtype.is_standard() { 20 } else { 6 }));
            }
        }
        let mut objects = vec![(Object::Array, 100)];
        if dtypes.iter().any(|(dtype, _)| dtype.is_narrow()) {
            // With any other type it is an array.
            objects.push((Object::Packed, 100));
        }
        let devices = devices.filter(|devices| !devices.is_empty()).unwrap_or(&[DLDevice::CPU]);
        let devices = devices.to_vec();
        let ordinary = Tensor::plain();
        Self { dtypes, objects, max_ndim: MAX_NDIM, devices, ordinary, surface: Surface::C }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_can_be_drawn_and_usual_types_are_most() {
        let all = Vocabulary::default();
        let weight = |wanted: &dyn Fn(Dtype) -> bool| -> u32 {
            (all.dtypes.iter()).filter(|(d, _)| wanted(*d)).map(|&(_, w)| u32::from(w)).sum()
        };
        let total = weight(&|_| true);
        for row in 0..Dtype::TABLE.len() as u8 {
            let share = weight(&|dtype| dtype.row() == row);
            assert!(share * 1000 > total, "{} is met once in {}", row, total / share.max(1));
        }
        let usual = weight(&Dtype::is_standard);
        assert!((total / 2..total * 3 / 4).contains(&usual), "{usual} of {total}");
        assert!(
            all.dtypes
                .iter()
                .all(|(dtype, weight)| *weight > 0 && dtype.info().name == dtype.name())
        );
    }
}
