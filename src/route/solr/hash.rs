//! Solr's routing hash: murmur3 x86 32-bit, seed 0, over the UTF-8 bytes of the string
//! (`Hash.murmurhash3_x86_32(CharSequence, ..)` of apache/solr). Elasticsearch hashes UTF-16 code units instead, so the
//! two differ even for ASCII.
//!
//! Cost: one multiplication chain per four bytes; nothing is allocated.

use crate::route::RoutingHash;
use crate::route::hash::{finish_bytes, mix};

/// Solr's hash of `key`, taken as a whole. It is the routing hash of the `plain` router, and of an id without `!` under
/// `compositeId`.
#[must_use]
pub fn plain_id_hash(key: &str) -> RoutingHash {
    let (blocks, rest) = key.as_bytes().as_chunks::<4>();
    let hash = blocks.iter().fold(0, |hash, &block| mix(hash, u32::from_le_bytes(block)));
    let tail = rest.iter().rev().fold(0, |tail, &byte| tail << 8 | u32::from(byte));
    finish_bytes(hash, tail, key.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_string_hashes_as_the_murmur3_crate_says(key in any::<String>()) {
            let oracle = murmur3::murmur3_32(&mut key.as_bytes(), 0).unwrap().cast_signed();
            prop_assert_eq!(plain_id_hash(&key), oracle);
        }
    }

    #[test]
    fn every_length_of_the_tail_is_mixed_in() {
        for key in ["", "a", "ab", "abc", "abcd", "abcde", "\0", "abc\0", "ü😀"] {
            let oracle = murmur3::murmur3_32(&mut key.as_bytes(), 0).unwrap().cast_signed();
            assert_eq!(plain_id_hash(key), oracle, "{key:?}");
        }
    }
}
