//! One index, one job, some faults.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::json;
use shardsplit::job::{Change, IndexJob, Job};
use shardsplit::partition::{KeyPolicies, KeySpec, Placement, Policy, SegmentMode};
use shardsplit::plan::Method;
use shardsplit::progress::{Cancel, Silent};
use shardsplit::publish::FileSystem;
use shardsplit::route::{Cut, Node, PlannedRing, RingTable, RoutingTable, SlotTable, SplitSpec, TableSpec};
use shardsplit::verify::VerifyLevel;

use super::Tally;
use super::fault::{self, Bench};
use crate::common::anew;
use crate::common::check::{self, assert_split};
use crate::common::content::{Content, Doc};
use crate::common::documents::{self, Oddities, Rng, RoutingValues};
use crate::common::draw::fixtures;
use crate::common::files::tempdir;
use crate::common::fixture::{Batch, Fixture};
use crate::common::routing::Routing;
use crate::common::seeds;
use crate::property::case::cases;

/// Kinds of jobs; cases of neighbouring seeds are of different kinds.
pub const KINDS: u64 = 10;

/// What is run.
#[derive(Clone)]
pub enum Task {
    Shard(Job),
    Index(IndexJob),
}

impl Task {
    pub fn out(&self) -> &Path {
        match self {
            Task::Shard(job) => &job.out,
            Task::Index(job) => &job.out,
        }
    }

    /// The same job with another target.
    pub fn to(&self, out: &Path) -> Task {
        match self.clone() {
            Task::Shard(job) => Task::Shard(Job { out: out.to_owned(), ..job }),
            Task::Index(job) => Task::Index(IndexJob { out: out.to_owned(), ..job }),
        }
    }

    /// Runs it on a file system.
    pub fn run_on(&self, fs: Arc<dyn FileSystem>) -> shardsplit::Result<()> {
        let (silent, cancel) = (&Silent, &Cancel::new());
        match self {
            Task::Shard(job) => job.prepare_on(fs, silent, cancel)?.execute(silent, cancel).map(drop),
            Task::Index(job) => job.prepare_on(fs, silent, cancel)?.execute(silent, cancel).map(drop),
        }
    }

    /// Writes it down for the program to run.
    pub fn save(&self, path: &Path) {
        match self {
            Task::Shard(job) => drop(job.prepare(&Silent, &Cancel::new()).unwrap().save(path).unwrap()),
            Task::Index(job) => drop(job.prepare(&Silent, &Cancel::new()).unwrap().save(path).unwrap()),
        }
    }
}

/// What a job must make of an index.
struct Drawn {
    /// `split linked by formula`.
    kind: String,
    task: Task,
    fixture: Fixture,
    /// Directories of the source.
    shards: Vec<PathBuf>,
    /// Where documents must be, where a formula says it; and whether all else can be compared in one go.
    routing: Option<(Routing, bool)>,
}

/// Draws the case of `seed` and goes through it.
pub fn run(seed: u64, tally: &Tally) {
    let dir = tempdir();
    let mut rng = Rng::new(seed);
    let drawn = draw(seed, &mut rng, dir.path());
    tally.sources.fetch_add(1, Ordering::Relaxed);
    tally.documents.fetch_add(drawn.fixture.live().len() as u64, Ordering::Relaxed);

    let bench = Bench::new(dir.path(), &drawn.task);
    judge(&drawn, &bench.undisturbed);
    for kind in fault::some_of(&mut rng, seed) {
        let outcome = fault::befall(&bench, kind, &mut rng);
        tally.count(&drawn.kind, kind.name(), outcome);
    }
}

fn draw(seed: u64, rng: &mut Rng, dir: &Path) -> Drawn {
    let (source, out) = (dir.join("source"), dir.join("out"));
    let kind = seed % KINDS;
    if kind < 3 {
        let case = seeds::draw(&cases(), seed..seed + 1).remove(0);
        case.fixture.build(&source);
        let mut job = case.job(&source, &out);
        job.verify = level(rng);
        let kind = format!("{} by {}", method_name(job.method), job.split.function.name());
        return Drawn {
            kind,
            task: Task::Shard(job),
            shards: vec![source],
            routing: Some((case.routing(), true)),
            fixture: case.fixture,
        };
    }
    let mut fixture = seeds::draw(&fixtures(), seed..seed + 1).remove(0);
    if rng.below(6) == 0 {
        // Long enough for a kill to find it at work.
        fixture.batches = Fixture::everything(3, 150 + u32::try_from(rng.below(250)).unwrap()).delete_every(7).batches;
    }
    let method = rng.pick(&[Method::Rewrite, Method::Rewrite, Method::Link]);
    if kind < 7 { alone(kind, rng, (&source, &out), fixture, method) } else { whole(rng, dir, fixture, method) }
}

/// A shard on its own, by tables or without a key.
fn alone(kind: u64, rng: &mut Rng, (source, out): (&Path, &Path), fixture: Fixture, method: Method) -> Drawn {
    fixture.build(source);
    let into = 2 + u32::try_from(rng.below(5)).unwrap();
    let keys = KeySpec { key: "id".to_owned(), routing_field: fixture.routing(1).routing_field };
    let new = Job {
        keys,
        method,
        segments: rng.pick(&[SegmentMode::One, SegmentMode::Keep]),
        verify: level(rng),
        threads: 1 + usize::try_from(rng.below(4)).unwrap(),
        policies: KeyPolicies { missing: Policy::Child(0), ..KeyPolicies::default() },
        ..Job::new(source, out, into, "id")
    };
    let (name, job) = match kind {
        3 | 4 => {
            let (name, table, cut) = if kind == 3 {
                let slots = into * (1 + u32::try_from(rng.below(4)).unwrap());
                let table = RoutingTable::Slots(SlotTable::even(1, slots).unwrap());
                ("slots", table, Cut::Even(into))
            } else {
                let node = |shard: u32| Node { name: format!("node-{shard}"), weight: 1, shard };
                let before = PlannedRing::new(vec![node(0)], 16).unwrap();
                let after = (1..into).fold(before.clone(), |ring, shard| ring.add(node(shard)).unwrap());
                let [before, after] = [before, after].map(|ring| RoutingTable::Ring(RingTable::Planned(ring)));
                ("a ring", before, Cut::To(after))
            };
            let tables = Box::new(TableSpec { table, source_shard: 0, cut, routing_partition_size: 1 });
            (name, Job { tables: Some(tables), ..new })
        }
        _ => {
            let placement = match rng.below(4) {
                0 => Placement::Sequence { children: into },
                1 => Placement::RoundRobin { children: into },
                2 => Placement::Range { field: "serial".to_owned(), cuts: vec!["20".to_owned(), "100".to_owned()] },
                _ => Placement::Value { field: "serial".to_owned(), values: vec!["3".to_owned(), "7".to_owned()] },
            };
            let placed = Job::placed(source, out, placement).unwrap();
            let Job { placement, split, keys, .. } = placed;
            ("no key", Job { placement, split, keys, policies: KeyPolicies::default(), ..new })
        }
    };
    let kind = format!("{} by {name}", method_name(method));
    Drawn { kind, task: Task::Shard(job), fixture, shards: vec![source.to_owned()], routing: None }
}

/// A whole index: split, merged or cloned.
fn whole(rng: &mut Rng, dir: &Path, mut fixture: Fixture, method: Method) -> Drawn {
    fixture.odd = Oddities { missing_ids: false, ..fixture.odd };
    let (before, routing_shards) = (1 + u32::try_from(rng.below(4)).unwrap(), 24);
    let partitioned = fixture.routing == RoutingValues::Always && rng.below(2) == 0;
    let size = if partitioned { 3 } else { 1 };
    let template = fixture.routing(1);
    let routing = |shards: u32| {
        let split = SplitSpec {
            number_of_routing_shards: Some(routing_shards),
            routing_partition_size: size,
            ..SplitSpec::new(shards)
        };
        Routing { split, ..template.clone() }
    };
    let placed = |number: &u32| {
        let id = fixture.odd.id(*number, fixture.key);
        let value = documents::routing(*number, fixture.routing);
        routing(1).child(id.as_deref(), value.as_deref()).is_some()
    };
    let batches = fixture
        .batches
        .iter()
        .map(|batch| Batch { add: batch.add.iter().copied().filter(placed).collect(), delete: batch.delete.clone() });
    let batches: Vec<Batch> = batches.collect();
    fixture.batches = batches;
    let one = dir.join("one");
    fixture.build(&one.join("0"));
    let file = json!({
        "format": 1, "routing": "elasticsearch", "number_of_shards": 1, "number_of_routing_shards": routing_shards,
        "routing_partition_size": size, "key": "id", "routing_field": template.routing_field,
    });
    std::fs::write(one.join("routing.json"), file.to_string()).unwrap();
    let index = dir.join("source");
    let change = Change::Split { into: before, number_of_routing_shards: Some(routing_shards) };
    let first = rng.pick(&[Method::Rewrite, Method::Link]);
    IndexJob { method: first, ..IndexJob::new(&one, &index, change) }.run(&Silent, &Cancel::new()).unwrap();
    // Linked shards share their files with it: what is done to the one must not be seen in the other.
    let (change, after, name) = match (rng.below(3), before) {
        (0, _) => {
            let into = rng.pick(&[1, 2, 3]).min(routing_shards / before);
            let into = if routing_shards.is_multiple_of(before * into) { into } else { 1 };
            // Only an index of one shard could choose another.
            (
                Change::Split { into, number_of_routing_shards: (before == 1).then_some(routing_shards) },
                before * into,
                "split",
            )
        }
        (1, 2..) => {
            let into = if before == 4 { rng.pick(&[1, 2]) } else { 1 };
            (Change::Merge { into }, into, "merge")
        }
        _ => (Change::Clone, before, "clone"),
    };
    let job = IndexJob {
        method,
        segments: rng.pick(&[SegmentMode::One, SegmentMode::Keep]),
        verify: level(rng),
        threads: 1 + usize::try_from(rng.below(3)).unwrap(),
        parallel: 1 + usize::try_from(rng.below(3)).unwrap(),
        ..IndexJob::new(&index, dir.join("out"), change)
    };
    let shards = (0..before).map(|shard| index.join(shard.to_string())).collect();
    let routing = Some((routing(after), false));
    let kind = format!("{name} of an index, {}", method_name(method));
    Drawn { kind, task: Task::Index(job), fixture, shards, routing }
}

fn level(rng: &mut Rng) -> VerifyLevel {
    rng.pick(&[VerifyLevel::Full, VerifyLevel::Full, VerifyLevel::Full, VerifyLevel::Counts, VerifyLevel::None])
}

fn method_name(method: Method) -> &'static str {
    match method {
        Method::Rewrite => "rewritten",
        Method::Link => "linked",
    }
}

/// Compares children with the source and with their documents indexed anew.
fn judge(drawn: &Drawn, out: &Path) {
    let mut fields = vec!["id", "serial"];
    let routing = drawn.routing.as_ref().map(|(routing, _)| routing);
    fields.extend(routing.and_then(|routing| routing.routing_field.as_deref()));
    fields.retain(|field| drawn.fixture.schema().get_field(field).is_ok());
    let source = Content::together(drawn.shards.iter().map(|shard| Content::read(shard, &fields)).collect());
    let children: Vec<(u32, Content)> = match &drawn.routing {
        Some((routing, true)) => assert_split(&source, out, routing),
        _ => numbers(out)
            .into_iter()
            .map(|shard| (shard, Content::read(&out.join(shard.to_string()), &fields)))
            .collect(),
    };
    let mut found = Vec::new();
    // No document is lost, doubled or changed, whoever has it.
    let sorted = |docs: &mut Vec<&Doc>| docs.sort_by(|left, right| left.lines.cmp(&right.lines));
    let mut expected: Vec<&Doc> = source.docs.iter().collect();
    let mut actual: Vec<&Doc> = children.iter().flat_map(|(_, child)| &child.docs).collect();
    sorted(&mut expected);
    sorted(&mut actual);
    check::compare_sequences("all children", &expected, &actual, &mut found);
    let mut live = drawn.fixture.live();
    let mut serials: Vec<u32> = actual.iter().map(|doc| anew::serial(doc)).collect();
    live.sort_unstable();
    serials.sort_unstable();
    if live != serials {
        found.push(format!("children have the documents {serials:?}, indexed were {live:?}"));
    }
    for (shard, child) in &children {
        if let Some(routing) = routing {
            let strays = child.docs.iter().filter(|doc| routing.shard(&doc.keys) != *shard);
            found.extend(strays.take(3).map(|doc| format!("{:?} in child {shard}", doc.keys)));
        }
        if linked(&drawn.task) {
            continue;
        }
        found.extend(anew::segment_differences(&drawn.fixture, &source, &format!("child {shard}"), child));
    }
    assert!(found.is_empty(), "{}:\n{}", drawn.kind, found.join("\n"));
}

fn linked(task: &Task) -> bool {
    match task {
        Task::Shard(job) => job.method == Method::Link,
        Task::Index(job) => job.method == Method::Link,
    }
}

/// Shard numbers of a set.
fn numbers(out: &Path) -> Vec<u32> {
    let names = std::fs::read_dir(out).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut numbers: Vec<u32> = names.filter_map(|name| name.parse().ok()).collect();
    numbers.sort_unstable();
    numbers
}

/// What stands in a directory, lock files of the source apart.
pub fn tree(dir: &Path) -> BTreeMap<String, String> {
    let mut tree = crate::linked::tree(dir);
    tree.retain(|name, _| !name.ends_with(".tantivy-writer.lock"));
    tree
}
