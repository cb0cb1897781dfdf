//! Which child gets each document, and the census.
//!
//! Invariant: every live document of the source has exactly one child and no deleted document has any; otherwise
//! there is no [`Assigned`] but an error. Memory: 2 bytes per document of the source, and 4 if hashes are kept; while a
//! segment is read, up to 12 bytes per document of it instead; while distinct ids are counted, up to 9 bytes per document.

use serde::Serialize;

use super::duplicates::count_distinct;
use super::hashes::RoutingHashes;
use super::keys::{Compared, KeyFields, KeyReading, KeySpec};
use super::owners::Assignment;
use super::placement::{Placement, place};
use super::problems::{KeyPolicies, KeyProblems, Policy};
use super::walk::{Walk, Walked};
use crate::error::{Error, Result};
use crate::progress::{Cancel, Progress, Stage, Work};
use crate::route::SplitRouting;
use crate::source::{HashedBy, Segment, Source};
use crate::threads;

/// Documents per child of one source segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct SegmentCensus {
    /// Segment id.
    pub segment: String,
    /// Live documents.
    pub live: u64,
    /// Deleted documents.
    pub deleted: u64,
    /// Documents by child index.
    pub children: Vec<u64>,
}

/// Documents per child and per segment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct Census {
    /// Live documents of the source.
    pub live: u64,
    /// Deleted documents of the source.
    pub deleted: u64,
    /// Documents by child index.
    pub children: Vec<u64>,
    /// The same by source segment, directory by directory.
    pub segments: Vec<SegmentCensus>,
    /// Distinct ids of live documents: compared as strings, never guessed from hashes. `None` where the planes they
    /// were read from do not let them be compared within the memory bound.
    pub distinct_keys: Option<u64>,
    /// Live documents that share their id with an earlier one. They are in the same child, unless custom routing
    /// values part them. `None` as for [`Census::distinct_keys`].
    pub duplicate_keys: Option<u64>,
    /// Documents placed by [`KeyPolicies::missing`].
    pub missing_placed: u64,
    /// Documents placed by [`KeyPolicies::stray`].
    pub stray_placed: u64,
    /// Documents that several queries of a [`Placement`] claim; each went to the first.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub overlaps: u64,
}

// serde asks for a reference.
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// What [`assign`] found.
#[derive(Clone, Debug)]
pub struct Assigned {
    /// Which child gets each document.
    pub assignment: Assignment,
    /// Documents per child and segment.
    pub census: Census,
    /// Which planes were read: per field, cheapest first, over all segments.
    pub readings: Vec<KeyReading>,
    /// Hashes of all documents, if they were to be kept.
    pub hashes: Option<RoutingHashes>,
    /// Why sidecars were not used although they are there.
    pub notes: Vec<String>,
}

impl Assigned {
    /// Keys that were hashed; 0 where every hash was in a sidecar.
    #[must_use]
    pub fn keys_hashed(&self) -> u64 {
        self.readings.iter().map(|reading| reading.hashed).sum()
    }
}

/// Routes every live document of `source`, whose sidecars are read first; keeps no hashes. See [`Assigning::run`].
///
/// # Errors
/// Those of [`Assigning::run`].
pub fn assign(
    source: &Source,
    keys: &KeySpec,
    routing: &SplitRouting,
    policies: &KeyPolicies,
    threads: usize,
    progress: &dyn Progress,
    cancel: &Cancel,
) -> Result<Assigned> {
    let (policies, placement) = (*policies, &Placement::Hash);
    let job =
        Assigning { source, keys, routing, placement, policies, threads, read_sidecars: true, keep_hashes: false };
    job.run(progress, cancel)
}

/// What is routed, and how.
#[derive(Clone, Copy, Debug)]
pub struct Assigning<'a> {
    /// The source.
    pub source: &'a Source,
    /// Fields that decide.
    pub keys: &'a KeySpec,
    /// From hash to child; of another placement, how children are numbered.
    pub routing: &'a SplitRouting,
    /// What decides; of all but hashes, neither keys nor sidecars are looked at, and no hashes are kept.
    pub placement: &'a Placement,
    /// Where documents go that routing alone cannot place.
    pub policies: KeyPolicies,
    /// Most threads, each with a segment; 0: one per core. The result does not depend on it.
    pub threads: usize,
    /// Whether hash sidecars are believed. A judge does not.
    pub read_sidecars: bool,
    /// Whether hashes are kept: 4 bytes per document, unless they are in a sidecar.
    pub keep_hashes: bool,
}

impl Assigning<'_> {
    /// How keys become hashes here.
    #[must_use]
    pub fn hashed_by(&self) -> HashedBy {
        let spec = self.routing.spec();
        self.keys.hashed_by(spec.function.hash_name(), spec.routing_partition_size)
    }

    /// Routes every live document. Where routing has several source shards (a merge), the directories of the source are
    /// those, in their order; if it has one directory, that holds documents of any of them.
    ///
    /// # Errors
    /// - [`Error::Usage`] if a policy names no child, or if routing is partitioned and no routing field is named;
    /// - [`Error::Field`] if a field does not exist or cannot give exact keys;
    /// - [`Error::Keys`] with counts and first addresses if documents cannot be placed and no policy says where they go;
    /// - [`Error::Census`] if the children's documents do not add up to the source's: a defect, nothing may be written;
    /// - [`Error::Corrupt`], [`Error::Tantivy`], [`Error::Io`], [`Error::Panic`] if the source cannot be read;
    /// - [`Error::Interrupted`].
    pub fn run(&self, progress: &dyn Progress, cancel: &Cancel) -> Result<Assigned> {
        let Assigning { source, keys, routing, policies, .. } = *self;
        if !self.placement.is_hash() {
            return place(self, progress, cancel);
        }
        if routing.is_partitioned() && keys.routing_field.is_none() {
            return Err(Error::Usage(format!(
                "routing_partition_size {} needs --routing-field: both the routing value and the id decide where a document goes",
                routing.spec().routing_partition_size
            )));
        }
        let fields = KeyFields::resolve(source, keys, routing.spec().function.hash_function().of_key())?;
        let missing = policy_child(routing, policies.missing, "--missing-key")?;
        let stray = policy_child(routing, policies.stray, "--stray")?;
        let by = self.hashed_by();
        let apart = source.dirs().len() == routing.sources().len();
        if !apart && source.dirs().len() > 1 {
            let (dirs, shards) = (source.dirs().len(), routing.sources().len());
            return Err(Error::defect(format!("{dirs} directories were opened as {shards} source shards")));
        }
        let walk = Walk {
            fields: &fields,
            routing,
            by: &by,
            read_sidecars: self.read_sidecars,
            compared: if source.segments().len() > 1 { Compared::Across } else { Compared::Within },
            keep_hashes: self.keep_hashes,
            apart,
            missing,
            stray,
            progress,
            cancel,
        };
        progress.begin(Stage::Route, Work::docs(source.num_docs()));
        let assigned = walk_all(&walk, source.segments(), self.threads)
            .and_then(|walked| conclude(source, &walk, walked, self.threads));
        progress.end(Stage::Route);
        assigned
    }
}

pub(super) fn policy_child(routing: &SplitRouting, policy: Policy, option: &str) -> Result<Option<u16>> {
    let Policy::Child(shard) = policy else { return Ok(None) };
    let child = routing.child_index(shard).and_then(|child| u16::try_from(child).ok());
    match (child, routing.children()) {
        (Some(child), _) => Ok(Some(child)),
        (None, [first, .., last]) => Err(Error::Usage(format!(
            "{option} child:{shard}: no child has that number; there are {} between {first} and {last}",
            routing.children().len()
        ))),
        (None, only) => {
            Err(Error::Usage(format!("{option} child:{shard}: no child has that number; there is {only:?}")))
        }
    }
}

/// Walks all segments; the result is in their order.
fn walk_all(walk: &Walk<'_>, segments: &[Segment], threads: usize) -> Result<Vec<Walked>> {
    // Large segments first: the last one to be taken is then a small one.
    let mut order: Vec<(usize, &Segment)> = segments.iter().enumerate().collect();
    order.sort_by_key(|(_, segment)| std::cmp::Reverse(segment.max_doc()));
    let walked = threads::each(&order, threads, |(_, segment)| walk.segment(segment))?;
    let mut walked: Vec<(usize, Walked)> = order.into_iter().map(|(index, _)| index).zip(walked).collect();
    walked.sort_by_key(|(index, _)| *index);
    Ok(walked.into_iter().map(|(_, walked)| walked).collect())
}

fn conclude(source: &Source, walk: &Walk<'_>, walked: Vec<Walked>, threads: usize) -> Result<Assigned> {
    let num_children = walk.routing.children().len();
    let mut census = Census { children: vec![0; num_children], ..Census::default() };
    let mut problems = KeyProblems::default();
    let (mut children, mut readings, mut seen, mut with_id) = (Vec::new(), Vec::new(), Vec::new(), 0);
    let (mut hashes, mut notes) = (Vec::new(), Vec::new());
    for segment in walked {
        census.live += segment.census.live;
        census.deleted += segment.census.deleted;
        census.missing_placed += segment.missing_placed;
        census.stray_placed += segment.stray_placed;
        for (total, docs) in census.children.iter_mut().zip(&segment.census.children) {
            *total += docs;
        }
        census.segments.push(segment.census);
        problems.append(segment.problems);
        children.push(segment.children);
        readings.extend(segment.readings);
        seen.push(segment.seen);
        with_id += segment.with_id;
        hashes.extend(segment.hashes);
        notes.extend(segment.note);
    }
    if !problems.is_empty() {
        return Err(Error::Keys(Box::new(problems)));
    }
    let assignment = Assignment::new(num_children, children);
    check_census(source, &census, &assignment)?;
    census.distinct_keys = count_distinct(source, &walk.fields.id, seen, with_id, threads, walk.cancel)?;
    census.duplicate_keys = census.distinct_keys.map(|distinct| with_id.saturating_sub(distinct));
    let hashes = walk.keep_hashes.then(|| RoutingHashes { by: walk.by.clone(), segments: hashes });
    Ok(Assigned { assignment, census, readings: sum_readings(readings), hashes, notes })
}

/// Three counts that were made apart must be one number: live documents of the source, of the census by child, and
/// of the assignment itself.
pub(super) fn check_census(source: &Source, census: &Census, assignment: &Assignment) -> Result<()> {
    let live = source.num_docs();
    for children in [census.live, census.children.iter().sum(), assignment.num_assigned()] {
        if children != live {
            return Err(Error::Census { path: source.dir().to_path_buf(), live, children });
        }
    }
    Ok(())
}

/// One entry per field and plane; fields as first named, planes cheapest first.
fn sum_readings(readings: Vec<KeyReading>) -> Vec<KeyReading> {
    let mut sums: Vec<KeyReading> = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for reading in readings {
        if !names.contains(&reading.field) {
            names.push(reading.field.clone());
        }
        match sums.iter_mut().find(|sum| sum.field == reading.field && sum.plane == reading.plane) {
            Some(sum) => sum.hashed += reading.hashed,
            None => sums.push(reading),
        }
    }
    sums.sort_by_key(|sum| (names.iter().position(|name| *name == sum.field), sum.plane));
    sums
}
