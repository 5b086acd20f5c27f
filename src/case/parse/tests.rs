use super::*;

fn error(text: &str) -> (usize, String) {
    let error = text.parse::<Case>().expect_err(text);
    (error.column, error.expected)
}

#[test]
fn texts_of_the_readme_are_their_own_form() {
    for text in [
        "array(shape=(2, 3), dtype='float32').__dlpack__(max_version=(1, 0), copy=True)",
        "array(shape=(4,), dtype='void[0]', strides=(8,)).__dlpack__()",
        "array(shape=(), dtype='swapped int16', writable=False, contents=2, object='masked')\
         .__dlpack__(stream=-1, dl_device=own) + repeat, version-1.99",
        "array(shape=(2, 3), dtype='float32', order='F', device=(2, 1)).__dlpack__(None) + all",
        "array(shape=(1,), dtype='float32', strides=(-1152921504606846976,), lead=3)\
         .__dlpack__(copy=-2**64, stream=(), foo=1, **fresh)",
        "array(shape=(6,), dtype='str[3]').__dlpack__(stream=[1], max_version=Pair((1.5, '')), \
         dl_device=(IntEnum(1), np.int64(-9223372036854775808)), copy=-0.5)",
    ] {
        assert_eq!(text.parse::<Case>().map(|case| case.to_string()), Ok(text.to_owned()));
    }
}

#[test]
fn spaces_order_and_defaults_are_free() {
    let free = " array ( dtype='float32' , order='C', shape=( 6 ) ) .__dlpack__ ( copy = None , ) ";
    let case: Case = free.parse().unwrap();
    assert_eq!(case.to_string(), "array(shape=(6,), dtype='float32').__dlpack__(copy=None)");
}

#[test]
fn errors_tell_the_place_and_what_belongs_there() {
    assert_eq!(error("arr"), (1, "`array`".into()));
    assert_eq!(error("array(shape=(2 3))"), (16, "`,` or `)`".into()));
    assert_eq!(error("array(shape=(2,), shape=())"), (19, "shape only once".into()));
    assert_eq!(
        error("array(dtype='bool').__dlpack__()"),
        (20, "shape=(...) in the brackets of array".into())
    );
    assert_eq!(error("array(shape=(2,), lead=256)").0, 24);
    assert_eq!(error("array(shape=(2,), strides=())").0, 27);
    for dtype in ["float33", "void", "float32[2]", "swapped bool", "void[x]", "void[1"] {
        assert_eq!(error(&format!("array(shape=(2,), dtype='{dtype}')")).0, 25, "{dtype}");
    }
    let call = |inside: &str| {
        let (column, expected) = error(&format!("array(shape=()).__dlpack__({inside})"));
        (column - 27, expected)
    };
    assert_eq!(call("copy=True, copy=None"), (12, "copy only once".into()));
    assert_eq!(call("bar=1").0, 1);
    assert_eq!(call("None, foo=1").0, 7);
    assert_eq!(call("copy=9223372036854775808").0, 6);
    assert_eq!(call("copy='gpu'").0, 6);
    assert_eq!(call("copy=yes").0, 6);
    assert_eq!(error("array(shape=()).__dlpack__() + all, nothing").0, 37);
    assert_eq!(error("array(shape=()).__dlpack__() all"), (30, "nothing more".into()));
    assert_eq!(error("array(shape=(), dtype='ä'").0, 23);
}

#[test]
fn a_case_beyond_the_limits_is_refused_with_the_nearest() {
    let (column, expected) = error("array(shape=(-1,), dtype='float32').__dlpack__()");
    assert_eq!(column, 1);
    assert!(expected.ends_with("array(shape=(0,), dtype='float32').__dlpack__()"), "{expected}");
}
