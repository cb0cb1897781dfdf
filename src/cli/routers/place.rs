//! The table of an index, and which shard of it is meant: from a routing file beside the shard, a table file, or flags.

use std::path::{Path, PathBuf};

use shardsplit::error::{Error, Result};
use shardsplit::partition::KeySpec;
use shardsplit::publish::{RoutingFile, index_of_shard};
use shardsplit::route::solr::{HashRange, HashRanges, Rounding, ShardRange};
use shardsplit::route::{
    IndexRouting, RouteError, Router, RoutingFunction, RoutingTable, ShardNumber, SlotTable,
    default_number_of_routing_shards,
};

use super::{TableArgs, function, refuse_others, usage};
use crate::cli::args::{Routing, RoutingArgs, key_spec};

/// Largest table file that is read, in bytes.
const MAX_TABLE: u64 = 256 << 20;

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

/// From hash to shard, the shard that is meant, and routing_partition_size: as flags say, or the routing file beside the
/// shard, or a table.
pub(crate) fn router(
    routing: &RoutingArgs,
    tables: &TableArgs,
    beside: Option<&Beside>,
) -> Result<(Router, ShardNumber, u32)> {
    Ok(match place(routing, tables, beside)? {
        Some(Place { table, shard, partition_size }) => (Router::Table(table.into()), shard, partition_size),
        None => formula(routing, beside)?,
    })
}

/// Elasticsearch's functions, by flags, and else as the routing file beside the shard says.
fn formula(flags: &RoutingArgs, beside: Option<&Beside>) -> Result<(Router, ShardNumber, u32)> {
    let recorded = beside.map(|beside| beside.file.routing());
    let Some(number_of_shards) = flags.source_shards.or(recorded.map(|routing| routing.number_of_shards)) else {
        return Err(Error::Usage(
            "--source-shards is missing: every document belongs to the only shard of an index; say how many shards the index has \
             and, with --source-shard, which of them this is"
                .to_owned(),
        ));
    };
    let function =
        flags.routing.map(Routing::function).or(recorded.map(|routing| routing.function)).unwrap_or_default();
    let shard = flags.source_shard.or(beside.map(|beside| beside.shard)).unwrap_or(0);
    if shard >= number_of_shards {
        return Err(Error::Usage(format!(
            "--source-shard {shard} does not exist in an index of {number_of_shards} shards"
        )));
    }
    let routing_shards =
        flags.number_of_routing_shards.or(recorded.and_then(|routing| routing.number_of_routing_shards));
    let routing = IndexRouting {
        function,
        number_of_shards,
        number_of_routing_shards: routing_shards.or_else(|| Some(default_number_of_routing_shards(number_of_shards))),
        routing_partition_size: flags
            .routing_partition_size
            .or(recorded.map(|routing| routing.routing_partition_size))
            .unwrap_or(1),
    };
    Ok((routing.router()?, shard, routing.routing_partition_size))
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

pub(crate) fn read_table<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T> {
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
