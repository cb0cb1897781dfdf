//! A few threads that take pieces of work in turn.
//!
//! For work whose pieces do not wait for each other. What has to be appended in order goes through the writers' own
//! pool.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::error::Result;

/// More are never started.
const MOST: usize = 1024;

/// How many threads are meant: 0 is one per core.
pub(crate) fn number(asked: usize) -> usize {
    match asked {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        asked => asked.min(MOST),
    }
}

/// Calls `work` with each of `items` on `threads` threads (0: one per core) and returns the results in their order.
/// Items are taken in order: put long work first. The first error stops the others from taking more; of several, that
/// of the earliest item is returned.
pub(crate) fn each<I: Sync, T: Send>(
    items: &[I],
    threads: usize,
    work: impl Fn(&I) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let threads = number(threads).min(items.len());
    if threads <= 1 {
        return items.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::with_capacity(items.len()));
    let take = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else { break };
            let result = work(item);
            if result.is_err() {
                next.store(items.len(), Ordering::Relaxed);
            }
            results.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            // Fewer threads do the same work.
            if std::thread::Builder::new().spawn_scoped(scope, take).is_err() {
                break;
            }
        }
        take();
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Does two things at once, if there may be two threads.
pub(crate) fn both<A: Send, B>(threads: usize, first: impl FnOnce() -> A + Send, second: impl FnOnce() -> B) -> (A, B) {
    if number(threads) <= 1 {
        return (first(), second());
    }
    std::thread::scope(|scope| {
        let first = scope.spawn(first);
        let second = second();
        // What panicked there goes on panicking here, where somebody waits for it.
        (first.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), second)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn results_come_in_order_of_the_numbers_and_none_is_left_out() {
        for threads in [0, 1, 2, 7] {
            let results = each(&(0..100).collect::<Vec<_>>(), threads, |item| Ok(item * 3)).unwrap();
            assert_eq!(results, (0..100).map(|item| item * 3).collect::<Vec<_>>());
        }
        assert!(each(&[(); 0], 4, |()| Ok(())).unwrap().is_empty());
    }

    #[test]
    fn both_are_done_with_any_number_of_threads() {
        for threads in [0, 1, 2] {
            assert_eq!(both(threads, || 1, || "two"), (1, "two"));
        }
        let caught = std::panic::catch_unwind(|| both(2, || panic!("first"), || ()));
        assert_eq!(caught.unwrap_err().downcast_ref(), Some(&"first"));
    }

    #[test]
    fn an_error_ends_the_work() {
        let taken = AtomicUsize::new(0);
        let result = each(&(0..1_000_000).collect::<Vec<_>>(), 2, |&item| {
            taken.fetch_add(1, Ordering::Relaxed);
            if item == 10 { Err(Error::Interrupted) } else { Ok(()) }
        });
        assert!(matches!(result, Err(Error::Interrupted)));
        assert!(taken.load(Ordering::Relaxed) < 1_000_000);
    }
}
