//! Writing behind: files go to the disk while they, and others, are still being written.
//!
//! Only the seal makes files durable ([`super::FileSystem::sync_files`]); by then little should be left to do. So
//! every few megabytes of a file are synced by a thread that does nothing else. It takes what it can: where it falls
//! behind, or no thread could be had, the bytes wait for the seal.
//!
//! Invariant: an error that the system reports here it will not report again, so it is kept, and the seal fails with
//! it. Cost: at most [`QUEUE`] open files more.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use crossbeam::channel::{Sender, bounded};

use crate::write::{OutputFile, SyncBehind};

/// Bytes of a file that are worth a sync of their own.
const STEP: u64 = 2 << 20;

/// Syncs that may wait.
const QUEUE: usize = 16;

/// Syncs in the background.
#[derive(Debug, Default)]
pub(super) struct WriteBehind {
    worker: Mutex<Worker>,
}

#[derive(Debug, Default)]
enum Worker {
    #[default]
    NotStarted,
    Running {
        jobs: Sender<SyncBehind>,
        thread: JoinHandle<io::Result<()>>,
    },
    /// No thread could be had.
    Absent,
}

impl WriteBehind {
    /// `unsynced` bytes of `file` are on no disk yet. Returns how many are left to be told again.
    pub(super) fn offer(&self, file: &dyn OutputFile, unsynced: u64) -> u64 {
        if unsynced < STEP || !self.take(file) { unsynced } else { 0 }
    }

    /// The last bytes of `file` were written.
    pub(super) fn last(&self, file: &dyn OutputFile) {
        // If it cannot be taken the seal will find more to do.
        let _taken = self.take(file);
    }

    fn take(&self, file: &dyn OutputFile) -> bool {
        let Some(sync) = file.sync_behind() else { return false };
        let mut worker = self.worker();
        if matches!(*worker, Worker::NotStarted) {
            *worker = start();
        }
        match &*worker {
            Worker::Running { jobs, .. } => jobs.try_send(sync).is_ok(),
            Worker::NotStarted | Worker::Absent => false,
        }
    }

    /// Ends the thread, and tells the first error that it met.
    pub(super) fn finish(&self) -> io::Result<()> {
        match std::mem::take(&mut *self.worker()) {
            Worker::Running { jobs, thread } => {
                drop(jobs);
                thread.join().unwrap_or_else(|_| Err(io::Error::other("the syncing thread panicked")))
            }
            Worker::NotStarted | Worker::Absent => Ok(()),
        }
    }

    fn worker(&self) -> MutexGuard<'_, Worker> {
        self.worker.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn start() -> Worker {
    let (jobs, queue) = bounded::<SyncBehind>(QUEUE);
    let work = move || {
        let mut result = Ok(());
        // After an error the queue is still emptied: files are closed as they leave it.
        for sync in queue {
            result = result.and_then(|()| sync());
        }
        result
    };
    match std::thread::Builder::new().name("write-behind".to_owned()).spawn(work) {
        Ok(thread) => Worker::Running { jobs, thread },
        Err(_) => Worker::Absent,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Counts syncs; from the given one on they fail.
    struct Counted(Arc<AtomicUsize>, usize);

    impl Write for Counted {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl OutputFile for Counted {
        fn patch(&mut self, _offset: u64, _bytes: &[u8]) -> io::Result<()> {
            Ok(())
        }

        fn close(self: Box<Self>) -> io::Result<()> {
            Ok(())
        }

        fn sync_behind(&self) -> Option<SyncBehind> {
            let (count, fails) = (Arc::clone(&self.0), self.1);
            Some(Box::new(move || match count.fetch_add(1, Ordering::Relaxed) {
                nth if nth >= fails => Err(io::Error::other(format!("sync {nth}"))),
                _ => Ok(()),
            }))
        }
    }

    #[test]
    fn few_bytes_wait_and_many_are_synced_before_the_end() {
        let count = Arc::new(AtomicUsize::new(0));
        let (behind, file) = (WriteBehind::default(), Counted(Arc::clone(&count), usize::MAX));
        assert_eq!(behind.offer(&file, STEP - 1), STEP - 1);
        assert_eq!(behind.offer(&file, STEP), 0);
        behind.last(&file);
        behind.finish().unwrap();
        assert_eq!(count.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn the_first_error_is_told_at_the_end_and_nothing_is_synced_after_it() {
        let count = Arc::new(AtomicUsize::new(0));
        let (behind, file) = (WriteBehind::default(), Counted(Arc::clone(&count), 1));
        (0..QUEUE / 2).for_each(|_| behind.last(&file));
        assert_eq!(behind.finish().unwrap_err().to_string(), "sync 1");
        assert_eq!(count.load(Ordering::Relaxed), 2);
        behind.finish().unwrap();
    }
}
