//! Hash sidecars: what was hashed once is not hashed again, and what cannot be believed is not.

mod beside;
mod chain;
mod damage;

use std::path::{Path, PathBuf};

use shardsplit::job::Job;
use shardsplit::partition::{KeySpec, Placement, SegmentMode};
use shardsplit::plan::Method;
use shardsplit::progress::{Cancel, Silent};
use shardsplit::publish::{is_manifest, read_child};
use shardsplit::report::SplitReport;
use shardsplit::route::SplitRouting;
use shardsplit::source::{LockMode, Source};
use shardsplit::verify::{Ownership, VerifyJob, VerifyReport, verify};

use crate::common::routing::Routing;

/// All ways to write children.
const WAYS: [(Method, SegmentMode); 3] =
    [(Method::Rewrite, SegmentMode::One), (Method::Rewrite, SegmentMode::Keep), (Method::Link, SegmentMode::One)];

fn job(source: &Path, out: &Path, routing: &Routing, (method, segments): (Method, SegmentMode)) -> Job {
    use shardsplit::partition::Policy;
    let policy = |shard: Option<u32>| shard.map_or(Policy::Refuse, Policy::Child);
    let keys = KeySpec { key: routing.key.clone(), routing_field: routing.routing_field.clone() };
    let mut job = Job::new(source, out, routing.split.into, &routing.key);
    (job.keys, job.split, job.method, job.segments, job.threads) = (keys, routing.split, method, segments, 2);
    (job.policies.missing, job.policies.stray) = (policy(routing.missing), policy(routing.stray));
    job
}

fn split(source: &Path, out: &Path, routing: &Routing, way: (Method, SegmentMode)) -> SplitReport {
    let run = job(source, out, routing, way).run(&Silent, &Cancel::new());
    let report = run.unwrap_or_else(|error| panic!("{}: {error}", out.display()));
    let verified = report.verify.as_ref().unwrap();
    assert!(verified.is_clean());
    assert!(verified.keys_hashed > 0 || report.plan.census.live == 0, "verification hashes keys itself");
    assert_eq!(verified.findings.iter().filter(|finding| finding.message.contains("sidecar")).count(), 0);
    report
}

/// Full verification of the children in `out` as the command does it.
fn verified(source: &Path, out: &Path, routing: &Routing) -> VerifyReport {
    let source = Source::open(source, LockMode::None).unwrap();
    let numbers = SplitRouting::new(routing.split).unwrap();
    let keys = KeySpec { key: routing.key.clone(), routing_field: routing.routing_field.clone() };
    let children: Vec<(u32, PathBuf)> =
        routing.children().into_iter().map(|shard| (shard, out.join(shard.to_string()))).collect();
    let sidecars = children.iter().flat_map(|(_, dir)| listed(dir)).collect();
    let mut job = VerifyJob::new(&source, children);
    (job.known_file, job.sidecars) = (is_manifest, sidecars);
    job.ownership =
        Some(Ownership { keys: &keys, routing: &numbers, placement: &Placement::Hash, policies: Default::default() });
    verify(&job, &Silent, &Cancel::new()).unwrap()
}

/// The sidecars that the manifest of a child has.
fn listed(dir: &Path) -> Vec<PathBuf> {
    let files = read_child(dir).unwrap().files.into_iter().map(|file| dir.join(file.name));
    files.filter(|path| path.extension().is_some_and(|extension| extension == "hashes")).collect()
}

/// The sidecars in a directory, sorted.
fn sidecars(dir: &Path) -> Vec<PathBuf> {
    let paths = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|extension| extension == "hashes")).collect();
    found.sort();
    found
}

/// `bytes` with the checksum at their end made right.
fn reseal(mut bytes: Vec<u8>) -> Vec<u8> {
    let end = bytes.len() - 4;
    let crc = crc32fast::hash(&bytes[..end]);
    bytes[end..].copy_from_slice(&crc.to_le_bytes());
    bytes
}
