//! Findings: typed, graded, with addresses.

use serde::Serialize;

use crate::route::ShardNumber;

/// How much is verified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerifyLevel {
    /// Files, census, ownership, content of every plane.
    #[default]
    Full,
    /// Files (present, sizes, footers) and census.
    Counts,
    /// Nothing.
    None,
}

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
    /// Placeholder.
    Placeholder,
}

/// One finding.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// How bad.
    pub grade: Grade,
    /// What kind.
    pub kind: FindingKind,
    /// In which child; `None` if it concerns the set.
    pub child: Option<ShardNumber>,
    /// One sentence with file, found and expected.
    pub message: String,
}

/// What verification found.
#[derive(Clone, Debug, Serialize)]
pub struct VerifyReport {
    /// How much was verified.
    pub level: VerifyLevel,
    /// All findings.
    pub findings: Vec<Finding>,
}

impl VerifyReport {
    /// Whether nothing of grade [`Grade::Error`] was found.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.findings.iter().all(|finding| finding.grade < Grade::Error)
    }

    /// `3 differences, first: …`.
    #[must_use]
    pub fn summary(&self) -> String {
        String::new()
    }
}
