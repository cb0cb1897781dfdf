//! The pieces of one shard's range, in the ways of Solr's SPLITSHARD: `ranges`, `split.key`, `numSubShards` with
//! `splitFuzz`. Cuts along prefixes (`splitByPrefix`) are in [`super::prefix`].
//!
//! Source: `SplitShardCmd.fillRanges` and `CompositeIdRouter.partitionRangeByKey` of apache/solr.
//!
//! Invariant: every hash of the shard's range is in exactly one piece; pieces are two or more, and at most
//! [`MAX_CHILDREN`]. Solr's own limit for numSubShards is 8.

use serde::{Deserialize, Serialize};

use super::partition::partition_range_with_fuzz;
use super::range::check_cover;
use super::{HashRange, RangeError, SplitFuzz, route_key_range};
use crate::route::RoutingHash;
use crate::route::split::MAX_CHILDREN;

/// The pieces of a shard's range.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Form", into = "Form")]
pub struct SubRanges {
    parent: HashRange,
    /// In the order given.
    ranges: Vec<HashRange>,
    /// Last hash and position in `ranges`, ascending.
    by_hash: Vec<(RoutingHash, usize)>,
}

impl SubRanges {
    /// Given pieces of `parent`, in any order; they keep it (`ranges`).
    ///
    /// # Errors
    /// [`RangeError::Pieces`], [`RangeError::NotWithin`], [`RangeError::Gap`], [`RangeError::Overlap`].
    pub fn new(parent: HashRange, ranges: Vec<HashRange>) -> Result<SubRanges, RangeError> {
        if !(2..=MAX_CHILDREN as usize).contains(&ranges.len()) {
            return Err(RangeError::Pieces { pieces: ranges.len() as u64 });
        }
        let mut sorted: Vec<(HashRange, usize)> = ranges.iter().copied().zip(0..).collect();
        sorted.sort_unstable();
        let (in_order, by_hash): (Vec<_>, _) =
            sorted.into_iter().map(|(range, nth)| (range, (range.max_hash(), nth))).unzip();
        check_cover(parent, &in_order)?;
        Ok(SubRanges { parent, ranges, by_hash })
    }

    /// Given pieces of `parent` as Solr's parameter `ranges` lists them: `0-1f4,1f5-3e8,3e9-5dc`.
    ///
    /// # Errors
    /// [`RangeError::Parse`], [`RangeError::Inverted`], and as for [`SubRanges::new`].
    pub fn parse(parent: HashRange, ranges: &str) -> Result<SubRanges, RangeError> {
        SubRanges::new(parent, ranges.split(',').map(str::parse).collect::<Result<_, _>>()?)
    }

    /// Even pieces of `parent`, ascending (`numSubShards`, `splitFuzz`). They may cut the documents of a route key in two.
    ///
    /// # Errors
    /// [`RangeError::Pieces`], [`RangeError::TooNarrow`].
    pub fn even(parent: HashRange, pieces: u32, fuzz: SplitFuzz) -> Result<SubRanges, RangeError> {
        SubRanges::new(parent, partition_range_with_fuzz(parent, pieces, fuzz)?)
    }

    /// The hashes of a route key set apart (`split.key`): what is before them, they, what is after them, as far as there is
    /// any; two or three pieces, ascending. If the key has hashes beyond `parent`, those that are in it.
    ///
    /// Neighbours that share the bits of the key stay with it. Solr makes an inverted range where nothing is before or
    /// after the key, or if the key's hashes begin before and end after the shard's; here the first are left out and the
    /// second is refused.
    ///
    /// # Errors
    /// [`RangeError::KeyElsewhere`], [`RangeError::KeyIsShard`]; [`RangeError::OneHash`] if any piece would have one hash, as
    /// where the key does not end with `!`; [`RangeError::RouteKey`].
    pub fn by_key(parent: HashRange, key: &str) -> Result<SubRanges, RangeError> {
        let key_range = route_key_range(key)?;
        let key = || key.to_owned();
        let Some(inside) = parent.intersection(&key_range) else {
            return Err(RangeError::KeyElsewhere { key: key(), key_range, parent });
        };
        if inside == parent {
            return Err(RangeError::KeyIsShard { key: key(), key_range, parent });
        }
        let pieces: Vec<HashRange> =
            parent.before(&inside).into_iter().chain([inside]).chain(parent.after(&inside)).collect();
        if let Some(&piece) = pieces.iter().find(|piece| piece.hashes() == 1) {
            return Err(RangeError::OneHash { key: key(), piece });
        }
        SubRanges::new(parent, pieces)
    }

    /// The range that was split.
    #[must_use]
    pub fn parent(&self) -> HashRange {
        self.parent
    }

    /// Pieces, in the order in which they were given or made; position is the child index.
    #[must_use]
    pub fn ranges(&self) -> &[HashRange] {
        &self.ranges
    }

    /// Index of the piece that has the hash; `None` if the hash is not in the shard's range.
    #[inline]
    #[must_use]
    pub fn child_of(&self, hash: RoutingHash) -> Option<usize> {
        if !self.parent.contains(hash) {
            return None;
        }
        let at = self.by_hash.partition_point(|&(last, _)| last < hash);
        self.by_hash.get(at).map(|&(_, child)| child)
    }
}

/// What stands in JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    parent: HashRange,
    ranges: Vec<HashRange>,
}

impl From<SubRanges> for Form {
    fn from(pieces: SubRanges) -> Form {
        Form { parent: pieces.parent, ranges: pieces.ranges }
    }
}

impl TryFrom<Form> for SubRanges {
    type Error = RangeError;

    fn try_from(form: Form) -> Result<SubRanges, RangeError> {
        SubRanges::new(form.parent, form.ranges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn range(text: &str) -> HashRange {
        text.parse().unwrap()
    }

    #[test]
    fn explicit_ranges_are_refused_as_solr_refuses_them() {
        let parent = range("0-5dc");
        assert_eq!(SubRanges::parse(parent, "0-5dc"), Err(RangeError::Pieces { pieces: 1 }));
        let outside = SubRanges::parse(parent, "0-1f4,1f5-5dd").unwrap_err();
        assert_eq!(outside, RangeError::NotWithin { range: range("1f5-5dd"), parent });
        let gap = SubRanges::parse(parent, "0-1f4,1f6-5dc").unwrap_err();
        assert_eq!(gap, RangeError::Gap { missing: range("1f5-1f5"), parent });
        let open = SubRanges::parse(parent, "0-1f4,1f5-5db").unwrap_err();
        assert_eq!(open, RangeError::Gap { missing: range("5dc-5dc"), parent });
        let overlap = SubRanges::parse(parent, "0-1f4,1f4-5dc").unwrap_err();
        assert_eq!(overlap, RangeError::Overlap { first: range("0-1f4"), second: range("1f4-5dc") });
        let text = SubRanges::parse(parent, "0-1f4,").unwrap_err();
        assert_eq!(text, RangeError::Parse { text: String::new() });
    }

    #[test]
    fn explicit_ranges_keep_their_order() {
        let pieces = SubRanges::parse(range("0-5dc"), "1f5-3e8,3e9-5dc,0-1f4").unwrap();
        assert_eq!(pieces.ranges()[2], range("0-1f4"));
        assert_eq!([0, 0x1f4, 0x1f5, 0x3e9, 0x5dc].map(|hash| pieces.child_of(hash)), [2, 2, 0, 1, 1].map(Some));
        assert_eq!([-1, 0x5dd].map(|hash| pieces.child_of(hash)), [None, None]);
    }

    #[test]
    fn a_key_at_an_end_of_the_shard_gives_two_pieces() {
        let key = route_key_range("b!").unwrap();
        assert_eq!(key, range("95de0000-95deffff"));
        let first = SubRanges::by_key(range("95de0000-ffffffff"), "b!").unwrap();
        assert_eq!(first.ranges(), [key, range("95df0000-ffffffff")]);
        let beyond = SubRanges::by_key(range("95de8000-ffffffff"), "b!").unwrap();
        assert_eq!(beyond.ranges(), [range("95de8000-95deffff"), range("95df0000-ffffffff")]);
        let cut = SubRanges::by_key(range("80000000-95de7fff"), "b!").unwrap();
        assert_eq!(cut.ranges(), [range("80000000-95ddffff"), range("95de0000-95de7fff")]);
    }

    #[test]
    fn a_key_that_cannot_be_set_apart_is_refused() {
        let parent = range("80000000-bfffffff");
        let refused = |key| SubRanges::by_key(parent, key).unwrap_err();
        assert!(matches!(refused("c!"), RangeError::KeyElsewhere { .. }));
        assert!(matches!(refused("b/2!"), RangeError::KeyIsShard { .. }));
        assert!(matches!(refused("b/1!"), RangeError::KeyIsShard { .. }));
        assert!(matches!(refused("b/0!"), RangeError::KeyIsShard { .. }));
        assert!(matches!(refused("b"), RangeError::OneHash { .. }));
        let neighbour = SubRanges::by_key(range("95ddffff-bfffffff"), "b!").unwrap_err();
        assert_eq!(neighbour, RangeError::OneHash { key: "b!".to_owned(), piece: range("95ddffff-95ddffff") });
    }

    #[test]
    fn json_is_checked() {
        let pieces = SubRanges::parse(range("0-5dc"), "1f5-5dc,0-1f4").unwrap();
        let json = serde_json::to_string(&pieces).unwrap();
        assert_eq!(json, r#"{"parent":"0-5dc","ranges":["1f5-5dc","0-1f4"]}"#);
        assert_eq!(serde_json::from_str::<SubRanges>(&json).unwrap(), pieces);
        let broken = json.replace("1f5-", "1f6-");
        let error = serde_json::from_str::<SubRanges>(&broken).unwrap_err().to_string();
        assert!(error.contains("1f5-1f5"), "{error}");
    }

    proptest! {
        #[test]
        fn pieces_cover_the_shard_exactly(
            a in any::<i32>(), b in any::<i32>(), pieces in 2u32..20, key in "[a-z]{1,3}(/[0-9])?!", hashes in prop::collection::vec(any::<i32>(), 20),
        ) {
            let parent = HashRange::new(a.min(b), a.max(b)).unwrap();
            let even = SubRanges::even(parent, pieces, SplitFuzz::new(0.2).unwrap());
            for made in [even, SubRanges::by_key(parent, &key)].into_iter().flatten() {
                let width: u64 = made.ranges().iter().map(HashRange::hashes).sum();
                prop_assert_eq!(width, parent.hashes());
                for &hash in &hashes {
                    let owners: Vec<usize> = (0..made.ranges().len()).filter(|&nth| made.ranges()[nth].contains(hash)).collect();
                    prop_assert_eq!(owners.len(), usize::from(parent.contains(hash)));
                    prop_assert_eq!(made.child_of(hash), owners.first().copied());
                }
            }
        }
    }
}
