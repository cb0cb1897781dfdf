//! A table of ranges: which shard has which hashes, as Solr's cluster state says it.
//!
//! Invariant, proved when a table is built or read: every 32-bit hash is in exactly one range, and a shard has one
//! range. JSON: `{"format": 1, "ranges": [{"range": "80000000-ffffffff", "shard": 0}, …]}`, ascending by range.
//!
//! Cost: a look-up is a binary search over the last hashes of the ranges, 4 bytes each.

use serde::{Deserialize, Serialize};

use super::range::check_cover;
use super::{HashRange, RangeError, Rounding, SubRanges, partition_range, route_key_range};
use crate::route::{RoutingHash, ShardNumber};

/// Format of the JSON that is written and read.
const FORMAT: u32 = 1;

/// Ranges of hashes and the shards that have them; together all hashes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Form", into = "Form")]
pub struct HashRanges {
    /// Last hash of each range, ascending; the last is the largest hash.
    last_hashes: Vec<RoutingHash>,
    /// Same positions.
    ranges: Vec<ShardRange>,
    /// Ascending.
    shards: Vec<ShardNumber>,
}

/// The range of a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShardRange {
    /// Hashes of its documents.
    pub range: HashRange,
    /// The shard.
    pub shard: ShardNumber,
}

impl HashRanges {
    /// A table of `ranges`, in any order.
    ///
    /// # Errors
    /// [`RangeError::Gap`], [`RangeError::Overlap`] unless every hash is in one range; [`RangeError::SameShard`].
    pub fn new(mut ranges: Vec<ShardRange>) -> Result<HashRanges, RangeError> {
        ranges.sort_unstable_by_key(|entry| entry.range);
        let sorted: Vec<HashRange> = ranges.iter().map(|entry| entry.range).collect();
        check_cover(HashRange::FULL, &sorted)?;
        let mut by_shard = ranges.clone();
        by_shard.sort_unstable_by_key(|entry| (entry.shard, entry.range));
        if let Some((first, second)) =
            by_shard.iter().zip(by_shard.iter().skip(1)).find(|(first, second)| first.shard == second.shard)
        {
            let (shard, first, second) = (first.shard, first.range, second.range);
            return Err(RangeError::SameShard { shard, first, second });
        }
        Ok(HashRanges {
            last_hashes: sorted.iter().map(HashRange::max_hash).collect(),
            shards: by_shard.iter().map(|entry| entry.shard).collect(),
            ranges,
        })
    }

    /// The table of a new collection of `number_of_shards`: shard 0 (Solr's `shard1`) has the smallest hashes.
    ///
    /// # Errors
    /// As for [`partition_range`].
    pub fn even(number_of_shards: u32, rounding: Rounding) -> Result<HashRanges, RangeError> {
        let ranges = partition_range(HashRange::FULL, number_of_shards, rounding)?;
        HashRanges::new(ranges.into_iter().zip(0..).map(|(range, shard)| ShardRange { range, shard }).collect())
    }

    /// Shard of a document with this hash.
    #[inline]
    #[must_use]
    pub fn shard(&self, hash: RoutingHash) -> ShardNumber {
        let at = self.last_hashes.partition_point(|&last| last < hash);
        // The last range ends at the largest hash, so there always is one.
        self.ranges.get(at).map_or(0, |entry| entry.shard)
    }

    /// Shards, ascending.
    pub fn shards(&self) -> impl Iterator<Item = ShardNumber> + '_ {
        self.shards.iter().copied()
    }

    /// Ranges, ascending.
    #[must_use]
    pub fn ranges(&self) -> &[ShardRange] {
        &self.ranges
    }

    /// Range of a shard.
    #[must_use]
    pub fn range_of(&self, shard: ShardNumber) -> Option<HashRange> {
        self.ranges.iter().find(|entry| entry.shard == shard).map(|entry| entry.range)
    }

    /// Shards that have hashes of `range`, ascending by hash: where documents of a route key may be
    /// ([`super::route_key_range`]).
    pub fn shards_with(&self, range: HashRange) -> impl Iterator<Item = ShardNumber> + '_ {
        let first = self.last_hashes.partition_point(|&last| last < range.min_hash());
        self.ranges
            .iter()
            .skip(first)
            .take_while(move |entry| entry.range.min_hash() <= range.max_hash())
            .map(|entry| entry.shard)
    }

    /// The one shard that has the documents of a route key: the one to split where none was named (`split.key`).
    ///
    /// # Errors
    /// [`RangeError::KeySpansShards`]; [`RangeError::RouteKey`].
    pub fn shard_of_key(&self, key: &str) -> Result<ShardNumber, RangeError> {
        let range = route_key_range(key)?;
        let (first, last) = (self.shard(range.min_hash()), self.shard(range.max_hash()));
        if first == last {
            return Ok(first);
        }
        Err(RangeError::KeySpansShards {
            key: key.to_owned(),
            range,
            shards: self.shards_with(range).count(),
            first,
            last,
        })
    }

    /// The table after `shard` alone was split into `pieces`; `numbers` are the shard numbers of the pieces, in their order.
    /// One of them may be the number of the shard that is split.
    ///
    /// # Errors
    /// [`RangeError::UnknownShard`], [`RangeError::OtherParent`], [`RangeError::Numbers`]; [`RangeError::SameShard`] if a number
    /// is taken.
    pub fn split(
        &self,
        shard: ShardNumber,
        pieces: &SubRanges,
        numbers: &[ShardNumber],
    ) -> Result<HashRanges, RangeError> {
        let range = self.range_of(shard).ok_or_else(|| self.unknown(shard))?;
        if range != pieces.parent() {
            return Err(RangeError::OtherParent { shard, range, pieces: pieces.parent() });
        }
        let made = pieces.ranges();
        if made.len() != numbers.len() {
            return Err(RangeError::Numbers { numbers: numbers.len(), pieces: made.len() });
        }
        let others = self.ranges.iter().copied().filter(|entry| entry.shard != shard);
        let new = made.iter().zip(numbers).map(|(&range, &shard)| ShardRange { range, shard });
        HashRanges::new(others.chain(new).collect())
    }

    fn unknown(&self, shard: ShardNumber) -> RangeError {
        let first = self.shards.first().copied().unwrap_or(0);
        let last = self.shards.last().copied().unwrap_or(0);
        RangeError::UnknownShard { shard, first, last, count: self.shards.len() }
    }
}

/// What stands in JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    format: u32,
    ranges: Vec<ShardRange>,
}

impl From<HashRanges> for Form {
    fn from(table: HashRanges) -> Form {
        Form { format: FORMAT, ranges: table.ranges }
    }
}

impl TryFrom<Form> for HashRanges {
    type Error = RangeError;

    fn try_from(form: Form) -> Result<HashRanges, RangeError> {
        if form.format != FORMAT {
            return Err(RangeError::Format { found: form.format, expected: FORMAT });
        }
        HashRanges::new(form.ranges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry(range: &str, shard: ShardNumber) -> ShardRange {
        ShardRange { range: range.parse().unwrap(), shard }
    }

    #[test]
    fn tables_with_gaps_overlaps_or_a_shard_twice_are_refused() {
        let gap = HashRanges::new(vec![entry("80000000-ffffffff", 0), entry("1-7fffffff", 1)]).unwrap_err();
        assert_eq!(gap, RangeError::Gap { missing: "0-0".parse().unwrap(), parent: HashRange::FULL });
        let end = HashRanges::new(vec![entry("80000000-7ffffffe", 0)]).unwrap_err();
        assert_eq!(end, RangeError::Gap { missing: "7fffffff-7fffffff".parse().unwrap(), parent: HashRange::FULL });
        let overlap = HashRanges::new(vec![entry("80000000-0", 0), entry("0-7fffffff", 1)]).unwrap_err();
        let (first, second) = ("80000000-0".parse().unwrap(), "0-7fffffff".parse().unwrap());
        assert_eq!(overlap, RangeError::Overlap { first, second });
        let twice = HashRanges::new(vec![entry("80000000-ffffffff", 3), entry("0-7fffffff", 3)]).unwrap_err();
        assert!(matches!(twice, RangeError::SameShard { shard: 3, .. }), "{twice}");
        let nothing = HashRanges::new(Vec::new()).unwrap_err();
        assert_eq!(nothing, RangeError::Gap { missing: HashRange::FULL, parent: HashRange::FULL });
    }

    #[test]
    fn a_range_within_another_is_an_overlap() {
        let table = vec![entry("80000000-7fffffff", 0), entry("0-1", 1)];
        assert!(matches!(HashRanges::new(table), Err(RangeError::Overlap { .. })));
    }

    #[test]
    fn json_is_readable_and_checked() {
        let table = HashRanges::even(2, Rounding::PrefixGroups).unwrap();
        let json =
            r#"{"format":1,"ranges":[{"range":"80000000-ffffffff","shard":0},{"range":"0-7fffffff","shard":1}]}"#;
        assert_eq!(serde_json::to_string(&table).unwrap(), json);
        assert_eq!(serde_json::from_str::<HashRanges>(json).unwrap(), table);
        for (from, to, error) in [
            ("\"format\":1", "\"format\":2", "has format 2"),
            ("0-7fffffff", "0-7ffffffe", "no range has the hashes 7fffffff-7fffffff"),
            ("{\"format\"", "{\"extra\":0,\"format\"", "unknown field"),
            ("\"shard\":1", "\"shard\":1,\"name\":2", "unknown field"),
        ] {
            let refused = serde_json::from_str::<HashRanges>(&json.replace(from, to)).unwrap_err().to_string();
            assert!(refused.contains(error), "{refused}");
        }
    }

    #[test]
    fn one_shard_is_split_alone_and_the_others_keep_their_ranges() {
        let table = HashRanges::even(2, Rounding::PrefixGroups).unwrap();
        let pieces = SubRanges::even("0-7fffffff".parse().unwrap(), 3, Default::default()).unwrap();
        let split = table.split(1, &pieces, &[1, 2, 3]).unwrap();
        assert_eq!(split.shards().collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!(split.range_of(0), table.range_of(0));
        assert_eq!(split.range_of(3), Some(pieces.ranges()[2]));
        assert!(matches!(table.split(1, &pieces, &[0, 2, 3]), Err(RangeError::SameShard { shard: 0, .. })));
        assert!(matches!(table.split(0, &pieces, &[0, 2, 3]), Err(RangeError::OtherParent { shard: 0, .. })));
        assert!(matches!(table.split(7, &pieces, &[0, 2, 3]), Err(RangeError::UnknownShard { shard: 7, .. })));
        assert_eq!(table.split(1, &pieces, &[1]), Err(RangeError::Numbers { numbers: 1, pieces: 3 }));
    }

    #[test]
    fn a_route_key_names_its_shard_unless_several_have_it() {
        let table = HashRanges::even(4, Rounding::PrefixGroups).unwrap();
        assert_eq!(
            [table.shard_of_key("b!"), table.shard_of_key("d!"), table.shard_of_key("e")],
            [Ok(0), Ok(2), Ok(3)]
        );
        let range = "80000000-ffffffff".parse().unwrap();
        let spans = RangeError::KeySpansShards { key: "b/1!".to_owned(), range, shards: 2, first: 0, last: 1 };
        assert_eq!(table.shard_of_key("b/1!"), Err(spans));
    }

    proptest! {
        #[test]
        fn any_cut_of_the_ring_is_a_table_in_which_every_hash_has_the_shard_of_its_range(
            cuts in prop::collection::btree_set(any::<i32>(), 0..40), hashes in prop::collection::vec(any::<i32>(), 40),
        ) {
            let mut ranges = Vec::new();
            let mut min = i32::MIN;
            for (&max, shard) in cuts.iter().filter(|&&cut| cut < i32::MAX).zip(100..) {
                ranges.push(ShardRange { range: HashRange::new(min, max).unwrap(), shard });
                min = max + 1;
            }
            ranges.push(ShardRange { range: HashRange::new(min, i32::MAX).unwrap(), shard: 1 });
            let backwards = HashRanges::new(ranges.iter().rev().copied().collect()).unwrap();
            prop_assert_eq!(backwards.ranges(), &ranges);
            let ends = ranges.iter().flat_map(|entry| [entry.range.min_hash(), entry.range.max_hash()]);
            for hash in hashes.into_iter().chain(ends) {
                let owners: Vec<_> = ranges.iter().filter(|entry| entry.range.contains(hash)).collect();
                prop_assert_eq!(owners.len(), 1);
                prop_assert_eq!(backwards.shard(hash), owners[0].shard);
            }
            let json = serde_json::to_string(&backwards).unwrap();
            prop_assert_eq!(serde_json::from_str::<HashRanges>(&json).unwrap(), backwards);
        }

        #[test]
        fn a_range_meets_the_shards_of_its_hashes(shards in 1u32..50, a in any::<i32>(), b in any::<i32>()) {
            let table = HashRanges::even(shards, Rounding::Exact).unwrap();
            let range = HashRange::new(a.min(b), a.max(b)).unwrap();
            let expected: Vec<u32> = (table.shard(range.min_hash())..=table.shard(range.max_hash())).collect();
            prop_assert_eq!(table.shards_with(range).collect::<Vec<_>>(), expected);
        }
    }
}
