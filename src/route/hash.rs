//! The routing hash.
//!
//! Elasticsearch hashes a routing key with murmur3 x86 32-bit, seed 0, over the UTF-16 code units of the string, two
//! bytes each, low byte first (`Murmur3HashFunction.java`). Characters beyond U+FFFF are surrogate pairs, as in Java.
//! The code units are made and mixed on the fly: nothing is allocated. The constants and the mixing steps are those of
//! MurmurHash3_x86_32 (Austin Appleby, public domain).
//!
//! Cost: one multiplication chain per two code units.

/// murmur3 x86 32-bit with seed 0, as a signed integer.
pub type RoutingHash = i32;

const C1: u32 = 0xcc9e_2d51;
const C2: u32 = 0x1b87_3593;

/// Elasticsearch's routing hash of `key`.
#[must_use]
pub fn routing_hash(key: &str) -> RoutingHash {
    if key.is_ascii() { hash_ascii(key.as_bytes()) } else { hash_utf16(key) }
}

/// A code unit is the byte itself, so a block of four hashed bytes is two bytes of the key with zeros between.
fn hash_ascii(bytes: &[u8]) -> RoutingHash {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let mut hash = 0;
    for &[low, high] in pairs {
        hash = mix(hash, u32::from(low) | u32::from(high) << 16);
    }
    finish(hash, rest.first().map(|&byte| u16::from(byte)), bytes.len())
}

fn hash_utf16(key: &str) -> RoutingHash {
    let (mut hash, mut units) = (0, 0);
    let mut waiting = None;
    for unit in key.encode_utf16() {
        units += 1;
        waiting = match waiting {
            None => Some(unit),
            Some(low) => {
                hash = mix(hash, u32::from(low) | u32::from(unit) << 16);
                None
            }
        };
    }
    finish(hash, waiting, units)
}

#[inline]
fn scramble(block: u32) -> u32 {
    block.wrapping_mul(C1).rotate_left(15).wrapping_mul(C2)
}

/// Mixes in four bytes, low byte first.
#[inline]
pub(super) fn mix(hash: u32, block: u32) -> u32 {
    (hash ^ scramble(block)).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64)
}

/// Mixes in an odd last code unit and the length in bytes.
#[inline]
fn finish(hash: u32, last: Option<u16>, units: usize) -> RoutingHash {
    finish_bytes(hash, last.map_or(0, u32::from), units.wrapping_mul(2))
}

/// Mixes in the bytes after the last block of four, low byte first, and the length in bytes. A `tail` of 0 changes
/// nothing: murmur3 makes no difference between no tail and a tail of zeros, but for the length.
#[inline]
pub(super) fn finish_bytes(mut hash: u32, tail: u32, bytes: usize) -> RoutingHash {
    #[expect(clippy::cast_possible_truncation, reason = "murmur3 mixes the length in modulo 2^32")]
    let length = bytes as u32;
    hash ^= scramble(tail) ^ length;
    hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    (hash ^ hash >> 16).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The murmur3 crate over the same bytes, spelt out.
    fn oracle(key: &str) -> RoutingHash {
        let bytes: Vec<u8> = key.encode_utf16().flat_map(u16::to_le_bytes).collect();
        murmur3::murmur3_32(&mut bytes.as_slice(), 0).unwrap().cast_signed()
    }

    #[test]
    fn known_values_of_elasticsearch_hold() {
        assert_eq!(routing_hash("hell"), 0x5a0c_b7c3);
        assert_eq!(routing_hash("hello").cast_unsigned(), 0xd7c3_1989);
        assert_eq!(routing_hash("The quick brown fox jumps over the lazy dog").cast_unsigned(), 0xe07d_b09c);
        assert_eq!(routing_hash(""), 0);
    }

    #[test]
    fn keys_beyond_ascii_hash_as_java_strings_of_every_parity() {
        for key in ["ü", "aü", "üa", "日本語", "😀", "a😀", "😀a", "a😀b", "\u{ffff}\u{10000}", "e\u{301}"]
        {
            assert_eq!(routing_hash(key), oracle(key), "{key:?}");
        }
    }

    proptest! {
        #[test]
        fn any_string_hashes_as_the_murmur3_crate_says(key in any::<String>()) {
            prop_assert_eq!(routing_hash(&key), oracle(&key));
        }

        #[test]
        fn any_ascii_string_hashes_as_the_murmur3_crate_says(key in "[ -~]{0,80}") {
            prop_assert_eq!(routing_hash(&key), oracle(&key));
        }

        #[test]
        fn both_ways_to_hash_ascii_agree(key in "[\\x00-\\x7f]{0,40}") {
            prop_assert_eq!(hash_ascii(key.as_bytes()), hash_utf16(&key));
        }
    }
}
