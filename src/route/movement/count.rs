//! How many hashes have which two shards under two tables.

use std::collections::BTreeMap;

use crate::route::hash_table::HASHES;
use crate::route::{HashArc, HashTable, Layout, RoutingHash, ShardNumber};

/// Hashes that are asked where no exact count is possible: one of every 4,096.
pub const SAMPLES: u32 = 1 << 20;

/// Most classes that are counted exactly.
const MOST_CLASSES: u64 = 1 << 24;

/// How the hashes were counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Every hash is counted.
    Exact,
    /// An estimate from so many hashes. A share p is off by about sqrt(p · (1 - p) / samples).
    Sampled {
        /// Hashes that were asked.
        samples: u32,
    },
}

/// Hashes by shard before and shard after. They add up to 2^32.
pub(super) type Pairs = BTreeMap<(ShardNumber, ShardNumber), u64>;

/// A stretch of hashes with its shards before and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    pub start: u32,
    pub end: u32,
    pub from: ShardNumber,
    pub to: ShardNumber,
}

pub(super) fn count(before: &dyn HashTable, after: &dyn HashTable) -> (Method, Pairs, Option<Vec<Stretch>>) {
    match (before.layout(), after.layout()) {
        (Layout::Arcs(old), Layout::Arcs(new)) => {
            let stretches = overlay(&old, &new);
            let mut pairs = Pairs::new();
            for part in &stretches {
                *pairs.entry((part.from, part.to)).or_default() += u64::from(part.end - part.start) + 1;
            }
            (Method::Exact, pairs, Some(stretches))
        }
        (Layout::Residues { modulus: old }, Layout::Residues { modulus: new }) => match common_multiple(old, new) {
            Some(classes) => (Method::Exact, by_class(classes, before, after), None),
            None => sampled(before, after),
        },
        (Layout::Arcs(arcs), Layout::Residues { modulus }) if affordable(&arcs, modulus) => {
            (Method::Exact, by_arc(&arcs, modulus, after, |arc, other| (arc, other)), None)
        }
        (Layout::Residues { modulus }, Layout::Arcs(arcs)) if affordable(&arcs, modulus) => {
            (Method::Exact, by_arc(&arcs, modulus, before, |arc, other| (other, arc)), None)
        }
        _ => sampled(before, after),
    }
}

/// Both lists of arcs at once; stretches of equal shards are joined.
fn overlay(old: &[HashArc], new: &[HashArc]) -> Vec<Stretch> {
    let mut stretches: Vec<Stretch> = Vec::with_capacity(old.len() + new.len());
    let (mut old, mut new) = (old.iter().peekable(), new.iter().peekable());
    let mut start = 0;
    while let (Some(from), Some(to)) = (old.peek(), new.peek()) {
        let end = from.end.min(to.end);
        match stretches.last_mut() {
            Some(last) if (last.from, last.to) == (from.shard, to.shard) => last.end = end,
            _ => stretches.push(Stretch { start, end, from: from.shard, to: to.shard }),
        }
        old.next_if(|arc| arc.end == end);
        new.next_if(|arc| arc.end == end);
        start = end.wrapping_add(1);
    }
    stretches
}

fn common_multiple(old: u32, new: u32) -> Option<u32> {
    let (mut a, mut b) = (old, new);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    let multiple = u64::from(old) / u64::from(a.max(1)) * u64::from(new);
    u32::try_from(multiple).ok().filter(|&classes| classes > 0 && u64::from(classes) <= MOST_CLASSES)
}

/// Hashes of the classes modulo `classes`: within a class neither table's answer changes.
fn by_class(classes: u32, before: &dyn HashTable, after: &dyn HashTable) -> Pairs {
    let mut pairs = Pairs::new();
    for class in 0..classes {
        let (Ok(hash), size) = (i32::try_from(class), in_class(SIGNED, class, classes)) else { continue };
        *pairs.entry((before.shard(hash), after.shard(hash))).or_default() += size;
    }
    pairs
}

fn affordable(arcs: &[HashArc], modulus: u32) -> bool {
    modulus > 0 && (arcs.len() as u64).saturating_mul(u64::from(modulus)) <= MOST_CLASSES
}

/// Hashes of each class within each arc: so many rounds through all classes, and the start of one more.
fn by_arc(
    arcs: &[HashArc],
    modulus: u32,
    residues: &dyn HashTable,
    pair: impl Fn(ShardNumber, ShardNumber) -> (ShardNumber, ShardNumber),
) -> Pairs {
    let shard = |class| i32::try_from(class).map_or(0, |hash| residues.shard(hash));
    let mut shards: Vec<ShardNumber> = (0..modulus).map(shard).collect();
    shards.sort_unstable();
    shards.dedup();
    // For each class the place of its shard; for each shard its number of classes.
    let of_class: Vec<usize> = (0..modulus).filter_map(|class| shards.binary_search(&shard(class)).ok()).collect();
    let mut classes = vec![0u64; shards.len()];
    of_class.iter().for_each(|&place| grow(&mut classes, place));
    let mut pairs = Pairs::new();
    for arc in arcs {
        let mut sizes = vec![0u64; shards.len()];
        for (first, last) in signed(arc).into_iter().flatten() {
            let (hashes, modulus) = ((last - first).unsigned_abs() + 1, i64::from(modulus));
            let rounds = hashes / modulus.unsigned_abs();
            sizes.iter_mut().zip(&classes).for_each(|(size, classes)| *size += rounds * classes);
            let start = usize::try_from(first.rem_euclid(modulus)).unwrap_or(0);
            let rest = usize::try_from(hashes % modulus.unsigned_abs()).unwrap_or(0);
            let (head, tail) = of_class.split_at_checked(start).unwrap_or_default();
            tail.iter().chain(head).take(rest).for_each(|&place| grow(&mut sizes, place));
        }
        for (&shard, size) in shards.iter().zip(sizes).filter(|&(_, size)| size > 0) {
            *pairs.entry(pair(arc.shard, shard)).or_default() += size;
        }
    }
    pairs
}

fn grow(counts: &mut [u64], place: usize) {
    if let Some(count) = counts.get_mut(place) {
        *count += 1;
    }
}

/// First and last of a range of signed hashes.
type Signed = (i64, i64);

const SIGNED: Signed = (i32::MIN as i64, i32::MAX as i64);

/// An arc in signed hashes: those above 2^31 - 1 are negative.
fn signed(arc: &HashArc) -> [Option<Signed>; 2] {
    let (start, end) = (i64::from(arc.start), i64::from(arc.end));
    let middle = 1i64 << 31;
    let space = 1i64 << 32;
    let positive = (start < middle).then_some((start, end.min(middle - 1)));
    let negative = (end >= middle).then_some((start.max(middle) - space, end - space));
    [positive, negative]
}

/// Hashes within a range that leave `class` when divided.
fn in_class((first, last): Signed, class: u32, modulus: u32) -> u64 {
    let (class, modulus) = (i64::from(class), i64::from(modulus));
    let up_to = |limit: i64| (limit - class).div_euclid(modulus);
    u64::try_from(up_to(last) - up_to(first - 1)).unwrap_or(0)
}

/// One hash of each of [`SAMPLES`] equal stretches, at a place that looks random and is always the same.
fn sampled(before: &dyn HashTable, after: &dyn HashTable) -> (Method, Pairs, Option<Vec<Stretch>>) {
    let each = HASHES / u64::from(SAMPLES);
    let mut pairs = Pairs::new();
    for sample in 0..SAMPLES {
        let hash = sample_hash(sample);
        *pairs.entry((before.shard(hash), after.shard(hash))).or_default() += each;
    }
    (Method::Sampled { samples: SAMPLES }, pairs, None)
}

/// The finisher of murmur3 chooses the place within the stretch.
fn sample_hash(sample: u32) -> RoutingHash {
    let width = u32::BITS - SAMPLES.trailing_zeros();
    let mut place = sample.wrapping_add(1).wrapping_mul(0x85eb_ca6b);
    place = (place ^ place >> 13).wrapping_mul(0xc2b2_ae35);
    place ^= place >> 16;
    (sample << width | place >> (u32::BITS - width)).cast_signed()
}
