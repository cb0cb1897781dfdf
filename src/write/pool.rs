//! Work that is cut into units, done in any order by several threads, and appended in order.
//!
//! A *track* is a sequence of units (ranges of terms, ranges of store blocks). Threads take units in turn, produce one
//! piece per output from each, and append the pieces to the outputs in unit order. What an output receives therefore
//! does not depend on the number of threads. How far a track may run ahead of its slowest append is bounded, and with
//! it the memory that waiting pieces take.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use crossbeam::utils::Backoff;
use parking::{Condvar, Mutex};

use crate::error::{Error, Result};
use crate::progress::Cancel;
use crate::source::guard;

/// Locks that cannot be poisoned from the outside: a panic in a unit ends the whole run with an error anyway.
mod parking {
    use std::sync::PoisonError;

    pub(super) use std::sync::Condvar;

    #[derive(Debug)]
    pub(super) struct Mutex<T>(std::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(super) fn new(value: T) -> Mutex<T> {
            Mutex(std::sync::Mutex::new(value))
        }

        pub(super) fn lock(&self) -> std::sync::MutexGuard<'_, T> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }

        pub(super) fn into_inner(self) -> T {
            self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
        }
    }
}

/// Units of work that may run in any order, with appends that stay in order.
pub(super) trait Track: Sync {
    /// Number of units.
    fn units(&self) -> usize;

    /// Units whose pieces were appended everywhere.
    fn appended(&self) -> usize;

    /// Does unit `unit`. Called once for each, from any thread, started in ascending order.
    fn run(&self, unit: usize) -> Result<()>;
}

struct State {
    /// Per track.
    turns: Vec<Turn>,
    /// The error of the earliest unit that failed, and that unit: track, number.
    error: Option<((usize, usize), Error)>,
}

/// How far a track is.
#[derive(Clone, Copy, Default)]
struct Turn {
    /// Next unit to start.
    next: usize,
    /// Threads at work in it.
    at_work: usize,
}

impl State {
    /// Takes the next unit: track and number. A thread goes where the fewest are at work: what is appended in order may
    /// keep threads of one track waiting for each other, and one track computes while another waits for memory. Of several
    /// such tracks it goes to the earliest.
    ///
    /// # Errors
    /// Whether there will be more.
    fn take(&mut self, tracks: &[&dyn Track], ahead: usize) -> Result<(usize, usize), bool> {
        let left = |(track, turn): (&&dyn Track, &Turn)| turn.next < track.units();
        let may =
            |track: &dyn Track, turn: &Turn| turn.next < track.units().min(track.appended().saturating_add(ahead));
        let open = tracks.iter().zip(&mut self.turns).enumerate().filter(|(_, (track, turn))| may(**track, turn));
        match open.min_by_key(|(_, (_, turn))| turn.at_work) {
            Some((track, (_, turn))) => {
                turn.at_work += 1;
                turn.next += 1;
                Ok((track, turn.next - 1))
            }
            None => Err(tracks.iter().zip(&self.turns).any(left)),
        }
    }
}

/// Runs all units of all tracks on `threads` threads. `source`: what they read, to be named where damage in it makes
/// library code panic.
///
/// An error keeps further units from being started. Those under way are finished, and of several errors that of the
/// earliest unit is returned: within a track, the same for any number of threads.
pub(super) fn run(tracks: &[&dyn Track], source: &Path, threads: usize, cancel: &Cancel) -> Result<()> {
    let threads = threads.max(1);
    // One unit being appended, one being produced per thread, and one to spare.
    let ahead = 2 * threads;
    let state = Mutex::new(State { turns: vec![Turn::default(); tracks.len()], error: None });
    let progressed = Condvar::new();

    let work = || {
        loop {
            let mut held = state.lock();
            let at = loop {
                if held.error.is_some() {
                    return;
                }
                match held.take(tracks, ahead) {
                    Ok(at) => break at,
                    Err(false) => return,
                    Err(true) => held = progressed.wait(held).unwrap_or_else(std::sync::PoisonError::into_inner),
                }
            };
            drop(held);
            let run = || tracks.get(at.0).map_or(Ok(()), |track| track.run(at.1));
            let result = cancel.check().and_then(|()| guard(source, "the source", run));
            // Taking the lock orders the wake-up after a sleeper's look at `appended`.
            let mut held = state.lock();
            held.turns.get_mut(at.0).into_iter().for_each(|turn| turn.at_work -= 1);
            if let Err(error) = result
                && held.error.as_ref().is_none_or(|(before, _)| at < *before)
            {
                held.error = Some((at, error));
            }
            drop(held);
            progressed.notify_all();
        }
    };

    if threads == 1 {
        work();
    } else {
        let scope = crossbeam::thread::scope(|scope| {
            for _ in 1..threads {
                // Fewer threads do the same work.
                if scope.builder().spawn(|_| work()).is_err() {
                    break;
                }
            }
            work();
        });
        if scope.is_err() {
            return Err(Error::defect("a worker thread panicked outside its units"));
        }
    }
    match state.into_inner().error {
        Some((_, error)) => Err(error),
        None => Ok(()),
    }
}

/// Hands pieces to one appender per output, each in unit order.
pub(super) struct InOrder<P, A> {
    lanes: Vec<Lane<P, A>>,
}

struct Lane<P, A> {
    appended: AtomicUsize,
    queue: Mutex<Queue<P, A>>,
}

struct Queue<P, A> {
    waiting: BTreeMap<usize, P>,
    /// Taken out by the thread that appends.
    appender: Option<A>,
}

impl<P: Send, A: Send> InOrder<P, A> {
    pub(super) fn new(appenders: impl IntoIterator<Item = A>) -> InOrder<P, A> {
        let lanes = appenders
            .into_iter()
            .map(|appender| Lane {
                appended: AtomicUsize::new(0),
                queue: Mutex::new(Queue { waiting: BTreeMap::new(), appender: Some(appender) }),
            })
            .collect();
        InOrder { lanes }
    }

    /// Units appended to all outputs.
    pub(super) fn appended(&self) -> usize {
        self.lanes.iter().map(|lane| lane.appended.load(Ordering::Acquire)).min().unwrap_or(usize::MAX / 2)
    }

    /// Delivers the pieces of `unit`, one per output, and appends whatever is next.
    pub(super) fn deliver(
        &self,
        unit: usize,
        pieces: Vec<P>,
        append: impl Fn(usize, &mut A, P) -> Result<()>,
    ) -> Result<()> {
        let lanes = self.lanes.len();
        for (output, piece) in pieces.into_iter().enumerate() {
            if let Some(lane) = self.lanes.get(output) {
                lane.queue.lock().waiting.insert(unit, piece);
            }
        }
        // Threads start at different outputs, so that they seldom meet.
        for offset in 0..lanes {
            let output = (unit + offset) % lanes.max(1);
            if let Some(lane) = self.lanes.get(output) {
                lane.drain(|appender, piece| append(output, appender, piece))?;
            }
        }
        Ok(())
    }

    /// Delivers the piece of `unit` for one output, and appends whatever is next there.
    pub(super) fn deliver_to(
        &self,
        output: usize,
        unit: usize,
        piece: P,
        append: impl Fn(&mut A, P) -> Result<()>,
    ) -> Result<()> {
        let Some(lane) = self.lanes.get(output) else { return Ok(()) };
        lane.queue.lock().waiting.insert(unit, piece);
        lane.drain(append)
    }

    /// The appenders, after all units.
    pub(super) fn into_appenders(self) -> impl Iterator<Item = A> {
        self.lanes.into_iter().filter_map(|lane| lane.queue.into_inner().appender)
    }
}

impl<P, A> Lane<P, A> {
    fn drain(&self, append: impl Fn(&mut A, P) -> Result<()>) -> Result<()> {
        let backoff = Backoff::new();
        loop {
            let mut queue = self.queue.lock();
            let next = self.appended.load(Ordering::Relaxed);
            if queue.appender.is_none() || !queue.waiting.contains_key(&next) {
                // Either nothing is next, or another thread appends and will look again before it leaves.
                return Ok(());
            }
            let (Some(mut appender), Some(piece)) = (queue.appender.take(), queue.waiting.remove(&next)) else {
                backoff.spin();
                continue;
            };
            drop(queue);
            let result = append(&mut appender, piece);
            let mut queue = self.queue.lock();
            queue.appender = Some(appender);
            self.appended.store(next + 1, Ordering::Release);
            drop(queue);
            result?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Numbers {
        units: usize,
        lanes: InOrder<usize, Vec<usize>>,
        most_waiting: AtomicUsize,
        fail_at: Option<usize>,
    }

    impl Numbers {
        fn new(units: usize, outputs: usize) -> Numbers {
            let lanes = InOrder::new((0..outputs).map(|_| Vec::new()));
            Numbers { units, lanes, most_waiting: AtomicUsize::new(0), fail_at: None }
        }
    }

    impl Track for Numbers {
        fn units(&self) -> usize {
            self.units
        }

        fn appended(&self) -> usize {
            self.lanes.appended()
        }

        fn run(&self, unit: usize) -> Result<()> {
            self.most_waiting.fetch_max(unit.saturating_sub(self.lanes.appended()), Ordering::Relaxed);
            if self.fail_at == Some(unit) {
                return Err(Error::Usage(format!("unit {unit}")));
            }
            if unit.is_multiple_of(7) {
                std::thread::sleep(std::time::Duration::from_micros(300));
            }
            let pieces = (0..self.lanes.lanes.len()).map(|output| unit * 1000 + output).collect();
            self.lanes.deliver(unit, pieces, |_, seen, piece| {
                seen.push(piece);
                Ok(())
            })
        }
    }

    #[test]
    fn every_output_receives_every_unit_in_order_with_any_number_of_threads() {
        for threads in [1, 2, 3, 8] {
            let (first, second) = (Numbers::new(200, 5), Numbers::new(50, 2));
            run(&[&first, &second], Path::new("s"), threads, &Cancel::new()).unwrap();
            assert!(first.most_waiting.load(Ordering::Relaxed) <= 2 * threads, "ran too far ahead");
            for (track, units) in [(first, 200), (second, 50)] {
                for (output, seen) in track.lanes.into_appenders().enumerate() {
                    let expected: Vec<usize> = (0..units).map(|unit| unit * 1000 + output).collect();
                    assert_eq!(seen, expected, "{threads} threads, output {output}");
                }
            }
        }
    }

    /// Units that fail, each later than the ones after it.
    struct Failing(usize);

    impl Track for Failing {
        fn units(&self) -> usize {
            self.0
        }

        fn appended(&self) -> usize {
            0
        }

        fn run(&self, unit: usize) -> Result<()> {
            let later = u64::try_from(self.0 - unit).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(5 * later));
            Err(Error::Usage(format!("unit {unit}")))
        }
    }

    #[test]
    fn of_several_errors_that_of_the_earliest_unit_is_told() {
        for threads in [1, 2, 8] {
            let error = run(&[&Failing(8)], Path::new("s"), threads, &Cancel::new()).unwrap_err();
            assert!(matches!(error, Error::Usage(message) if message == "unit 0"), "{threads} threads");
        }
    }

    #[test]
    fn the_first_error_ends_the_run() {
        for threads in [1, 4] {
            let mut track = Numbers::new(100, 3);
            track.fail_at = Some(17);
            let error = run(&[&track], Path::new("s"), threads, &Cancel::new()).unwrap_err();
            assert!(matches!(error, Error::Usage(message) if message == "unit 17"));
        }
    }

    #[test]
    fn threads_spread_over_tracks_and_meet_in_one_when_no_other_may_go_on() {
        let (first, second) = (Numbers::new(3, 1), Numbers::new(9, 1));
        let tracks: [&dyn Track; 2] = [&first, &second];
        let mut state = State { turns: vec![Turn::default(); 2], error: None };
        let mut take = |done: Option<usize>| {
            done.into_iter().for_each(|track| state.turns[track].at_work -= 1);
            state.take(&tracks, 4)
        };
        assert_eq!([take(None), take(None), take(None)], [Ok((0, 0)), Ok((1, 0)), Ok((0, 1))]);
        // One is done in the first, then in the second.
        assert_eq!([take(Some(0)), take(Some(1))], [Ok((0, 2)), Ok((1, 1))]);
        // The first has none left, the second may run ahead by two more.
        assert_eq!([take(Some(0)), take(None), take(None)], [Ok((1, 2)), Ok((1, 3)), Err(true)]);
        (0..9).for_each(|unit| second.run(unit).unwrap());
        for unit in 4..9 {
            assert_eq!(take(None), Ok((1, unit)));
        }
        assert_eq!(take(None), Err(false));
    }

    #[test]
    fn cancelling_ends_the_run() {
        let cancel = Cancel::new();
        cancel.cancel();
        let track = Numbers::new(10, 1);
        assert!(matches!(run(&[&track], Path::new("s"), 2, &cancel), Err(Error::Interrupted)));
    }

    #[test]
    fn a_track_without_outputs_still_runs() {
        let track = Numbers::new(10, 0);
        run(&[&track], Path::new("s"), 2, &Cancel::new()).unwrap();
    }
}
