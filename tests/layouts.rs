//! The structs and numbers of `src/abi` against a C compiler, the real `dlpack.h` (from the wheel of
//! apache-tvm-ffi) and the backend header.

mod common;

use common::compiler::Compiler;
use common::text;
use dlpack_fuzz::abi;
use std::collections::BTreeMap;
use std::mem::{align_of, offset_of, size_of};
use std::process::Command;

/// `size`, `align` or the offset of a field of a C struct, by its C expression, as Rust has it.
fn layouts() -> BTreeMap<String, usize> {
    let mut all = BTreeMap::new();
    macro_rules! layout {
        ($c:literal, $rust:ty { $($field:ident $(= $name:literal)?),* $(,)? }) => {
            all.insert(format!("sizeof({})", $c), size_of::<$rust>());
            all.insert(format!("_Alignof({})", $c), align_of::<$rust>());
            $(
                let name = [$($name,)? stringify!($field)][0];
                all.insert(format!("offsetof({}, {name})", $c), offset_of!($rust, $field));
            )*
        };
    }
    layout!("DLPackVersion", abi::DLPackVersion { major, minor });
    layout!("DLDevice", abi::DLDevice { device_type, device_id });
    layout!("DLDataType", abi::DLDataType { code, bits, lanes });
    layout!("DLTensor", abi::DLTensor { data, device, ndim, dtype, shape, strides, byte_offset });
    layout!("DLManagedTensor", abi::DLManagedTensor { dl_tensor, manager_ctx, deleter });
    layout!(
        "DLManagedTensorVersioned",
        abi::DLManagedTensorVersioned { version, manager_ctx, deleter, flags, dl_tensor }
    );
    use abi::exchange;
    layout!("DLPackExchangeAPIHeader", exchange::DLPackExchangeAPIHeader { version, prev_api });
    layout!(
        "DLPackExchangeAPI",
        exchange::DLPackExchangeAPI {
            header,
            managed_tensor_allocator,
            managed_tensor_from_py_object_no_sync,
            managed_tensor_to_py_object_no_sync,
            dltensor_from_py_object_no_sync,
            current_work_stream,
        }
    );
    use abi::backend;
    layout!("DLPackFuzzDevice", abi::DLDevice { device_type = "type", device_id = "id" });
    layout!("DLPackFuzzDType", abi::DLDataType { code, bits, lanes });
    layout!(
        "DLPackFuzzArray",
        backend::Array {
            struct_size,
            flags,
            dtype,
            device,
            ndim,
            item_bytes,
            shape,
            strides,
            allocation_size,
            offset,
            contents,
        }
    );
    layout!(
        "DLPackFuzzBuilt",
        backend::Built {
            struct_size,
            reserved,
            handle,
            allocation,
            allocation_size,
            first,
            inexpressible,
        }
    );
    layout!(
        "DLPackFuzzCall",
        backend::Call { struct_size, given, stream, max_version, dl_device, copy }
    );
    layout!("DLPackFuzzResult", backend::Answer { struct_size, error, versioned, legacy, message });
    layout!(
        "DLPackFuzzBackend",
        backend::Table {
            struct_size,
            major,
            minor,
            name,
            version,
            build,
            device,
            export_array,
            release,
            live_blocks,
            references,
            devices,
            dtypes,
            option,
        }
    );
    all
}

/// Numbers by their names in C, as Rust has them.
fn numbers() -> BTreeMap<String, usize> {
    use abi::{DLDataTypeCode as Code, DLDeviceType as Device, backend};
    let mut all = BTreeMap::new();
    let mut number = |name: &str, value: usize| {
        all.insert(name.to_owned(), value);
    };
    number("DLPACK_MAJOR_VERSION", abi::KNOWN_VERSION.major as usize);
    number("DLPACK_MINOR_VERSION", abi::KNOWN_VERSION.minor as usize);
    number("DLPACK_FLAG_BITMASK_READ_ONLY", abi::FLAG_READ_ONLY as usize);
    number("DLPACK_FLAG_BITMASK_IS_COPIED", abi::FLAG_IS_COPIED as usize);
    number("DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED", abi::FLAG_SUBBYTE_PADDED as usize);
    // The names of devices are the header's own.
    for device in 0..64 {
        if let Some(name) = Device(device).name() {
            number(name, device as usize);
        }
    }
    for (name, code) in [
        ("kDLInt", Code::INT),
        ("kDLUInt", Code::UINT),
        ("kDLFloat", Code::FLOAT),
        ("kDLOpaqueHandle", Code::OPAQUE_HANDLE),
        ("kDLBfloat", Code::BFLOAT),
        ("kDLComplex", Code::COMPLEX),
        ("kDLBool", Code::BOOL),
        ("kDLFloat8_e3m4", Code::FLOAT8_E3M4),
        ("kDLFloat8_e8m0fnu", Code::FLOAT8_E8M0FNU),
        ("kDLFloat6_e2m3fn", Code::FLOAT6_E2M3FN),
        ("kDLFloat6_e3m2fn", Code::FLOAT6_E3M2FN),
        ("kDLFloat4_e2m1fn", Code::FLOAT4_E2M1FN),
    ] {
        number(name, usize::from(code.0));
    }
    for (name, code) in [
        ("DLPACK_FUZZ_BACKEND_MAJOR", u32::from(backend::MAJOR)),
        ("DLPACK_FUZZ_BACKEND_MINOR", u32::from(backend::MINOR)),
        ("DLPACK_FUZZ_WRITABLE", backend::WRITABLE),
        ("DLPACK_FUZZ_PACKED", backend::PACKED),
        ("DLPACK_FUZZ_GIVEN_STREAM", backend::GIVEN_STREAM),
        ("DLPACK_FUZZ_GIVEN_MAX_VERSION", backend::GIVEN_MAX_VERSION),
        ("DLPACK_FUZZ_GIVEN_DL_DEVICE", backend::GIVEN_DL_DEVICE),
        ("DLPACK_FUZZ_GIVEN_COPY", backend::GIVEN_COPY),
        ("DLPACK_FUZZ_BUFFER_ERROR", backend::BUFFER_ERROR as u32),
        ("DLPACK_FUZZ_TYPE_ERROR", backend::TYPE_ERROR as u32),
        ("DLPACK_FUZZ_VALUE_ERROR", backend::VALUE_ERROR as u32),
        ("DLPACK_FUZZ_OVERFLOW_ERROR", backend::OVERFLOW_ERROR as u32),
        ("DLPACK_FUZZ_RUNTIME_ERROR", backend::RUNTIME_ERROR as u32),
        ("DLPACK_FUZZ_MEMORY_ERROR", backend::MEMORY_ERROR as u32),
        ("DLPACK_FUZZ_OTHER_ERROR", backend::OTHER_ERROR as u32),
    ] {
        number(name, code as usize);
    }
    all
}

/// What the C compiler says of these expressions.
fn in_c<'a>(expressions: impl Iterator<Item = &'a String>) -> BTreeMap<String, usize> {
    let mut program = String::from(
        "#include <stddef.h>\n#include <stdio.h>\n#include <dlpack/dlpack.h>\n\
         #include \"dlpack_fuzz_backend.h\"\nint main(void) {\n",
    );
    for expression in expressions {
        program += &format!("  printf(\"%zu {expression}\\n\", (size_t)({expression}));\n");
    }
    program += "  return 0;\n}\n";
    let compiler = Compiler::new();
    let binary = compiler.program("layouts", &program);
    let output = Command::new(&binary).output().expect("it was just compiled");
    (text(&output.stdout).lines())
        .map(|line| {
            let (value, expression) = line.split_once(' ').expect("a number and its expression");
            (expression.to_owned(), value.parse().expect("a number"))
        })
        .collect()
}

fn assert_same(ours: &BTreeMap<String, usize>) {
    let theirs = in_c(ours.keys());
    assert_eq!(ours.len(), theirs.len());
    for (expression, value) in ours {
        assert_eq!(theirs.get(expression), Some(value), "{expression}");
    }
}

#[test]
fn structs_have_the_layouts_of_the_c_headers() {
    assert_same(&layouts());
}

#[test]
fn numbers_are_those_of_the_c_headers() {
    let ours = numbers();
    assert!(ours.keys().filter(|name| name.starts_with("kDL")).count() > 25);
    assert_same(&ours);
}

/// A look-up that could not fail would show nothing.
#[test]
fn a_wrong_offset_would_be_found() {
    let name = "offsetof(DLTensor, strides)".to_owned();
    let theirs = in_c([&name].into_iter());
    assert_ne!(theirs[&name], layouts()["offsetof(DLTensor, shape)"]);
}
