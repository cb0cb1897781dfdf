//! Comparing every file with the checksum in its footer.
//!
//! Input: an open [`Source`]. Output: the files whose body has another CRC-32 (IEEE) than their footer says. Reads
//! every byte once, in pieces that threads take in turn; the pieces' checksums are combined in order, so that one large
//! file keeps all threads busy. Nothing of this is done by [`Source::open`].

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crc32fast::Hasher;
use serde::Serialize;

use super::preflight::CheckedFile;
use super::{Segment, Source};
use crate::error::Result;
use crate::progress::{Cancel, Progress, Stage, Work};

/// What a thread takes at a time.
const PIECE: usize = 8 << 20;

/// A file whose bytes are not those that were written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ChecksumProblem {
    /// File name.
    pub file: String,
    /// CRC-32 that the footer gives.
    pub expected: u32,
    /// CRC-32 of the body.
    pub found: u32,
}

impl std::fmt::Display for ChecksumProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ChecksumProblem { file, expected, found } = self;
        write!(f, "{file} is damaged: its bytes have checksum {found:08x}, its footer says {expected:08x}")
    }
}

struct Piece<'a> {
    file: usize,
    bytes: &'a [u8],
}

impl Source {
    /// Compares all segment files with their footers, with `threads` threads (at least one).
    ///
    /// Problems come in the order of `meta.json`. Reports bytes to `progress` under `stage`, without beginning or
    /// ending it: total is [`Source::num_checked_bytes`].
    ///
    /// # Errors
    /// [`Error::Interrupted`](crate::Error::Interrupted).
    pub fn check_checksums(
        &self,
        threads: usize,
        stage: Stage,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<Vec<ChecksumProblem>> {
        let files: Vec<&CheckedFile> = self.segments().iter().flat_map(Segment::files).collect();
        let pieces: Vec<Piece<'_>> = files
            .iter()
            .enumerate()
            .flat_map(|(file, checked)| checked.body.chunks(PIECE).map(move |bytes| Piece { file, bytes }))
            .collect();
        let next = AtomicUsize::new(0);
        let done: Mutex<Vec<(usize, Hasher)>> = Mutex::new(Vec::with_capacity(pieces.len()));
        let work = || -> Result<()> {
            loop {
                cancel.check()?;
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(piece) = pieces.get(index) else { return Ok(()) };
                let mut hasher = Hasher::new();
                hasher.update(piece.bytes);
                progress.advance(stage, Work::bytes(piece.bytes.len() as u64));
                done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((index, hasher));
            }
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (1..threads.min(pieces.len())).map(|_| scope.spawn(work)).collect();
            let mine = work();
            workers.into_iter().fold(mine, |result, worker| {
                let theirs = worker.join().unwrap_or_else(|payload| std::panic::resume_unwind(payload));
                result.and(theirs)
            })
        })?;

        let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        done.sort_by_key(|(index, _)| *index);
        let mut found = vec![Hasher::new(); files.len()];
        for (piece, (_, hasher)) in pieces.iter().zip(&done) {
            if let Some(file) = found.get_mut(piece.file) {
                file.combine(hasher);
            }
        }
        let problems = files.iter().zip(found).filter_map(|(file, found)| {
            let (expected, found) = (file.footer.crc32, found.finalize());
            let name = file.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            (expected != found).then_some(ChecksumProblem { file: name, expected, found })
        });
        Ok(problems.collect())
    }

    /// Bytes that [`Source::check_checksums`] reads.
    #[must_use]
    pub fn num_checked_bytes(&self) -> u64 {
        self.segments().iter().flat_map(Segment::files).map(|file| file.body.len() as u64).sum()
    }
}
