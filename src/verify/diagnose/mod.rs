//! Which documents differ, and in what.
//!
//! Runs only where digests differ. Source and suspected children are read again; documents are matched by all they
//! consist of, whatever their numbers. What is left over on both sides is paired ([`pairs`]), and the pairs are
//! compared part by part ([`parts`]). Memory: up to 100 bytes per document.

mod detail;
mod matching;
mod pairs;
mod parts;

use std::collections::BTreeSet;
use std::path::PathBuf;

use matching::{Entry, Matched, NOWHERE};

use super::VerifyJob;
use super::content::lanes::SegmentLanes;
use super::content::read::{self, Content, Reading};
use super::content::unit::{Detail, Part, View};
use super::content::{Routed, order, readable, view};
use super::files::Child;
use super::report::{Finding, FindingKind, Sighting};
use crate::error::{Error, Result};
use crate::partition::DocAddress;
use crate::route::ShardNumber;

/// A document of the source and one of a child.
type Pair = (Option<Entry>, Option<Entry>);

/// The segments of one side, read again.
struct Side<'a> {
    views: Vec<View<'a>>,
    /// Per view, the position of its child; for the source unused.
    children: Vec<usize>,
}

impl Side<'_> {
    fn read(&self, only: Option<&Part>, detail: Detail, reading: Reading<'_>) -> Result<Vec<SegmentLanes>> {
        let contents = read::segments(&self.views, only, detail, reading)?;
        Ok(contents.into_iter().map(|Content { lanes, .. }| lanes).collect())
    }

    fn address(&self, entry: Entry) -> Option<DocAddress> {
        let view = self.views.get(entry.view as usize)?;
        Some(DocAddress { segment: view.segment.id().to_owned(), doc: entry.doc })
    }
}

/// Both sides, and how to speak of them.
struct Case<'a> {
    job: &'a VerifyJob<'a>,
    children: &'a [Child],
    source: Side<'a>,
    found: Side<'a>,
    reading: Reading<'a>,
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

    fn shard(&self, at: usize) -> Option<ShardNumber> {
        self.children.get(at).map(|child| child.shard)
    }

    fn finding(&self, kind: FindingKind, at: usize, message: String, pairs: &[Pair]) -> Finding {
        Finding::error(kind, message).in_child(self.shard(at)).count(pairs.len() as u64).at(self.sample(pairs))
    }
}

/// Finds the documents that make the `suspects` among `children` differ from the source. `complete`: all children
/// could be read, so a document that is nowhere is lost.
pub(super) fn run(
    job: &VerifyJob<'_>,
    children: &[Child],
    suspects: &[bool],
    routed: Option<Routed<'_>>,
    (decoded, complete): (bool, bool),
    reading: Reading<'_>,
    findings: &mut Vec<Finding>,
) -> Result<()> {
    let suspect = |at: usize| suspects.get(at).copied().unwrap_or(false);
    let source = Side {
        views: job.source.segments().iter().map(|segment| view(job.source, segment, decoded, false)).collect(),
        children: Vec::new(),
    };
    let mut found = Side { views: Vec::new(), children: Vec::new() };
    for at in (0..children.len()).filter(|at| suspect(*at)) {
        let Some((_, index)) = readable(children, at) else { continue };
        for segment in index.segments() {
            found.views.push(view(index, segment, decoded, false));
            found.children.push(at);
        }
    }
    let case = Case { job, children, source, found, reading };
    let before = findings.len();

    let source_lanes = case.source.read(None, Detail::Positions, reading)?;
    let found_lanes = case.found.read(None, Detail::Positions, reading)?;
    // Documents of children that are not suspected are settled: their digests are equal.
    let owner = |view: usize, doc: u32| -> Option<usize> {
        let Some(routed) = routed else { return Some(NOWHERE) };
        let index = usize::from(*routed.assignment.segment(view).get(doc as usize)?);
        routed.indexes.iter().position(|known| *known == Some(index)).filter(|at| suspect(*at))
    };
    let place = |view: usize, _: u32| -> Option<usize> {
        if routed.is_some() { case.found.children.get(view).copied() } else { Some(NOWHERE) }
    };
    let wanted = matching::entries(&case.source.views, &source_lanes, owner);
    let present = matching::entries(&case.found.views, &found_lanes, place);
    let Matched { lost, foreign, doubled, misplaced } = matching::run(&wanted, &present);
    if routed.is_some() && !order::interleaves(job.source) {
        let moved = lost.iter().chain(&foreign);
        let moved = moved.chain(doubled.iter().chain(&misplaced).flat_map(|(source, child)| [source, child]));
        let differing: BTreeSet<usize> = moved.map(|entry| entry.at).collect();
        report_order(&case, &wanted, &present, &differing, findings);
    }

    report_doubled(&case, &doubled, findings);
    report_misplaced(&case, &misplaced, findings);
    let pairs = pairs::run(&case, (&source_lanes, &found_lanes), lost, foreign)?;
    drop((source_lanes, found_lanes));
    report_lost(&case, &pairs.lost, routed.is_some() || complete, findings);
    for (at, group) in by_child(&case, pairs.foreign.iter().map(|entry| (None, Some(*entry)))) {
        let message = format!("{} documents are not in the source", group.len());
        findings.push(case.finding(FindingKind::DocumentForeign, at, message, &group));
    }
    parts::run(&case, &pairs.altered, findings)?;

    if findings.len() == before {
        let message =
            "the digests differ, but reading again found no document that does; is something writing to them?";
        findings.push(Finding::error(FindingKind::Digest, message));
    }
    Ok(())
}

/// Groups pairs by the child in which they were found.
fn by_child(case: &Case<'_>, pairs: impl Iterator<Item = Pair>) -> Vec<(usize, Vec<Pair>)> {
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

fn report_doubled(case: &Case<'_>, doubled: &[(Entry, Entry)], findings: &mut Vec<Finding>) {
    for (at, group) in by_child(case, doubled.iter().map(|(source, child)| (Some(*source), Some(*child)))) {
        let message = format!("{} documents are there more often than in the source", group.len());
        findings.push(case.finding(FindingKind::DocumentDoubled, at, message, &group));
    }
}

fn report_misplaced(case: &Case<'_>, misplaced: &[(Entry, Entry)], findings: &mut Vec<Finding>) {
    for (at, group) in by_child(case, misplaced.iter().map(|(source, child)| (Some(*source), Some(*child)))) {
        let mut owners: Vec<ShardNumber> =
            group.iter().filter_map(|(source, _)| case.shard(source.as_ref()?.at)).collect();
        owners.sort_unstable();
        owners.dedup();
        let owners: Vec<String> = owners.iter().map(ToString::to_string).collect();
        let message = format!("{} documents belong to child {}", group.len(), owners.join(", "));
        findings.push(case.finding(FindingKind::DocumentMisplaced, at, message, &group));
    }
}

fn report_lost(case: &Case<'_>, lost: &[Entry], known: bool, findings: &mut Vec<Finding>) {
    if !known {
        // They may be in the child that could not be read.
        return;
    }
    let mut ats: Vec<usize> = lost.iter().map(|entry| entry.at).collect();
    ats.sort_unstable();
    ats.dedup();
    for at in ats {
        let group: Vec<_> = lost.iter().filter(|entry| entry.at == at).map(|entry| (Some(*entry), None)).collect();
        let message = if at == NOWHERE {
            format!("{} documents of the source are in no child", group.len())
        } else {
            format!("{} documents that belong here are not there", group.len())
        };
        findings.push(case.finding(FindingKind::DocumentLost, at, message, &group));
    }
}

/// Children that have all their documents, and no others: which stand elsewhere? The order of children in `differing`
/// means nothing.
fn report_order(
    case: &Case<'_>,
    wanted: &[Entry],
    present: &[Entry],
    differing: &BTreeSet<usize>,
    findings: &mut Vec<Finding>,
) {
    let mut ats: Vec<usize> = present.iter().map(|entry| entry.at).collect();
    ats.dedup();
    for at in ats.into_iter().filter(|at| !differing.contains(at)) {
        let wanted = wanted.iter().filter(|entry| entry.at == at);
        let present = present.iter().filter(|entry| entry.at == at);
        let moved: Vec<_> = wanted
            .zip(present)
            .filter(|(wanted, present)| wanted.hash != present.hash)
            .map(|(wanted, present)| (Some(*wanted), Some(*present)))
            .collect();
        if !moved.is_empty() {
            let message = format!("{} documents stand where source order has another", moved.len());
            findings.push(case.finding(FindingKind::Reordered, at, message, &moved));
        }
    }
}

/// The file that an error of reading names.
pub(super) fn file_of(error: &Error) -> Option<PathBuf> {
    match error {
        Error::Io { path, .. }
        | Error::Unreadable { path, .. }
        | Error::Corrupt { path, .. }
        | Error::Tantivy { path, .. }
        | Error::Panic { path, .. }
        | Error::Unsupported { path, .. } => Some(path.clone()),
        _ => None,
    }
}
