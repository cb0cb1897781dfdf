//! Findings: typed, graded, with counts and a bounded sample of addresses.
//!
//! Every difference is reported with the number of documents it concerns; addresses are a sample
//! ([`super::VerifyJob::sample`] of them per finding), so that a report stays small however much is wrong.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

use crate::partition::DocAddress;
use crate::route::ShardNumber;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// Worth knowing.
    Note,
    /// Not lost, but not as it should be.
    Warning,
    /// The children are not the source.
    Error,
}

/// What kind of difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FindingKind {
    /// A child cannot be opened at all.
    ChildUnreadable,
    /// The set of children is not the one that routing asks for.
    ChildSet,
    /// A file that `meta.json` names is not there.
    MissingFile,
    /// A file is there that nothing names.
    UnknownFile,
    /// A file's footer cannot be read.
    Footer,
    /// A file's bytes do not have the checksum of its footer.
    Checksum,
    /// `.managed.json` does not list exactly the files that are there: garbage collection and checksum validation
    /// would pass over some.
    ManagedFiles,
    /// The schema is not the source's.
    Schema,
    /// The index settings are not the source's.
    Settings,
    /// Opstamp, payload or another part of `meta.json` is not the source's.
    Meta,
    /// A segment's parts disagree about its number of documents.
    MaxDoc,
    /// A column or norms that the schema asks for are not there, or have another type.
    MissingPart,
    /// The number of live documents is not what it should be.
    Census,
    /// A document's key routes to another child.
    Stray,
    /// Keys of a child could not be read, or some documents have none.
    Keys,
    /// A plane could not be read: the reader failed or panicked.
    Unreadable,
    /// A plane contradicts itself: postings out of order, position lists of the wrong length, wrong skip data.
    Structure,
    /// Documents of the source that are in no child.
    DocumentLost,
    /// Documents that are there more often than in the source.
    DocumentDoubled,
    /// Documents that the source does not have.
    DocumentForeign,
    /// Documents that are in another child than routing says.
    DocumentMisplaced,
    /// Documents of a child are not in order.
    Reordered,
    /// Stored bytes differ.
    StoredBytes,
    /// A term is not in the child's dictionary although documents there have it.
    TermLost,
    /// Postings that a document should have are not there.
    PostingLost,
    /// A document has postings that it should not have.
    PostingAdded,
    /// Term frequencies differ.
    TermFrequency,
    /// Positions differ.
    Positions,
    /// Column values differ.
    ColumnValue,
    /// Field norms differ.
    FieldNorm,
    /// Digests differ, yet no document could be named.
    Digest,
    /// A stored token total is not what the postings say.
    TokenTotal,
    /// A hash sidecar is missing, damaged or of another segment: the next split ignores it and hashes keys again.
    Sidecar,
    /// A sound hash sidecar has other hashes than the keys: the next split would put documents into the wrong child.
    SidecarHash,
    /// Segments are shared with the source, deleted documents and token totals with them.
    Shared,
    /// A check could not be made.
    Skipped,
}

/// One document, in the source, in the child, or both.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Sighting {
    /// Where it stands in the source.
    pub source: Option<DocAddress>,
    /// Where it stands in the child.
    pub child: Option<DocAddress>,
}

impl fmt::Display for Sighting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.source, &self.child) {
            (Some(source), Some(child)) => write!(f, "source {source}, child {child}"),
            (Some(source), None) => write!(f, "source {source}"),
            (None, Some(child)) => write!(f, "child {child}"),
            (None, None) => f.write_str("no document"),
        }
    }
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How bad.
    pub grade: Grade,
    /// What kind.
    pub kind: FindingKind,
    /// In which child; `None` if it concerns the source or the set.
    pub child: Option<ShardNumber>,
    /// The file that is at fault, where one is.
    pub file: Option<PathBuf>,
    /// How many documents, files or entries it concerns.
    pub count: u64,
    /// The first documents it concerns.
    pub documents: Vec<Sighting>,
    /// One sentence with what was found and what was expected.
    pub message: String,
}

impl Finding {
    /// A finding without a place; the methods below add one.
    pub(super) fn new(grade: Grade, kind: FindingKind, message: impl Into<String>) -> Finding {
        Finding { grade, kind, child: None, file: None, count: 1, documents: Vec::new(), message: message.into() }
    }

    pub(super) fn error(kind: FindingKind, message: impl Into<String>) -> Finding {
        Finding::new(Grade::Error, kind, message)
    }

    pub(super) fn in_child(mut self, child: impl Into<Option<ShardNumber>>) -> Finding {
        self.child = child.into();
        self
    }

    pub(super) fn in_file(mut self, file: impl Into<PathBuf>) -> Finding {
        self.file = Some(file.into());
        self
    }

    pub(super) fn count(mut self, count: u64) -> Finding {
        self.count = count;
        self
    }

    pub(super) fn at(mut self, documents: Vec<Sighting>) -> Finding {
        self.documents = documents;
        self
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(child) = self.child {
            write!(f, "child {child}: ")?;
        }
        f.write_str(&self.message)?;
        if let Some(document) = self.documents.first() {
            write!(f, " ({document}{})", if self.documents.len() > 1 { ", …" } else { "" })?;
        }
        if let Some(file) = &self.file {
            write!(f, " [{}]", file.display())?;
        }
        Ok(())
    }
}
