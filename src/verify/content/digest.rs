//! Hashing what a document consists of, and digests over documents that do not depend on their order.
//!
//! Every item of a document (its stored bytes, each posting, each column value, each norm) is hashed into 64 bits; a
//! document's [`Sum`] is the wrapping sum over its items, so planes can be read in any order and by any number of
//! threads. The sum itself is linear; [`Sum::mix`] is not: the [`Digest`] of a set is the wrapping sum of the mixed
//! sums of its documents. So items are bound to their document without any document number, and an item that moved from
//! one document to another shows.
//!
//! Equal digests prove equal multisets of documents up to chance: an alteration goes unseen with a probability of
//! about 2^-64. The hash is not keyed, it protects against mistakes and decay, not against forgers. Why a document has
//! not more bits: adding a posting waits for its document's sum to come from memory, and that is most of a verification.

use std::fmt;

use serde::{Serialize, Serializer};

// Arbitrary odd numbers: the leading bits of the fractional parts of square roots of primes.
const K1: u64 = 0x6a09_e667_f3bc_c909;
const K2: u64 = 0xbb67_ae85_84ca_a73b;
const K3: u64 = 0x3c6e_f372_fe94_f82b;
const K4: u64 = 0xa54f_f53a_5f1d_36f1;
const K5: u64 = 0x510e_527f_ade6_82d1;
const K6: u64 = 0x9b05_688c_2b3e_6c1f;
const K7: u64 = 0x1f83_d9ab_fb41_bd6b;
const K8: u64 = 0x5be0_cd19_137e_2179;

/// High and low half of the 128-bit product, folded.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the halves of the product are what is wanted")]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ ((product >> 64) as u64)
}

/// What an item belongs to; part of every hash, so that planes cannot stand in for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tag {
    /// Stored bytes as they are in the store.
    Stored,
    /// A document decoded and encoded again.
    Decoded,
    /// Postings without regard to frequencies.
    Posting,
    /// Postings with frequencies.
    PostingFreq,
    /// Postings of a term without frequencies.
    PostingNoFreq,
    /// Column values.
    Column,
    /// Field norms.
    Norm,
}

/// The hash of what many items share (a term, a column's name): computed once, then combined with each value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seed(u64);

impl Seed {
    /// Hashes `bytes`. `number`: field id, column category or another small number.
    #[inline]
    pub(crate) fn new(tag: Tag, number: u32, bytes: &[u8]) -> Seed {
        let tag = (tag as u64) << 32 | u64::from(number);
        let (mut a, mut b) = (tag ^ K1, tag ^ K2);
        let chunks = bytes.chunks_exact(16);
        let rest = chunks.remainder();
        for chunk in chunks {
            (a, b) = absorb(a, b, chunk);
        }
        if !rest.is_empty() {
            let mut last = [0u8; 16];
            for (to, from) in last.iter_mut().zip(rest) {
                *to = *from;
            }
            (a, b) = absorb(a, b, &last);
        }
        let len = bytes.len() as u64;
        Seed(fold(a ^ len, b ^ K5))
    }

    /// An item with this seed and `value`.
    #[inline]
    pub(crate) fn item(self, value: u64) -> Sum {
        Sum(fold(value ^ K1, self.0))
    }

    /// An item that is nothing but this seed.
    #[inline]
    pub(crate) fn alone(self) -> Sum {
        Sum(self.0)
    }

    /// To enter another item as value.
    #[inline]
    pub(crate) fn value(self) -> u64 {
        self.0
    }
}

#[inline]
fn absorb(a: u64, b: u64, chunk: &[u8]) -> (u64, u64) {
    let low = chunk.first_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let high = chunk.last_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    (fold(low ^ K3, high ^ a), fold(high ^ K4, low ^ b))
}

/// Condenses a term frequency and its position deltas.
#[inline]
pub(crate) fn positions(freq: u32, deltas: &[u32]) -> u64 {
    let mut hash = u64::from(freq) ^ K5;
    if let [only] = *deltas {
        // Most documents have a word once.
        return fold(hash ^ u64::from(only), K6);
    }
    let pairs = deltas.chunks_exact(2);
    let rest = pairs.remainder();
    for pair in pairs {
        if let [first, second] = *pair {
            hash = fold(hash ^ (u64::from(first) | u64::from(second) << 32), K6);
        }
    }
    if let [last] = *rest {
        hash = fold(hash ^ u64::from(last), K6);
    }
    hash
}

/// Condenses a column value, its class and its place in the row.
#[inline]
pub(crate) fn value(class: u8, value: u64, index: u32) -> u64 {
    fold(value ^ K7, (u64::from(class) << 32 | u64::from(index)) ^ K8)
}

/// Wrapping sum over the items of one document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Sum(u64);

impl Sum {
    /// What [`Sum::to_bytes`] gave.
    #[inline]
    pub(crate) fn from_bytes(bytes: [u8; 8]) -> Sum {
        Sum(u64::from_le_bytes(bytes))
    }

    #[inline]
    pub(crate) fn to_bytes(self) -> [u8; 8] {
        self.0.to_le_bytes()
    }

    /// Adds an item.
    #[inline]
    pub(crate) fn add(&mut self, item: Sum) {
        self.0 = self.0.wrapping_add(item.0);
    }

    /// Takes away what was added.
    pub(crate) fn subtract(&mut self, item: Sum) {
        self.0 = self.0.wrapping_sub(item.0);
    }

    /// The document as one value in which no item can be exchanged for another document's.
    #[inline]
    pub(crate) fn mix(self) -> Digest {
        let turned = self.0.rotate_left(32);
        let a = fold(self.0 ^ K1, turned ^ K2);
        let b = fold(self.0 ^ K3, turned ^ K4);
        Digest(fold(a ^ K5, b ^ K6) ^ a, fold(b ^ K7, a ^ K8) ^ b)
    }
}

/// 128 bits over a set of documents: the wrapping sum of their mixed sums. Printed as 32 hexadecimal digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(u64, u64);

impl Digest {
    /// Half of it, to tell documents apart.
    pub(crate) fn short(self) -> u64 {
        self.0
    }

    /// The digest of the union of two disjoint sets.
    pub fn add(&mut self, other: Digest) {
        self.0 = self.0.wrapping_add(other.0);
        self.1 = self.1.wrapping_add(other.1);
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}{:016x}", self.0, self.1)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Like [`Digest`], but of a sequence: another order gives another value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sequence(u64, u64);

impl Sequence {
    /// Appends a document.
    #[inline]
    pub(crate) fn push(&mut self, document: Digest) {
        let (a, b) = (self.0 ^ document.0, self.1 ^ document.1);
        (self.0, self.1) = (fold(a ^ K1, b ^ K2), fold(b ^ K3, a.rotate_left(32) ^ K4));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(items: &[Sum]) -> Digest {
        let mut sum = Sum::default();
        items.iter().for_each(|item| sum.add(*item));
        sum.mix()
    }

    #[test]
    fn order_of_items_does_not_matter_but_exchanging_frequencies_of_two_terms_does() {
        let (a, b) = (Seed::new(Tag::PostingFreq, 1, b"alpha"), Seed::new(Tag::PostingFreq, 1, b"beta"));
        let straight = document(&[a.item(1), b.item(2)]);
        assert_eq!(straight, document(&[b.item(2), a.item(1)]));
        assert_ne!(straight, document(&[a.item(2), b.item(1)]));
    }

    #[test]
    fn an_item_that_moves_to_another_document_changes_the_digest_of_the_set() {
        let items: Vec<Sum> = (0..4).map(|n| Seed::new(Tag::Norm, n, b"").item(7)).collect();
        let set = |left: &[Sum], right: &[Sum]| {
            let mut digest = document(left);
            digest.add(document(right));
            digest
        };
        assert_ne!(set(&items[..2], &items[2..]), set(&items[..1], &items[1..]));
        assert_eq!(set(&items[..2], &items[2..]), set(&items[2..], &items[..2]));
    }

    #[test]
    fn zero_bytes_at_the_end_of_a_term_count() {
        let seeds = [&b""[..], b"\0", b"\0\0", &[0; 15], &[0; 16], &[0; 17], &[0; 32]];
        let hashes: std::collections::HashSet<Sum> =
            seeds.iter().map(|bytes| Seed::new(Tag::Posting, 0, bytes).alone()).collect();
        assert_eq!(hashes.len(), seeds.len());
    }

    #[test]
    fn every_byte_and_every_position_counts() {
        let bytes: Vec<u8> = (0..67).collect();
        let whole = Seed::new(Tag::Stored, 0, &bytes);
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] ^= 0x10;
            let other = Seed::new(Tag::Stored, 0, &other);
            assert_ne!(other, whole, "byte {at}");
        }
        let deltas = [3u32, 0, 7, 0, 9];
        for at in 0..deltas.len() {
            let mut other = deltas;
            other[at] += 1;
            assert_ne!(positions(5, &deltas), positions(5, &other), "position {at}");
        }
        assert_ne!(positions(5, &[3, 0, 7, 0, 9]), positions(5, &[0, 3, 7, 0, 9]));
    }

    #[test]
    fn every_bit_of_a_sum_turns_about_half_of_the_digest() {
        for start in [0, 1, u64::MAX, K1, K2, K3, K4, 0x0123_4567_89ab_cdef] {
            let whole = Sum(start).mix();
            for bit in 0..64 {
                let other = Sum(start ^ 1 << bit).mix();
                let turned = (other.0 ^ whole.0).count_ones() + (other.1 ^ whole.1).count_ones();
                assert!((30..=98).contains(&turned), "bit {bit} of {start:#x} turns {turned}");
            }
        }
    }

    #[test]
    fn a_sequence_depends_on_order() {
        let documents: Vec<Digest> = (0..3).map(|n| document(&[Seed::new(Tag::Norm, n, b"").alone()])).collect();
        let sequence = |order: [usize; 3]| {
            let mut sequence = Sequence::default();
            order.iter().for_each(|&n| sequence.push(documents[n]));
            sequence
        };
        assert_eq!(sequence([0, 1, 2]), sequence([0, 1, 2]));
        assert_ne!(sequence([0, 1, 2]), sequence([0, 2, 1]));
        assert_ne!(sequence([0, 1, 2]), sequence([1, 0, 2]));
    }
}
