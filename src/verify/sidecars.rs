//! Hash sidecars of children: whole, of these segments, and, where keys were hashed anyway, right.
//!
//! A sidecar that cannot be used costs time only, so it is a warning. One that is sound but wrong would send documents
//! astray in the next split: an error.

use std::collections::{BTreeMap, BTreeSet};

use super::VerifyJob;
use super::files::Child;
use super::finding::{Finding, FindingKind, Grade, Sighting};
use crate::partition::{DocAddress, RoutingHashes};
use crate::source::{Found, HashState, Segment, Sidecar, Source, sidecar_segment};

/// Checks that the sidecars of a child can be used, and that those which must be there are.
pub(super) fn check(job: &VerifyJob<'_>, child: &Child, findings: &mut Vec<Finding>) {
    let Some(index) = &child.index else { return };
    let segments: BTreeMap<&str, &Segment> = index.segments().iter().map(|segment| (segment.id(), segment)).collect();
    let names = std::fs::read_dir(&child.path).into_iter().flatten().flatten();
    let names: BTreeSet<String> = names.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let owner = |name: &str| segments.get(sidecar_segment(name)?).copied();
    for (name, segment) in names.iter().filter_map(|name| Some((name, owner(name)?))) {
        if let Found::Unusable(problem) = Sidecar::open(segment, name) {
            findings.push(warning(child, segment, name, format!("the hash sidecar {problem}")));
        }
    }
    for path in job.sidecars.iter().filter(|path| path.parent() == Some(&child.path)) {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        if let Some(segment) = owner(name).filter(|_| !names.contains(name)) {
            let message = "the hash sidecar is not there: the next split hashes keys again";
            findings.push(warning(child, segment, name, message.to_owned()));
        }
    }
}

fn warning(child: &Child, segment: &Segment, name: &str, message: String) -> Finding {
    Finding::new(Grade::Warning, FindingKind::Sidecar, message)
        .in_child(child.shard)
        .in_file(segment.path().with_file_name(name))
}

/// Compares the sidecars of a child with `hashes`, which were made from its keys. Deleted documents are left out.
pub(super) fn compare(
    child: &Child,
    index: &Source,
    hashes: &RoutingHashes,
    sample: usize,
    findings: &mut Vec<Finding>,
) {
    for (segment, own) in index.segments().iter().zip(&hashes.segments) {
        let Found::Sidecar(sidecar) = segment.sidecar(&hashes.by) else { continue };
        let (mut count, mut documents) = (0, Vec::new());
        let mut theirs = [0];
        own.for_each(segment.max_doc(), |doc, hash, state| {
            if !segment.is_alive(doc) {
                return;
            }
            sidecar.hashes(doc, &mut theirs);
            let same = sidecar.states().get(doc) == state && (theirs == [hash] || state != HashState::Hashed);
            if !same {
                count += 1;
                if documents.len() < sample {
                    let address = DocAddress::of(segment, doc);
                    documents.push(Sighting { source: None, child: Some(address) });
                }
            }
        });
        if count > 0 {
            let message = format!("the hash sidecar has other hashes than the keys of {count} documents; remove it");
            let finding = Finding::error(FindingKind::SidecarHash, message).in_child(child.shard);
            findings.push(finding.in_file(sidecar.path()).count(count).at(documents));
        }
    }
}
