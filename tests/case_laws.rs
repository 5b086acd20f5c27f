//! Laws of the case formats: what is written can be read again, and every byte string is a case. By the
//! project's own random numbers from fixed seeds, so that a failure comes back.

use dlpack_fuzz::abi::{DLDataType, DLDevice};
use dlpack_fuzz::case::sweep::{Part, Sweep};
use dlpack_fuzz::case::{
    Arg, Call, Case, Keyword, MAX_ENCODED, Object, Probe, Probes, Rng, Scalar,
};
use dlpack_fuzz::case::{Tensor, Value, Vocabulary, generate, mutate};
use std::collections::{HashMap, HashSet};

const DRAWS: usize = 100_000;

/// Byte strings of 0 to 200 bytes, half of them with a first byte that names the format.
fn random_bytes(rng: &mut Rng) -> Vec<u8> {
    let length = rng.below(201) as usize;
    let mut bytes: Vec<u8> = (0..length).map(|_| rng.next_u64() as u8).collect();
    if rng.chance(1, 2) && !bytes.is_empty() {
        bytes[0] = 1;
    }
    bytes
}

fn check_laws(case: &Case) {
    let bytes = case.encode();
    assert!(bytes.len() <= MAX_ENCODED);
    assert_eq!(&Case::decode(&bytes), case, "decode(encode(case)) for {bytes:02x?}");
    let text = case.to_string();
    assert_eq!(text.parse::<Case>().as_ref(), Ok(case), "parse(display(case)) for {text}");
    assert_eq!(&case.clone().normalized(), case, "normalized(case) for {text}");
}

#[test]
fn every_byte_string_is_a_case_that_keeps_the_laws() {
    let mut rng = Rng::new(0x6279_7465);
    for _ in 0..DRAWS {
        check_laws(&Case::decode(&random_bytes(&mut rng)));
    }
}

#[test]
fn bytes_that_end_early_go_on_in_zeros() {
    let mut rng = Rng::new(0x7a65_726f);
    for _ in 0..DRAWS / 10 {
        let mut bytes = random_bytes(&mut rng);
        let short = Case::decode(&bytes);
        bytes.resize(bytes.len() + MAX_ENCODED, 0);
        assert_eq!(short, Case::decode(&bytes));
    }
    let plain = Case::new(Tensor::plain(), Call::default(), Probes::NONE);
    assert_eq!(Case::decode(&[]), plain);
}

#[test]
fn a_buffer_that_is_too_short_is_refused() {
    let mut rng = Rng::new(0x7368_6f72);
    for _ in 0..DRAWS / 10 {
        let case = Case::decode(&random_bytes(&mut rng));
        let whole = case.encode();
        let mut buffer = [0; MAX_ENCODED];
        assert_eq!(case.encode_into(&mut buffer), Some(whole.len()));
        assert_eq!(buffer[..whole.len()], whole);
        assert_eq!(case.encode_into(&mut buffer[..whole.len() - 1]), None);
    }
}

#[test]
fn generated_and_mutated_cases_keep_the_laws() {
    let vocabulary = Vocabulary::default();
    let mut rng = Rng::new(0x6765_6e65);
    let mut mutant = generate(&mut rng, &vocabulary);
    for draw in 0..DRAWS / 2 {
        check_laws(&generate(&mut rng, &vocabulary));
        if draw % 64 == 0 {
            mutant = generate(&mut rng, &vocabulary);
        }
        mutate(&mut mutant, &mut rng, &vocabulary);
        check_laws(&mutant);
    }
}

/// What is drawn for an exporter in C has numbers as arguments only, and packed arrays among the narrow ones.
#[test]
fn what_is_drawn_for_c_can_be_said_in_c() {
    let vocabulary = Vocabulary::of_c(None, None);
    let mut rng = Rng::new(0x6361_6269);
    let mut packed = 0;
    for _ in 0..DRAWS / 10 {
        let mut case = generate(&mut rng, &vocabulary);
        for _ in 0..2 {
            packed += usize::from(case.tensor.object == Object::Packed);
            let text = case.call.to_string();
            for python in ["'", "[", "(1,)", "Int", "Index", "Enum", "foo", "**", "2**64", "object"]
            {
                assert!(!text.contains(python), "{case}");
            }
            assert!(
                case.tensor.object != Object::Packed || case.tensor.dtype.is_narrow(),
                "{case}"
            );
            mutate(&mut case, &mut rng, &vocabulary);
        }
    }
    assert!(packed > DRAWS / 1_000, "{packed}");
    // Nothing but what the shared object says that it has.
    let few = Vocabulary::of_c(Some(&[DLDataType::new(0, 64, 1)]), Some(&[DLDevice::new(3, 1)]));
    assert_eq!(few.dtypes.iter().map(|(dtype, _)| dtype.name()).collect::<Vec<_>>(), ["int64"]);
    assert_eq!((few.objects.len(), few.devices), (1, vec![DLDevice::new(3, 1)]));
}

/// Damaged texts are errors with a place inside the text, or other cases; never a panic.
#[test]
fn damaged_texts_are_refused_in_words() {
    let vocabulary = Vocabulary::default();
    let mut rng = Rng::new(0x7465_7874);
    let mut refused = 0;
    for _ in 0..DRAWS / 10 {
        let mut text: Vec<char> = generate(&mut rng, &vocabulary).to_string().chars().collect();
        let place = rng.below(text.len() as u64) as usize;
        match rng.below(4) {
            0 => text.truncate(place),
            1 => drop(text.remove(place)),
            2 => text.insert(
                place,
                *rng.pick(&['(', ')', ',', '\'', '=', '-', '9', 'é', '*', ' ', '+']),
            ),
            _ => text[place] = *rng.pick(&['(', ']', ',', '\'', '.', '-', '0', '→', 'x']),
        }
        let text: String = text.into_iter().collect();
        match text.parse::<Case>() {
            Ok(case) => check_laws(&case),
            Err(error) => {
                refused += 1;
                assert!((1..=text.chars().count() + 1).contains(&error.column), "{text}: {error}");
            }
        }
    }
    assert!(refused > DRAWS / 20, "{refused}");
}

/// What the generator must not fail to draw: everything that the oracle tells apart.
#[test]
fn the_generator_reaches_everything_that_a_vocabulary_allows() {
    let vocabulary = Vocabulary::default();
    let mut rng = Rng::new(0x7265_6163);
    let mut seen: HashMap<String, usize> = HashMap::new();
    let (mut probes, mut odd_calls) = (0, [0; 5]);
    for _ in 0..2 * DRAWS {
        let case = generate(&mut rng, &vocabulary);
        let Case { tensor, call, .. } = &case;
        let mut count = |what: String| *seen.entry(what).or_default() += 1;
        count(format!("dtype {}", tensor.dtype));
        count(format!("layout {:?}", tensor.layout_class()));
        count(format!("object {}", tensor.object.name()));
        count(format!("{:?}", tensor.access));
        count(format!("rank {}", tensor.shape.len()));
        count(format!("extra {:?}", call.extra));
        count(format!("keys {:?}", call.keys));
        count(format!("order {}", call.order));
        case.probes.iter().for_each(|probe| count(format!("probe {}", probe.name())));
        for keyword in Keyword::ALL {
            count(format!("{} {}", keyword.name(), given(call.arg(keyword))));
        }
        probes += case.probes.iter().count();
        odd_calls[odd_arguments(call)] += 1;
    }

    let met = |what: &str| seen.get(what).copied().unwrap_or(0);
    for (dtype, _) in &vocabulary.dtypes {
        assert!(met(&format!("dtype {dtype}")) > 100, "{dtype}");
    }
    // Types without bytes have crashed exporters.
    for zero in ["void[0]", "str[0]", "bytes[0]"] {
        assert!(met(&format!("dtype {zero}")) > 1_000, "{zero}");
    }
    for layout in [
        "Scalar",
        "SizeZero",
        "C",
        "F",
        "Gaps",
        "Negative",
        "Broadcast",
        "Overlap",
        "OddStride",
        "Misaligned",
    ] {
        assert!(met(&format!("layout {layout}")) > 2_000, "{layout}");
    }
    for &(object, _) in &vocabulary.objects {
        // Masked arrays are held back, see `Vocabulary`.
        assert!(met(&format!("object {}", object.name())) > 500, "{object:?}");
    }
    for probe in Probe::ALL {
        assert!(met(&format!("probe {}", probe.name())) > 1_000, "{probe:?}");
    }
    (0..=64).for_each(|rank| assert!(met(&format!("rank {rank}")) > 10, "{rank} axes"));
    (0..24).for_each(|order| assert!(met(&format!("order {order}")) > 10, "order {order}"));
    for rare in ["extra UnknownKeyword", "extra Positional", "keys Fresh", "ReadOnly"] {
        assert!(met(rare) > 2_000, "{rare}");
    }
    let mean = probes as f64 / (2 * DRAWS) as f64;
    // Each costs another export: three in four cases have none.
    assert!((0.25..0.5).contains(&mean), "{mean} probes on average");

    // Every concrete value of the sweep's rows and near misses.
    let sweep = Sweep::new(&vocabulary);
    let mut values = HashSet::new();
    for place in (0..sweep.len()).filter(|&place| {
        matches!(sweep.part(place), Some((Part::Calibration | Part::NearMisses, _)))
    }) {
        let call = sweep.case(place).call;
        values.extend(Keyword::ALL.map(|keyword| (keyword, call.arg(keyword).clone())));
    }
    assert!(values.len() > 150, "{}", values.len());
    for (keyword, arg) in &values {
        let what = format!("{} {}", keyword.name(), given(arg));
        assert!(met(&what) > 50, "{what}: {}", met(&what));
    }
    // Most calls have one cause to be refused at most; enough have several.
    let [none, one, several @ ..] = odd_calls;
    assert!(none + one > DRAWS && several.iter().sum::<usize>() > DRAWS / 4, "{odd_calls:?}");
}

fn given(arg: &Arg) -> String {
    arg.value().map_or("absent".to_owned(), ToString::to_string)
}

/// Arguments that an exporter of CPU arrays does not take in its stride.
fn odd_arguments(call: &Call) -> usize {
    let usual = |keyword: Keyword, value: &Value| match keyword {
        Keyword::Stream => *value == Value::int(-1),
        Keyword::MaxVersion => {
            value.as_pair().is_some_and(|(major, minor)| major >= 0 && minor >= 0)
        }
        Keyword::DlDevice => *value == Value::Own || value.as_pair() == Some((1, 0)),
        Keyword::Copy => matches!(value, Value::Scalar(Scalar::Bool(_))),
    };
    let odd = |keyword: &Keyword| match call.arg(*keyword) {
        arg if arg.is_silent() => false,
        Arg::Given(value) => !usual(*keyword, value),
        Arg::Absent => false,
    };
    Keyword::ALL.iter().filter(|keyword| odd(keyword)).count()
}

/// Bytes and texts that must go on to mean the same. A change here is a new format version, with a
/// migration of the corpus.
const GOLDEN: &str = include_str!("data/golden_cases.tsv");

#[test]
fn golden_cases_keep_their_bytes_and_texts() {
    let lines: Vec<_> = GOLDEN.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(lines.len() >= 40, "{} golden cases", lines.len());
    for line in lines {
        let (hex, text) = line.split_once('\t').expect("a line is bytes, a tab and text");
        let bytes: Vec<u8> = (0..hex.len() / 2)
            .map(|place| u8::from_str_radix(&hex[2 * place..2 * place + 2], 16).expect(hex))
            .collect();
        let case: Case = text.parse().expect(text);
        assert_eq!(Case::decode(&bytes).to_string(), text, "{hex} has another meaning");
        assert_eq!(case.encode(), bytes, "{text} has other bytes");
    }
}

/// Raw bytes too have a meaning that a corpus relies on: a digest of the texts of many.
#[test]
fn bytes_that_are_never_written_keep_their_meaning() {
    let mut rng = Rng::new(0x676f_6c64);
    let mut digest = 0xcbf2_9ce4_8422_2325_u64;
    for _ in 0..2_000 {
        for byte in Case::decode(&random_bytes(&mut rng)).to_string().bytes() {
            digest = (digest ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    assert_eq!(
        digest, 0x8a65_8878_d8f4_fcaf,
        "the digest of both versions; an appended dtype or probe may change it"
    );
}
