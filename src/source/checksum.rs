//! Comparing every file with the checksum in its footer.
//!
//! Input: an open [`Source`]. Output: the files whose body has another CRC-32 (IEEE) than their footer says. Reads
//! every byte once, in pieces that threads take in turn; the pieces' checksums are combined in order, so that one large
//! file keeps all threads busy. Nothing of this is done by [`Source::open`].

use std::path::PathBuf;

use crc32fast::Hasher;
use serde::Serialize;

use super::preflight::CheckedFile;
use super::{Segment, Source};
use crate::error::Result;
use crate::progress::{Cancel, Progress, Stage, Work};
use crate::threads;

/// What a thread takes at a time.
const PIECE: usize = 8 << 20;

/// A file whose bytes are not those that were written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ChecksumProblem {
    /// File name.
    pub file: String,
    /// Where it stands.
    #[serde(skip)]
    pub path: PathBuf,
    /// CRC-32 that the footer gives.
    pub expected: u32,
    /// CRC-32 of the body.
    pub found: u32,
}

impl std::fmt::Display for ChecksumProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ChecksumProblem { file, expected, found, .. } = self;
        write!(f, "{file} is damaged: its bytes have checksum {found:08x}, its footer says {expected:08x}")
    }
}

struct Piece<'a> {
    file: usize,
    bytes: &'a [u8],
}

impl Source {
    /// Compares all segment files with their footers, with `threads` threads (0: one per core).
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
        let hashers = threads::each(&pieces, threads, |piece| {
            cancel.check()?;
            let mut hasher = Hasher::new();
            hasher.update(piece.bytes);
            progress.advance(stage, Work::bytes(piece.bytes.len() as u64));
            Ok(hasher)
        })?;
        let mut found = vec![Hasher::new(); files.len()];
        for (piece, hasher) in pieces.iter().zip(&hashers) {
            if let Some(file) = found.get_mut(piece.file) {
                file.combine(hasher);
            }
        }
        let problems = files.iter().zip(found).filter_map(|(file, found)| {
            let (expected, found) = (file.footer.crc32, found.finalize());
            let name = file.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            (expected != found).then(|| ChecksumProblem { file: name, path: file.path.clone(), expected, found })
        });
        Ok(problems.collect())
    }

    /// Bytes that [`Source::check_checksums`] reads.
    #[must_use]
    pub fn num_checked_bytes(&self) -> u64 {
        self.segments().iter().flat_map(Segment::files).map(|file| file.body.len() as u64).sum()
    }
}
