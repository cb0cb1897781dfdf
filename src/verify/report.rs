//! What verification says.

use std::path::PathBuf;

use serde::Serialize;

use super::content::Digest;
use super::finding::{Finding, Grade};
use crate::route::ShardNumber;

/// How much is verified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerifyLevel {
    /// Files with their checksums, census, ownership, content of every plane.
    #[default]
    Full,
    /// Files (present, footers) and census.
    Counts,
    /// Nothing.
    None,
}

/// What was compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// Files are there, their checksums hold, `meta.json` and `.managed.json` say what they should.
    Files,
    /// Numbers of documents add up.
    Census,
    /// Every document's key routes to the child that has it.
    Ownership,
    /// Content of all documents, whichever child they are in.
    Content,
    /// Content per child, against what routing of the source says.
    ContentPerChild,
    /// Documents of a child stand in source order, or in that of the index sort.
    Order,
    /// Stored token totals.
    TokenTotals,
}

/// Statistics of a field in one child, all but `terms` sums: added up over children they are those of one index of all
/// documents.
///
/// BM25 over several shards scores like one index if every shard is given the sums over all of them: of documents
/// ([`VerifiedChild::docs`] and [`VerifiedChild::deleted`]), of `total_num_tokens`, and of the document frequency of each
/// term of the query, which a child's dictionary gives at once (`Searcher::doc_freq`). In tantivy,
/// `EnableScoring::enabled_from_statistics_provider` takes them. The sums here change only when the children do.
///
/// As in tantivy and Lucene, documents that are deleted count until a merge drops them. Rewritten children have none;
/// linked children have those of their siblings, whose documents therefore count once per child.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FieldStatistics {
    /// The field.
    pub field: String,
    /// Sum of the stored token totals of the child's segments (Lucene's `sumTotalTermFreq`).
    pub total_num_tokens: u64,
    /// Documents whose norm says that they have a token (Lucene's `docCount`); `None` for fields without norms.
    pub docs_with_field: Option<u64>,
    /// Terms in the dictionaries of the child's segments; a term of several segments counts in each.
    pub terms: u64,
    /// Sum of the document frequencies of all terms: how many postings there are (Lucene's `sumDocFreq`).
    pub sum_doc_freq: u64,
}

/// One child as it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VerifiedChild {
    /// Shard number.
    pub shard: ShardNumber,
    /// Its directory.
    pub path: PathBuf,
    /// Live documents; `None` if it could not be opened.
    pub docs: Option<u64>,
    /// Deleted documents that its segments still hold; `None` if it could not be opened.
    pub deleted: Option<u64>,
    /// Digest of the content of its live documents; `None` if it was not read.
    pub digest: Option<Digest>,
    /// Statistics of indexed fields; empty if the content was not read.
    pub fields: Vec<FieldStatistics>,
}

/// What verification found.
#[derive(Clone, Debug, Serialize)]
pub struct VerifyReport {
    /// How much was verified.
    pub level: VerifyLevel,
    /// The source.
    pub source: PathBuf,
    /// Live documents of the source.
    pub docs: u64,
    /// Digest of the content of the source's live documents; `None` if it was not read.
    pub source_digest: Option<Digest>,
    /// Sum of the digests of the children; equal to the source's if and only if nothing was lost, doubled or altered.
    pub children_digest: Option<Digest>,
    /// The children in the order given.
    pub children: Vec<VerifiedChild>,
    /// What was checked.
    pub checks: Vec<Check>,
    /// Keys that verification hashed, of the source and of the children.
    pub keys_hashed: u64,
    /// All findings, worst first.
    pub findings: Vec<Finding>,
    /// Wall-clock seconds.
    pub seconds: f64,
}

impl VerifyReport {
    /// What was found in the parts of a whole index, as one: sums of documents and digests, children ascending, findings
    /// worst first. `source`: the index.
    #[must_use]
    pub fn of_parts(source: PathBuf, parts: Vec<VerifyReport>) -> VerifyReport {
        let level = parts.first().map_or_else(VerifyLevel::default, |part| part.level);
        let sum = |digest: fn(&VerifyReport) -> Option<Digest>| {
            parts.iter().map(digest).try_fold(Digest::default(), |mut sum, digest| {
                sum.add(digest?);
                Some(sum)
            })
        };
        let (source_digest, children_digest) = (sum(|part| part.source_digest), sum(|part| part.children_digest));
        let mut whole = VerifyReport {
            level,
            source,
            docs: parts.iter().map(|part| part.docs).sum(),
            source_digest,
            children_digest,
            children: Vec::new(),
            checks: Vec::new(),
            keys_hashed: parts.iter().map(|part| part.keys_hashed).sum(),
            findings: Vec::new(),
            seconds: parts.iter().map(|part| part.seconds).sum(),
        };
        for part in parts {
            whole.children.extend(part.children);
            whole.checks.extend(part.checks);
            whole.findings.extend(part.findings);
        }
        whole.children.sort_by_key(|child| child.shard);
        whole.checks.sort();
        whole.checks.dedup();
        whole.findings.sort_by_key(|finding| std::cmp::Reverse(finding.grade));
        whole
    }

    /// Whether nothing of grade [`Grade::Error`] was found.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.findings.iter().all(|finding| finding.grade < Grade::Error)
    }

    /// Number of findings of a grade.
    #[must_use]
    pub fn count(&self, grade: Grade) -> usize {
        self.findings.iter().filter(|finding| finding.grade == grade).count()
    }

    /// `3 differences; first: …`, or `no difference`.
    #[must_use]
    pub fn summary(&self) -> String {
        let errors = self.count(Grade::Error);
        let first = self.findings.iter().find(|finding| finding.grade == Grade::Error);
        match first {
            None => "no difference".to_owned(),
            Some(first) if errors == 1 => format!("1 difference: {first}"),
            Some(first) => format!("{errors} differences; first: {first}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::FindingKind;
    use super::*;

    fn report(findings: Vec<Finding>) -> VerifyReport {
        VerifyReport {
            level: VerifyLevel::Full,
            source: PathBuf::from("source"),
            docs: 1,
            source_digest: None,
            children_digest: None,
            children: Vec::new(),
            checks: Vec::new(),
            keys_hashed: 0,
            findings,
            seconds: 0.0,
        }
    }

    #[test]
    fn a_whole_has_a_digest_only_if_every_part_has_one() {
        let digest = Some(Digest::default());
        let part = |source_digest| VerifyReport { source_digest, docs: 2, ..report(Vec::new()) };
        let whole = VerifyReport::of_parts(PathBuf::from("index"), vec![part(digest), part(digest)]);
        assert_eq!((whole.docs, whole.source_digest, whole.children_digest), (4, digest, None));
        let error = report(vec![Finding::error(FindingKind::Census, "one is missing")]);
        let whole = VerifyReport::of_parts(PathBuf::from("index"), vec![part(digest), error]);
        assert!(!whole.is_clean() && whole.source_digest.is_none());
    }

    #[test]
    fn warnings_leave_a_report_clean_and_errors_do_not() {
        let warning = Finding::new(Grade::Warning, FindingKind::UnknownFile, "a stranger");
        assert!(report(vec![warning.clone()]).is_clean());
        let error = Finding::error(FindingKind::Census, "one is missing").in_child(3);
        let both = report(vec![error, warning]);
        assert!(!both.is_clean());
        assert_eq!(both.summary(), "1 difference: child 3: one is missing");
    }
}
