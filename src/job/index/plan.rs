//! Planning a whole index: part by part, each opened and let go of again.

use std::collections::BTreeMap;

use super::pin::Pin;
use super::{IndexJob, open_part};
use crate::error::{Error, Result};
use crate::job::outlook;
use crate::job::part::{Options, Part};
use crate::limits::Need;
use crate::partition::{KeyPolicies, KeyReading, Policy};
use crate::plan::{IndexPlan, PlannedChild, PlannedMove, PlannedPart};
use crate::progress::{Cancel, Progress};
use crate::publish::{IndexDirectory, PartRecord};
use crate::route::{Operation, Resize, ShardNumber, SplitRouting};
use crate::source::Meta;

/// A part that waits for its turn.
#[derive(Debug)]
pub(in crate::job) struct PartJob {
    pub(super) routing: SplitRouting,
    pub(super) options: Options,
    pub(in crate::job) record: PartRecord,
    pub(in crate::job) pin: Pin,
    /// What it holds at once, at most.
    pub(super) need: Need,
}

/// What the plan says of a part.
pub(super) struct Planned {
    part: PlannedPart,
    children: Vec<PlannedChild>,
    readings: Vec<KeyReading>,
    notes: Vec<String>,
}

/// The plan of the whole.
pub(super) fn plan_of(
    job: &IndexJob,
    resize: &Resize,
    options: &Options,
    planned: Vec<Planned>,
    notes: Vec<String>,
) -> IndexPlan {
    // What tables warn of is what other shards do, and here all are there.
    let first = resize.parts().first().filter(|part| part.tables().is_none());
    let mut warnings = first.map(SplitRouting::warnings).unwrap_or_default();
    warnings.extend(anew(resize));
    warnings.extend(notes);
    let (mut parts, mut children, mut readings) = (Vec::new(), Vec::new(), Vec::new());
    for Planned { part, children: own, readings: read, notes } in planned {
        parts.push(part);
        children.extend(own);
        add_readings(&mut readings, read);
        warnings.extend(notes);
    }
    children.sort_by_key(|child| child.shard);
    warnings.extend(outlook::warnings(&children, options, resize.operation() == Operation::Move));
    IndexPlan {
        operation: resize.operation(),
        source: job.source.clone(),
        out: job.out.clone(),
        before: *resize.before(),
        after: *resize.after(),
        method: job.method,
        segments: options.layout(),
        key: options.keys.key.clone(),
        routing_field: options.keys.routing_field.clone(),
        keys_hashed: readings.iter().map(|reading| reading.hashed).sum(),
        key_readings: readings,
        docs: parts.iter().map(|part| part.census.live).sum(),
        deleted: parts.iter().map(|part| part.census.deleted).sum(),
        source_bytes: parts.iter().map(|part| part.source_bytes).sum(),
        peak_disk_bytes: children.iter().map(|child| child.predicted_bytes).sum(),
        parts,
        children,
        warnings,
    }
}

/// That number_of_routing_shards is another one afterwards.
fn anew(resize: &Resize) -> Option<String> {
    let (before, after) = (resize.before().number_of_routing_shards?, resize.after().number_of_routing_shards?);
    (before != after).then(|| {
        format!(
            "number_of_routing_shards was {before} and becomes {after}, as an index of one shard can choose it anew; it limits \
             later splits"
        )
    })
}

/// Opens, routes and plans a part, and lets go of it.
pub(super) fn plan_part(
    directory: &IndexDirectory,
    routing: &SplitRouting,
    options: &Options,
    progress: &dyn Progress,
    cancel: &Cancel,
) -> Result<(PartJob, Planned)> {
    let options = Options { policies: policies_of(routing, options.policies), ..options.clone() };
    let source = open_part(directory, routing)?;
    let pin = Pin::of(&source);
    let part = Part::route(source, routing.clone(), &options, progress, cancel)?;
    let record = part.record()?;
    let files = part.source.segments().iter().map(|segment| 6 + u64::from(segment.num_docs() < segment.max_doc()));
    let need = part.need(&options).and(Need { files: 0, maps: files.sum() });
    let planned = Planned {
        part: PlannedPart {
            sources: routing.sources().to_vec(),
            children: routing.children().to_vec(),
            census: part.assigned.census.clone(),
            source_bytes: part.source.num_bytes(),
            moves: moves(&part),
        },
        children: part.predict()?,
        readings: part.assigned.readings.clone(),
        notes: part.source.notes().iter().cloned().chain(hidden(&part)).collect(),
    };
    Ok((PartJob { routing: routing.clone(), options, record, pin, need }, planned))
}

/// Documents that go from one shard to another, where shards stay.
fn moves(part: &Part) -> Vec<PlannedMove> {
    let (routing, census) = (&part.routing, &part.assigned.census);
    if !routing.moves() {
        return Vec::new();
    }
    let mut moves: BTreeMap<(ShardNumber, ShardNumber), u64> = BTreeMap::new();
    for (segment, census) in part.source.segments().iter().zip(&census.segments) {
        for (child, &docs) in census.children.iter().enumerate().filter(|(_, docs)| **docs > 0) {
            let (from, to) = (routing.sources().get(segment.origin()), routing.children().get(child));
            if let (Some(&from), Some(&to), false) = (from, to, routing.stays(segment.origin(), child)) {
                *moves.entry((from, to)).or_default() += docs;
            }
        }
    }
    moves.into_iter().map(|((from, to), docs)| PlannedMove { from, to, docs }).collect()
}

/// That most documents of the segments which are linked belong to no shard any more.
fn hidden(part: &Part) -> Option<String> {
    part.links.as_ref().filter(|_| part.routing.moves())?;
    let (mut docs, mut live) = (0, 0);
    for (segment, census) in part.source.segments().iter().zip(&part.assigned.census.segments) {
        let children = census.children.iter().enumerate();
        let stay: u64 =
            children.filter(|(child, _)| part.routing.stays(segment.origin(), *child)).map(|(_, docs)| docs).sum();
        if stay > 0 {
            (docs, live) = (docs + u64::from(segment.max_doc()), live + stay);
        }
    }
    (docs > 2 * live).then(|| {
        format!(
            "of {docs} documents in segments that are linked {live} stay, and the others are hidden: --method rewrite leaves them behind"
        )
    })
}

/// A policy's shard must be one that the job makes.
pub(super) fn check_policies(resize: &Resize, policies: &KeyPolicies) -> Result<()> {
    let shards = resize.shards_after();
    for (option, policy) in [("--missing-key", policies.missing), ("--stray", policies.stray)] {
        if let Policy::Child(shard) = policy
            && shards.binary_search(&shard).is_err()
        {
            let ends = [shards.first(), shards.last()].map(|shard| shard.copied().unwrap_or_default());
            let [first, last] = ends;
            return Err(Error::Usage(format!(
                "{option} child:{shard}: the new index has the shards {first} to {last}"
            )));
        }
    }
    Ok(())
}

/// The policies as far as they name children of this part.
pub(super) fn policies_of(routing: &SplitRouting, policies: KeyPolicies) -> KeyPolicies {
    let own = |policy: Policy| match policy {
        Policy::Child(shard) if routing.child_index(shard).is_none() => Policy::Refuse,
        other => other,
    };
    KeyPolicies { missing: own(policies.missing), stray: own(policies.stray) }
}

/// Live documents, as `meta.json` says.
pub(super) fn live(meta: &Meta) -> u64 {
    let docs = |max_doc: u32, deletes: Option<(u32, u64)>| max_doc.saturating_sub(deletes.map_or(0, |(docs, _)| docs));
    meta.segments().iter().map(|segment| u64::from(docs(segment.max_doc, segment.deletes))).sum()
}

/// Adds up readings of one field and plane.
fn add_readings(sums: &mut Vec<KeyReading>, readings: Vec<KeyReading>) {
    for reading in readings {
        match sums.iter_mut().find(|sum| sum.field == reading.field && sum.plane == reading.plane) {
            Some(sum) => sum.hashed += reading.hashed,
            None => sums.push(reading),
        }
    }
}
