//! Laws of the case formats: what is written can be read again, and every byte string is a case. By the
//! project's own random numbers from fixed seeds, so that a failure comes back.

use dlpack_fuzz::case::{Call, Case, MAX_ENCODED, Probes, Rng, Tensor};

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
    assert_eq!(
        &Case::decode(&bytes),
        case,
        "decode(encode(case)) for {bytes:02x?}"
    );
    let text = case.to_string();
    assert_eq!(
        text.parse::<Case>().as_ref(),
        Ok(case),
        "parse(display(case)) for {text}"
    );
    assert_eq!(
        &case.clone().normalized(),
        case,
        "normalized(case) for {text}"
    );
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
    let plain = Case {
        tensor: Tensor::plain(),
        call: Call::default(),
        probes: Probes::NONE,
    };
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
