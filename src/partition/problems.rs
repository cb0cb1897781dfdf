//! Documents that routing alone cannot place: what they are, what to do with them, how they are reported.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::route::ShardNumber;
use crate::source::Segment;

/// Addresses kept of each kind of problem.
const SAMPLE: usize = 10;
/// Addresses named in the one-line message.
const NAMED: usize = 3;

/// Where a document stands: printed as `segment <id> doc <n>`, or `segment <directory>/<id> doc <n>`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct DocAddress {
    /// The index directory, where the source has several: ids may repeat in them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dir: Option<PathBuf>,
    /// Segment id, 32 hexadecimal digits.
    pub segment: String,
    /// DocId.
    pub doc: u32,
}

impl fmt::Display for DocAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.dir {
            Some(dir) => write!(f, "segment {} doc {}", dir.join(&self.segment).display(), self.doc),
            None => write!(f, "segment {} doc {}", self.segment, self.doc),
        }
    }
}

impl DocAddress {
    /// Address of a document of `segment`.
    #[must_use]
    pub fn of(segment: &Segment, doc: u32) -> DocAddress {
        let dir = segment.origin_dir().map(Path::to_path_buf);
        DocAddress { dir, segment: segment.id().to_owned(), doc }
    }
}

/// What to do with documents that routing alone cannot place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// Stop the run before anything is written.
    #[default]
    Refuse,
    /// Give them to the child with this shard number.
    Child(u32),
}

/// Policies for documents that routing alone cannot place. Documents with several keys are always refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyPolicies {
    /// Documents without a key.
    pub missing: Policy,
    /// Documents whose hash says that they belong to another source shard.
    pub stray: Policy,
}

/// Documents that stopped a run: counts and the first addresses of each kind, in source order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct KeyProblems {
    /// The field whose values decide, where it is not a key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Documents without a key.
    pub missing: u64,
    /// Documents with several keys.
    pub several: u64,
    /// Documents of another source shard.
    pub stray: u64,
    /// First addresses of documents without a key.
    pub missing_sample: Vec<DocAddress>,
    /// First addresses of documents with several keys.
    pub several_sample: Vec<DocAddress>,
    /// First addresses of documents of another shard, with the shard they belong to.
    pub stray_sample: Vec<(DocAddress, u32)>,
}

impl KeyProblems {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.missing == 0 && self.several == 0 && self.stray == 0
    }

    pub(super) fn add_missing(&mut self, address: impl FnOnce() -> DocAddress) {
        self.missing += 1;
        keep(&mut self.missing_sample, address);
    }

    pub(super) fn add_several(&mut self, address: impl FnOnce() -> DocAddress) {
        self.several += 1;
        keep(&mut self.several_sample, address);
    }

    pub(super) fn add_stray(&mut self, address: impl FnOnce() -> DocAddress, owner: ShardNumber) {
        self.stray += 1;
        keep(&mut self.stray_sample, || (address(), owner));
    }

    /// Adds the problems of a later segment.
    pub(super) fn append(&mut self, later: KeyProblems) {
        self.missing += later.missing;
        self.several += later.several;
        self.stray += later.stray;
        later.missing_sample.into_iter().for_each(|address| keep(&mut self.missing_sample, || address));
        later.several_sample.into_iter().for_each(|address| keep(&mut self.several_sample, || address));
        later.stray_sample.into_iter().for_each(|stray| keep(&mut self.stray_sample, || stray));
    }
}

impl KeyProblems {
    /// The line where values of `field` decide.
    fn without_key(&self, field: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if self.missing > 0 {
            parts.push(format!(
                "{} no value in {field:?} ({}): give them to a child with --missing-key child:N",
                count(self.missing, "has", "have"),
                first(self.missing, self.missing_sample.iter().map(DocAddress::to_string))
            ));
        }
        if self.several > 0 {
            parts.push(format!(
                "{} values of several children in {field:?} ({}): no child is right for them, so use --by query, where the \
                 first query decides",
                count(self.several, "has", "have"),
                first(self.several, self.several_sample.iter().map(DocAddress::to_string))
            ));
        }
        write!(f, "{}; nothing was written", parts.join("; "))
    }
}

fn keep<T>(sample: &mut Vec<T>, item: impl FnOnce() -> T) {
    if sample.len() < SAMPLE {
        sample.push(item());
    }
}

impl fmt::Display for KeyProblems {
    /// One line: counts, first addresses, and what to do.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if let Some(field) = &self.field {
            return self.without_key(field, f);
        }
        if self.missing > 0 {
            parts.push(format!(
                "{} no key ({}): name the field that has it with --key, or give them to a child with --missing-key child:N",
                count(self.missing, "has", "have"),
                first(self.missing, self.missing_sample.iter().map(DocAddress::to_string))
            ));
        }
        if self.several > 0 {
            parts.push(format!(
                "{} several different keys ({}): no child is right for them, so name a field with one value in --key and --routing-field",
                count(self.several, "has", "have"),
                first(self.several, self.several_sample.iter().map(DocAddress::to_string))
            ));
        }
        if self.stray > 0 {
            let sample = self.stray_sample.iter().map(|(address, owner)| format!("{address} to shard {owner}"));
            parts.push(format!(
                "{} to another shard than the source ({}): check --source-shard, --source-shards, --routing-field and the routing \
                 function (of an index directory: routing.json), or give them to a child with --stray child:N",
                count(self.stray, "belongs", "belong"),
                first(self.stray, sample)
            ));
        }
        write!(f, "{}; nothing was written", parts.join("; "))
    }
}

fn count(documents: u64, one: &str, many: &str) -> String {
    if documents == 1 { format!("1 document {one}") } else { format!("{documents} documents {many}") }
}

fn first(documents: u64, sample: impl Iterator<Item = String>) -> String {
    let named: Vec<String> = sample.take(NAMED).collect();
    let more = if documents > named.len() as u64 { ", …" } else { "" };
    format!("{}{more}", named.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(segment: &str, doc: u32) -> impl FnOnce() -> DocAddress {
        move || DocAddress { dir: None, segment: segment.to_owned(), doc }
    }

    #[test]
    fn an_address_in_one_of_several_directories_names_it() {
        let address = at("a", 3)();
        assert_eq!(address.to_string(), "segment a doc 3");
        let address = DocAddress { dir: Some("index/4".into()), ..address };
        assert_eq!(address.to_string(), "segment index/4/a doc 3");
    }

    #[test]
    fn the_message_is_one_line_with_counts_addresses_and_remedies() {
        let mut problems = KeyProblems::default();
        assert!(problems.is_empty());
        problems.add_missing(at("a", 3));
        for doc in 0..12 {
            problems.add_stray(at("b", doc), 7);
        }
        assert_eq!(problems.stray_sample.len(), 10);
        let text = problems.to_string();
        assert!(text.starts_with("1 document has no key (segment a doc 3): "), "{text}");
        assert!(text.contains("--missing-key child:N"), "{text}");
        let strays = "12 documents belong to another shard than the source \
                      (segment b doc 0 to shard 7, segment b doc 1 to shard 7, segment b doc 2 to shard 7, …)";
        assert!(text.contains(strays), "{text}");
        assert!(text.contains("--stray child:N") && !text.contains("several"), "{text}");
        assert!(!text.contains('\n'), "{text}");
    }

    #[test]
    fn problems_of_later_segments_come_after_those_of_earlier_ones() {
        let mut all = KeyProblems::default();
        for segment in ["a", "b"] {
            let mut problems = KeyProblems::default();
            for doc in 0..6 {
                problems.add_several(at(segment, doc));
            }
            all.append(problems);
        }
        assert_eq!(all.several, 12);
        let docs: Vec<String> =
            all.several_sample.iter().map(|address| format!("{}{}", address.segment, address.doc)).collect();
        assert_eq!(docs, ["a0", "a1", "a2", "a3", "a4", "a5", "b0", "b1", "b2", "b3"]);
    }
}
