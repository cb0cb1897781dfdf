//! The one error type: what was attempted, on which file, what was found, what was expected, what to do next.
//!
//! Variants are typed so that embedders can match on them; [`std::fmt::Display`] gives one line for whoever is on
//! call, and [`std::error::Error::source`] the cause below it. [`Error::kind`] says which class a failure is in: the
//! command line turns it into its exit code.

mod kind;
#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};

use crate::partition::KeyProblems;
use crate::route::{RingError, RouteError};
use crate::verify::VerifyReport;

pub use kind::ErrorKind;

/// `Result` with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An operating system call failed.
    #[error("cannot {operation} {}", path.display())]
    Io {
        /// Verb phrase: `open`, `create`, `sync`.
        operation: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },

    /// The operating system does not let an index be read.
    #[error("cannot {operation} {}; nothing was written", path.display())]
    Unreadable {
        /// Verb phrase: `open`, `map`.
        operation: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },

    /// The directory holds no index.
    #[error("{} is not a tantivy index: {problem}; name a directory with a meta.json", path.display())]
    NotAnIndex {
        /// The directory.
        path: PathBuf,
        /// What is missing or wrong.
        problem: String,
    },

    /// Another process writes to the source.
    #[error("{} is locked by a writer; close the writer (or pass --no-lock if the file system cannot lock and nothing writes)", path.display())]
    SourceLocked {
        /// The lock file.
        path: PathBuf,
    },

    /// Files that `meta.json` names are not there.
    #[error("{} lacks {} of the files its meta.json names: {}; restore them or remove the segment", path.display(), files.len(), files.join(", "))]
    MissingFiles {
        /// The index directory.
        path: PathBuf,
        /// File names, sorted.
        files: Vec<String>,
    },

    /// A file is of a kind or version that cannot be split.
    #[error("{}: {what} is {found}, expected {expected}; {hint}", path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// The property: `index format`, `store codec`.
        what: &'static str,
        /// What the file has.
        found: String,
        /// What could be read.
        expected: String,
        /// What to do.
        hint: String,
    },

    /// A file's bytes contradict themselves.
    #[error("{} is damaged: {problem}; restore it from a replica or backup", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What was found, with offset, field, term or document where known.
        problem: String,
    },

    /// Two directories cannot be shards of one index.
    #[error("{} and {} cannot be shards of one index: {difference}; re-index one of them like the other", left.display(), right.display())]
    Unlike {
        /// `meta.json` of the one.
        left: PathBuf,
        /// `meta.json` of the other.
        right: PathBuf,
        /// The first difference, in this order.
        difference: String,
    },

    /// An index directory (a routing file and its shards) is not whole.
    #[error("{} is not an index directory that can be read: {problem}", path.display())]
    IndexDirectory {
        /// The directory, or its routing file.
        path: PathBuf,
        /// What is missing or wrong, and what to do.
        problem: String,
    },

    /// A shard is no longer what was planned with.
    #[error("{} changed after it was planned with: {problem}; nothing was published; keep writers out and run again", path.display())]
    SourceChanged {
        /// The shard's directory.
        path: PathBuf,
        /// What is different.
        problem: String,
    },

    /// A field that was named does not exist or cannot serve.
    #[error("field {field:?} {problem}; usable: {}", if usable.is_empty() { "none".to_owned() } else { usable.join(", ") })]
    Field {
        /// The field as named.
        field: String,
        /// Why it cannot serve.
        problem: String,
        /// Fields that can.
        usable: Vec<String>,
    },

    /// The numbers of shards do not fit together.
    #[error(transparent)]
    Route(#[from] RouteError),

    /// A ring cannot be made, or its table not be read.
    #[error(transparent)]
    Ring(#[from] RingError),

    /// Documents without a key, with several, or of another shard, and no policy for them.
    #[error("{0}")]
    Keys(Box<KeyProblems>),

    /// The census does not add up.
    #[error("census of {}: the children get {children} documents, the source has {live} live ones; this is a defect of shardsplit, please report it; nothing was published", path.display())]
    Census {
        /// The source.
        path: PathBuf,
        /// Live documents of the source.
        live: u64,
        /// Documents dealt to children.
        children: u64,
    },

    /// Columns of one name have types that cannot be united without loss.
    #[error(
        "column {column:?} holds {types} in different segments, and uniting them would change values; use --segments keep"
    )]
    ColumnTypes {
        /// Column name.
        column: String,
        /// The types found.
        types: String,
    },

    /// A child segment's column would be larger than the format allows.
    #[error(
        "column {column:?} of child {child} would have {size} {what}, the format holds 4294967295; use --max-docs-per-segment or more shards"
    )]
    ColumnTooLarge {
        /// Column name.
        column: String,
        /// Index of the child.
        child: usize,
        /// What there would be too much of: `values`, `bytes of dictionary`.
        what: &'static str,
        /// How many.
        size: u64,
    },

    /// The target stands already.
    #[error("{} exists already; choose another --out, or remove it (shardsplit never replaces anything)", path.display())]
    TargetExists {
        /// The target.
        path: PathBuf,
    },

    /// A staging directory of another run stands beside the target.
    #[error("{} belongs to an unfinished run {}", path.display(), unfinished(target, *live))]
    StagingExists {
        /// The staging directory.
        path: PathBuf,
        /// The target it was made for.
        target: PathBuf,
        /// Whether its owner still runs.
        live: bool,
    },

    /// A manifest cannot be used.
    #[error("manifest {}: {problem}", path.display())]
    Manifest {
        /// The manifest file.
        path: PathBuf,
        /// Why not.
        problem: String,
    },

    /// A saved plan cannot be used, or not be written.
    #[error("plan {}: {problem}", path.display())]
    PlanFile {
        /// The file.
        path: PathBuf,
        /// Why not.
        problem: String,
    },

    /// The system does not let the process hold as much at once as the job will.
    #[error("the job needs {need} {what} at once, and the system allows {limit} ({name}): {hint}; nothing was written")]
    Limit {
        /// What there would be too many of: `open files`.
        what: &'static str,
        /// How many are needed, at most; those that the process holds already included.
        need: u64,
        /// How many there may be.
        limit: u64,
        /// How the system calls the limit.
        name: &'static str,
        /// What to do.
        hint: String,
    },

    /// The children do not fit on the file system.
    #[error("{} has room for {free} bytes, and the children are expected to take {need}: make room, or choose another --out; nothing was written", path.display())]
    Space {
        /// The directory of the target.
        path: PathBuf,
        /// Bytes that the plan says.
        need: u64,
        /// Bytes that are free.
        free: u64,
    },

    /// The job is done, and that cannot be told.
    #[error("{} is published, whole{}; only the report of it cannot be written", path.display(), if *verified { " and verified" } else { "" })]
    Unreported {
        /// The published set.
        path: PathBuf,
        /// Whether it was verified before.
        verified: bool,
        /// Why the report cannot be written.
        #[source]
        source: io::Error,
    },

    /// Options that contradict each other.
    #[error("{0}")]
    Usage(String),

    /// Verification found differences; nothing was published.
    #[error("verification found {}; nothing was published", .0.summary())]
    Difference(Box<VerifyReport>),

    /// tantivy could not read something that pre-flight let pass.
    #[error("{}: tantivy cannot read {what}", path.display())]
    Tantivy {
        /// The file or index.
        path: PathBuf,
        /// What was read.
        what: String,
        /// The cause.
        #[source]
        source: tantivy::TantivyError,
    },

    /// Library code panicked on what it read; the panic was caught.
    #[error("{}: {what} could not be read ({message}); the file is probably damaged", path.display())]
    Panic {
        /// The file or index.
        path: PathBuf,
        /// What was read.
        what: String,
        /// The panic's message.
        message: String,
    },

    /// Stages of this crate disagree with each other: nothing that was asked or read is to blame.
    #[error("{what}; this is a defect of shardsplit, please report it; nothing was published")]
    Defect {
        /// What cannot be.
        what: String,
    },

    /// Stopped by [`crate::progress::Cancel`].
    #[error("interrupted; nothing was published")]
    Interrupted,
}

/// What to do about somebody's staging directory.
fn unfinished(target: &Path, live: bool) -> String {
    if live {
        return "that still holds its lock; wait until it has ended".to_owned();
    }
    format!(
        "of another job, or of a source that has changed since; run that job again to finish it, or `shardsplit recover \
         --out {}` to remove it",
        target.display()
    )
}

impl Error {
    /// Wraps an I/O error with what was attempted on which path. Costs nothing where there is no error.
    pub fn io(operation: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::Io { operation, path: path.as_ref().to_path_buf(), source }
    }

    /// A damaged file.
    pub fn corrupt(path: impl AsRef<Path>, problem: impl Into<String>) -> Error {
        Error::Corrupt { path: path.as_ref().to_path_buf(), problem: problem.into() }
    }

    /// What cannot be.
    pub(crate) fn defect(what: impl Into<String>) -> Error {
        Error::Defect { what: what.into() }
    }

    /// Wraps an error of tantivy.
    pub fn tantivy<E: Into<tantivy::TantivyError>>(
        what: impl Into<String>,
        path: impl AsRef<Path>,
    ) -> impl FnOnce(E) -> Error {
        move |source| Error::Tantivy { path: path.as_ref().to_path_buf(), what: what.into(), source: source.into() }
    }

    /// The error and its causes in one line. A cause that its parent spells out already is not repeated.
    #[must_use]
    pub fn one_line(&self) -> String {
        // Without line breaks: an error is one line in a log.
        let flat = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut line = flat(self.to_string());
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            let text = flat(error.to_string());
            if !text.is_empty() && !line.contains(&text) {
                line.push_str(": ");
                line.push_str(&text);
            }
            cause = error.source();
        }
        if let Error::Io { source, .. } = self
            && source.kind() == io::ErrorKind::FileTooLarge
        {
            line.push_str("; a limit on the size of files is in the way: `ulimit -f unlimited`");
        }
        line
    }
}
