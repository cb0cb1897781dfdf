//! Verifying a set of shards against the index that it was made from.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use super::plan::policies_of;
use super::{Inner, open, open_part, unreadable};
use crate::error::{Error, Result};
use crate::partition::{KeyPolicies, Placement};
use crate::progress::{Cancel, Progress, Stage, Work};
use crate::publish::layout::{child_name, shard_of};
use crate::publish::{RealFs, is_manifest, published_sidecars, read_routing};
use crate::route::{IndexRouting, Resize, RouteError, RoutingFunction, RoutingTable, ShardNumber, SlotTable};
use crate::source::{LockMode, acquire};
use crate::threads;
use crate::verify::{Finding, FindingKind, Grade, Ownership, SAMPLE, VerifyJob, VerifyLevel, VerifyReport, verify};

/// A set of shards, and the index that it was made from by a split, a merge, a clone or a move. The routing files of both say which
/// shards belong together.
#[derive(Clone, Debug)]
pub struct IndexVerifyJob {
    /// The index directory.
    pub source: PathBuf,
    /// The set.
    pub children: PathBuf,
    /// Where documents went that routing could not place.
    pub policies: KeyPolicies,
    /// How much.
    pub level: VerifyLevel,
    /// Worker threads; 0: one per core. The report does not depend on it.
    pub threads: usize,
    /// Whether to take the writer locks of the source's shards.
    pub lock: LockMode,
}

impl IndexVerifyJob {
    /// Compares all shards with all shards, part by part. A shard that should not be there is a finding, and one that is
    /// missing too; so are documents in another order than a job leaves them in.
    ///
    /// # Errors
    /// [`Error::IndexDirectory`], [`Error::Usage`] and [`Error::Route`] if one of the two is no index directory or they
    /// have nothing to do with each other, and those of opening the source; what is wrong with the children is in the
    /// report.
    pub fn run(&self, progress: &dyn Progress, cancel: &Cancel) -> Result<VerifyReport> {
        let directory = open(&self.source)?;
        let Some(routing) = read_routing(&RealFs, &self.children)? else {
            let children = self.children.display();
            let problem = "has no routing.json, so it cannot be compared with a whole index";
            return Err(Error::Usage(format!("{children} {problem}")));
        };
        let (before, partition_size) = (directory.routing(), routing.routing().routing_partition_size);
        // Elasticsearch's formula is a table too: the even one.
        let from = match (before.table(), routing.table(), before.routing()) {
            (None, Some(to), IndexRouting { function: RoutingFunction::Elasticsearch, number_of_shards, .. }) => {
                let slots = to.slots().filter(|&slots| before.routing().number_of_routing_shards == Some(slots));
                slots
                    .map(|slots| SlotTable::even(number_of_shards, slots))
                    .transpose()
                    .map_err(RouteError::from)?
                    .map(|table| Arc::new(RoutingTable::Slots(table)))
            }
            (table, ..) => table.cloned(),
        };
        let resize = match (&from, routing.table()) {
            (Some(from), Some(to)) => {
                if before.routing().routing_partition_size != partition_size {
                    return Err(Error::Usage(
                        "their routing_partition_size differs, so one is not made of the other".to_owned(),
                    ));
                }
                Resize::between_tables(from, to, partition_size)?
            }
            _ => Resize::between(before.routing(), routing.routing())?,
        };
        let keys = directory.routing().keys();
        let (mut notes, mut locks) = (Vec::new(), Vec::new());
        for shard in resize.shards_before() {
            locks.extend(acquire(&directory.shard(shard), self.lock, &mut notes).map_err(unreadable)?);
        }
        progress.begin(Stage::Verify, Work::default());
        let inner = Inner { progress, stages: &[Stage::Verify] };
        let mut reports = Vec::with_capacity(resize.parts().len());
        for part in resize.parts() {
            cancel.check()?;
            let source = open_part(&directory, part)?;
            let child = |&shard: &ShardNumber| (shard, self.children.join(child_name(shard)));
            let job = VerifyJob {
                source: &source,
                children: part.children().iter().map(child).collect(),
                ownership: Some(Ownership {
                    keys: &keys,
                    routing: part,
                    placement: &Placement::Hash,
                    policies: policies_of(part, self.policies),
                }),
                level: self.level,
                threads: threads::number(self.threads),
                sample: SAMPLE,
                known_file: is_manifest,
                sidecars: published_sidecars(&self.children, part.children()),
                source_checked: false,
            };
            reports.push(verify(&job, &inner, cancel)?);
        }
        progress.end(Stage::Verify);
        let mut report = VerifyReport::of_parts(self.source.clone(), reports);
        let beyond = self.beyond(&resize.shards_after());
        report.findings.splice(0..0, beyond);
        Ok(report)
    }

    /// Findings on shards that the set should not have.
    fn beyond(&self, shards: &[ShardNumber]) -> Vec<Finding> {
        // What cannot be listed was found to be unreadable already.
        let present = std::fs::read_dir(&self.children).into_iter().flatten().flatten();
        let present: BTreeSet<ShardNumber> =
            present.filter_map(|entry| shard_of(entry.file_name().to_str()?)).collect();
        let finding = |shard: ShardNumber| Finding {
            grade: Grade::Error,
            kind: FindingKind::ChildSet,
            child: Some(shard),
            file: Some(self.children.join(child_name(shard))),
            count: 1,
            documents: Vec::new(),
            message: "the set has this child, routing does not".to_owned(),
        };
        present.into_iter().filter(|shard| shards.binary_search(shard).is_err()).map(finding).collect()
    }
}
