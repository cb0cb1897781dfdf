//! `shardsplit ring new`, `add`, `remove` and `reweigh`: a table, and from a table another one.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde::Serialize;
use shardsplit::error::{Error, Result};
use shardsplit::route::{
    CollisionRule, DEFAULT_TOKENS_PER_NODE, Node, PlannedRing, Ring, RingError, RingTable, ShardNumber,
};

use super::compare::{self, Comparison};
use super::show;
use super::table::{self, OutArgs, Side};
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::human;

/// Make a ring
///
/// Nodes get the shard numbers 0, 1, … in the order in which they are named.
#[derive(Args, Debug)]
pub(crate) struct NewArgs {
    /// Nodes, as NAME or NAME=WEIGHT; the weight of a classic ring is its number of virtual nodes
    /// [default weight: 1 of a planned ring, 200 of a classic one]
    #[arg(long = "node", value_name = "NAME[=WEIGHT],...", required = true, value_delimiter = ',', value_parser = table::node)]
    nodes: Vec<(String, Option<u32>)>,
    /// Kind of ring
    #[arg(long, value_name = "KIND", default_value = "planned")]
    kind: KindArg,
    /// Planned ring: tokens for each node that joins; more, and more nodes are exactly even, but the table is larger
    #[arg(long, value_name = "T", default_value_t = DEFAULT_TOKENS_PER_NODE)]
    tokens: u32,
    /// Classic ring: who has a point at which several nodes stand
    #[arg(long, value_name = "RULE", default_value = "lowest-name")]
    collision: CollisionArg,
    #[command(flatten)]
    out: OutArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum KindArg {
    /// Tokens are planned and stored: shares are exact, and no more moves than must
    Planned,
    /// Points are hashes of NAME#VNi, as of the usual Java ring: agrees with rings elsewhere, shares are even to 1/sqrt(V)
    Classic,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum CollisionArg {
    /// The node with the lowest name, whatever the order of nodes
    LowestName,
    /// The node that was added last, as in a TreeMap
    TreemapLastWins,
}

/// Add a node to a ring
#[derive(Args, Debug)]
pub(crate) struct AddArgs {
    /// Table file, or index directory
    #[arg(value_name = "TABLE")]
    table: PathBuf,
    /// The node
    #[arg(long, value_name = "NAME")]
    node: String,
    /// Its weight [default: that of all others, if they have one]
    #[arg(long, value_name = "W")]
    weight: Option<u32>,
    /// Number of its shard [default: the lowest that no node has]
    #[arg(long, value_name = "N")]
    shard: Option<ShardNumber>,
    #[command(flatten)]
    out: OutArgs,
}

/// Remove a node from a ring
#[derive(Args, Debug)]
pub(crate) struct RemoveArgs {
    /// Table file, or index directory
    #[arg(value_name = "TABLE")]
    table: PathBuf,
    /// The node
    #[arg(long, value_name = "NAME")]
    node: String,
    #[command(flatten)]
    out: OutArgs,
}

/// Give a node of a ring another weight
#[derive(Args, Debug)]
pub(crate) struct ReweighArgs {
    /// Table file, or index directory
    #[arg(value_name = "TABLE")]
    table: PathBuf,
    /// The node
    #[arg(long, value_name = "NAME")]
    node: String,
    /// Its new weight
    #[arg(long, value_name = "W")]
    weight: u32,
    #[command(flatten)]
    out: OutArgs,
}

/// A change as a typed line.
#[derive(Serialize)]
struct Change<'a> {
    operation: &'static str,
    node: &'a str,
    /// Where the new table was written; `null` if it was only shown.
    out: Option<&'a Path>,
    #[serde(flatten)]
    comparison: Comparison,
}

/// A new ring as a typed line.
#[derive(Serialize)]
struct Made<'a> {
    nodes: &'a [Node],
    out: Option<&'a Path>,
}

/// Runs `new`.
pub(super) fn new(args: &NewArgs, console: &Console) -> Result<Exit> {
    let usual = if args.kind == KindArg::Planned { 1 } else { 200 };
    let node = |((name, weight), shard): (&(String, Option<u32>), ShardNumber)| {
        Node::new(name.clone(), weight.unwrap_or(usual), shard)
    };
    let nodes: Vec<Node> = args.nodes.iter().zip(0..).map(node).collect();
    let ring = match args.kind {
        KindArg::Planned => PlannedRing::new(nodes, args.tokens).map(RingTable::Planned),
        KindArg::Classic => {
            let rule = match args.collision {
                CollisionArg::LowestName => CollisionRule::LowestName,
                CollisionArg::TreemapLastWins => CollisionRule::TreemapLastWins,
            };
            Ring::new(nodes, rule).map(RingTable::Ring)
        }
    };
    let ring = ring?;
    let out = args.out.out.as_deref();
    out.map(|path| table::write(&ring, path)).transpose()?;
    console.result("ring_new", &Made { nodes: ring.nodes(), out }, || {
        format!("{}\n{}", show::text(&ring), written(out))
    })?;
    Ok(Exit::Done)
}

/// Runs `add`.
pub(super) fn add(args: &AddArgs, console: &Console) -> Result<Exit> {
    let before = table::read(&args.table)?;
    let Some(weight) = args.weight.or_else(|| usual_weight(&before)) else {
        let (least, most) = bounds(&before);
        return Err(Error::Usage(format!(
            "--weight is missing: the weights of the nodes in {} differ ({least} to {most}), so there is none to go by",
            args.table.display()
        )));
    };
    let shard = args.shard.unwrap_or_else(|| free_shard(&before));
    let after = before.add(Node::new(args.node.clone(), weight, shard));
    finish("add", (&args.node, &args.out), before, after, console)
}

/// Runs `remove`.
pub(super) fn remove(args: &RemoveArgs, console: &Console) -> Result<Exit> {
    let before = table::read(&args.table)?;
    let after = before.remove(&args.node);
    finish("remove", (&args.node, &args.out), before, after, console)
}

/// Runs `reweigh`.
pub(super) fn reweigh(args: &ReweighArgs, console: &Console) -> Result<Exit> {
    let before = table::read(&args.table)?;
    let after = before.reweigh(&args.node, args.weight);
    finish("reweigh", (&args.node, &args.out), before, after, console)
}

fn finish(
    operation: &'static str,
    (node, out): (&str, &OutArgs),
    before: RingTable,
    after: std::result::Result<RingTable, RingError>,
    console: &Console,
) -> Result<Exit> {
    let after = after?;
    let comparison = compare::compare(&Side::of_ring(&before), &Side::of_ring(&after), None, false)?;
    let out = out.out.as_deref();
    out.map(|path| table::write(&after, path)).transpose()?;
    let change = Change { operation, node, out, comparison };
    console.result("ring_change", &change, || {
        let head = format!("{operation} {node}: {}", table::kind(&after));
        format!("{}\n\n{}{}", human::printable(&head), compare::text(&change.comparison), written(out))
    })?;
    Ok(Exit::Done)
}

fn written(out: Option<&Path>) -> String {
    match out {
        Some(path) => format!("written to {}\n", human::printable(&path.display().to_string())),
        None => "not written: give --out FILE\n".to_owned(),
    }
}

/// The weight that all nodes have.
fn usual_weight(ring: &RingTable) -> Option<u32> {
    let (least, most) = bounds(ring);
    (least == most).then_some(most)
}

fn bounds(ring: &RingTable) -> (u32, u32) {
    let weights = || ring.nodes().iter().map(|node| node.weight);
    (weights().min().unwrap_or(1), weights().max().unwrap_or(1))
}

fn free_shard(ring: &RingTable) -> ShardNumber {
    (0..).find(|&shard| ring.node(shard).is_none()).unwrap_or(ShardNumber::MAX)
}
