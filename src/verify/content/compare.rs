//! Source and children side by side: digests per child and over all, token totals, order.

use super::digest::{Digest, Sequence};
use super::read::{Content, Reading};
use super::unit::{Detail, View};
use super::{order, read, shared, tokens};
use crate::error::Result;
use crate::partition::Assignment;
use crate::route::ShardNumber;
use crate::source::{Segment, Source};
use crate::verify::files::Child;
use crate::verify::finding::{Finding, FindingKind, Grade};
use crate::verify::report::{Check, VerifyReport};
use crate::verify::{VerifyJob, diagnose};

/// Digests of the live documents of one child: as a set and in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Digests {
    set: Digest,
    sequence: Sequence,
}

impl Digests {
    fn push(&mut self, document: Digest) {
        self.set.add(document);
        self.sequence.push(document);
    }
}

/// Which child each source document belongs to.
#[derive(Clone, Copy)]
pub(in crate::verify) struct Routed<'a> {
    /// Index of the child in routing, per source document.
    pub(in crate::verify) assignment: &'a Assignment,
    /// Index in routing, per child of the job.
    pub(in crate::verify) indexes: &'a [Option<usize>],
}

/// Reads and compares everything.
pub(in crate::verify) fn compare(
    job: &VerifyJob<'_>,
    children: &[Child],
    routed: Option<Routed<'_>>,
    reading: Reading<'_>,
    report: &mut VerifyReport,
) -> Result<()> {
    let decoded = needs_decoding(job.source, children);
    let originals = shared::Originals::of(job.source);
    let shared: Vec<Vec<Option<usize>>> = children.iter().map(|child| originals.segments(child)).collect();
    let keep_sums = shared.iter().flatten().any(Option::is_some);

    // The source: digests per child that routing gives its documents, and over all.
    let views: Vec<View<'_>> =
        job.source.segments().iter().map(|segment| view(job.source, segment, decoded, false)).collect();
    let contents = read::segments(&views, None, Detail::Positions, reading)?;
    let source_sound = take_failures(None, &views, &contents, report);
    let num_routed = routed.map_or(0, |routed| routed.assignment.num_children());
    let mut wanted = vec![Digests::default(); num_routed];
    let mut all = Digests::default();
    for (at, (view, content)) in views.iter().zip(&contents).enumerate() {
        let owners = routed.map_or(&[][..], |routed| routed.assignment.segment(at));
        for_each_live(view.segment, content, |doc, document| {
            all.push(document);
            let owner = owners.get(doc as usize).and_then(|&owner| wanted.get_mut(usize::from(owner)));
            if let Some(digests) = owner {
                digests.push(document);
            }
        });
    }
    let moved = routed.and_then(|routed| stay_first(job, routed, &views, &contents));
    let mut totals = tokens::Totals::of_source(job.source, &contents);
    let source_contents = keep_sums.then_some(contents);
    if source_sound {
        report.source_digest = Some(all.set);
    }

    // The children, as many at once as the source has documents.
    let mut found: Vec<Option<Digests>> = vec![None; children.len()];
    let mut next = 0;
    while next < children.len() {
        let batch = batch(children, &shared, next, job.source);
        let mut slots = Vec::new();
        let mut views = Vec::new();
        for at in batch.clone() {
            let Some((_, index)) = readable(children, at) else { continue };
            for (number, segment) in index.segments().iter().enumerate() {
                if shared_with(&shared, at, number).is_none() {
                    slots.push((at, number));
                    views.push(view(index, segment, decoded, segment.num_docs() == segment.max_doc()));
                }
            }
        }
        let contents = read::segments(&views, None, Detail::Positions, reading)?;
        for at in batch.clone() {
            let Some((child, index)) = readable(children, at) else { continue };
            let mut sound = true;
            let mut digests = Digests::default();
            let mut statistics = tokens::ChildTotals::default();
            for (number, segment) in index.segments().iter().enumerate() {
                let own = slots.iter().position(|slot| *slot == (at, number));
                let content = match shared_with(&shared, at, number) {
                    Some(source) => source_contents.as_ref().and_then(|contents| contents.get(source)),
                    None => own.and_then(|own| contents.get(own)),
                };
                let Some(content) = content else { continue };
                for_each_live(segment, content, |_, document| digests.push(document));
                if let Some(own) = own {
                    let (views, contents) = (views.get(own..=own), contents.get(own..=own));
                    sound &= take_failures(Some(child.shard), views.unwrap_or(&[]), contents.unwrap_or(&[]), report);
                }
                let content = (content, own.is_none());
                totals.add(job.source, child, segment, content, &mut statistics, &mut report.findings);
            }
            if let Some(verified) = report.children.get_mut(at) {
                verified.fields = statistics.fields(&job.source.schema());
                verified.digest = sound.then_some(digests.set);
            }
            if let Some(slot) = found.get_mut(at) {
                *slot = sound.then_some(digests);
            }
        }
        next = batch.end;
    }
    drop(source_contents);

    report.checks.push(Check::Content);
    report.checks.push(Check::TokenTotals);
    let complete = found.iter().all(Option::is_some);
    if complete {
        totals.compare(job.source, &mut report.findings);
        let mut sum = Digest::default();
        found.iter().flatten().for_each(|digests| sum.add(digests.set));
        report.children_digest = Some(sum);
    } else {
        let message =
            "some children could not be read: whether the others have everything else is known per child only";
        report.findings.push(Finding::new(Grade::Note, FindingKind::Skipped, message));
    }
    if !source_sound {
        let message = "the source itself could not be read in full, so nothing was compared";
        report.findings.push(Finding::error(FindingKind::Skipped, message).in_file(job.source.dir()));
        return Ok(());
    }

    let mut suspects = vec![false; children.len()];
    let mut unordered = vec![false; children.len()];
    if let Some(routed) = routed {
        report.checks.push(Check::ContentPerChild);
        report.checks.push(Check::Order);
        for (at, (found, index)) in found.iter().zip(routed.indexes).enumerate() {
            let (Some(found), Some(wanted)) = (found, index.and_then(|index| wanted.get(index))) else { continue };
            // Where documents move, those that stay may come first: they are linked, and the others written behind them.
            let stay_first = index.zip(moved.as_ref()).and_then(|(index, moved)| moved.get(index));
            let ordered = found.sequence == wanted.sequence || Some(&found.sequence) == stay_first;
            let (suspect, order) = (found.set != wanted.set, found.set == wanted.set && !ordered);
            suspects.get_mut(at).into_iter().for_each(|slot| *slot = suspect);
            unordered.get_mut(at).into_iter().for_each(|slot| *slot = order);
        }
    }
    let total_differs = complete && report.children_digest != report.source_digest;
    if total_differs && !suspects.contains(&true) {
        suspects = found.iter().map(Option::is_some).collect();
    }
    for (child, _) in children.iter().zip(&unordered).filter(|(_, unordered)| **unordered) {
        order::check(job, child, &mut report.findings);
    }
    let sorted = order::interleaves(job.source);
    let suspected = suspects.iter().zip(&unordered).map(|(suspect, unordered)| *suspect || (*unordered && !sorted));
    let suspected: Vec<bool> = suspected.collect();
    if suspected.contains(&true) {
        diagnose::run(job, children, &suspected, routed, (decoded, complete), reading, &mut report.findings)?;
    }
    Ok(())
}

/// Where documents move between shards: the order, by child, in which those that stay come before those that arrive.
fn stay_first(
    job: &VerifyJob<'_>,
    routed: Routed<'_>,
    views: &[View<'_>],
    contents: &[Content],
) -> Option<Vec<Sequence>> {
    let routing = job.ownership.as_ref().map(|ownership| ownership.routing).filter(|routing| routing.moves())?;
    let mut sequences = vec![Sequence::default(); routed.assignment.num_children()];
    for staying in [true, false] {
        for (at, (view, content)) in views.iter().zip(contents).enumerate() {
            let (owners, origin) = (routed.assignment.segment(at), view.segment.origin());
            for_each_live(view.segment, content, |doc, document| {
                let owner = owners.get(doc as usize).map_or(usize::MAX, |&owner| usize::from(owner));
                if routing.stays(origin, owner) == staying
                    && let Some(sequence) = sequences.get_mut(owner)
                {
                    sequence.push(document);
                }
            });
        }
    }
    Some(sequences)
}

/// A look at a segment.
pub(in crate::verify) fn view<'a>(index: &Source, segment: &'a Segment, decoded: bool, strict: bool) -> View<'a> {
    View { segment, schema: index.schema(), decoded, strict }
}

/// Stores of format version 1 and 2 hold the same dates in different bytes.
fn needs_decoding(source: &Source, children: &[Child]) -> bool {
    let indexes = children.iter().filter_map(|child| child.index.as_ref());
    std::iter::once(source).chain(indexes).flat_map(Source::segments).any(|segment| segment.store().version == 1)
}

/// A child whose content can be read.
pub(in crate::verify) fn readable(children: &[Child], at: usize) -> Option<(&Child, &Source)> {
    let child = children.get(at).filter(|child| !child.damaged)?;
    Some((child, child.index.as_ref()?))
}

fn shared_with(shared: &[Vec<Option<usize>>], child: usize, segment: usize) -> Option<usize> {
    shared.get(child)?.get(segment).copied().flatten()
}

/// Children from `first` on that together have at most as many documents to read as the source has; at least one.
fn batch(children: &[Child], shared: &[Vec<Option<usize>>], first: usize, source: &Source) -> std::ops::Range<usize> {
    let room: u64 = source.segments().iter().map(|segment| u64::from(segment.max_doc())).sum();
    let mut docs = 0;
    let mut end = first;
    while end < children.len() {
        if let Some((_, index)) = readable(children, end) {
            let own = index.segments().iter().enumerate().filter(|(at, _)| shared_with(shared, end, *at).is_none());
            docs += own.map(|(_, segment)| u64::from(segment.max_doc())).sum::<u64>();
        }
        if docs > room && end > first {
            break;
        }
        end += 1;
    }
    first..end
}

fn for_each_live(segment: &Segment, content: &Content, mut visit: impl FnMut(u32, Digest)) {
    let all_live = segment.num_docs() == segment.max_doc();
    content.sums.for_each(|doc, sum| {
        if all_live || segment.is_alive(doc) {
            visit(doc, sum.mix());
        }
    });
}

/// Reports what could not be read and what contradicts itself; whether the sums can be relied on.
fn take_failures(
    child: Option<ShardNumber>,
    views: &[View<'_>],
    contents: &[Content],
    report: &mut VerifyReport,
) -> bool {
    let mut sound = true;
    for (view, content) in views.iter().zip(contents) {
        for error in &content.failures {
            sound = false;
            let file = diagnose::file_of(error).unwrap_or_else(|| view.segment.path().to_path_buf());
            report
                .findings
                .push(Finding::error(FindingKind::Unreadable, error.one_line()).in_child(child).in_file(file));
        }
        for fault in &content.faults {
            report.findings.push(
                Finding::error(fault.kind, fault.message.clone())
                    .in_child(child)
                    .in_file(view.segment.file(fault.component))
                    .count(fault.count),
            );
        }
    }
    sound
}
