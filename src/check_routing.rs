//! Which documents of a shard do not belong to it.
//!
//! Input: one shard, or all shards of an index directory, and how the index is routed. Output: a [`RoutingReport`]: per
//! shard how many documents are where routing looks for them, and of the others the shard that they belong to, with first
//! addresses. Nothing is written, and no children are needed: this is the question of an operator who was told that some
//! documents cannot be found.
//!
//! A document without a key, or with several, belongs to no shard: no search by routing finds it.
//!
//! Cost: one pass over the key field; with [`RoutingCheck::trust_sidecars`] 4 bytes per document are read instead, and
//! what a sidecar says of keys is believed. Memory: 4 bytes per document of the segments at hand.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::error::{Error, Result};
use crate::partition::{DocAddress, KeyReading, KeySpec, SegmentHashes, hash_segment};
use crate::progress::{Cancel, Progress, Stage, Work};
use crate::publish::IndexDirectory;
use crate::route::{HashTable, Router, ShardNumber};
use crate::source::{Found, HashState, LockMode, Segment, Source};
use crate::threads;

/// Addresses of each kind, unless [`RoutingCheck::sample`] says otherwise.
const SAMPLE: usize = 10;

/// What to check.
#[derive(Clone, Debug)]
pub struct RoutingCheck {
    /// Shard numbers and directories.
    pub shards: Vec<(ShardNumber, PathBuf)>,
    /// How the index is routed.
    pub router: Router,
    /// routing_partition_size of the index; 1: none.
    pub routing_partition_size: u32,
    /// Fields that decide where documents go.
    pub keys: KeySpec,
    /// Whether hash sidecars are believed.
    pub trust_sidecars: bool,
    /// Worker threads; 0: one per core. The report does not depend on it.
    pub threads: usize,
    /// Most addresses of each kind and shard.
    pub sample: usize,
    /// Whether to take the writer locks.
    pub lock: LockMode,
}

/// Documents of a shard that belong to another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Misplaced {
    /// The shard that they belong to.
    pub belongs_to: ShardNumber,
    /// How many.
    pub docs: u64,
    /// First addresses.
    pub sample: Vec<DocAddress>,
}

/// What is in one shard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckedShard {
    /// Its number.
    pub shard: ShardNumber,
    /// Its directory.
    pub path: PathBuf,
    /// Live documents.
    pub docs: u64,
    /// Those that belong to it.
    pub own: u64,
    /// Those that belong to others, ascending by the shard they belong to.
    pub misplaced: Vec<Misplaced>,
    /// Documents without a key.
    pub missing: u64,
    /// First addresses of documents without a key.
    pub missing_sample: Vec<DocAddress>,
    /// Documents with several keys.
    pub several: u64,
    /// First addresses of documents with several keys.
    pub several_sample: Vec<DocAddress>,
    /// Which planes were read; empty where sidecars were.
    pub key_readings: Vec<KeyReading>,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RoutingReport {
    /// The shards, as given.
    pub shards: Vec<CheckedShard>,
    /// Live documents.
    pub docs: u64,
    /// Documents that are not where routing looks for them.
    pub not_own: u64,
    /// Keys that were hashed.
    pub keys_hashed: u64,
    /// What an operator should know.
    pub notes: Vec<String>,
}

impl RoutingReport {
    /// Whether every document is where routing looks for it.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.not_own == 0
    }
}

impl RoutingCheck {
    /// Of `shards`, with the defaults: keys are hashed, on all cores.
    #[must_use]
    pub fn new(shards: Vec<(ShardNumber, PathBuf)>, router: Router, keys: KeySpec) -> RoutingCheck {
        RoutingCheck {
            shards,
            router,
            routing_partition_size: 1,
            keys,
            trust_sidecars: false,
            threads: 0,
            sample: SAMPLE,
            lock: LockMode::default(),
        }
    }

    /// Of all shards of an index, as its routing file says.
    ///
    /// # Errors
    /// None for a routing file that was read.
    pub fn of_index(index: &IndexDirectory) -> Result<RoutingCheck> {
        let file = index.routing();
        let shards = file.shards().into_iter().map(|shard| (shard, index.shard(shard))).collect();
        let routing_partition_size = file.routing().routing_partition_size;
        Ok(RoutingCheck { routing_partition_size, ..RoutingCheck::new(shards, file.router()?, file.keys()) })
    }

    /// Reads and routes the keys of all documents, shard after shard.
    ///
    /// # Errors
    /// Those of [`Source::open`]; [`Error::Field`]; [`Error::Usage`] for partitioned routing without a routing field; what
    /// reading gives; [`Error::Interrupted`].
    pub fn run(&self, progress: &dyn Progress, cancel: &Cancel) -> Result<RoutingReport> {
        if self.routing_partition_size > 1 && self.keys.routing_field.is_none() {
            return Err(Error::Usage(format!(
                "routing_partition_size {} needs --routing-field: both the routing value and the id decide where a document goes",
                self.routing_partition_size
            )));
        }
        let mut report = RoutingReport { shards: Vec::new(), docs: 0, not_own: 0, keys_hashed: 0, notes: Vec::new() };
        progress.begin(Stage::Route, Work::default());
        for (shard, path) in &self.shards {
            let checked = self.shard(*shard, path, &mut report.notes, progress, cancel)?;
            report.docs += checked.docs;
            report.not_own += checked.docs - checked.own;
            report.keys_hashed += checked.key_readings.iter().map(|reading| reading.hashed).sum::<u64>();
            report.shards.push(checked);
        }
        progress.end(Stage::Route);
        Ok(report)
    }

    fn shard(
        &self,
        shard: ShardNumber,
        path: &Path,
        notes: &mut Vec<String>,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<CheckedShard> {
        let source = Source::open(path, self.lock)?;
        notes.extend_from_slice(source.notes());
        let segments: Vec<&Segment> = source.segments().iter().filter(|segment| segment.num_docs() > 0).collect();
        let counted =
            threads::each(&segments, self.threads, |segment| self.segment(shard, &source, segment, progress, cancel))?;
        let mut all = Counts::default();
        let mut key_readings: Vec<KeyReading> = Vec::new();
        for (counts, readings, note) in counted {
            all.append(counts, self.sample);
            notes.extend(note);
            for reading in readings {
                match key_readings.iter_mut().find(|sum| sum.field == reading.field && sum.plane == reading.plane) {
                    Some(sum) => sum.hashed += reading.hashed,
                    None => key_readings.push(reading),
                }
            }
        }
        let misplaced =
            all.others.into_iter().map(|(belongs_to, (docs, sample))| Misplaced { belongs_to, docs, sample }).collect();
        Ok(CheckedShard {
            shard,
            path: path.to_path_buf(),
            docs: source.num_docs(),
            own: all.own,
            misplaced,
            missing: all.missing.0,
            missing_sample: all.missing.1,
            several: all.several.0,
            several_sample: all.several.1,
            key_readings,
        })
    }

    fn segment(
        &self,
        shard: ShardNumber,
        source: &Source,
        segment: &Segment,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<(Counts, Vec<KeyReading>, Option<String>)> {
        let function = self.router.hash_function();
        let by = self.keys.hashed_by(function.name(), self.routing_partition_size);
        let found = if self.trust_sidecars { segment.sidecar(&by) } else { Found::Absent };
        let (mut note, mut readings) = (None, Vec::new());
        let hashes = match found {
            Found::Sidecar(sidecar) => SegmentHashes::mapped(sidecar),
            other => {
                if let Found::Unusable(problem) = other {
                    let name = by.file_name(segment.id());
                    note = Some(format!("hash sidecar {name} {problem}; it is ignored, and keys are hashed"));
                }
                let how = (function, self.routing_partition_size);
                let (hashes, read) = hash_segment(source, segment, &self.keys, how, progress, cancel)?;
                readings = read;
                hashes
            }
        };
        let mut counts = Counts::default();
        let address = |doc| DocAddress::of(segment, doc);
        hashes.for_each(segment.max_doc(), |doc, hash, state| {
            if !segment.is_alive(doc) {
                return;
            }
            match state {
                HashState::Hashed => {
                    let owner = self.router.shard(hash, 0);
                    if owner == shard {
                        counts.own += 1;
                    } else {
                        let (docs, sample) = counts.others.entry(owner).or_default();
                        count(docs, sample, self.sample, || address(doc));
                    }
                }
                HashState::Several => {
                    count(&mut counts.several.0, &mut counts.several.1, self.sample, || address(doc));
                }
                HashState::Missing | HashState::Unread => {
                    count(&mut counts.missing.0, &mut counts.missing.1, self.sample, || address(doc));
                }
            }
        });
        Ok((counts, readings, note))
    }
}

/// Documents of a segment, or of a shard.
#[derive(Default)]
struct Counts {
    own: u64,
    others: BTreeMap<ShardNumber, (u64, Vec<DocAddress>)>,
    missing: (u64, Vec<DocAddress>),
    several: (u64, Vec<DocAddress>),
}

impl Counts {
    /// Adds those of a later segment.
    fn append(&mut self, later: Counts, most: usize) {
        self.own += later.own;
        for (shard, counted) in later.others {
            add(self.others.entry(shard).or_default(), counted, most);
        }
        add(&mut self.missing, later.missing, most);
        add(&mut self.several, later.several, most);
    }
}

/// Adds a count and the addresses that belong to it, of which `most` are kept.
fn add((docs, sample): &mut (u64, Vec<DocAddress>), later: (u64, Vec<DocAddress>), most: usize) {
    *docs += later.0;
    sample.extend(later.1);
    sample.truncate(most);
}

fn count(docs: &mut u64, sample: &mut Vec<DocAddress>, most: usize, address: impl FnOnce() -> DocAddress) {
    *docs += 1;
    if sample.len() < most {
        sample.push(address());
    }
}
