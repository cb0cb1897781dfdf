//! Reading and writing tables of rings.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use shardsplit::error::{Error, Result};
use shardsplit::publish::{RealFs, read_routing, write_table_file};
use shardsplit::route::{HASHES, HashTable, Node, RingTable, Router, RoutingTable, ShardNumber, Share, SlotTable};

use crate::cli::routers;

/// Where a new table goes.
#[derive(Args, Debug)]
pub(super) struct OutArgs {
    /// File to write the new table to, which must not exist; without it the change is only shown
    #[arg(short, long, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,
}

/// One side of a comparison: a routing table of any kind, and who has its shards.
pub(super) struct Side {
    pub(super) table: Router,
    /// Of a ring; else one for every shard, of equal weight.
    pub(super) nodes: Vec<Node>,
    /// The share that each node's weight asks for.
    pub(super) wanted: Vec<Share>,
    /// Whether the nodes have names.
    pub(super) ring: bool,
}

impl Side {
    pub(super) fn of_ring(ring: &RingTable) -> Side {
        let table = Router::Table(Arc::new(RoutingTable::Ring(ring.clone())));
        Side { table, nodes: ring.nodes().to_vec(), wanted: ring.wanted_shares(), ring: true }
    }

    fn of_router(table: Router) -> Side {
        let shards = HashTable::shards(&table);
        let equal = Share::of_hashes(HASHES / (shards.len() as u64).max(1));
        let nodes: Vec<Node> = shards.iter().map(|&shard| Node::new(format!("shard {shard}"), 1, shard)).collect();
        Side { table, wanted: vec![equal; nodes.len()], nodes, ring: false }
    }

    /// Reads the file of a ring or of a table of slots, or what the routing file of an index directory says.
    pub(super) fn read(path: &Path) -> Result<Side> {
        if !path.is_dir() {
            return match routers::read_table::<SlotTable>(path) {
                Ok(slots) => Ok(Side::of_router(Router::Table(Arc::new(RoutingTable::Slots(slots))))),
                Err(_) => read(path).map(|ring| Side::of_ring(&ring)),
            };
        }
        match read_routing(&RealFs, path)? {
            None => read(path).map(|ring| Side::of_ring(&ring)),
            Some(file) => match file.table().map(|table| &**table) {
                Some(RoutingTable::Ring(ring)) => Ok(Side::of_ring(ring)),
                _ => Ok(Side::of_router(file.router()?)),
            },
        }
    }

    /// Who has a shard.
    pub(super) fn node(&self, shard: ShardNumber) -> Option<&Node> {
        self.nodes.iter().find(|node| node.shard == shard)
    }
}

/// Reads a table file, or the table of an index directory.
pub(super) fn read(path: &Path) -> Result<RingTable> {
    if !path.is_dir() {
        return routers::read_table(path);
    }
    let refuse = |problem: String| Err(Error::Usage(format!("{}: {problem}", path.display())));
    let Some(file) = read_routing(&RealFs, path)? else {
        return refuse(
            "this directory has no routing.json; name a table file, or an index directory: `split --routing ring --ring-after FILE` \
             makes an index one that is routed by a ring"
                .to_owned(),
        );
    };
    match file.table().map(|table| &**table) {
        Some(RoutingTable::Ring(ring)) => Ok(ring.clone()),
        _ => refuse(format!(
            "its routing.json says {} routing, which has no ring; `split --routing ring --ring-after FILE` makes an index of one \
             shard one that is routed by a ring",
            file.routing().function.name()
        )),
    }
}

/// Writes a table to where nothing stands.
pub(super) fn write(table: &RingTable, path: &Path) -> Result<()> {
    let json = table.to_json()?;
    write_table_file(&RealFs, path, json.as_bytes())
}

/// Parses `NAME` or `NAME=WEIGHT`.
pub(super) fn node(text: &str) -> std::result::Result<(String, Option<u32>), String> {
    match text.rsplit_once('=') {
        None => Ok((text.to_owned(), None)),
        Some((name, weight)) => match weight.parse() {
            Ok(weight) => Ok((name.to_owned(), Some(weight))),
            Err(_) => Err(format!("{weight:?} is not a weight; a node is NAME or NAME=WEIGHT")),
        },
    }
}

/// What kind of ring, and how many points or tokens it has.
pub(super) fn kind(table: &RingTable) -> String {
    match table {
        RingTable::Ring(ring) => {
            let collisions = match ring.collisions().len() {
                0 => String::new(),
                1 => ", 1 of them shared".to_owned(),
                many => format!(", {many} of them shared"),
            };
            format!("classic ring of {} points{collisions}", ring.number_of_points())
        }
        RingTable::Planned(ring) => {
            format!(
                "planned ring of {} tokens, {} for a node that joins",
                ring.tokens().count(),
                ring.tokens_per_node()
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_names_with_or_without_a_weight() {
        assert_eq!(node("a"), Ok(("a".to_owned(), None)));
        assert_eq!(node("10.0.0.1:9200=50"), Ok(("10.0.0.1:9200".to_owned(), Some(50))));
        for wrong in ["a=", "a=x", "a=-1", "a=1.5"] {
            assert!(node(wrong).is_err(), "{wrong}");
        }
    }
}
