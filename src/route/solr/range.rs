//! A range of hashes, as Solr's cluster state has it: signed, both ends included, written in hexadecimal.
//!
//! Invariant: a range has at least one hash. `80000000` is the smallest hash and `7fffffff` the largest, so a range
//! across 0 is `ffffffff-0`, and none goes from 7fffffff on to 80000000.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::RangeError;
use crate::route::RoutingHash;

/// Neighbouring hashes (`DocRouter.Range` of apache/solr). Ordered by first hash, then by last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HashRange {
    min: RoutingHash,
    max: RoutingHash,
}

impl HashRange {
    /// All hashes.
    pub const FULL: HashRange = HashRange { min: RoutingHash::MIN, max: RoutingHash::MAX };

    /// `min` and `max` are included.
    ///
    /// # Errors
    /// [`RangeError::Inverted`] if `max` is less than `min`.
    pub fn new(min: RoutingHash, max: RoutingHash) -> Result<HashRange, RangeError> {
        if min <= max { Ok(HashRange { min, max }) } else { Err(RangeError::Inverted { min, max }) }
    }

    /// One hash.
    #[must_use]
    pub fn one(hash: RoutingHash) -> HashRange {
        HashRange { min: hash, max: hash }
    }

    /// The hashes that have the same 16 high bits as `hash`: what a two-level route key has.
    #[must_use]
    pub(super) fn prefix_group(hash: RoutingHash) -> HashRange {
        HashRange { min: hash & !0xffff, max: hash | 0xffff }
    }

    /// First hash.
    #[must_use]
    pub fn min_hash(&self) -> RoutingHash {
        self.min
    }

    /// Last hash.
    #[must_use]
    pub fn max_hash(&self) -> RoutingHash {
        self.max
    }

    /// Number of hashes; 2^32 for all.
    #[must_use]
    pub fn hashes(&self) -> u64 {
        u64::from(self.min.abs_diff(self.max)) + 1
    }

    /// Whether `hash` is in the range.
    #[inline]
    #[must_use]
    pub fn contains(&self, hash: RoutingHash) -> bool {
        (self.min..=self.max).contains(&hash)
    }

    /// Whether all hashes are in `other` too.
    #[must_use]
    pub fn is_within(&self, other: &HashRange) -> bool {
        other.min <= self.min && self.max <= other.max
    }

    /// The hashes that are in both.
    #[must_use]
    pub fn intersection(&self, other: &HashRange) -> Option<HashRange> {
        HashRange::new(self.min.max(other.min), self.max.min(other.max)).ok()
    }

    /// First and last of its hashes below 0.
    pub(in crate::route) fn negative(&self) -> Option<(RoutingHash, RoutingHash)> {
        (self.min < 0).then(|| (self.min, self.max.min(-1)))
    }

    /// First and last of its hashes from 0 on.
    pub(in crate::route) fn non_negative(&self) -> Option<(RoutingHash, RoutingHash)> {
        (self.max >= 0).then(|| (self.min.max(0), self.max))
    }

    /// The hashes of both, and those between.
    pub(in crate::route) fn join(&self, other: &HashRange) -> HashRange {
        HashRange { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// What precedes `other` within `self`.
    pub(in crate::route) fn before(&self, other: &HashRange) -> Option<HashRange> {
        HashRange::new(self.min, other.min.checked_sub(1)?).ok()
    }

    /// What follows `other` within `self`.
    pub(in crate::route) fn after(&self, other: &HashRange) -> Option<HashRange> {
        HashRange::new(other.max.checked_add(1)?, self.max).ok()
    }
}

impl fmt::Display for HashRange {
    /// As Solr writes it: lower case, without leading zeros.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}-{:x}", self.min, self.max)
    }
}

impl FromStr for HashRange {
    type Err = RangeError;

    /// Reads what Solr writes; upper case and leading zeros may be used. Solr itself also takes signs and 16 digits, of
    /// which it drops half; that is refused here.
    fn from_str(text: &str) -> Result<HashRange, RangeError> {
        let ends = text.split_once('-').and_then(|(min, max)| Some((parse_hash(min)?, parse_hash(max)?)));
        let (min, max) = ends.ok_or_else(|| RangeError::Parse { text: text.to_owned() })?;
        HashRange::new(min, max)
    }
}

impl TryFrom<String> for HashRange {
    type Error = RangeError;

    fn try_from(text: String) -> Result<HashRange, RangeError> {
        text.parse()
    }
}

impl From<HashRange> for String {
    fn from(range: HashRange) -> String {
        range.to_string()
    }
}

fn parse_hash(text: &str) -> Option<RoutingHash> {
    let digits = (1..=8).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    digits.then(|| u32::from_str_radix(text, 16).ok())?.map(u32::cast_signed)
}

/// Checks that `sorted`, ascending, has every hash of `parent` once and no other.
pub(super) fn check_cover(parent: HashRange, sorted: &[HashRange]) -> Result<(), RangeError> {
    let mut rest = Some(parent);
    let mut previous = None;
    for &range in sorted {
        if !range.is_within(&parent) {
            return Err(RangeError::NotWithin { range, parent });
        }
        if let Some(first) = previous.filter(|first: &HashRange| first.intersection(&range).is_some()) {
            return Err(RangeError::Overlap { first, second: range });
        }
        if let Some(missing) = rest.and_then(|rest| rest.before(&range)) {
            return Err(RangeError::Gap { missing, parent });
        }
        rest = parent.after(&range);
        previous = Some(range);
    }
    match rest {
        None => Ok(()),
        Some(missing) => Err(RangeError::Gap { missing, parent }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ranges_are_read_and_written_as_solr_does() {
        for text in ["80000000-ffffffff", "0-7fffffff", "80000000-7fffffff", "ffffffff-0", "b3330000-e665ffff", "0-0"] {
            assert_eq!(text.parse::<HashRange>().unwrap().to_string(), text);
        }
        assert_eq!("00000000-7FFFFFFF".parse::<HashRange>().unwrap().to_string(), "0-7fffffff");
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for text in
            ["", "-", "0", "0-", "-1", "0-1-2", " 0-1", "0-1 ", "+0-1", "0--1", "0x0-0x1", "0-100000000", "g-h", "٠-1"]
        {
            assert_eq!(text.parse::<HashRange>(), Err(RangeError::Parse { text: text.to_owned() }), "{text:?}");
        }
        assert_eq!("0-ffffffff".parse::<HashRange>(), Err(RangeError::Inverted { min: 0, max: -1 }));
    }

    #[test]
    fn json_is_the_text_and_is_checked() {
        let range: HashRange = serde_json::from_str("\"80000000-ffffffff\"").unwrap();
        assert_eq!(serde_json::to_string(&range).unwrap(), "\"80000000-ffffffff\"");
        assert!(
            serde_json::from_str::<HashRange>("\"0-ffffffff\"")
                .unwrap_err()
                .to_string()
                .contains("ends before it begins")
        );
    }

    #[test]
    fn all_hashes_are_two_to_the_32() {
        assert_eq!(HashRange::FULL.hashes(), 1 << 32);
        assert_eq!(HashRange::one(-1).hashes(), 1);
    }

    proptest! {
        #[test]
        fn any_range_survives_its_text(min in any::<i32>(), max in any::<i32>()) {
            let range = HashRange::new(min.min(max), min.max(max)).unwrap();
            prop_assert_eq!(range.to_string().parse::<HashRange>(), Ok(range));
        }

        #[test]
        fn before_and_after_make_the_rest(a in any::<i32>(), b in any::<i32>(), c in any::<i32>(), d in any::<i32>()) {
            let mut ends = [a, b, c, d];
            ends.sort_unstable();
            let [min, from, to, max] = ends;
            let (parent, middle) = (HashRange::new(min, max).unwrap(), HashRange::new(from, to).unwrap());
            let pieces: Vec<HashRange> =
                parent.before(&middle).into_iter().chain([middle]).chain(parent.after(&middle)).collect();
            prop_assert_eq!(check_cover(parent, &pieces), Ok(()));
            prop_assert_eq!(pieces.iter().map(HashRange::hashes).sum::<u64>(), parent.hashes());
        }
    }
}
