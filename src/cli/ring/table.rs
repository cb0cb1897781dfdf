//! Reading and writing tables of rings.

use std::path::{Path, PathBuf};

use clap::Args;
use shardsplit::error::{Error, Result};
use shardsplit::publish::{RealFs, read_routing, write_table_file};
use shardsplit::route::{RingTable, RoutingTable};

use crate::cli::routers;

/// Where a new table goes.
#[derive(Args, Debug)]
pub(super) struct OutArgs {
    /// File to write the new table to, which must not exist; without it the change is only shown
    #[arg(short, long, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,
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
