//! Flags of routing by tables, and what they ask for: the table of the index, the shard, and where it is cut.
//!
//! A routing file beside the shard says table and shard already; flags that say something else are refused, and so are
//! flags of one way to route under another.

mod place;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use shardsplit::error::{Error, Result};
use shardsplit::job::Job;
use shardsplit::route::solr::{HashRange, SplitFuzz};
use shardsplit::route::{Cut, Load, Node, PlannedRing, RingTable, RoutingFunction, RoutingTable, TableSpec};

use super::args::{Routing, RoutingArgs};
use super::plan::{JobArgs, PlaceArgs};
pub(crate) use place::{Beside, keys, read_table, router};
use place::{Place, place};

const HEADING: &str = "Routing by tables";

/// Which table the index has.
#[derive(Args, Debug, Default)]
pub(crate) struct TableArgs {
    /// Solr: range of hashes of the source shard, as in state.json [default: all hashes; with --source-shards an equal part]
    ///
    /// Of the hashes outside of it nothing is known: in the new routing.json they stand under shard numbers of their own.
    #[arg(long, value_name = "A-B", help_heading = HEADING)]
    range: Option<HashRange>,
    /// Slots: file with the table of the index, JSON [default: equal parts, by --source-shards and --number-of-routing-shards]
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    slots: Option<PathBuf>,
    /// Ring: file with the table of the index, JSON [default, where the shard is the only one: it has everything]
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    ring: Option<PathBuf>,
}

/// Where the shard is cut.
#[derive(Args, Debug, Default)]
pub(crate) struct CutArgs {
    /// Solr: the ranges of the children, which must make the shard's range together; nothing more is read
    #[arg(long, value_name = "A-B,C-D,...", help_heading = HEADING, value_delimiter = ',')]
    ranges: Vec<HashRange>,
    /// Solr: set the documents of a route key apart, as KEY! or A!B!; the hashes around them make one or two more children
    #[arg(long, value_name = "KEY!", help_heading = HEADING)]
    split_key: Option<String>,
    /// Solr: so many equally wide ranges; they may cut the documents of a route key in two (as --into)
    #[arg(long, value_name = "N", help_heading = HEADING)]
    sub_shards: Option<u32>,
    /// Solr, with --sub-shards: by which share every other range is wider than the next, 0 to 0.5 [default: 0]
    #[arg(long, value_name = "F", help_heading = HEADING, value_parser = fuzz)]
    split_fuzz: Option<SplitFuzz>,
    /// Solr: so many children of about equally many documents, cut between route keys; the keys are read twice more
    #[arg(long, value_name = "N", help_heading = HEADING)]
    by_prefix: Option<u32>,
    /// Slots: shares of the children, such as 3,1; nothing more is read
    #[arg(long, value_name = "W,W,...", help_heading = HEADING, value_delimiter = ',')]
    weights: Vec<u32>,
    /// Slots, with --into: children of about equal load
    #[arg(long, value_name = "LOAD", help_heading = HEADING)]
    balance: Option<Balance>,
    /// Slots: these go to a new shard, the others stay
    #[arg(long, value_name = "SLOT,SLOT,...", help_heading = HEADING, value_delimiter = ',')]
    move_slots: Vec<u32>,
    /// Slots: the slot of this routing value (a tenant, say) goes to a new shard, with whoever shares the slot
    #[arg(long, value_name = "VALUE", help_heading = HEADING)]
    move_key: Option<String>,
    /// Ring: file with the table of the index afterwards (`ring new` makes one); the documents go to whichever nodes have them
    /// there
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    ring_after: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Balance {
    /// Documents; the keys, or their sidecars, are read once more
    Docs,
    /// Uncompressed bytes of stored documents; the doc store is read and decompressed once more
    Bytes,
}

fn fuzz(text: &str) -> std::result::Result<SplitFuzz, String> {
    let fuzz: f32 = text.parse().map_err(|_| format!("{text:?} is not a number"))?;
    SplitFuzz::new(fuzz).map_err(|error| error.to_string())
}

fn usage<T>(message: impl Into<String>) -> Result<T> {
    Err(Error::Usage(message.into()))
}

impl TableArgs {
    fn given(&self) -> Vec<(&'static str, &'static [RoutingFunction])> {
        let mut given = Vec::new();
        given.extend(self.range.map(|_| ("--range", SOLR)));
        given.extend(self.slots.as_ref().map(|_| ("--slots", SLOTS)));
        given.extend(self.ring.as_ref().map(|_| ("--ring", RING)));
        given
    }

    /// Whether any of them was given.
    pub(crate) fn any(&self) -> bool {
        !self.given().is_empty()
    }
}

impl CutArgs {
    fn given(&self) -> Vec<(&'static str, &'static [RoutingFunction])> {
        let flags = [
            (!self.ranges.is_empty(), "--ranges", SOLR),
            (self.split_key.is_some(), "--split-key", COMPOSITE),
            (self.sub_shards.is_some(), "--sub-shards", SOLR),
            (self.split_fuzz.is_some(), "--split-fuzz", SOLR),
            (self.by_prefix.is_some(), "--by-prefix", COMPOSITE),
            (!self.weights.is_empty(), "--weights", SLOTS),
            (self.balance.is_some(), "--balance", SLOTS),
            (!self.move_slots.is_empty(), "--move-slots", SLOTS),
            (self.move_key.is_some(), "--move-key", SLOTS),
            (self.ring_after.is_some(), "--ring-after", RING),
        ];
        flags.into_iter().filter(|(given, ..)| *given).map(|(_, flag, of)| (flag, of)).collect()
    }

    /// Whether any of them was given.
    pub(crate) fn any(&self) -> bool {
        !self.given().is_empty()
    }
}

const SOLR: &[RoutingFunction] = &[RoutingFunction::Solr, RoutingFunction::SolrPlain];
const COMPOSITE: &[RoutingFunction] = &[RoutingFunction::Solr];
const SLOTS: &[RoutingFunction] = &[RoutingFunction::Slots];
const RING: &[RoutingFunction] = &[RoutingFunction::Ring];

/// Refuses flags of a single shard's table, for commands that take all shards of an index.
pub(crate) fn refuse_on_index(tables: &TableArgs, cuts: &CutArgs) -> Result<()> {
    match tables.given().into_iter().chain(cuts.given()).next() {
        None => Ok(()),
        Some((flag, _)) => usage(format!(
            "{flag} is for a single shard, and this is an index directory, of which all shards are taken; name the directory of the \
             shard to split it alone"
        )),
    }
}

/// The routing function that flags, or the file beside the shard, name.
fn function(routing: &RoutingArgs, beside: Option<&Beside>) -> RoutingFunction {
    let recorded = beside.filter(|beside| beside.file.table().is_some()).map(|beside| beside.file.routing().function);
    routing.routing.map(Routing::function).or(recorded).unwrap_or_default()
}

/// What the flags of a cut ask for of a shard that is routed by a table; `None` where routing is by arithmetic.
pub(crate) fn spec(
    routing: &RoutingArgs,
    tables: &TableArgs,
    cuts: &CutArgs,
    into: Option<u32>,
    beside: Option<&Beside>,
) -> Result<Option<TableSpec>> {
    refuse_others(function(routing, beside), cuts.given())?;
    let place = match whole_ring(routing, tables, cuts, beside)? {
        Some(whole) => Some(whole),
        None => place(routing, tables, beside)?,
    };
    let Some(Place { table, shard, partition_size }) = place else { return Ok(None) };
    let cut = cut(table.function(), cuts, into)?;
    Ok(Some(TableSpec { table, source_shard: shard, cut, routing_partition_size: partition_size }))
}

/// The only shard of an index has every hash, whatever routed it: it goes to the nodes of a ring without a ring before.
fn whole_ring(
    routing: &RoutingArgs,
    tables: &TableArgs,
    cuts: &CutArgs,
    beside: Option<&Beside>,
) -> Result<Option<Place>> {
    let numbers = [routing.source_shards, routing.source_shard, routing.number_of_routing_shards];
    let only = beside.is_none_or(|beside| beside.file.routing().number_of_shards == 1 && beside.file.table().is_none());
    let asked = routing.routing == Some(Routing::Ring) && cuts.ring_after.is_some() && tables.ring.is_none();
    if !asked || !only || numbers.iter().any(Option::is_some) {
        return Ok(None);
    }
    let shard = beside.map_or(0, |beside| beside.shard);
    let table = RoutingTable::Ring(RingTable::Planned(PlannedRing::new(vec![Node::new("all", 1, shard)], 1)?));
    Ok(Some(Place { table, shard, partition_size: routing.routing_partition_size.unwrap_or(1) }))
}

/// The split of a single shard that is routed by a table; `None` if it is not.
pub(crate) fn job(args: &JobArgs, place: &PlaceArgs) -> Result<Option<Job>> {
    let beside = Beside::of(&place.index.index)?;
    let Some(tables) = spec(&args.routing, &args.tables, &args.cuts, args.into, beside.as_ref())? else {
        return Ok(None);
    };
    let keys = keys(beside.as_ref(), args.key.as_deref(), args.routing_field.as_deref())?;
    let job = args.shard_job(place, 1, &keys.key);
    Ok(Some(Job { tables: Some(Box::new(tables)), keys, ..job }))
}

fn cut(function: RoutingFunction, cuts: &CutArgs, into: Option<u32>) -> Result<Cut> {
    let mut asked: Vec<(&'static str, Cut)> = Vec::new();
    if function == RoutingFunction::Slots {
        asked.extend(into.map(|into| match cuts.balance {
            None => ("--into", Cut::Even(into)),
            Some(Balance::Docs) => ("--into", Cut::Balanced(into, Load::Docs)),
            Some(Balance::Bytes) => ("--into", Cut::Balanced(into, Load::Bytes)),
        }));
        if cuts.balance.is_some() && into.is_none() {
            return usage("--balance needs --into: say how many children of equal load there shall be");
        }
        if !cuts.weights.is_empty() {
            asked.push(("--weights", Cut::Weights(cuts.weights.clone())));
        }
        if !cuts.move_slots.is_empty() {
            asked.push(("--move-slots", Cut::MoveSlots(cuts.move_slots.clone())));
        }
        asked.extend(cuts.move_key.clone().map(|key| ("--move-key", Cut::MoveKey(key))));
    } else if function == RoutingFunction::Ring {
        if into.is_some() {
            return usage("--into is not for ring routing: --ring-after says which shards there are");
        }
        if let Some(path) = &cuts.ring_after {
            asked.push(("--ring-after", Cut::To(RoutingTable::Ring(read_table(path)?))));
        }
    } else {
        let fuzz = cuts.split_fuzz.unwrap_or_default();
        if !cuts.ranges.is_empty() {
            asked.push(("--ranges", Cut::Ranges(cuts.ranges.clone())));
        }
        asked.extend(cuts.split_key.clone().map(|key| ("--split-key", Cut::Key(key))));
        asked.extend(cuts.sub_shards.map(|pieces| ("--sub-shards", Cut::SubShards(pieces, fuzz))));
        asked.extend(into.map(|pieces| ("--into", Cut::SubShards(pieces, fuzz))));
        asked.extend(cuts.by_prefix.map(|pieces| ("--by-prefix", Cut::Prefixes(pieces))));
        if cuts.split_fuzz.is_some() && cuts.sub_shards.is_none() && into.is_none() {
            return usage("--split-fuzz needs --sub-shards: other cuts are exact");
        }
    }
    let flags: Vec<&str> = asked.iter().map(|(flag, _)| *flag).collect();
    if let [first, second, ..] = flags.as_slice() {
        return usage(format!("{first} and {second} both say where the shard is cut; give one of them"));
    }
    let ways = match function {
        RoutingFunction::Slots => "--into, --weights, --move-slots or --move-key",
        RoutingFunction::Ring => "--ring-after",
        RoutingFunction::SolrPlain => "--sub-shards or --ranges",
        _ => "--sub-shards, --ranges, --split-key or --by-prefix",
    };
    match asked.pop() {
        Some((_, cut)) => Ok(cut),
        None => usage(format!("nothing says where the shard is cut; {} routing takes {ways}", function.name())),
    }
}

/// Flags of another way to route.
fn refuse_others(function: RoutingFunction, given: Vec<(&'static str, &'static [RoutingFunction])>) -> Result<()> {
    match given.into_iter().find(|(_, of)| !of.contains(&function)) {
        None => Ok(()),
        Some((flag, of)) => {
            let of: Vec<&str> = of.iter().map(|function| function.name()).collect();
            usage(format!("{flag} is for --routing {}, and routing is {}", of.join(" or "), function.name()))
        }
    }
}
