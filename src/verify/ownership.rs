//! Whether every document is where its key routes to.
//!
//! The source is routed once more, and every child as if it were a source: a document of child c must be sent to
//! child c. Documents that a policy placed are sent there again by the same policy, and are no finding. Without a key, the
//! children's own columns say it, or the same queries on the children; a document's place only the source tells.

use super::files::Child;
use super::finding::{Finding, FindingKind, Sighting};
use super::{Ownership, VerifyJob, positions};
use crate::error::{Error, Result};
use crate::partition::{Assigned, Assigning, DocAddress, KeyProblems, NO_CHILD};
use crate::progress::{Cancel, Silent};
use crate::route::ShardNumber;
use crate::source::{Source, guard};

/// Routes the source. `None` if that is not possible; then a finding says why.
pub(super) fn expected(
    job: &VerifyJob<'_>,
    ownership: &Ownership<'_>,
    cancel: &Cancel,
    findings: &mut Vec<Finding>,
) -> Result<Option<Assigned>> {
    match route(job.source, job, ownership, false, cancel) {
        Ok(assigned) => {
            findings.extend(positions::check(job.source, ownership.placement, &assigned.assignment));
            Ok(Some(assigned))
        }
        Err(Error::Interrupted) => Err(Error::Interrupted),
        Err(error) => {
            findings.push(keys(&error, job.sample, true, "the source"));
            Ok(None)
        }
    }
}

/// Per child of the job its index in routing; and findings where the sets differ.
pub(super) fn indexes(
    job: &VerifyJob<'_>,
    ownership: &Ownership<'_>,
    findings: &mut Vec<Finding>,
) -> Vec<Option<usize>> {
    let routed = ownership.routing.children();
    let given: Vec<ShardNumber> = job.children.iter().map(|(shard, _)| *shard).collect();
    for &shard in routed.iter().filter(|shard| !given.contains(shard)) {
        let message = "routing has this child, the set does not";
        findings.push(Finding::error(FindingKind::ChildSet, message).in_child(shard));
    }
    for (at, &shard) in given.iter().enumerate() {
        if !routed.contains(&shard) {
            let message = "the set has this child, routing does not";
            findings.push(Finding::error(FindingKind::ChildSet, message).in_child(shard));
        }
        if given.iter().take(at).any(|&other| other == shard) {
            findings.push(Finding::error(FindingKind::ChildSet, "the set has this child twice").in_child(shard));
        }
    }
    given.iter().map(|shard| routed.iter().position(|routed| routed == shard)).collect()
}

/// Routes the documents of one child; `None` if that is not possible.
pub(super) fn strays(
    job: &VerifyJob<'_>,
    ownership: &Ownership<'_>,
    child: &Child,
    index: Option<usize>,
    cancel: &Cancel,
    findings: &mut Vec<Finding>,
) -> Result<Option<Assigned>> {
    let (Some(source), Some(index)) = (&child.index, index) else { return Ok(None) };
    if ownership.placement.is_positional() {
        // A document does not tell its place in the source; content and order are compared with what the source says.
        return Ok(None);
    }
    let assigned = match route(source, job, ownership, true, cancel) {
        Ok(assigned) => assigned,
        Err(Error::Interrupted) => return Err(Error::Interrupted),
        Err(error) => {
            findings.push(keys(&error, job.sample, false, "it").in_child(child.shard).in_file(&child.path));
            return Ok(None);
        }
    };
    let mut count = 0;
    let mut sample = Vec::new();
    let mut others: Vec<ShardNumber> = Vec::new();
    for (at, segment) in source.segments().iter().enumerate() {
        for (doc, &owner) in (0u32..).zip(assigned.assignment.segment(at)) {
            if owner == NO_CHILD || usize::from(owner) == index {
                continue;
            }
            count += 1;
            if sample.len() < job.sample {
                let address = DocAddress::of(segment, doc);
                sample.push(Sighting { source: None, child: Some(address) });
                others.extend(ownership.routing.children().get(usize::from(owner)));
            }
        }
    }
    if count > 0 {
        others.sort_unstable();
        others.dedup();
        let others: Vec<String> = others.iter().map(ToString::to_string).collect();
        findings.push(
            Finding::error(
                FindingKind::Stray,
                format!("{count} documents belong to other children (to {} and so on)", others.join(", ")),
            )
            .in_child(child.shard)
            .in_file(&child.path)
            .count(count)
            .at(sample),
        );
    }
    Ok(Some(assigned))
}

/// Hashes keys, whatever sidecars say.
fn route(
    source: &Source,
    job: &VerifyJob<'_>,
    ownership: &Ownership<'_>,
    keep_hashes: bool,
    cancel: &Cancel,
) -> Result<Assigned> {
    let Ownership { keys, routing, placement, policies } = *ownership;
    let threads = job.threads;
    let assigning =
        Assigning { source, keys, routing, placement, policies, threads, read_sidecars: false, keep_hashes };
    guard(source.dir(), "the keys", || assigning.run(&Silent, cancel))
}

/// What kept documents from being routed.
fn keys(error: &Error, sample: usize, of_source: bool, whose: &str) -> Finding {
    let sight = |address: &DocAddress| {
        let address = Some(address.clone());
        if of_source { Sighting { source: address, child: None } } else { Sighting { source: None, child: address } }
    };
    let finding =
        Finding::error(FindingKind::Keys, format!("documents of {whose} cannot be routed: {}", error.one_line()));
    match error {
        Error::Keys(problems) => {
            let KeyProblems { missing, several, stray, missing_sample, several_sample, stray_sample, .. } = &**problems;
            let documents = missing_sample.iter().chain(several_sample).chain(stray_sample.iter().map(|(doc, _)| doc));
            finding.count(missing + several + stray).at(documents.take(sample).map(sight).collect())
        }
        _ => finding,
    }
}
