//! Verifying a set of shards against the index that it was made from.

use std::collections::BTreeSet;
use std::path::Path;

use super::{Inner, open, open_part, policies_of};
use crate::error::Result;
use crate::partition::KeyPolicies;
use crate::progress::{Cancel, Progress, Stage, Work};
use crate::publish::is_manifest;
use crate::publish::layout::{child_name, shard_of};
use crate::route::Resize;
use crate::source::LockMode;
use crate::source::{Source, acquire};
use crate::verify::{Finding, FindingKind, Grade, Ownership, SAMPLE, VerifyJob, VerifyLevel, VerifyReport, verify};

/// Compares the shards in `children` with the index directory `source`, part by part, whichever of them has more shards:
/// `routing` files of both say which shards belong together. `policies`: where documents went that routing could not
/// place. A shard that should not be there is a finding, one that is missing too.
///
/// # Errors
/// [`Error::IndexDirectory`](crate::Error::IndexDirectory) and [`Error::Route`](crate::Error::Route) if the two have
/// nothing to do with each other, and those of opening the source; what is wrong with the children is in the report.
pub fn verify_index(
    (source, lock): (&Path, LockMode),
    (children, routing): (&Path, &crate::publish::RoutingFile),
    policies: KeyPolicies,
    (level, threads): (VerifyLevel, usize),
    progress: &dyn Progress,
    cancel: &Cancel,
) -> Result<VerifyReport> {
    let directory = open(source)?;
    let resize = Resize::between(directory.routing().routing(), routing.routing())?;
    let keys = directory.routing().keys();
    let mut notes = Vec::new();
    let mut locks = Vec::new();
    for shard in 0..resize.before().number_of_shards {
        locks.extend(acquire(&directory.shard(shard), lock, &mut notes).map_err(super::unreadable)?);
    }
    progress.begin(Stage::Verify, Work::default());
    let mut reports = Vec::with_capacity(resize.parts().len());
    for part in resize.parts() {
        cancel.check()?;
        let source: Source = open_part(&directory, part)?;
        let job = VerifyJob {
            source: &source,
            children: part.children().iter().map(|&shard| (shard, children.join(child_name(shard)))).collect(),
            ownership: Some(Ownership { keys: &keys, routing: part, policies: policies_of(part, policies) }),
            level,
            threads,
            sample: SAMPLE,
            known_file: is_manifest,
            source_checked: false,
        };
        reports.push(verify(&job, &Inner { progress, stages: &[Stage::Verify] }, cancel)?);
    }
    progress.end(Stage::Verify);
    let mut report = VerifyReport::of_parts(source.to_path_buf(), reports);
    let known: BTreeSet<u32> = (0..resize.after().number_of_shards).collect();
    let present = std::fs::read_dir(children).into_iter().flatten().flatten();
    let present = present.filter_map(|entry| shard_of(entry.file_name().to_str()?));
    for shard in present.collect::<BTreeSet<_>>().difference(&known) {
        let message = "the set has this child, routing does not".to_owned();
        report.findings.insert(
            0,
            Finding {
                grade: Grade::Error,
                kind: FindingKind::ChildSet,
                child: Some(*shard),
                file: Some(children.join(child_name(*shard))),
                count: 1,
                documents: Vec::new(),
                message,
            },
        );
    }
    Ok(report)
}
