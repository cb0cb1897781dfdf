//! What a plan rests on: which numbers of children are legal, how keys are spread, what the disk has to say.
//!
//! Input: a prepared split. Output: an [`Explanation`], pure data. Cost beyond the plan: seventeen passes over the
//! routing hashes in memory, and a look at the file systems. Memory: 4 bytes for a sixteenth of the documents at a time,
//! as far as hashes are spread; at most 4 bytes per document.

mod keys;
mod place;

use serde::Serialize;

use crate::plan::Method;
use crate::route::Choices;

pub use keys::{HeavyKey, KeyCounts, KeyHistogram};
pub(crate) use keys::{count_keys, histogram};
pub use place::Place;
pub(crate) use place::look;

/// What [`crate::job::Prepared::explain`] says.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// Legal numbers of children; `None` where no routing decides.
    pub choices: Option<Choices>,
    /// Documents by part of the hash space; `None` where no routing decides.
    pub histogram: Option<KeyHistogram>,
    /// How keys are spread; `None` where no routing decides.
    pub keys: Option<KeyCounts>,
    /// Documents of the largest child over those of the mean child.
    pub imbalance: f64,
    /// Most bytes taken on the target file system while the job runs, by method.
    pub disk: Vec<MethodBytes>,
    /// Source and target file system.
    pub place: Place,
    /// Most documents that a segment can have.
    pub most_docs_per_segment: u32,
    /// Documents of the largest child.
    pub largest_child: u64,
    /// What an operator should know, beyond the plan's own warnings.
    pub warnings: Vec<String>,
}

/// Disk that a method takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MethodBytes {
    /// The method.
    pub method: Method,
    /// Bytes at the peak: children, nothing else. Of links: what is not shared with the source.
    pub peak_bytes: u64,
}
