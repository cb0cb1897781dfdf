//! From digests that differ to findings that name documents.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::case::{Case, Side, by_child};
use super::matching::{self, Entry, Matched, NOWHERE};
use super::{pairs, parts};
use crate::error::{Error, Result};
use crate::route::ShardNumber;
use crate::verify::VerifyJob;
use crate::verify::content::read::Reading;
use crate::verify::content::unit::Detail;
use crate::verify::content::{Routed, order, readable, view};
use crate::verify::files::Child;
use crate::verify::finding::{Finding, FindingKind};

/// Finds the documents that make the `suspects` among `children` differ from the source. `complete`: all children
/// could be read, so a document that is nowhere is lost.
pub(in crate::verify) fn run(
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

    let source_sums = case.source.read(None, Detail::Positions, reading)?;
    let found_sums = case.found.read(None, Detail::Positions, reading)?;
    // Documents of children that are not suspected are settled: their digests are equal.
    let owner = |view: usize, doc: u32| -> Option<usize> {
        let Some(routed) = routed else { return Some(NOWHERE) };
        let index = usize::from(*routed.assignment.segment(view).get(doc as usize)?);
        routed.indexes.iter().position(|known| *known == Some(index)).filter(|at| suspect(*at))
    };
    let place = |view: usize, _: u32| -> Option<usize> {
        if routed.is_some() { case.found.children.get(view).copied() } else { Some(NOWHERE) }
    };
    let wanted = matching::entries(&case.source.views, &source_sums, owner);
    let present = matching::entries(&case.found.views, &found_sums, place);
    let Matched { lost, foreign, doubled, misplaced } = matching::run(&wanted, &present);
    if routed.is_some() && !order::interleaves(job.source) {
        let moved = lost.iter().chain(&foreign);
        let moved = moved.chain(doubled.iter().chain(&misplaced).flat_map(|(source, child)| [source, child]));
        let differing: BTreeSet<usize> = moved.map(|entry| entry.at).collect();
        report_order(&case, &wanted, &present, &differing, findings);
    }

    report_doubled(&case, &doubled, findings);
    report_misplaced(&case, &misplaced, findings);
    let mut pairs = pairs::run(&case, (&source_sums, &found_sums), lost, foreign)?;
    drop((source_sums, found_sums));
    let mut altered = Vec::new();
    parts::run(&case, &mut pairs, &mut altered)?;
    report_lost(&case, &pairs.lost, routed.is_some() || complete, findings);
    for (at, group) in by_child(&case, pairs.foreign.iter().map(|entry| (None, Some(*entry)))) {
        let message = format!("{} documents are not in the source", group.len());
        findings.push(case.finding(FindingKind::DocumentForeign, at, message, &group));
    }
    findings.append(&mut altered);

    if findings.len() == before {
        let message =
            "the digests differ, but reading again found no document that does; is something writing to them?";
        findings.push(Finding::error(FindingKind::Digest, message));
    }
    Ok(())
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
pub(in crate::verify) fn file_of(error: &Error) -> Option<PathBuf> {
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
