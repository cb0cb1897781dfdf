//! From a placement to an assignment with its census.

use super::Placement;
use super::columns::{ByColumn, Placed};
use super::positions;
use super::queries::Queries;
use crate::error::{Error, Result};
use crate::partition::assignment::{Assigned, Assigning, Census, SegmentCensus, check_census, policy_child};
use crate::partition::problems::{DocAddress, KeyProblems};
use crate::partition::{Assignment, KeyReading, NO_CHILD};
use crate::progress::{Cancel, Progress, Stage, Work};
use crate::source::{Component, Segment, Source, guard};
use crate::threads;

const DOCS_PER_CHECK: u32 = 1 << 16;

/// What a segment is placed with.
struct Placing<'a> {
    placement: &'a Placement,
    column: Option<ByColumn>,
    queries: Option<Queries>,
    /// Live documents of the source.
    live: u64,
    children: usize,
    missing: Option<u16>,
    progress: &'a dyn Progress,
    cancel: &'a Cancel,
}

/// A segment whose documents were placed.
struct Dealt {
    children: Vec<u16>,
    census: SegmentCensus,
    problems: KeyProblems,
    missing: u64,
    overlaps: u64,
}

/// Places every live document of the source of `job`, whose placement is not by hash.
///
/// # Errors
/// As [`Assigning::run`].
pub(in crate::partition) fn place(job: &Assigning<'_>, progress: &dyn Progress, cancel: &Cancel) -> Result<Assigned> {
    let Assigning { source, routing, placement, policies, .. } = *job;
    let children = routing.children().len();
    if placement.num_children() != Some(children) {
        let of = placement.num_children().unwrap_or(0);
        return Err(Error::Usage(format!("{placement} makes {of} children, and {children} were asked for")));
    }
    let placing = Placing {
        placement,
        column: ByColumn::resolve(&source.schema(), placement)?,
        queries: guard(source.dir(), "the queries", || Queries::resolve(source, placement))?,
        live: source.num_docs(),
        children,
        missing: policy_child(routing, policies.missing, "--missing-key")?,
        progress,
        cancel,
    };
    progress.begin(Stage::Route, Work::docs(source.num_docs()));
    let assigned = placing.all(source, job.threads);
    progress.end(Stage::Route);
    assigned
}

impl Placing<'_> {
    fn all(&self, source: &Source, threads: usize) -> Result<Assigned> {
        // Live documents that stand before each segment.
        let mut before = 0;
        let segments: Vec<(u64, &Segment)> = source
            .segments()
            .iter()
            .map(|segment| {
                let rank = before;
                before += u64::from(segment.num_docs());
                (rank, segment)
            })
            .collect();
        let dealt = threads::each(&segments, threads, |(rank, segment)| {
            guard(segment.path(), "what decides where documents go", || self.segment(segment, *rank))
        })?;
        let mut census = Census { children: vec![0; self.children], ..Census::default() };
        let field = self.placement.field().map(str::to_owned);
        let mut problems = KeyProblems { field, ..KeyProblems::default() };
        let mut children = Vec::with_capacity(dealt.len());
        for segment in dealt {
            census.live += segment.census.live;
            census.deleted += segment.census.deleted;
            census.missing_placed += segment.missing;
            census.overlaps += segment.overlaps;
            for (total, docs) in census.children.iter_mut().zip(&segment.census.children) {
                *total += docs;
            }
            census.segments.push(segment.census);
            problems.append(segment.problems);
            children.push(segment.children);
        }
        if !problems.is_empty() {
            return Err(Error::Keys(Box::new(problems)));
        }
        let assignment = Assignment::new(self.children, children);
        check_census(source, &census, &assignment)?;
        let readings: Vec<KeyReading> = Vec::new();
        Ok(Assigned { assignment, census, readings, hashes: None, notes: Vec::new() })
    }

    fn segment(&self, segment: &Segment, mut rank: u64) -> Result<Dealt> {
        let max_doc = segment.max_doc();
        // Memory is sized by max_doc, so two files must agree on it.
        if segment.columns().num_docs() != max_doc {
            return Err(Error::corrupt(
                segment.file(Component::FastFields),
                format!("it has {} documents, meta.json says {max_doc}", segment.columns().num_docs()),
            ));
        }
        let column = self.column.as_ref().map(|column| column.open(segment)).transpose()?;
        let matched = self.queries.as_ref().map(|queries| queries.run(segment, self.cancel)).transpose()?;
        let rest = u16::try_from(self.children.saturating_sub(1)).unwrap_or(NO_CHILD);
        let census =
            SegmentCensus { segment: segment.id().to_owned(), live: 0, deleted: 0, children: vec![0; self.children] };
        let (problems, children) = (KeyProblems::default(), Vec::with_capacity(max_doc as usize));
        let mut dealt = Dealt { children, census, problems, missing: 0, overlaps: 0 };
        for doc in 0..max_doc {
            if doc.is_multiple_of(DOCS_PER_CHECK) {
                self.cancel.check()?;
            }
            if !segment.is_alive(doc) {
                dealt.census.deleted += 1;
                dealt.children.push(NO_CHILD);
                continue;
            }
            dealt.census.live += 1;
            let placed = if let Some(column) = &column {
                column.child(doc)
            } else if let Some(matched) = &matched {
                dealt.overlaps += u64::from(matched.several.contains(doc as usize));
                let first = matched.first.get(doc as usize).copied().unwrap_or(NO_CHILD);
                Placed::In(if first == NO_CHILD { rest } else { first })
            } else {
                let child = positions::child(self.placement, rank, self.live);
                child.and_then(|child| u16::try_from(child).ok()).map_or(Placed::Missing, Placed::In)
            };
            rank += 1;
            let child = self.child(segment, doc, placed, &mut dealt);
            if let Some(count) = child.and_then(|child| dealt.census.children.get_mut(usize::from(child))) {
                *count += 1;
            }
            dealt.children.push(child.unwrap_or(NO_CHILD));
        }
        self.progress.advance(Stage::Route, Work::docs(dealt.census.live));
        Ok(dealt)
    }

    /// The child of a live document; `None` if it has become a problem.
    fn child(&self, segment: &Segment, doc: u32, placed: Placed, dealt: &mut Dealt) -> Option<u16> {
        match placed {
            Placed::In(child) => Some(child),
            Placed::Missing => {
                match self.missing {
                    Some(_) => dealt.missing += 1,
                    None => dealt.problems.add_missing(|| DocAddress::of(segment, doc)),
                }
                self.missing
            }
            Placed::Several => {
                dealt.problems.add_several(|| DocAddress::of(segment, doc));
                None
            }
        }
    }
}
