//! From many hashes to children at once: one multiplication where [`SplitRouting::child_of`] divides several times, and one
//! search where it searches two tables.
//!
//! Both routing functions are `floor(floorMod(hash, modulus) * shards / modulus)`: scaled modulo with the modulus
//! number_of_routing_shards, plain modulo with shards = modulus. With `m = ceil(2^64 / modulus)` the low 64 bits of
//! `m * v` are the fraction `(v mod modulus) / modulus`, too large by less than `v / 2^64`; times `shards`, the high 64 bits
//! are the shard. Exact while `v * modulus < 2^64` (D. Lemire, O. Kaser, N. Kurz, Faster Remainder by Direct Computation,
//! 2019). Here `v` is the hash made non-negative by a multiple of the modulus, so `v < 2^33`, and a modulus is a Java int.

use super::tables::{Overlay, overlay};
use super::{Router, RoutingHash, ShardNumber, SplitRouting, TableSplit};

/// Stands for a hash of another source shard.
pub(crate) const STRAY: u32 = u32::MAX;

/// One [`SplitRouting`] made ready for many hashes.
#[derive(Clone, Debug)]
pub(crate) enum BulkRouting {
    /// By arithmetic.
    Formula(BulkFormula),
    /// By slot: child index or [`STRAY`].
    Slots { modulus: i32, children: Vec<u32> },
    /// By stretch of hashes, ascending: last hash; child index or [`STRAY`].
    Stretches { last_hashes: Vec<RoutingHash>, children: Vec<u32> },
}

/// Precomputed numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BulkFormula {
    /// `ceil(2^64 / modulus)`; 0 for the modulus 1, whose remainders are all 0.
    inverse: u64,
    shards: u64,
    /// Added to a hash so that it is not negative: 2^31 and what makes that a multiple of the modulus.
    bias: i64,
    /// Children lie `stride` apart, the first at `first`.
    first: ShardNumber,
    stride: u32,
    into: u32,
    /// All of them are the same child: source shards that are merged.
    merged: bool,
}

impl SplitRouting {
    /// The same routing for many hashes: [`SplitRouting::child_from`] the source shard with index `source`, or, without
    /// one, [`SplitRouting::child_of`]. Under tables this is linear in slots or stretches, with 4 or 8 bytes each.
    pub(crate) fn bulk(&self, source: Option<usize>) -> BulkRouting {
        if let Some(tables) = self.tables() {
            return self.bulk_table(tables, source);
        }
        let merged = self.spec().from > 1;
        // Where shards are merged, what a document must belong to are source shards.
        let (router, shards) = if merged { (self.before(), self.sources()) } else { (self.after(), self.children()) };
        let own = source.filter(|_| merged).and_then(|source| shards.get(source..=source));
        let shards = own.unwrap_or(shards);
        let first = shards.first().copied().unwrap_or(0);
        let stride = shards.get(1).map_or(1, |second| second - first);
        let into = u32::try_from(shards.len()).unwrap_or(u32::MAX);
        let (modulus, shards) = match router {
            Router::Elasticsearch(router) => (router.number_of_routing_shards(), router.number_of_shards()),
            router => (router.number_of_shards(), router.number_of_shards()),
        };
        let (modulus, half) = (u64::from(modulus.max(1)), 1u64 << 31);
        let bias = half.next_multiple_of(modulus).cast_signed();
        let inverse = (u64::MAX / modulus).wrapping_add(1);
        BulkRouting::Formula(BulkFormula { inverse, shards: u64::from(shards), bias, first, stride, into, merged })
    }

    fn bulk_table(&self, tables: &TableSplit, source: Option<usize>) -> BulkRouting {
        let own = source.filter(|_| self.sources().len() > 1).and_then(|source| self.sources().get(source));
        let child = |before: ShardNumber, after: ShardNumber| {
            let owned = own.map_or_else(|| self.sources().binary_search(&before).is_ok(), |&own| own == before);
            let child = if owned { self.child_index(after) } else { None };
            child.and_then(|child| u32::try_from(child).ok()).unwrap_or(STRAY)
        };
        match overlay(tables.before(), tables.after()) {
            Some(Overlay::Slots(cells)) => BulkRouting::Slots {
                modulus: i32::try_from(cells.len()).unwrap_or(i32::MAX),
                children: cells.into_iter().map(|(before, after)| child(before, after)).collect(),
            },
            Some(Overlay::Stretches(cells)) => {
                let (mut last_hashes, mut children) =
                    (Vec::with_capacity(cells.len()), Vec::with_capacity(cells.len()));
                for (last, before, after) in cells {
                    let child = child(before, after);
                    match (last_hashes.last_mut(), children.last()) {
                        (Some(hash), Some(&same)) if same == child => *hash = last,
                        _ => {
                            last_hashes.push(last);
                            children.push(child);
                        }
                    }
                }
                BulkRouting::Stretches { last_hashes, children }
            }
            // A TableSplit has tables that fit each other.
            None => BulkRouting::Stretches { last_hashes: Vec::new(), children: Vec::new() },
        }
    }
}

impl BulkRouting {
    /// Child index of each hash, partition offset included; [`STRAY`] where the document belongs to another shard.
    pub(crate) fn children(&self, hashes: &[RoutingHash], to: &mut [u32]) {
        match self {
            BulkRouting::Formula(formula) => formula.children(hashes, to),
            BulkRouting::Slots { modulus, children } => {
                for (to, &hash) in to.iter_mut().zip(hashes) {
                    let slot = hash.rem_euclid(*modulus).cast_unsigned() as usize;
                    *to = children.get(slot).copied().unwrap_or(STRAY);
                }
            }
            BulkRouting::Stretches { last_hashes, children } => {
                for (to, &hash) in to.iter_mut().zip(hashes) {
                    let stretch = last_hashes.partition_point(|&last| last < hash);
                    *to = children.get(stretch).copied().unwrap_or(STRAY);
                }
            }
        }
    }
}

impl BulkFormula {
    fn children(&self, hashes: &[RoutingHash], children: &mut [u32]) {
        // Several loops, so that neither asks in each round which one it is.
        if self.merged {
            for (child, &hash) in children.iter_mut().zip(hashes) {
                let nth = self.shard(hash).wrapping_sub(self.first);
                *child = if nth.is_multiple_of(self.stride) && nth / self.stride < self.into { 0 } else { STRAY };
            }
        } else if self.stride == 1 {
            for (child, &hash) in children.iter_mut().zip(hashes) {
                let nth = self.shard(hash).wrapping_sub(self.first);
                *child = if nth < self.into { nth } else { STRAY };
            }
        } else {
            for (child, &hash) in children.iter_mut().zip(hashes) {
                let nth = self.shard(hash).wrapping_sub(self.first);
                let whole = nth.is_multiple_of(self.stride) && nth / self.stride < self.into;
                *child = if whole { nth / self.stride } else { STRAY };
            }
        }
    }

    #[inline]
    fn shard(&self, hash: RoutingHash) -> ShardNumber {
        let value = (i64::from(hash) + self.bias).cast_unsigned();
        let fraction = self.inverse.wrapping_mul(value);
        let scaled = (u128::from(fraction) * u128::from(self.shards)) >> 64;
        #[expect(clippy::cast_possible_truncation, reason = "below the number of shards, a Java int")]
        let shard = scaled as u32;
        shard
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::route::{RoutingFunction, SplitSpec};

    fn check(spec: SplitSpec, hashes: &[RoutingHash]) {
        let routing = SplitRouting::new(spec).unwrap();
        let mut children = vec![0; hashes.len()];
        for source in [None].into_iter().chain((0..routing.sources().len()).map(Some)) {
            routing.bulk(source).children(hashes, &mut children);
            for (&hash, &child) in hashes.iter().zip(&children) {
                let alone = match source {
                    Some(source) => routing.child_from(source, hash, 0),
                    None => routing.child_of(hash, 0),
                };
                assert_eq!(child, alone.map_or(STRAY, |child| child as u32), "{hash} {source:?} {spec:?}");
            }
        }
    }

    #[test]
    fn many_hashes_go_where_each_alone_goes_at_the_ends_of_all_numbers() {
        let edges = [i32::MIN, i32::MIN + 1, -1025, -1024, -1023, -2, -1, 0, 1, 2, 767, 768, 1023, 1024, i32::MAX];
        for function in [RoutingFunction::Elasticsearch, RoutingFunction::ElasticsearchModulo] {
            for (source_shards, into) in [(1, 1), (1, 2), (1, 3), (1, 7), (1, 1000), (1, 65_534), (3, 4), (5, 128)] {
                for source_shard in [0, source_shards - 1] {
                    check(SplitSpec { function, source_shards, source_shard, ..SplitSpec::new(into) }, &edges);
                }
            }
        }
        for function in [RoutingFunction::Elasticsearch, RoutingFunction::ElasticsearchModulo] {
            for (source_shards, from, source_shard) in [(2, 2, 0), (6, 3, 0), (6, 2, 2), (12, 12, 0)] {
                let source_shard = if function == RoutingFunction::Elasticsearch { source_shard } else { 0 };
                check(SplitSpec { function, from, source_shards, source_shard, ..SplitSpec::new(1) }, &edges);
            }
        }
        // The largest modulus there is: 2^31 - 1 is prime, so its shards are 1 or itself.
        let largest = SplitSpec { number_of_routing_shards: Some((1 << 31) - 1), ..SplitSpec::new(1) };
        check(largest, &edges);
        let wide = SplitSpec { number_of_routing_shards: Some(1 << 30), ..SplitSpec::new(1 << 15) };
        check(wide, &edges);
        let odd = SplitSpec { number_of_routing_shards: Some(3 * 715_827_881), ..SplitSpec::new(3) };
        check(odd, &edges);
    }

    proptest! {
        #[test]
        fn many_hashes_go_where_each_alone_goes(
            hashes in prop::collection::vec(any::<i32>(), 1..200),
            into in 1u32..300,
            factor in 1u32..7_000_000,
            source_shards in 1u32..9,
            shard in 0u32..9,
            modulo in any::<bool>(),
        ) {
            let number_of_routing_shards = Some(into * source_shards * (factor / (into * source_shards)).max(1));
            let function =
                if modulo { RoutingFunction::ElasticsearchModulo } else { RoutingFunction::Elasticsearch };
            let source_shard = shard % source_shards;
            let spec = SplitSpec { function, source_shards, source_shard, number_of_routing_shards, ..SplitSpec::new(into) };
            check(spec, &hashes);
        }
    }
}
