//! The case's array in **Python**, for reproducers: ctypes, the shared object and the structs of its header, and
//! an object around them whose `__dlpack__` passes the arguments on and puts the tensor into a capsule.
//!
//! A reproducer of a C exporter is thereby a reproducer like any other: the same call, the same look-ups.

use super::form::Form;
use crate::backend::c::Spec;
use crate::case::{Contents, Object, Tensor};
use std::fmt::Write;

/// Statements that leave the exporter in `x` and in `source`.
pub fn statements(spec: &Spec, tensor: &Tensor) -> String {
    let form = match Form::of(tensor) {
        Ok(form) => form,
        Err(reason) => return format!("raise SystemExit({:?})\n", reason.0),
    };
    let options: Vec<_> = (spec.options.iter())
        .map(|(name, value)| format!("({}, {})", bytes(name.as_bytes()), bytes(value.as_bytes())))
        .collect();
    let mut text = include_str!("script.py.in").to_owned();
    for (name, value) in [
        ("path", format!("{:?}", spec.path.display().to_string())),
        ("options", format!("[{}]", options.join(", "))),
        ("shape", tuple(&tensor.shape)),
        ("strides", tuple(&form.strides)),
        ("contents", contents(tensor.contents, form.allocation_size)),
        ("flags", form.flags.to_string()),
        ("dtype", format!("{}, {}, {}", form.dtype.code.0, form.dtype.bits, form.dtype.lanes)),
        ("device", format!("{}, {}", tensor.device.device_type.0, tensor.device.device_id)),
        ("item_bytes", tensor.dtype.item_size().to_string()),
        ("offset", form.offset.to_string()),
    ] {
        text = text.replace(&format!("<<{name}>>"), &value);
    }
    if tensor.object == Object::Packed {
        let end = text.find("\n\nextents, steps =").expect("the template has this line");
        text.insert_str(end, PACKED);
    }
    text
}

/// Values of elements that lie side by side: no address is an element's alone.
const PACKED: &str = r#"

def elements(result):
    """The value of every element, the first in the low bits, against the source's."""

    def values(first, strides, bits):
        for index in itertools.product(*map(range, source.shape)):
            place = sum(i * stride for i, stride in zip(index, strides)) * bits
            window = [ctypes.c_uint8.from_address(first + place // 8).value]
            if place % 8 + bits > 8:
                window.append(ctypes.c_uint8.from_address(first + place // 8 + 1).value)
            yield int.from_bytes(bytes(window), "little") >> place % 8 & (1 << bits) - 1

    found = tensor(result)
    theirs = values((found.data or 0) + found.byte_offset, strides_of(result), found.bits)
    ours = values(source_view()[0], source.strides, array.dtype.bits)
    return "same" if list(ours) == list(theirs) else "differ"


def strides_of(result):
    told = numbers(result, "strides")
    if told is None:
        told = [1] * len(source.shape)
        for axis in reversed(range(len(told) - 1)):
            told[axis] = told[axis + 1] * source.shape[axis + 1]
    return told
"#;

/// `(2, 3)`, as Python writes a tuple.
fn tuple(numbers: &[i64]) -> String {
    let mut text = String::from("(");
    for number in numbers {
        // Writing to a String does not fail.
        let _ = write!(text, "{number}, ");
    }
    text.truncate(
        text.len() - if numbers.len() > 1 { 2 } else { usize::from(!numbers.is_empty()) },
    );
    text + ")"
}

fn contents(pattern: Contents, length: usize) -> String {
    match pattern {
        Contents::ZEROS => format!("bytes({length})"),
        Contents::ONES => format!("b\"\\xff\" * {length}"),
        _ => {
            let mut memory = vec![0; length];
            pattern.fill(&mut memory);
            let digits: String = memory.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("bytes.fromhex(\"{digits}\")")
        }
    }
}

/// A bytes literal.
fn bytes(text: &[u8]) -> String {
    format!("b\"{}\"", text.escape_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{Dtype, Shape};

    #[test]
    fn tuples_are_pythons() {
        assert_eq!([tuple(&[]), tuple(&[1]), tuple(&[1, -2])], ["()", "(1,)", "(1, -2)"]);
    }

    #[test]
    fn no_place_of_the_template_is_left_open() {
        let spec = Spec::parse("/x/\"y\".so?a=b").unwrap();
        let text = statements(&spec, &Tensor::plain());
        assert!(!text.contains("<<"), "{text}");
        assert!(text.contains(r#"CDLL("/x/\"y\".so")"#) && text.contains(r#"[(b"a", b"b")]"#));
        let packed = Tensor {
            object: Object::Packed,
            dtype: Dtype::named("int4", 0).unwrap(),
            shape: Shape::from_slice(&[3]),
            ..Tensor::plain()
        };
        assert!(statements(&spec, &packed).contains("def elements(result)"));
        let swapped = Tensor { dtype: Dtype::FLOAT32.swapped(), ..Tensor::plain() };
        assert!(statements(&spec, &swapped).starts_with("raise SystemExit"));
    }
}
