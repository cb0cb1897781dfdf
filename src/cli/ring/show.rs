//! `shardsplit ring show`: one ring, its shares drawn as bars.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use shardsplit::error::Result;
use shardsplit::route::{HASHES, RingTable, ShardNumber, Share};

use super::table;
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::human::{self, Align, Table};

/// Longest bar, in characters.
const BAR: u64 = 40;

/// Show a ring: nodes, weights, and the exact share of keys that each node has, as bars
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// Table file, or index directory
    #[arg(value_name = "TABLE")]
    table: PathBuf,
}

/// A ring as a typed line.
#[derive(Serialize)]
struct ShownRing {
    kind: &'static str,
    points: usize,
    /// Points at which several nodes stand.
    shared_points: usize,
    nodes: Vec<ShownNode>,
}

#[derive(Serialize)]
struct ShownNode {
    name: String,
    shard: ShardNumber,
    weight: u32,
    points: usize,
    /// Part of all keys, from 0 to 1.
    share: f64,
    /// The part that its weight asks for.
    wanted: f64,
}

/// Runs the command.
pub(super) fn run(args: &ShowArgs, console: &Console) -> Result<Exit> {
    let ring = table::read(&args.table)?;
    let line = shown(&ring);
    console.result("ring", &line, || human::printable(&args.table.display().to_string()) + ": " + &text(&ring))?;
    Ok(Exit::Done)
}

fn shown(ring: &RingTable) -> ShownRing {
    let points = ring.points();
    let nodes = ring.nodes().iter().zip(ring.shares()).zip(ring.wanted_shares());
    let (kind, shared_points) = match ring {
        RingTable::Ring(ring) => ("ring", ring.collisions().len()),
        RingTable::Planned(_) => ("planned", 0),
    };
    let node = |((node, share), wanted): ((&shardsplit::route::Node, Share), Share)| ShownNode {
        name: node.name.clone(),
        shard: node.shard,
        weight: node.weight,
        points: points.iter().filter(|(_, shard)| *shard == node.shard).count(),
        share: share.ratio(),
        wanted: wanted.ratio(),
    };
    ShownRing { kind, points: points.len(), shared_points, nodes: nodes.map(node).collect() }
}

/// The ring for people; begins with its kind.
pub(super) fn text(ring: &RingTable) -> String {
    let points = ring.points();
    let (shares, wanted) = (ring.shares(), ring.wanted_shares());
    let most = shares.iter().max().map_or(1, |share| share.hashes().max(1));
    let mut table = Table::new([
        ("node", Align::Left),
        ("shard", Align::Right),
        ("weight", Align::Right),
        ("points", Align::Right),
        ("wanted", Align::Right),
        ("share", Align::Right),
        ("off by", Align::Right),
        ("", Align::Left),
    ]);
    for ((node, share), wanted) in ring.nodes().iter().zip(&shares).zip(&wanted) {
        let own = points.iter().filter(|(_, shard)| *shard == node.shard).count();
        table.row([
            node.name.clone(),
            node.shard.to_string(),
            human::count(node.weight),
            human::count(own as u64),
            wanted.to_string(),
            share.to_string(),
            deviation(*share, *wanted),
            bar(*share, most),
        ]);
    }
    let nodes = human::counted(ring.nodes().len() as u64, "node", "nodes");
    format!("{nodes}, {}\n\n{}", super::table::kind(ring), table.render())
}

/// By how much of what it should be a share is larger or smaller: `+1.2 %`.
pub(super) fn deviation(share: Share, wanted: Share) -> String {
    if wanted.hashes() == 0 {
        return "-".to_owned();
    }
    let off = (share.ratio() / wanted.ratio() - 1.0) * 100.0;
    // A hash more or less of 2^32 is rounding.
    if off.abs() < 0.0005 { "0.00 %".to_owned() } else { format!("{off:+.2} %") }
}

/// As long as the share is large beside the largest.
fn bar(share: Share, most: u64) -> String {
    let hashes = share.hashes().min(HASHES);
    let length = (hashes * BAR).div_ceil(most.max(1)).min(BAR);
    "#".repeat(usize::try_from(length).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use shardsplit::route::{CollisionRule, Node, Ring};

    use super::*;

    #[test]
    fn the_longest_bar_is_the_largest_share_and_every_node_has_one() {
        assert_eq!(bar(Share::of_hashes(1000), 1000).len(), 40);
        assert_eq!(bar(Share::of_hashes(500), 1000).len(), 20);
        assert_eq!(bar(Share::of_hashes(1), 1000).len(), 1);
        assert_eq!(bar(Share::of_hashes(0), 1000), "");
    }

    #[test]
    fn shares_points_and_weights_stand_in_a_row() {
        let nodes = vec![Node::new("new-1", 200, 0), Node::new("new-2", 200, 1), Node::new("old-1", 50, 2)];
        let text = text(&RingTable::Ring(Ring::new(nodes, CollisionRule::LowestName).unwrap()));
        assert!(text.starts_with("3 nodes, classic ring of 450 points\n"), "{text}");
        let row = text.lines().find(|line| line.starts_with("new-2")).unwrap();
        let cells: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(cells[1..4], ["1", "200", "200"]);
        assert_eq!(cells.last().unwrap().len(), 40, "it has most");
    }
}
