//! Which class a failure is in.

use std::io;

use super::Error;

/// Classes of failure, one per exit code of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The job failed on its way: I/O, memory, disk space, unroutable documents, a defect (exit 1).
    Failed,
    /// The request cannot be right: options contradict each other or the index (exit 2).
    Usage,
    /// Verification found a difference (exit 3).
    Difference,
    /// The source cannot be read, or was refused at pre-flight (exit 4).
    Source,
    /// The target exists already (exit 5).
    Target,
    /// Stopped on request (exit 130).
    Interrupted,
}

impl Error {
    /// Whether the process ran out of something (file descriptors, memory), so that the file is not to blame.
    #[must_use]
    pub fn is_shortage(&self) -> bool {
        if matches!(self, Error::Limit { .. }) {
            return true;
        }
        let (Error::Io { source, .. } | Error::Unreadable { source, .. }) = self else { return false };
        // EMFILE and ENFILE have no kind of their own; 24 and 23 on every Unix.
        source.kind() == io::ErrorKind::OutOfMemory || cfg!(unix) && matches!(source.raw_os_error(), Some(23 | 24))
    }

    /// The class of this failure.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Io { .. }
            | Error::Keys(_)
            | Error::Census { .. }
            | Error::Manifest { .. }
            | Error::ColumnTooLarge { .. }
            | Error::Limit { .. }
            | Error::Space { .. }
            | Error::Unreported { .. }
            | Error::Defect { .. } => ErrorKind::Failed,
            Error::Field { .. }
            | Error::Route(_)
            | Error::Ring(_)
            | Error::Usage(_)
            | Error::PlanFile { .. }
            | Error::ColumnTypes { .. } => ErrorKind::Usage,
            Error::Difference(_) => ErrorKind::Difference,
            Error::Unreadable { .. } if self.is_shortage() => ErrorKind::Failed,
            Error::Unreadable { .. }
            | Error::NotAnIndex { .. }
            | Error::SourceLocked { .. }
            | Error::MissingFiles { .. }
            | Error::Unsupported { .. }
            | Error::Corrupt { .. }
            | Error::Unlike { .. }
            | Error::IndexDirectory { .. }
            | Error::SourceChanged { .. }
            | Error::Tantivy { .. }
            | Error::Panic { .. } => ErrorKind::Source,
            Error::TargetExists { .. } | Error::StagingExists { .. } => ErrorKind::Target,
            Error::Interrupted => ErrorKind::Interrupted,
        }
    }
}
