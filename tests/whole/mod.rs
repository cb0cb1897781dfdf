//! Whole indexes: a directory of shards with a routing file becomes another one, with more shards, fewer, or as many.

mod crash;
mod refused;
mod round;
mod steady;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use shardsplit::job::{Change, IndexJob};
use shardsplit::partition::SegmentMode;
use shardsplit::plan::Method;
use shardsplit::progress::{Cancel, Silent};
use shardsplit::report::IndexReport;
use shardsplit::route::RoutingFunction;

use crate::common::files::tempdir;
use crate::common::fixture::Fixture;

/// All ways to write children.
const WAYS: [(Method, SegmentMode); 3] =
    [(Method::Rewrite, SegmentMode::One), (Method::Rewrite, SegmentMode::Keep), (Method::Link, SegmentMode::One)];

const FUNCTIONS: [RoutingFunction; 2] = [RoutingFunction::Elasticsearch, RoutingFunction::ElasticsearchModulo];

/// An index of one shard and a place for those that are made of it.
struct Bench {
    dir: tempfile::TempDir,
    function: RoutingFunction,
    routing_shards: u32,
    partition: u32,
    routing_field: Option<String>,
}

impl Bench {
    /// `fixture` as `one`, an index of one shard.
    fn new(fixture: &Fixture, function: RoutingFunction, routing_shards: u32, partition: u32) -> Bench {
        let bench = Bench {
            dir: tempdir(),
            function,
            routing_shards,
            partition,
            routing_field: fixture.routing(1).routing_field,
        };
        fixture.build(&bench.path("one/0"));
        bench.write_routing("one", &bench.routing_file(1));
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn routing_file(&self, shards: u32) -> Value {
        let scaled = self.function == RoutingFunction::Elasticsearch;
        json!({
            "format": 1,
            "routing": if scaled { "elasticsearch" } else { "elasticsearch-modulo" },
            "number_of_shards": shards,
            "number_of_routing_shards": scaled.then_some(self.routing_shards),
            "routing_partition_size": self.partition,
            "key": "id",
            "routing_field": self.routing_field,
        })
    }

    fn write_routing(&self, index: &str, file: &Value) {
        std::fs::write(self.path(index).join("routing.json"), file.to_string()).unwrap();
    }

    fn job(&self, from: &str, to: &str, change: Change) -> IndexJob {
        IndexJob { threads: 2, ..IndexJob::new(self.path(from), self.path(to), change) }
    }

    /// Splits `from` into `into` each.
    fn split(&self, into: u32) -> Change {
        let scaled = self.function == RoutingFunction::Elasticsearch;
        Change::Split { into, number_of_routing_shards: scaled.then_some(self.routing_shards) }
    }

    /// `from`, an index of `shards`, made of `one`.
    fn with_shards(fixture: &Fixture, shards: u32) -> Bench {
        let bench = Bench::new(fixture, RoutingFunction::Elasticsearch, 12, 1);
        run(&bench.job("one", "index", bench.split(shards)));
        bench
    }
}

fn run(job: &IndexJob) -> IndexReport {
    job.run(&Silent, &Cancel::new()).unwrap_or_else(|error| panic!("{}: {error}", job.out.display()))
}

fn small() -> Fixture {
    let mut fixture = Fixture::everything(2, 60).delete_every(7);
    fixture.fields.truncate(4);
    fixture
}

fn read_json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}
