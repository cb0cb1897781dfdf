//! All shards of an index together under a table: split, merged, cloned, and what leads from one table to another.
//!
//! Output: [`TableSplit`]s, one for every set of shards that depend on each other, ascending by their first source.
//! Rings are refused but for clones: their shards have documents for many nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Cut, RoutingTable, TableSpec, TableSplit, overlay};
use crate::route::solr::{HashRanges, ShardRange, SplitFuzz};
use crate::route::{RouteError, ShardNumber, SlotTable};

/// Every shard becomes `into` of equally many slots, or equally wide ranges; it keeps its number for the first.
pub(in crate::route) fn split_all(
    before: &Arc<RoutingTable>,
    partition_size: u32,
    into: u32,
) -> Result<Vec<TableSplit>, RouteError> {
    let cut = match &**before {
        RoutingTable::Solr(_) | RoutingTable::SolrPlain(_) => Cut::SubShards(into, SplitFuzz::default()),
        RoutingTable::Slots(_) => Cut::Even(into),
        RoutingTable::Ring(_) => return Err(RouteError::WholeTable { function: before.function().name() }),
    };
    let mut table = Arc::clone(before);
    for source_shard in before.shards() {
        let routing_partition_size = partition_size;
        let spec = TableSpec { table: (*table).clone(), source_shard, cut: cut.clone(), routing_partition_size };
        table = Arc::clone(spec.resolve(None)?.after());
    }
    related(before, &table, partition_size)
}

/// Shards go together, neighbours by the order of their hashes, so that `into` are left; numbered in that order.
pub(in crate::route) fn merge_all(
    before: &Arc<RoutingTable>,
    partition_size: u32,
    into: u32,
) -> Result<Vec<TableSplit>, RouteError> {
    let number_of_shards = before.number_of_shards();
    if into == 0 || into >= number_of_shards || !number_of_shards.is_multiple_of(into) {
        let legal = (1..number_of_shards).filter(|&shards| number_of_shards.is_multiple_of(shards)).collect();
        return Err(RouteError::Merge { number_of_shards, into, legal });
    }
    let mut order: Vec<ShardNumber> = Vec::new();
    let mut seen = BTreeSet::new();
    let mut see = |shard: ShardNumber| {
        if seen.insert(shard) {
            order.push(shard);
        }
    };
    match &**before {
        RoutingTable::Solr(table) | RoutingTable::SolrPlain(table) => {
            table.ranges().iter().for_each(|entry| see(entry.shard));
        }
        RoutingTable::Slots(table) => table.owners().iter().for_each(|&shard| see(shard)),
        RoutingTable::Ring(_) => return Err(RouteError::WholeTable { function: before.function().name() }),
    }
    let each = (number_of_shards / into).max(1);
    let target: BTreeMap<ShardNumber, ShardNumber> =
        order.iter().zip(0u32..).map(|(&shard, nth)| (shard, nth / each)).collect();
    let to = |shard: ShardNumber| target.get(&shard).copied().unwrap_or(shard);
    let after = match &**before {
        RoutingTable::Solr(table) => RoutingTable::Solr(joined(table, to)?),
        RoutingTable::SolrPlain(table) => RoutingTable::SolrPlain(joined(table, to)?),
        RoutingTable::Slots(table) => {
            RoutingTable::Slots(SlotTable::new(table.owners().iter().map(|&shard| to(shard)).collect())?)
        }
        RoutingTable::Ring(_) => return Err(RouteError::WholeTable { function: before.function().name() }),
    };
    related(before, &Arc::new(after), partition_size)
}

/// Neighbouring ranges of one new shard as one range.
fn joined(table: &HashRanges, to: impl Fn(ShardNumber) -> ShardNumber) -> Result<HashRanges, RouteError> {
    let mut ranges: Vec<ShardRange> = Vec::new();
    for entry in table.ranges() {
        let shard = to(entry.shard);
        match ranges.last_mut() {
            Some(last) if last.shard == shard => last.range = last.range.join(&entry.range),
            _ => ranges.push(ShardRange { range: entry.range, shard }),
        }
    }
    Ok(HashRanges::new(ranges)?)
}

/// Every shard becomes itself.
pub(in crate::route) fn clone_all(
    before: &Arc<RoutingTable>,
    partition_size: u32,
) -> Result<Vec<TableSplit>, RouteError> {
    related(before, before, partition_size)
}

/// What leads from one table to another: every shard of either is in exactly one part, which has one source or one child.
///
/// # Errors
/// [`RouteError::OtherTable`]; [`RouteError::Unrelated`] where several shards share their documents out among several.
pub(in crate::route) fn related(
    before: &Arc<RoutingTable>,
    after: &Arc<RoutingTable>,
    partition_size: u32,
) -> Result<Vec<TableSplit>, RouteError> {
    let part = |sources| TableSplit::new(Arc::clone(before), Arc::clone(after), sources, partition_size);
    let Some(overlay) = overlay(before, after) else {
        // Says what is wrong with them.
        return part(before.shards()).map(|split| vec![split]);
    };
    let (mut to, mut from): (BTreeMap<_, BTreeSet<_>>, BTreeMap<_, BTreeSet<_>>) = Default::default();
    for (source, child) in overlay.pairs() {
        to.entry(source).or_default().insert(child);
        from.entry(child).or_default().insert(source);
    }
    let unrelated = || RouteError::Unrelated {
        before: before.number_of_shards(),
        after: after.number_of_shards(),
        problem: "several shards share their documents out among several",
    };
    let (mut parts, mut done) = (Vec::new(), BTreeSet::new());
    for (&source, children) in &to {
        if done.contains(&source) {
            continue;
        }
        let alone = |child: &ShardNumber| from.get(child).is_some_and(|sources| sources.len() == 1);
        if children.iter().all(alone) {
            done.insert(source);
            parts.push(part(vec![source])?);
            continue;
        }
        let together = children.first().and_then(|child| from.get(child)).ok_or_else(unrelated)?;
        if !together.iter().all(|other| to.get(other) == Some(children)) || children.len() > 1 {
            return Err(unrelated());
        }
        done.extend(together.iter().copied());
        parts.push(part(together.iter().copied().collect())?);
    }
    Ok(parts)
}
