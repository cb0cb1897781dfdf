//! A few threads taking numbered work in turn.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::error::Result;

/// Calls `work` with 0..`count` on `threads` threads (0: one per core) and returns the results in order. Numbers are
/// taken in ascending order: put long work first. The first error stops the others from taking more.
pub(super) fn each<T: Send>(count: usize, threads: usize, work: impl Fn(usize) -> Result<T> + Sync) -> Result<Vec<T>> {
    let threads = match threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    if threads.min(count) <= 1 {
        return (0..count).map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::with_capacity(count));
    let take = || loop {
        let index = next.fetch_add(1, Ordering::Relaxed);
        if index >= count {
            break;
        }
        let result = work(index);
        if result.is_err() {
            next.store(count, Ordering::Relaxed);
        }
        results.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(count) {
            scope.spawn(take);
        }
        take();
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn results_come_in_order_of_the_numbers_and_none_is_left_out() {
        for threads in [0, 1, 2, 7] {
            let results = each(100, threads, |index| Ok(index * 3)).unwrap();
            assert_eq!(results, (0..100).map(|index| index * 3).collect::<Vec<_>>());
        }
        assert!(each(0, 4, |_| Ok(())).unwrap().is_empty());
    }

    #[test]
    fn an_error_ends_the_work() {
        let taken = AtomicUsize::new(0);
        let result = each(1_000_000, 2, |index| {
            taken.fetch_add(1, Ordering::Relaxed);
            if index == 10 { Err(Error::Interrupted) } else { Ok(()) }
        });
        assert!(matches!(result, Err(Error::Interrupted)));
        assert!(taken.load(Ordering::Relaxed) < 1_000_000);
    }
}
