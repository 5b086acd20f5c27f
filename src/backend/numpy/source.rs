//! The array of a case as NumPy statements, for reports and reproducers.

use crate::case::{Access, ByteOrder, Contents, Dtype, Layout, Object, Tensor};
use std::fmt::Write;

/// Statements that leave the array in `x`.
pub fn statements(tensor: &Tensor) -> String {
    let mut text = String::from("import numpy as np\n");
    let dtype = dtype_text(tensor.dtype);
    if dtype.contains("ml_dtypes") {
        text += "import ml_dtypes\n";
    }
    // Writing to a String does not fail.
    let _ = match tensor.object {
        Object::Field => writeln!(text, "{}", field(tensor, &dtype)),
        Object::Memmap => writeln!(text, "{}", memmap(tensor, &dtype)),
        _ => writeln!(text, "x = {}", array(tensor, &dtype)),
    };
    text += match tensor.object {
        Object::Subclass => "class Subclass(np.ndarray): pass\nx = x.view(Subclass)\n",
        Object::Matrix => "x = x.view(np.matrix)\n",
        Object::Masked => "x = x.view(np.ma.MaskedArray)\n",
        Object::Record => "x = x.view(np.recarray)\n",
        Object::Imported => "x = np.from_dlpack(x)\n",
        _ => "",
    };
    if tensor.access == Access::ReadOnly && tensor.object != Object::Memmap {
        text += "x.flags.writeable = False\n";
    }
    text
}

/// A Python expression for a dtype, without the byte order; what `numpy.dtype` takes.
pub fn dtype_expression(dtype: Dtype) -> String {
    match dtype.name() {
        "str" => format!("'U{}'", dtype.size),
        "bytes" => format!("'S{}'", dtype.size),
        "void" => format!("'V{}'", dtype.size),
        "record" => "[('a', 'i4'), ('b', 'f8')]".into(),
        "datetime64" => "'M8[s]'".into(),
        "timedelta64" => "'m8[s]'".into(),
        "vstr" => "np.dtypes.StringDType()".into(),
        name => format!("'{name}'"),
    }
}

fn dtype_text(dtype: Dtype) -> String {
    const ML_DTYPES: [&str; 5] = ["bfloat16", "float8_", "float6_", "float4_", "complex32"];
    let name = dtype.name();
    let is_ml = ML_DTYPES.iter().any(|prefix| name.starts_with(prefix))
        || matches!(name, "int1" | "int2" | "int4" | "uint1" | "uint2" | "uint4" | "bcomplex32");
    let native = if is_ml { format!("ml_dtypes.{name}") } else { dtype_expression(dtype) };
    match dtype.order {
        ByteOrder::Native => native,
        ByteOrder::Swapped => format!("np.dtype({native}).newbyteorder()"),
    }
}

fn array(tensor: &Tensor, dtype: &str) -> String {
    let shape = tuple(&tensor.shape);
    let item_size = tensor.dtype.item_size();
    if tensor.dtype.name() == "vstr" {
        return format!("np.empty({shape}, {dtype}, '{}')", order(tensor));
    }
    let plain = !tensor.dtype.info().any_bytes || item_size == 0;
    match &tensor.layout {
        Layout::C | Layout::F if plain => {
            format!("np.zeros({shape}, {dtype}, '{}')", order(tensor))
        }
        Layout::C | Layout::F => {
            let memory = memory(tensor.contents, tensor.span().bytes() as usize);
            let order = order(tensor);
            format!("np.ndarray({shape}, {dtype}, {memory}, order='{order}').copy('{order}')")
        }
        Layout::Strided { strides, lead } => {
            let span = tensor.span();
            let first = i128::from(*lead) - span.low;
            let strides = tuple(strides);
            if plain {
                let items = (first + span.high).div_euclid(item_size.max(1) as i128) + 1;
                let skip = first.div_euclid(item_size.max(1) as i128);
                let base = format!("np.zeros({items}, {dtype})[{skip}:]");
                return format!("np.lib.stride_tricks.as_strided({base}, {shape}, {strides})");
            }
            let memory = memory(tensor.contents, (span.bytes() + i128::from(*lead)) as usize);
            format!("np.ndarray({shape}, {dtype}, {memory}, {first}, {strides})")
        }
    }
}

fn field(tensor: &Tensor, dtype: &str) -> String {
    let item = tensor.dtype.item_size() + 8;
    let bytes = tensor.size() as usize * item;
    format!(
        "records = np.ndarray({}, [('x', {dtype}), ('gap', 'f8')], {})\nx = records['x']",
        tuple(&tensor.shape),
        memory(tensor.contents, bytes)
    )
}

fn memmap(tensor: &Tensor, dtype: &str) -> String {
    let mode = if tensor.access == Access::ReadOnly { "r" } else { "r+" };
    let span = tensor.span();
    let bytes = (span.bytes() + tensor.lead() as i128) as usize;
    format!(
        "import tempfile\nfile = tempfile.TemporaryFile()\nfile.write({}); file.flush()\n\
         memory = np.memmap(file, 'u1', '{mode}')\n\
         x = np.ndarray.__new__(np.memmap, {}, {dtype}, memory, {}, {})",
        memory(tensor.contents, bytes),
        tuple(&tensor.shape),
        tensor.lead() as i128 - span.low,
        tuple(&tensor.byte_strides())
    )
}

fn order(tensor: &Tensor) -> char {
    if tensor.layout == Layout::F { 'F' } else { 'C' }
}

/// Up to this many bytes are written out; more would hide the call in a wall of digits.
const MOST_BYTES_WRITTEN: usize = 48;

/// A Python expression for memory with these contents.
pub fn memory(contents: Contents, bytes: usize) -> String {
    if contents == Contents::ZEROS {
        return format!("bytearray({bytes})");
    }
    if bytes > MOST_BYTES_WRITTEN {
        return format!("bytearray(i * 37 % 251 for i in range({bytes}))");
    }
    let mut memory = vec![0; bytes];
    contents.fill(&mut memory);
    let hex: String = memory.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("bytearray.fromhex('{hex}')")
}

/// A Python tuple.
pub fn tuple(numbers: &[i64]) -> String {
    match numbers {
        [one] => format!("({one},)"),
        _ => format!("({})", numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(", ")),
    }
}
