//! `shardsplit route`: where a key is.

use std::path::PathBuf;

use clap::Args;
use shardsplit::error::{Error, Result};
use shardsplit::publish::{RealFs, RoutingFile, read_routing};
use shardsplit::route::{Cell, Location, Router};

use super::args::RoutingArgs;
use super::console::Console;
use super::exit::Exit;
use super::human::{Align, Table};
use super::index;
use super::routers::{self, Beside, CutArgs, TableArgs};

/// Print where keys are: hash, slot or point of the ring, shard, node
///
/// By any routing: as the routing.json of an index directory says (--index), or by flags, or by a table. Reads no index and
/// changes nothing. With --json one line of type "route" per key.
#[derive(Args, Debug)]
pub(crate) struct RouteArgs {
    /// Ids, as the key field has them
    #[arg(value_name = "KEY", required = true)]
    keys: Vec<String>,
    /// Index directory whose routing.json says how, or one of its shards
    #[arg(short, long, value_name = "DIR")]
    index: Option<PathBuf>,
    /// Custom routing value of these documents: it decides instead of their ids
    #[arg(long, value_name = "VALUE", help_heading = "Routing")]
    routing_value: Option<String>,
    #[command(flatten)]
    routing: RoutingArgs,
    #[command(flatten)]
    tables: TableArgs,
}

/// Runs the command.
pub(crate) fn run(args: &RouteArgs, console: &Console) -> Result<Exit> {
    let (router, partition_size) = router(args)?;
    if partition_size > 1 && args.routing_value.is_none() {
        return Err(Error::Usage(format!(
            "routing_partition_size is {partition_size}, so a document's routing value and its id decide together: give --routing-value"
        )));
    }
    let locate = |key: &String| router.locate(key, args.routing_value.as_deref(), partition_size);
    let locations: Vec<Location> = args.keys.iter().map(locate).collect();
    for location in &locations {
        console.detail("route", location)?;
    }
    console.text(|| text(&locations))?;
    Ok(Exit::Done)
}

fn router(args: &RouteArgs) -> Result<(Router, u32)> {
    let Some(dir) = &args.index else {
        let (router, _, partition_size) = routers::router(&args.routing, &args.tables, None)?;
        return Ok((router, partition_size));
    };
    if let Some(file) = read_routing(&RealFs, dir)? {
        index::check_flags(&file, None, None, &args.routing)?;
        routers::refuse_on_index(&args.tables, &CutArgs::default())?;
        return of_file(&file);
    }
    match Beside::of(dir)? {
        Some(beside) => {
            // Flags that contradict the file are refused.
            routers::router(&args.routing, &args.tables, Some(&beside))?;
            of_file(&beside.file)
        }
        None => Err(Error::Usage(format!(
            "{} has no routing.json, and stands beside none: say --routing and its numbers, or --ring FILE, instead of --index",
            dir.display()
        ))),
    }
}

fn of_file(file: &RoutingFile) -> Result<(Router, u32)> {
    Ok((file.router()?, file.routing().routing_partition_size))
}

fn text(locations: &[Location]) -> String {
    let cell = |location: &Location| match location.cell {
        None => String::new(),
        Some(Cell::Slot { slot, slots }) => format!("slot {slot} of {slots}"),
        Some(Cell::Range { range }) => format!("range {range}"),
        Some(Cell::Point { point, virtual_node: None }) => format!("token {point}"),
        Some(Cell::Point { point, virtual_node: Some(number) }) => format!("point {point} (#VN{number})"),
    };
    let mut table = Table::new([
        ("key", Align::Left),
        ("hash", Align::Right),
        ("unsigned", Align::Right),
        ("belongs to", Align::Left),
        ("shard", Align::Right),
        ("node", Align::Left),
    ]);
    for location in locations {
        table.row([
            location.key.clone(),
            location.hash.to_string(),
            location.hash.cast_unsigned().to_string(),
            cell(location),
            location.shard.to_string(),
            location.node.clone().unwrap_or_default(),
        ]);
    }
    table.render()
}
