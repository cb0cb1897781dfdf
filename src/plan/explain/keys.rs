//! How keys are spread: exactly, from routing hashes. Documents of equal hashes are always in one child, whatever the
//! number of children, so the heaviest hash bounds how even a split can be. Different keys may share a hash; then they
//! share its fate, and are counted together here.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde::Serialize;

use crate::partition::DocAddress;
use crate::route::{Router, RoutingHash};

/// Hashes that are named.
const NAMED: usize = 20;
/// Parts of all hashes that are sorted one after the other.
const PARTS: u32 = 16;
/// Most buckets of a histogram.
const BUCKETS: u32 = 64;

/// Documents by part of the hash space.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeyHistogram {
    /// Parts of the hash space: number_of_routing_shards, or shards for plain modulo.
    pub parts: u32,
    /// Neighbouring parts in one bucket; the last bucket may have fewer.
    pub parts_per_bucket: u32,
    /// Documents by bucket.
    pub buckets: Vec<u64>,
}

/// A routing hash that several documents have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HeavyKey {
    /// The hash.
    pub hash: RoutingHash,
    /// Documents that have it.
    pub documents: u64,
    /// The first of them.
    pub first: Option<DocAddress>,
    /// Its routing value or id, where that can be read at once.
    pub value: Option<String>,
}

/// How keys are spread.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KeyCounts {
    /// Documents that have a hash.
    pub documents: u64,
    /// Different hashes: there are at least as many keys.
    pub distinct_hashes: u64,
    /// The hashes of most documents, heaviest first; those of one document are left out.
    pub heaviest: Vec<HeavyKey>,
    /// No split into so many children has a largest child below this multiple of the mean: 1, or what the heaviest hash
    /// forces.
    pub least_imbalance: f64,
}

/// Calls a function with every hash, as often as it is asked.
pub(crate) type Hashes<'a> = &'a dyn Fn(&mut dyn FnMut(usize, u32, RoutingHash));

/// Counts documents by hash. The second result says where the first document of each heavy hash is: segment and number.
pub(crate) fn count_keys(hashes: Hashes<'_>, children: usize) -> (KeyCounts, Vec<Option<(usize, u32)>>) {
    let (mut documents, mut distinct_hashes) = (0u64, 0u64);
    let mut heaviest: BinaryHeap<Reverse<(u64, Reverse<RoutingHash>)>> = BinaryHeap::new();
    for part in 0..PARTS {
        let mut own: Vec<RoutingHash> = Vec::new();
        hashes(&mut |_, _, hash| {
            if hash.cast_unsigned() >> 28 == part {
                own.push(hash);
            }
        });
        own.sort_unstable();
        documents += own.len() as u64;
        for run in own.chunk_by(|left, right| left == right) {
            distinct_hashes += 1;
            if let (Some(&hash), true) = (run.first(), run.len() > 1) {
                heaviest.push(Reverse((run.len() as u64, Reverse(hash))));
                if heaviest.len() > NAMED {
                    heaviest.pop();
                }
            }
        }
    }
    // The heap's order is lightest first, and of equals the largest hash.
    let heaviest: Vec<(u64, RoutingHash)> =
        heaviest.into_sorted_vec().into_iter().map(|Reverse((documents, Reverse(hash)))| (documents, hash)).collect();
    let mut first: Vec<Option<(usize, u32)>> = vec![None; heaviest.len()];
    if !heaviest.is_empty() {
        hashes(&mut |segment, doc, hash| {
            let at = heaviest.iter().position(|(_, heavy)| *heavy == hash);
            if let Some(first) = at.and_then(|at| first.get_mut(at)) {
                first.get_or_insert((segment, doc));
            }
        });
    }
    #[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
    let forced = heaviest.first().map_or(1.0, |(most, _)| *most as f64 * children as f64 / documents.max(1) as f64);
    let heaviest =
        heaviest.into_iter().map(|(documents, hash)| HeavyKey { hash, documents, first: None, value: None }).collect();
    (KeyCounts { documents, distinct_hashes, heaviest, least_imbalance: forced.max(1.0) }, first)
}

/// Documents by part of the hash space of `router`: by what its function takes the hash modulo; under a table of ranges
/// or arcs by equal parts of all hashes, from 0 on.
pub(crate) fn histogram(router: &Router, hashes: Hashes<'_>) -> KeyHistogram {
    let modulus = match router {
        Router::Elasticsearch(router) => Some(router.number_of_routing_shards()),
        Router::Modulo(_) => Some(router.number_of_shards()),
        Router::Table(table) => table.slots(),
    };
    let parts = modulus.unwrap_or(BUCKETS);
    let parts_per_bucket = parts.div_ceil(BUCKETS).max(1);
    let mut buckets = vec![0; parts.div_ceil(parts_per_bucket) as usize];
    hashes(&mut |_, _, hash| {
        let part = match modulus {
            Some(modulus) => i64::from(hash).rem_euclid(i64::from(modulus.max(1))).cast_unsigned(),
            None => (u64::from(hash.cast_unsigned()) * u64::from(parts)) >> 32,
        };
        let bucket =
            usize::try_from(part / u64::from(parts_per_bucket)).ok().and_then(|bucket| buckets.get_mut(bucket));
        if let Some(bucket) = bucket {
            *bucket += 1;
        }
    });
    KeyHistogram { parts, parts_per_bucket, buckets }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::Elasticsearch;

    #[test]
    fn equal_hashes_are_counted_exactly_and_the_heaviest_are_named_first() {
        // Hash h·1,000,003 − 2³¹ comes h times.
        let all: Vec<RoutingHash> =
            (1..=60i32).flat_map(|h| std::iter::repeat_n(h.wrapping_mul(71_582_788), h as usize)).collect();
        let each = |see: &mut dyn FnMut(usize, u32, RoutingHash)| {
            for (doc, &hash) in (0..).zip(&all) {
                see(doc as usize % 3, doc, hash);
            }
        };
        let (counts, first) = count_keys(&each, 4);
        assert_eq!((counts.documents, counts.distinct_hashes), (1830, 60));
        let documents: Vec<u64> = counts.heaviest.iter().map(|heavy| heavy.documents).collect();
        assert_eq!(documents, (41..=60).rev().collect::<Vec<u64>>());
        assert_eq!(counts.heaviest[0].hash, 60i32.wrapping_mul(71_582_788));
        assert_eq!(first[0], Some((1770 % 3, 1770)));
        assert!((counts.least_imbalance - 1.0).abs() < 1e-9);
        let (counts, _) = count_keys(&each, 61);
        assert!((counts.least_imbalance - 2.0).abs() < 1e-9, "{}", counts.least_imbalance);
    }

    #[test]
    fn the_histogram_has_every_document_in_the_bucket_of_its_routing_shard() {
        let router = Router::Elasticsearch(Elasticsearch::new(4, 1000).unwrap());
        let each = |see: &mut dyn FnMut(usize, u32, RoutingHash)| {
            [-1, 0, 15, 16, 999, 1000].iter().for_each(|&hash| see(0, 0, hash))
        };
        let histogram = histogram(&router, &each);
        assert_eq!((histogram.parts, histogram.parts_per_bucket, histogram.buckets.len()), (1000, 16, 63));
        assert_eq!((histogram.buckets[0], histogram.buckets[1], histogram.buckets[62]), (3, 1, 2));
    }
}
