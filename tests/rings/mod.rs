//! Rings: as files in the shell, and indexes that are taken from one ring to another. Where a document belongs is worked out
//! here, from the table file and the `murmur3` crate; documents are read with tantivy's own reader.

mod corpora;
mod examples;
mod moves;
mod refused;
mod shell;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use shardsplit::job::{IndexJob, Job};
use shardsplit::plan::Method;
use shardsplit::progress::{Cancel, Silent};
use shardsplit::report::IndexReport;
use shardsplit::route::{CollisionRule, Cut, Node, PlannedRing, Ring, RingTable, RoutingTable, TableSpec};

use crate::common::content::Content;
use crate::common::files::tempdir;
use crate::common::fixture::Fixture;
use crate::common::routing::hash;

pub fn nodes(names: &[(&str, u32)]) -> Vec<Node> {
    names.iter().zip(0..).map(|(&(name, weight), shard)| Node::new(name, weight, shard)).collect()
}

pub fn planned(names: &[(&str, u32)]) -> RingTable {
    RingTable::Planned(PlannedRing::new(nodes(names), 16).unwrap())
}

pub fn classic(names: &[(&str, u32)]) -> RingTable {
    RingTable::Ring(Ring::new(nodes(names), CollisionRule::LowestName).unwrap())
}

/// The shard of an id, as the table file says: of the first point that is not below its hash, or else of the first.
pub struct Oracle(BTreeMap<u32, u32>);

impl Oracle {
    pub fn new(table: &RingTable) -> Oracle {
        Oracle::of_file(&serde_json::from_str(&table.to_json().unwrap()).unwrap())
    }

    pub fn of_file(file: &Value) -> Oracle {
        let number = |value: &Value| u32::try_from(value.as_u64().unwrap()).unwrap();
        let mut points = BTreeMap::new();
        if let Some(tokens) = file["tokens"].as_array() {
            points.extend(tokens.iter().map(|token| (number(&token[0]), number(&token[1]))));
        } else {
            for node in file["nodes"].as_array().unwrap() {
                for virtual_node in 0..number(&node["weight"]) {
                    let point = hash(&format!("{}#VN{virtual_node}", node["name"].as_str().unwrap())).cast_unsigned();
                    assert!(
                        points.insert(point, number(&node["shard"])).is_none(),
                        "the test is simple about collisions"
                    );
                }
            }
        }
        Oracle(points)
    }

    pub fn shard(&self, id: &str) -> u32 {
        let point = self.0.range(hash(id).cast_unsigned()..).next().or_else(|| self.0.first_key_value());
        *point.unwrap().1
    }
}

/// Generations of an index side by side.
pub struct Cluster {
    dir: tempfile::TempDir,
}

impl Cluster {
    /// `fixture` as an index of its own, `one`, split by `ring` into the generation `first`.
    pub fn new(fixture: &Fixture, ring: &RingTable) -> Cluster {
        let cluster = Cluster { dir: tempdir() };
        fixture.build(&cluster.path("one"));
        cluster.split(ring, Method::Rewrite);
        cluster
    }

    /// Of an index that `build` makes.
    pub fn built(build: impl FnOnce(&Path), ring: &RingTable) -> Cluster {
        let cluster = Cluster { dir: tempdir() };
        build(&cluster.path("one"));
        cluster.split(ring, Method::Rewrite);
        cluster
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn split(&self, ring: &RingTable, method: Method) {
        split(&self.path("one"), &self.path("first"), ring, method);
    }

    pub fn job(&self, from: &str, to: &str, ring: &RingTable) -> IndexJob {
        let job = IndexJob::moved(self.path(from), self.path(to), RoutingTable::Ring(ring.clone()));
        IndexJob { threads: 2, ..job }
    }

    pub fn moved(&self, from: &str, to: &str, ring: &RingTable, method: Method) -> IndexReport {
        let job = IndexJob { method, ..self.job(from, to, ring) };
        let report = job.run(&Silent, &Cancel::new()).unwrap_or_else(|error| panic!("{from} to {to}: {error}"));
        let verified = report.verify.as_ref().unwrap();
        assert!(verified.is_clean() && verified.source_digest.is_some());
        assert_eq!(verified.source_digest, verified.children_digest);
        report
    }

    /// What tantivy reads of each shard of a generation.
    pub fn read(&self, generation: &str) -> BTreeMap<u32, Content> {
        read(&self.path(generation))
    }
}

/// Splits the only shard of an index by a ring.
pub fn split(source: &Path, out: &Path, ring: &RingTable, method: Method) {
    Job { method, ..split_job(source, out, ring) }.run(&Silent, &Cancel::new()).unwrap();
}

fn split_job(source: &Path, out: &Path, ring: &RingTable) -> Job {
    let whole = RingTable::Planned(PlannedRing::new(nodes(&[("all", 1)]), 1).unwrap());
    let cut = Cut::To(RoutingTable::Ring(ring.clone()));
    let spec = TableSpec { table: RoutingTable::Ring(whole), source_shard: 0, cut, routing_partition_size: 1 };
    Job { tables: Some(Box::new(spec)), ..Job::new(source, out, 1, "id") }
}

/// What tantivy reads of each shard of an index directory.
pub fn read(index: &Path) -> BTreeMap<u32, Content> {
    let entries = std::fs::read_dir(index).unwrap().map(|entry| entry.unwrap().file_name());
    let shards = entries.filter_map(|name| name.to_str()?.parse::<u32>().ok());
    shards.map(|shard| (shard, Content::read(&index.join(shard.to_string()), &["id"]))).collect()
}

/// Every document of a generation, sorted.
pub fn documents(generation: &BTreeMap<u32, Content>) -> Vec<Vec<String>> {
    let mut lines: Vec<_> = generation.values().flat_map(|shard| &shard.docs).map(|doc| doc.lines.clone()).collect();
    lines.sort();
    lines
}

/// Asserts that a generation has these documents, each in the shard that `ring` says, and a shard for every node.
#[track_caller]
pub fn assert_owned(generation: &BTreeMap<u32, Content>, ring: &RingTable, expected: &[Vec<String>]) {
    let oracle = Oracle::new(ring);
    let mut shards: Vec<u32> = ring.nodes().iter().map(|node| node.shard).collect();
    shards.sort_unstable();
    assert_eq!(generation.keys().copied().collect::<Vec<_>>(), shards);
    for (shard, content) in generation {
        for doc in &content.docs {
            assert_eq!(oracle.shard(&doc.keys["id"][0]), *shard, "{:?}", doc.keys);
        }
    }
    assert_eq!(documents(generation), expected, "the documents are not the same");
}
