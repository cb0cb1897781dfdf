//! A few threads that take pieces of work in turn.
//!
//! For work whose pieces do not wait for each other. What has to be appended in order goes through the writers' own
//! pool.

use std::collections::VecDeque;
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
        // Fewer threads do the same work.
        let start = |_| std::thread::Builder::new().spawn_scoped(scope, take).ok();
        let others: Vec<_> = (1..threads).map_while(start).collect();
        take();
        // What panicked there goes on panicking here, where somebody waits for it.
        others.into_iter().for_each(|other| other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
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
        // As in [`each`].
        (first.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), second)
    })
}

/// Like [`each`], of items that belong to groups: a thread stays with a group while there is work in it, and then goes to
/// the one at which the fewest are, so that threads meet in one only where no other is left.
///
/// `group`: of an item, a small number. Items of a group are begun in their order; results come in the order of items.
pub(crate) fn each_by_group<I: Sync, T: Send>(
    items: &[I],
    group: impl Fn(&I) -> usize,
    threads: usize,
    work: impl Fn(&I) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let mut turns = Turns::default();
    for (index, item) in items.iter().enumerate() {
        let group = group(item);
        if group >= turns.left.len() {
            turns.left.resize_with(group + 1, VecDeque::new);
            turns.at.resize(group + 1, 0);
        }
        turns.left.get_mut(group).into_iter().for_each(|left| left.push_back(index));
    }
    let turns = Mutex::new(turns);
    let next = |group: &mut Option<usize>| {
        let mut turns = turns.lock().unwrap_or_else(PoisonError::into_inner);
        let index = turns.next(*group)?;
        *group = Some(index.0);
        Some(index.1)
    };
    let threads = number(threads).min(items.len());
    let workers: Vec<()> = vec![(); threads];
    let results = each(&workers, threads, |()| {
        let (mut group, mut results) = (None, Vec::new());
        while let Some(index) = next(&mut group) {
            let Some(item) = items.get(index) else { continue };
            match work(item) {
                Ok(result) => results.push((index, result)),
                Err(error) => {
                    turns.lock().unwrap_or_else(PoisonError::into_inner).left.clear();
                    return Err(error);
                }
            }
        }
        Ok(results)
    })?;
    let mut results: Vec<(usize, T)> = results.into_iter().flatten().collect();
    results.sort_by_key(|(index, _)| *index);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

/// Items that nobody has taken, by group, and how many threads are at each.
#[derive(Default)]
struct Turns {
    left: Vec<VecDeque<usize>>,
    at: Vec<usize>,
}

impl Turns {
    /// Group and item for a thread that is at group `current`.
    fn next(&mut self, current: Option<usize>) -> Option<(usize, usize)> {
        if let Some(group) = current {
            if let Some(index) = self.left.get_mut(group).and_then(VecDeque::pop_front) {
                return Some((group, index));
            }
            self.at.get_mut(group).into_iter().for_each(|at| *at -= 1);
        }
        let with_work = self.left.iter().enumerate().filter(|(_, left)| !left.is_empty()).map(|(group, _)| group);
        let group = with_work.min_by_key(|&group| self.at.get(group).copied())?;
        self.at.get_mut(group).into_iter().for_each(|at| *at += 1);
        Some((group, self.left.get_mut(group)?.pop_front()?))
    }
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
    fn a_panic_in_any_thread_keeps_its_words() {
        let here = std::thread::current().id();
        for panics_here in [false, true] {
            let both = std::sync::Barrier::new(2);
            let work = |_: &i32| {
                both.wait();
                let is_here = std::thread::current().id() == here;
                assert!(is_here != panics_here, "told");
                Ok(())
            };
            let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| each(&[1, 2], 2, work)));
            assert_eq!(caught.unwrap_err().downcast_ref::<&str>(), Some(&"told"));
        }
    }

    #[test]
    fn of_groups_every_item_is_done_once_and_results_come_in_order() {
        for threads in [0, 1, 2, 7] {
            let items: Vec<usize> = (0..100).collect();
            let done = AtomicUsize::new(0);
            let results = each_by_group(
                &items,
                |item| item % 3,
                threads,
                |&item| {
                    done.fetch_add(1, Ordering::Relaxed);
                    Ok(item * 3)
                },
            );
            assert_eq!(results.unwrap(), (0..100).map(|item| item * 3).collect::<Vec<_>>());
            assert_eq!(done.into_inner(), 100);
        }
        let failed =
            each_by_group(&[1, 2, 3], |_| 0, 2, |&item| if item == 2 { Err(Error::Interrupted) } else { Ok(()) });
        assert!(matches!(failed, Err(Error::Interrupted)));
    }

    #[test]
    fn threads_keep_to_a_group_and_meet_in_one_only_when_no_other_is_left() {
        let left = vec![VecDeque::from([0, 1, 2]), VecDeque::from([3]), VecDeque::from([4, 5])];
        let mut turns = Turns { left, at: vec![0; 3] };
        assert_eq!(turns.next(None), Some((0, 0)));
        assert_eq!(turns.next(None), Some((1, 3)));
        assert_eq!(turns.next(Some(0)), Some((0, 1)));
        assert_eq!(turns.next(Some(1)), Some((2, 4)));
        assert_eq!(turns.next(Some(2)), Some((2, 5)));
        assert_eq!(turns.next(Some(2)), Some((0, 2)));
        assert_eq!((turns.next(Some(0)), turns.next(Some(0))), (None, None));
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
