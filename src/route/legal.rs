//! Which numbers of shards are legal, as Elasticsearch sees it.
//!
//! Sources: `IndexMetadata.getRoutingFactor`, `assertSplitMetadata`, `selectShrinkShards` and `Builder.build` of
//! elastic/elasticsearch.

use super::elasticsearch::JAVA_INT_MAX;
use super::{
    Elasticsearch, MAX_CHILDREN, RouteError, Router, RoutingFunction, SplitSpec, default_number_of_routing_shards,
};

/// Whether shards can go together as `spec` says.
pub(super) fn check_merge(spec: &SplitSpec) -> Result<(), RouteError> {
    let &SplitSpec { function, from, into, source_shards, source_shard, .. } = spec;
    if from == 1 {
        return Ok(());
    }
    if from == 0 || into != 1 || !source_shards.is_multiple_of(from) {
        return Err(RouteError::Sources { from, into, source_shards });
    }
    let target = source_shards / from;
    let (is_first, first) = match function {
        RoutingFunction::ElasticsearchModulo => (source_shard < target, source_shard % target),
        _ => (source_shard.is_multiple_of(from), source_shard / from * from),
    };
    if is_first { Ok(()) } else { Err(RouteError::FirstSource { source_shard, first, from }) }
}

/// number_of_routing_shards that makes `target` shards legal.
pub(super) fn routing_shards(spec: &SplitSpec, target: u32) -> Result<u32, RouteError> {
    let &SplitSpec { into, source_shards, number_of_routing_shards: given, .. } = spec;
    let number_of_routing_shards = match given {
        Some(given) => given,
        // One shard holds everything, whatever the hash: the number can be chosen for the target.
        None if source_shards == 1 => return Ok(default_number_of_routing_shards(target)),
        None => default_number_of_routing_shards(source_shards),
    };
    Elasticsearch::new(source_shards, number_of_routing_shards)?;
    // The larger of both numbers divides it; so does the smaller of a merge.
    if number_of_routing_shards.is_multiple_of(target) {
        return Ok(number_of_routing_shards);
    }
    Err(RouteError::Into {
        into,
        source_shards,
        target: u64::from(target),
        number_of_routing_shards,
        is_default: given.is_none(),
        legal: divisors(number_of_routing_shards / source_shards),
    })
}

/// `IndexMetadata.Builder.build`: 1, or less than number_of_routing_shards. Plain modulo has only Java's bound.
pub(super) fn check_partition_size(spec: &SplitSpec, after: &Router) -> Result<(), RouteError> {
    let routing_partition_size = spec.routing_partition_size;
    let limit = match after {
        Router::Elasticsearch(router) => router.number_of_routing_shards().saturating_sub(1).max(1),
        Router::Modulo(_) | Router::Table(_) => JAVA_INT_MAX,
    };
    if (1..=limit).contains(&routing_partition_size) {
        Ok(())
    } else {
        Err(RouteError::PartitionSize { routing_partition_size, limit })
    }
}

/// Divisors of `number` that could be a number of children, ascending.
pub(super) fn divisors(number: u32) -> Vec<u32> {
    let small = (1u32..).take_while(|&divisor| u64::from(divisor).pow(2) <= u64::from(number));
    let mut all: Vec<u32> = small
        .filter(|divisor| number.is_multiple_of(*divisor))
        .flat_map(|divisor| [divisor, number / divisor])
        .collect();
    all.sort_unstable();
    all.dedup();
    all.retain(|&divisor| divisor <= MAX_CHILDREN);
    all
}
