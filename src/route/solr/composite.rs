//! Solr's compositeId router: the hash of an id with a route key, and the hashes that documents of a route key have.
//!
//! `key!rest` takes 16 high bits from the hash of the key and the others from the rest; `key/bits!rest` takes that many
//! bits from the key. `first!second!rest` takes 8 bits of each key and 16 of the rest; both keys may name bits. All
//! documents of a key are therefore neighbours, and a shard's range of hashes holds whole keys.
//!
//! Source: `CompositeIdRouter.java` of apache/solr at 00ff572e, its odd corners included, because documents were stored by
//! them: `/` counts only in keys and not as their first character; separators after the second belong to the rest; an
//! id that ends with `!` has an empty rest; `/` without a number means 0 bits; what is not a number, or more than
//! 32, means -1 bits, from which Java's shifts make 31. Integers wrap around as Java's do.

use super::{HashRange, RangeError, plain_id_hash};
use crate::route::RoutingHash;

/// Separates a route key from what follows.
const SEPARATOR: char = '!';

/// Separates a route key from its number of bits.
const BITS_SEPARATOR: char = '/';

/// Routing hash of `id` under the `compositeId` router.
#[must_use]
pub fn composite_id_hash(id: &str) -> RoutingHash {
    match Composite::parse(id) {
        Some(composite) => {
            (composite.fixed | plain_id_hash(composite.rest).cast_unsigned() & composite.free).cast_signed()
        }
        None => plain_id_hash(id),
    }
}

/// Hashes that documents of a route key can have: `key!` for ids `key!rest`, `first!second!` for ids of three levels.
/// What follows the last separator has no effect, so an id gives the range of its own key; a key without `!` is an id
/// and has one hash.
///
/// `first!` does not hold ids of three levels that begin with it: those take 8 bits of the first key, not 16.
///
/// # Errors
/// [`RangeError::RouteKey`] if a number of bits overflows Java's int to a value that gives no range.
pub fn route_key_range(key: &str) -> Result<HashRange, RangeError> {
    let Some(composite) = Composite::parse(key) else { return Ok(HashRange::one(plain_id_hash(key))) };
    if composite.whole_ring {
        return Ok(HashRange::FULL);
    }
    HashRange::new(composite.fixed.cast_signed(), (composite.fixed | composite.free).cast_signed())
        .map_err(|_| RangeError::RouteKey { key: key.to_owned() })
}

/// An id with at least one separator.
struct Composite<'a> {
    /// Bits that the keys decide.
    fixed: u32,
    /// Mask of the bits that the rest decides.
    free: u32,
    /// Whether the keys decide no bits.
    whole_ring: bool,
    /// What follows the keys.
    rest: &'a str,
}

impl Composite<'_> {
    fn parse(id: &str) -> Option<Composite<'_>> {
        let (first, rest) = id.split_once(SEPARATOR)?;
        match rest.split_once(SEPARATOR) {
            // Two separators at the end count as one (SOLR-6257).
            None | Some(("", "")) => {
                let rest = rest.trim_end_matches(SEPARATOR);
                let (hash, bits) = route_key(first, 16);
                let mask = high_bits(bits);
                let free = if bits == 32 { 0 } else { u32::MAX.wrapping_shr(bits.cast_unsigned()) };
                Some(Composite { fixed: hash & mask, free, whole_ring: mask == 0, rest })
            }
            Some((second, rest)) => {
                let (first_hash, first_bits) = route_key(first, 8);
                let (second_hash, second_bits) = route_key(second, 8);
                let both = first_bits.wrapping_add(second_bits);
                let first_mask = high_bits(first_bits);
                let second_mask = first_mask ^ high_bits(both);
                Some(Composite {
                    fixed: first_hash & first_mask | second_hash & second_mask,
                    free: !(first_mask | second_mask),
                    whole_ring: first_mask == 0 && second_mask == 0,
                    rest,
                })
            }
        }
    }
}

/// Hash and bits of a route key.
fn route_key(part: &str, default_bits: i32) -> (u32, i32) {
    match part.split_once(BITS_SEPARATOR) {
        Some((name, digits)) if !name.is_empty() => (plain_id_hash(name).cast_unsigned(), number_of_bits(digits)),
        _ => (plain_id_hash(part).cast_unsigned(), default_bits),
    }
}

/// `KeyParser.getNumBits`.
fn number_of_bits(digits: &str) -> i32 {
    let mut bits = 0i32;
    for digit in digits.chars() {
        match digit.to_digit(10) {
            Some(digit) => bits = bits.wrapping_mul(10).wrapping_add(digit.cast_signed()),
            None => return -1,
        }
    }
    if bits > 32 { -1 } else { bits }
}

/// Mask of the high bits. Java shifts by the low five bits of the distance.
fn high_bits(bits: i32) -> u32 {
    if bits == 0 { 0 } else { u32::MAX.wrapping_shl(32u32.wrapping_sub(bits.cast_unsigned())) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_key_without_a_separator_is_an_id() {
        assert_eq!(route_key_range("abc"), Ok(HashRange::one(plain_id_hash("abc"))));
        assert_eq!(composite_id_hash("a/8b"), plain_id_hash("a/8b"));
    }

    #[test]
    fn two_separators_at_the_end_count_as_one() {
        assert_eq!(composite_id_hash("a!!"), composite_id_hash("a!"));
        assert_eq!(route_key_range("a!!"), route_key_range("a!"));
        assert_ne!(composite_id_hash("a!b!!"), composite_id_hash("a!b!"));
    }

    #[test]
    fn a_slash_at_the_start_of_a_key_names_no_bits() {
        let range = route_key_range("/8!").unwrap();
        assert_eq!(range.hashes(), 1 << 16);
        assert!(range.contains(plain_id_hash("/8")));
    }

    #[test]
    fn a_slash_without_a_number_means_no_bits() {
        assert_eq!(route_key_range("a/!"), Ok(HashRange::FULL));
        assert_eq!(composite_id_hash("a/!b"), plain_id_hash("b"));
    }

    #[test]
    fn too_many_bits_mean_31_as_java_shifts() {
        for key in ["a/33!", "a/x!", "a/8/!", "a/-5!"] {
            assert_eq!(route_key_range(key).unwrap().hashes(), 2, "{key}");
        }
    }

    #[test]
    fn bits_overflow_as_java_ints_do() {
        // 2^32 + 8 is 8 in an int; 2^32 - 32 is -32, whose masks are all ones, so the documents are in no range.
        assert_eq!(composite_id_hash("a/4294967304!b"), composite_id_hash("a/8!b"));
        assert_eq!(composite_id_hash("a/4294967264!b"), plain_id_hash("a") | plain_id_hash("b"));
        assert_eq!(route_key_range("a/4294967264!"), Err(RangeError::RouteKey { key: "a/4294967264!".to_owned() }));
    }

    #[test]
    fn bits_of_two_keys_beyond_32_wrap_around() {
        // 20 + 20: Java shifts by (32 - 40) & 31 = 24, so the mask of the second key is 00fff000.
        let hash = composite_id_hash("a/20!b/20!c").cast_unsigned();
        let [a, b, c] = ["a", "b", "c"].map(|part| plain_id_hash(part).cast_unsigned());
        assert_eq!(hash, a & 0xffff_f000 | b & 0x00ff_f000 | c & 0xfff);
    }

    #[test]
    fn ids_of_three_levels_are_not_in_the_range_of_their_first_key() {
        assert!(!route_key_range("app!").unwrap().contains(composite_id_hash("app!user!doc")));
        assert!(route_key_range("app/8!").unwrap().contains(composite_id_hash("app!user!doc")));
    }

    proptest! {
        #[test]
        fn ids_are_in_the_range_of_their_key(
            keys in prop::collection::vec(("[a-zü/]{1,6}", prop::option::of(0u32..40)), 1..3), rest in "[a-z/😀]{0,6}",
        ) {
            let keys: String = keys
                .iter()
                .map(|(key, bits)| bits.map_or(format!("{key}!"), |bits| format!("{key}/{bits}!")))
                .collect();
            let range = route_key_range(&keys).unwrap();
            let id = format!("{keys}{rest}");
            prop_assert!(range.contains(composite_id_hash(&id)), "{:?} {}", id, range);
            prop_assert_eq!(route_key_range(&id).unwrap(), range);
        }

        #[test]
        fn any_id_has_a_hash_and_any_hash_is_in_the_range_of_its_id(id in "[a-c!/0-9ü]{0,9}") {
            prop_assert!(route_key_range(&id).unwrap().contains(composite_id_hash(&id)));
        }
    }
}
