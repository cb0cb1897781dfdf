//! Both sides of a difference, and how to speak of their documents.

use super::matching::{Entry, NOWHERE};
use crate::error::Result;
use crate::partition::DocAddress;
use crate::route::ShardNumber;
use crate::verify::VerifyJob;
use crate::verify::content::read::{self, Content, Reading};
use crate::verify::content::sums::SegmentSums;
use crate::verify::content::unit::{Detail, Part, View};
use crate::verify::files::Child;
use crate::verify::finding::{Finding, FindingKind, Sighting};

/// A document of the source and one of a child.
pub(super) type Pair = (Option<Entry>, Option<Entry>);

/// The segments of one side, read again.
pub(super) struct Side<'a> {
    pub(super) views: Vec<View<'a>>,
    /// Per view, the position of its child; for the source unused.
    pub(super) children: Vec<usize>,
}

impl Side<'_> {
    pub(super) fn read(&self, only: Option<&Part>, detail: Detail, reading: Reading<'_>) -> Result<Vec<SegmentSums>> {
        let contents = read::segments(&self.views, only, detail, reading)?;
        Ok(contents.into_iter().map(|Content { sums, .. }| sums).collect())
    }

    fn address(&self, entry: Entry) -> Option<DocAddress> {
        let view = self.views.get(entry.view as usize)?;
        Some(DocAddress::of(view.segment, entry.doc))
    }
}

/// Both sides, and how to speak of them.
pub(super) struct Case<'a> {
    pub(super) job: &'a VerifyJob<'a>,
    pub(super) children: &'a [Child],
    pub(super) source: Side<'a>,
    pub(super) found: Side<'a>,
    pub(super) reading: Reading<'a>,
}

impl Case<'_> {
    fn sighting(&self, source: Option<Entry>, child: Option<Entry>) -> Sighting {
        Sighting {
            source: source.and_then(|entry| self.source.address(entry)),
            child: child.and_then(|entry| self.found.address(entry)),
        }
    }

    fn sample(&self, pairs: &[Pair]) -> Vec<Sighting> {
        pairs.iter().take(self.job.sample).map(|(source, child)| self.sighting(*source, *child)).collect()
    }

    pub(super) fn shard(&self, at: usize) -> Option<ShardNumber> {
        self.children.get(at).map(|child| child.shard)
    }

    pub(super) fn finding(&self, kind: FindingKind, at: usize, message: String, pairs: &[Pair]) -> Finding {
        Finding::error(kind, message).in_child(self.shard(at)).count(pairs.len() as u64).at(self.sample(pairs))
    }
}

/// Groups pairs by the child in which they were found.
pub(super) fn by_child(case: &Case<'_>, pairs: impl Iterator<Item = Pair>) -> Vec<(usize, Vec<Pair>)> {
    let mut groups: Vec<(usize, Vec<_>)> = Vec::new();
    for pair in pairs {
        let at = pair.1.and_then(|entry| case.found.children.get(entry.view as usize).copied()).unwrap_or(NOWHERE);
        match groups.iter_mut().find(|(known, _)| *known == at) {
            Some((_, group)) => group.push(pair),
            None => groups.push((at, vec![pair])),
        }
    }
    groups.sort_by_key(|(at, _)| *at);
    groups
}
