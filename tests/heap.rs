//! The heap's growth as the allocator counts it, in a process of its own: other tests would grow it too.

use dlpack_fuzz::host::heap::Slope;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::hint::black_box;

fn slope(mut round: impl FnMut()) -> f64 {
    let slope = Slope { pulse: &|| (), settle: &|| (), wait: &std::thread::sleep };
    let Ok(slope) = slope.of(|| {
        round();
        Ok::<_, Infallible>(())
    });
    slope.expect("glibc counts")
}

#[test]
fn leaks_grow_and_caches_do_not() {
    for (size, least) in [(1, 16.0), (100, 100.0)] {
        let found = slope(|| std::mem::forget(black_box(vec![0u8; size])));
        assert!((least..least + 40.0).contains(&found), "{size} bytes lost: {found}");
    }
    assert_eq!(slope(|| drop(black_box(vec![0u8; 100]))), 0.0);

    let mut last = VecDeque::new();
    let keeps_the_last = || {
        last.push_back(vec![0u8; 100]);
        last.drain(..last.len().saturating_sub(1000));
    };
    assert_eq!(slope(keeps_the_last), 0.0, "a cache of the last thousand");
    let mut table: Vec<[u8; 64]> = Vec::new();
    assert_eq!(slope(|| table.push([0; 64])), 0.0, "a table that doubles its room");
    let mut blocks = Vec::new();
    let fills = || {
        if blocks.len() < 8_000 {
            blocks.push(vec![0u8; 100]);
        }
    };
    assert_eq!(slope(fills), 0.0, "a cache that is full in the end");

    // Another thread frees, and comes to it only when nobody adds any more.
    let (queue, late) = std::sync::mpsc::channel::<Vec<u8>>();
    std::thread::spawn(move || {
        let mut waiting = Vec::new();
        loop {
            match late.recv_timeout(std::time::Duration::from_millis(200)) {
                Ok(block) => waiting.push(block),
                Err(std::sync::mpsc::RecvTimeoutError::Timeout) => waiting = Vec::new(),
                Err(_) => return,
            }
        }
    });
    let hands_over = || queue.send(black_box(vec![0u8; 100])).expect("the thread lives");
    assert_eq!(slope(hands_over), 0.0, "a queue that is worked off in the end");
}
