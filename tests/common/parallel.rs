//! Checks that wait for interpreters of their own: several at a time.

use std::sync::Mutex;

/// What is wrong with any of the items; each is checked on one thread.
pub fn wrong<I>(items: I, check: impl Fn(I::Item) -> Vec<String> + Sync) -> Vec<String>
where
    I: Iterator + Send,
{
    let next = Mutex::new(items);
    let take = || next.lock().expect("no thread panics while it holds this").next();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..std::thread::available_parallelism().map_or(1, usize::from))
            .map(|_| scope.spawn(|| std::iter::from_fn(take).flat_map(&check).collect::<Vec<_>>()))
            .collect();
        threads.into_iter().flat_map(|it| it.join().expect("no script stops a thread")).collect()
    })
}
