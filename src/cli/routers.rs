//! Flags of routing by tables, and what they ask for: the table of the index, the shard, and where it is cut.
//!
//! A routing file beside the shard says table and shard already; flags that say something else are refused, and so are
//! flags of one way to route under another.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use shardsplit::error::{Error, Result};
use shardsplit::partition::KeySpec;
use shardsplit::publish::{RoutingFile, index_of_shard};
use shardsplit::route::solr::{HashRange, HashRanges, Rounding, ShardRange, SplitFuzz};
use shardsplit::route::{
    Cut, Load, RouteError, RoutingFunction, RoutingTable, ShardNumber, SlotTable, TableSpec,
    default_number_of_routing_shards,
};

use super::args::{Routing, RoutingArgs, key_spec};

const HEADING: &str = "Routing by tables";

/// Largest table file that is read, in bytes.
const MAX_TABLE: u64 = 256 << 20;

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
    /// Ring: file with the table of the index, JSON
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
    /// Ring: file with the table of the index afterwards; the documents go to whichever nodes have them there
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

/// The index of which a shard is one.
#[derive(Debug)]
pub(crate) struct Beside {
    pub(crate) index: PathBuf,
    pub(crate) file: RoutingFile,
    pub(crate) shard: ShardNumber,
}

impl Beside {
    /// Looks for a routing file beside the directory of a shard.
    pub(crate) fn of(shard: &Path) -> Result<Option<Beside>> {
        Ok(index_of_shard(shard)?.map(|(index, file, shard)| Beside { index, file, shard }))
    }
}

/// The fields that decide where documents go: as the routing file beside the shard says, which flags cannot contradict, else
/// as flags say.
pub(crate) fn keys(beside: Option<&Beside>, key: Option<&str>, routing_field: Option<&str>) -> Result<KeySpec> {
    let Some(beside) = beside else {
        return match key {
            Some(key) => Ok(key_spec(key, routing_field)),
            None => usage(
                "--key is missing: name the field that holds each document's id (there is no routing.json beside this shard that \
                 says it); `inspect` lists usable fields",
            ),
        };
    };
    let recorded = beside.file.keys();
    let differs = key.is_some_and(|key| key != recorded.key)
        || routing_field.is_some_and(|field| Some(field) != recorded.routing_field.as_deref());
    if differs {
        return usage(format!(
            "--key or --routing-field contradicts {}/routing.json, which says {} and {}; leave the flags away",
            beside.index.display(),
            recorded.key,
            recorded.routing_field.as_deref().unwrap_or("none")
        ));
    }
    Ok(recorded)
}

/// A table and the shard of it that is meant.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) table: RoutingTable,
    pub(crate) shard: ShardNumber,
    pub(crate) partition_size: u32,
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

/// The table and the shard that are meant; `None` where routing is by arithmetic.
pub(crate) fn place(routing: &RoutingArgs, tables: &TableArgs, beside: Option<&Beside>) -> Result<Option<Place>> {
    let function = function(routing, beside);
    refuse_others(function, tables.given())?;
    if let Some((beside, table)) = beside.and_then(|beside| Some((beside, beside.file.table()?))) {
        return from_file(routing, tables, beside, table).map(Some);
    }
    let table = match function {
        RoutingFunction::Elasticsearch | RoutingFunction::ElasticsearchModulo => return Ok(None),
        RoutingFunction::Slots => return slots(routing, tables, beside).map(Some),
        RoutingFunction::Solr => RoutingTable::Solr(ranges(routing, tables, Rounding::PrefixGroups)?),
        RoutingFunction::SolrPlain => RoutingTable::SolrPlain(ranges(routing, tables, Rounding::Exact)?),
        RoutingFunction::Ring => {
            let Some(path) = &tables.ring else {
                return usage("--routing ring needs --ring FILE: the table of the index");
            };
            refuse_numbers(routing, "--ring")?;
            RoutingTable::Ring(read_table(path)?)
        }
    };
    if let Some(beside) = beside {
        let (index, name) = (beside.index.display(), beside.file.routing().function.name());
        return usage(format!(
            "--routing {} contradicts {index}/routing.json, which says {name}: documents were hashed otherwise when they were placed",
            function.name()
        ));
    }
    if routing.number_of_routing_shards.is_some() {
        return usage(format!("--number-of-routing-shards is not for {} routing; leave it away", function.name()));
    }
    let shard = routing.source_shard.unwrap_or(0);
    Ok(Some(Place { table, shard, partition_size: routing.routing_partition_size.unwrap_or(1) }))
}

/// What the routing file beside the shard says.
fn from_file(routing: &RoutingArgs, tables: &TableArgs, beside: &Beside, table: &RoutingTable) -> Result<Place> {
    let recorded = beside.file.routing();
    let contradicts = |flag: &str| {
        usage(format!(
            "{flag} contradicts {}/routing.json, which has the table of the index; leave the flag away, or move the shard out \
             of there",
            beside.index.display()
        ))
    };
    if routing.routing.is_some_and(|given| given.function() != recorded.function) {
        return contradicts("--routing");
    }
    if let Some((flag, _)) = tables.given().first() {
        return contradicts(flag);
    }
    let partition_size = recorded.routing_partition_size;
    let numbers = [
        ("--source-shards", routing.source_shards.is_some_and(|given| given != recorded.number_of_shards)),
        ("--source-shard", routing.source_shard.is_some_and(|given| given != beside.shard)),
        (
            "--number-of-routing-shards",
            routing.number_of_routing_shards.is_some_and(|given| Some(given) != recorded.number_of_routing_shards),
        ),
        ("--routing-partition-size", routing.routing_partition_size.is_some_and(|given| given != partition_size)),
    ];
    match numbers.iter().find(|(_, differs)| *differs) {
        Some((flag, _)) => contradicts(flag),
        None => Ok(Place { table: table.clone(), shard: beside.shard, partition_size }),
    }
}

/// A table of slots: from a file, or equal parts by the numbers of flags or of an Elasticsearch index.
fn slots(routing: &RoutingArgs, tables: &TableArgs, beside: Option<&Beside>) -> Result<Place> {
    let partition = |recorded: u32| routing.routing_partition_size.unwrap_or(recorded);
    if let Some(path) = &tables.slots {
        refuse_numbers(routing, "--slots")?;
        let table = RoutingTable::Slots(read_table(path)?);
        let shard = routing.source_shard.or(beside.map(|beside| beside.shard)).unwrap_or(0);
        return Ok(Place { table, shard, partition_size: partition(1) });
    }
    let even = |shards, routing_shards| {
        SlotTable::even(shards, routing_shards).map(RoutingTable::Slots).map_err(RouteError::from)
    };
    let Some(beside) = beside else {
        let shards = routing.source_shards.unwrap_or(1);
        let routing_shards =
            routing.number_of_routing_shards.unwrap_or_else(|| default_number_of_routing_shards(shards));
        let shard = routing.source_shard.unwrap_or(0);
        return Ok(Place { table: even(shards, routing_shards)?, shard, partition_size: partition(1) });
    };
    // An index of Elasticsearch's: its formula is the even table.
    let recorded = beside.file.routing();
    let Some(slots) = recorded.number_of_routing_shards else {
        let index = beside.index.display();
        return usage(format!("{index}/routing.json says {}, which has no slots", recorded.function.name()));
    };
    if routing.source_shards.is_some_and(|given| given != recorded.number_of_shards)
        || routing.source_shard.is_some_and(|given| given != beside.shard)
        || routing.number_of_routing_shards.is_some_and(|given| given != slots)
        || routing.routing_partition_size.is_some_and(|given| given != recorded.routing_partition_size)
    {
        return usage(format!(
            "the numbers given contradict {}/routing.json, which says shard {} of {} with number_of_routing_shards {slots}; leave \
             them away",
            beside.index.display(),
            beside.shard,
            recorded.number_of_shards
        ));
    }
    let table = even(recorded.number_of_shards, slots)?;
    Ok(Place { table, shard: beside.shard, partition_size: recorded.routing_partition_size })
}

/// A table in which the source shard has its range.
fn ranges(routing: &RoutingArgs, tables: &TableArgs, rounding: Rounding) -> Result<HashRanges> {
    let shard = routing.source_shard.unwrap_or(0);
    match (tables.range, routing.source_shards) {
        (Some(_), Some(_)) => {
            usage("--range and --source-shards both say which hashes the shard has; give one of them")
        }
        (None, Some(shards)) => Ok(HashRanges::even(shards, rounding).map_err(RouteError::from)?),
        (range, None) => {
            let range = range.unwrap_or(HashRange::FULL);
            let below = range.min_hash().checked_sub(1).and_then(|max| HashRange::new(i32::MIN, max).ok());
            let above = range.max_hash().checked_add(1).and_then(|min| HashRange::new(min, i32::MAX).ok());
            let others = (0..).filter(|&number| number != shard);
            let rest = below.into_iter().chain(above).zip(others);
            let rest = rest.map(|(range, shard)| ShardRange { range, shard });
            let all = rest.chain([ShardRange { range, shard }]).collect();
            Ok(HashRanges::new(all).map_err(RouteError::from)?)
        }
    }
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
    let Some(Place { table, shard, partition_size }) = place(routing, tables, beside)? else { return Ok(None) };
    let cut = cut(table.function(), cuts, into)?;
    Ok(Some(TableSpec { table, source_shard: shard, cut, routing_partition_size: partition_size }))
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

/// A table from a file has its numbers.
fn refuse_numbers(routing: &RoutingArgs, file: &str) -> Result<()> {
    let given = [
        ("--source-shards", routing.source_shards.is_some()),
        ("--number-of-routing-shards", routing.number_of_routing_shards.is_some()),
    ];
    match given.iter().find(|(_, given)| *given) {
        Some((flag, _)) => usage(format!("{file} and {flag} contradict each other: the table has its own numbers")),
        None => Ok(()),
    }
}

fn read_table<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T> {
    use std::io::Read;

    let unreadable = |source| Error::Unreadable { operation: "read", path: path.to_path_buf(), source };
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(unreadable)?;
    file.take(MAX_TABLE + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MAX_TABLE {
        return usage(format!("{} is larger than {MAX_TABLE} bytes, so it is no table", path.display()));
    }
    serde_json::from_slice(&bytes)
        .map_err(|error| Error::Usage(format!("{} is not a table that can be used: {error}", path.display())))
}
