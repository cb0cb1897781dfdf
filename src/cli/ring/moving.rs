//! `shardsplit ring move`: an index that is routed by a ring, taken to another one.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use shardsplit::error::{Error, Result};
use shardsplit::job::IndexJob;
use shardsplit::partition::KeyPolicies;
use shardsplit::plan::{IndexPlan, Method, PlannedMove};
use shardsplit::report::IndexReport;
use shardsplit::route::{RingTable, RoutingTable, ShardNumber};

use super::compare::{self, Comparison};
use super::table::{self, Side};
use crate::cli::args::{IndexArgs, PolicyArgs};
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::human::{self, Align, Table};
use crate::cli::writing::WritingArgs;
use crate::cli::{index, interrupt};

/// Take an index from its ring to another one: move the documents that change nodes, and only those
///
/// Takes an index directory whose routing.json has a ring, and makes the next generation of it at --out: a shard for every
/// node of the new ring, and a routing.json with that ring. What stays in a shard is hard-linked, what arrives is written as
/// one new segment, in one pass over all shards together; with --method rewrite everything is written, and nothing deleted
/// stays behind. Every document is verified to be in exactly one shard, unchanged, before anything becomes visible; the old
/// generation is not touched. Memory: 12 bytes per document of all shards, 24 while verifying.
#[derive(Args, Debug)]
pub(crate) struct MoveArgs {
    #[command(flatten)]
    index: IndexArgs,
    /// The new ring: a table file
    #[arg(long, value_name = "TABLE")]
    to: PathBuf,
    /// Directory to make: the next generation. It must not exist, and hard links need it on the file system of --index
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    policies: PolicyArgs,
    #[command(flatten)]
    writing: WritingArgs,
    /// Print the plan and stop
    #[arg(long)]
    dry_run: bool,
}

/// What will be, or was, done, with the rings compared.
#[derive(Serialize)]
struct Moved<'a, T: Serialize> {
    #[serde(flatten)]
    job: &'a T,
    ring: &'a Comparison,
}

/// Runs the command.
pub(super) fn run(args: &MoveArgs, console: &Console) -> Result<Exit> {
    let (before, after) = (table::read(&args.index.index)?, table::read(&args.to)?);
    let comparison = compare::compare(&Side::of_ring(&before), &Side::of_ring(&after), None, false)?;
    if before == after {
        return Err(Error::Usage(format!(
            "{} is the ring that {} has already, so nothing would move; `clone` copies the index",
            args.to.display(),
            args.index.index.display()
        )));
    }
    refuse_renumbered(&before, &after)?;
    if args.writing.parallel.is_some() {
        return Err(Error::Usage("--parallel is not for moves: all shards together are one piece of work".to_owned()));
    }
    let job = IndexJob::moved(&args.index.index, &args.out, RoutingTable::Ring(after.clone()));
    let method = args.writing.method(job.method);
    let policies = args.policies.over(KeyPolicies::default());
    let job = IndexJob { policies, method, lock: args.index.lock(), ..args.writing.over(job) };

    let cancel = interrupt::cancel_on_signal(console);
    let bars = console.bars();
    let prepared = job.prepare(&bars, &cancel)?;
    if args.dry_run {
        drop(bars);
        let line = Moved { job: prepared.plan(), ring: &comparison };
        console.result("ring_move_plan", &line, || plan_text(prepared.plan(), [&before, &after], &comparison))?;
        return Ok(Exit::Done);
    }
    let report = index::run_prepared(prepared, &bars, &cancel, console)?;
    drop(bars);
    let line = Moved { job: &report, ring: &comparison };
    console.result("ring_move", &line, || report_text(&report, [&before, &after], &comparison))?;
    Ok(Exit::Done)
}

/// A node whose shard number changes would have to move all its documents, though they are where they belong.
fn refuse_renumbered(before: &RingTable, after: &RingTable) -> Result<()> {
    for node in after.nodes() {
        if let Some(old) = before.nodes().iter().find(|old| old.name == node.name && old.shard != node.shard) {
            return Err(Error::Usage(format!(
                "node {} has shard {} in the index and {} in the new ring; a node keeps its shard number: make the new ring from the \
                 one that the index has (`ring add`, `ring remove`, `ring reweigh`)",
                node.name, old.shard, node.shard
            )));
        }
    }
    Ok(())
}

/// Documents of a shard: what it had, what stays, what arrives.
#[derive(Clone, Copy, Default)]
struct Docs {
    leave: u64,
    arrive: u64,
}

fn docs(moves: &[PlannedMove]) -> BTreeMap<ShardNumber, Docs> {
    let mut docs: BTreeMap<ShardNumber, Docs> = BTreeMap::new();
    for flow in moves {
        docs.entry(flow.from).or_default().leave += flow.docs;
        docs.entry(flow.to).or_default().arrive += flow.docs;
    }
    docs
}

fn moves(plan: &IndexPlan) -> Vec<PlannedMove> {
    plan.parts.iter().flat_map(|part| part.moves.iter().copied()).collect()
}

/// `move INDEX of 4 shards to 5 at OUT (what stays is linked, what moves is written)`.
fn headline(plan: &IndexPlan) -> String {
    let (from, to) = (plan.source.display(), plan.out.display());
    let shards = human::counted(u64::from(plan.before.number_of_shards), "shard", "shards");
    let how = match plan.method {
        Method::Link => "what stays is linked, what moves is written",
        Method::Rewrite => "everything is written",
    };
    human::printable(&format!("move {from} of {shards} to {} at {to} ({how})", plan.after.number_of_shards))
}

fn nodes(plan: &IndexPlan, rings: [&RingTable; 2], written: &BTreeMap<ShardNumber, (u64, u64)>) -> String {
    let docs = docs(&moves(plan));
    let after: BTreeMap<ShardNumber, u64> = plan.children.iter().map(|child| (child.shard, child.docs)).collect();
    let mut table = Table::new([
        ("node", Align::Left),
        ("shard", Align::Right),
        ("before", Align::Right),
        ("leave", Align::Right),
        ("arrive", Align::Right),
        ("documents", Align::Right),
        ("linked", Align::Right),
        ("written", Align::Right),
    ]);
    let mut shards: Vec<ShardNumber> = rings.iter().flat_map(|ring| ring.nodes()).map(|node| node.shard).collect();
    shards.sort_unstable();
    shards.dedup();
    for shard in shards {
        let Docs { leave, arrive } = docs.get(&shard).copied().unwrap_or_default();
        let name = rings.iter().rev().find_map(|ring| ring.node(shard)).map_or("", |node| &node.name);
        let then = after.get(&shard).copied();
        let bytes = written.get(&shard).copied();
        let size = |bytes: Option<u64>| bytes.map_or_else(|| "-".to_owned(), human::bytes);
        table.row([
            name.to_owned(),
            shard.to_string(),
            human::count((then.unwrap_or(0) + leave).saturating_sub(arrive)),
            human::count(leave),
            human::count(arrive),
            then.map_or_else(|| "-".to_owned(), human::count),
            size(bytes.map(|(linked, _)| linked)),
            size(bytes.map(|(_, written)| written)),
        ]);
    }
    table.render()
}

fn moved(plan: &IndexPlan, ring: &Comparison) -> String {
    let moved: u64 = moves(plan).iter().map(|flow| flow.docs).sum();
    format!(
        "{} of {} ({}); the ring says {:.3} %, at least {:.3} %",
        human::count(moved),
        human::documents(plan.docs),
        human::share(moved, plan.docs),
        ring.moved * 100.0,
        ring.optimum * 100.0
    )
}

fn plan_text(plan: &IndexPlan, rings: [&RingTable; 2], ring: &Comparison) -> String {
    let predicted = plan.children.iter().map(|child| (child.shard, (0, child.predicted_bytes))).collect();
    let mut text = format!("plan: {}\n\n{}", headline(plan), nodes(plan, rings, &predicted));
    let mut facts = Table::new([("", Align::Left), ("", Align::Left)]);
    facts.row(["moves".to_owned(), moved(plan, ring)]);
    facts.row([
        "writes".to_owned(),
        format!("{} of {}", human::bytes(plan.peak_disk_bytes), human::bytes(plan.source_bytes)),
    ]);
    facts.row(["hashed".to_owned(), human::counted(plan.keys_hashed, "key", "keys")]);
    let _ = write!(text, "\n{}", facts.render());
    for warning in plan.warnings.iter().chain(&ring.warnings) {
        let _ = writeln!(text, "warning: {}", human::printable(warning));
    }
    text
}

fn report_text(report: &IndexReport, rings: [&RingTable; 2], ring: &Comparison) -> String {
    let plan = &report.plan;
    let bytes =
        |child: &shardsplit::report::ChildReport| (child.bytes.saturating_sub(child.new_bytes), child.new_bytes);
    let written: BTreeMap<ShardNumber, (u64, u64)> =
        report.children.iter().map(|child| (child.shard, bytes(child))).collect();
    let mut text = format!("{}\n\n{}", headline(plan), nodes(plan, rings, &written));
    let all: u64 = written.values().map(|(_, written)| written).sum();
    let mut facts = Table::new([("", Align::Left), ("", Align::Left)]);
    facts.row(["moved".to_owned(), moved(plan, ring)]);
    facts.row([
        "written".to_owned(),
        format!("{}; the index has {}", human::bytes(all), human::bytes(plan.source_bytes)),
    ]);
    index::proof(&mut text, facts, report, &ring.warnings);
    for note in &report.notes {
        let _ = writeln!(text, "note: {}", human::printable(note));
    }
    text
}
