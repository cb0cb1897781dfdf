//! A sum per document of a segment, added to by several threads.
//!
//! 8 bytes per document. Documents are cut into stripes with a lock each. An adder keeps the stripe that it added to
//! last until it needs another: the documents of a posting list ascend, so one lock serves many of them. What few documents
//! get waits in the adder, stripe by stripe, until there is enough of it: a sum comes from memory or from a distant cache,
//! and only in one tight loop over many the waiting for one overlaps with that for others. Sums wrap and commute, so the
//! result does not depend on threads, nor on when they are added. Stripes of large segments are huge pages where the system
//! has them.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::digest::{Seed, Sum};
use crate::huge::{Entries, HUGE_PAGE};

/// Fewest documents per stripe: with fewer, a rare term's list needs a lock for every few of them.
const STRIPE: usize = 32_768;
/// Most stripes per segment: more threads than a machine has seldom meet in one.
const STRIPES: usize = 512;
/// Documents whose sums are a huge page. Segments of at least so many are cut by it.
const HUGE: usize = HUGE_PAGE / SUM;
/// Lists of fewer documents wait.
const FEW: usize = 64;
/// Items that wait for a stripe at most.
const WAITING: usize = 128;
/// Bytes of a document's sum.
const SUM: usize = 8;

/// The sums of all documents of a segment.
#[derive(Debug)]
pub(crate) struct SegmentSums {
    stripes: Vec<Mutex<Stripe>>,
    /// Documents per stripe are 1 << shift.
    shift: u32,
    max_doc: u32,
}

/// Sums as bytes.
type Stripe = Entries<SUM>;

impl SegmentSums {
    /// Empty documents 0..`max_doc`.
    pub(crate) fn new(max_doc: u32) -> SegmentSums {
        let len = max_doc as usize;
        let least = if len >= HUGE { HUGE } else { STRIPE };
        let stripe = least.max(len.div_ceil(STRIPES)).next_power_of_two();
        let stripes =
            (0..len).step_by(stripe).map(|start| Mutex::new(Stripe::filled(stripe.min(len - start), 0))).collect();
        SegmentSums { stripes, shift: stripe.trailing_zeros(), max_doc }
    }

    /// Begins to add to documents, in any order, ascending ones fastest. A thread must not have two for one segment,
    /// nor read sums while it has one: each may hold the lock of a stripe. Sums are whole when all adders are dropped.
    pub(crate) fn adder(&self) -> Adder<'_> {
        Adder { sums: self, held: None, waiting: self.stripes.iter().map(|_| Vec::new()).collect() }
    }

    /// The sum of one document.
    pub(crate) fn get(&self, doc: u32) -> Sum {
        let stripe = self.stripes.get(doc as usize >> self.shift);
        let sum = stripe.and_then(|stripe| lock(stripe).as_slice().get(self.within(doc)).copied());
        sum.map(Sum::from_bytes).unwrap_or_default()
    }

    /// Calls `visit` with every document in order.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(u32, Sum)) {
        let mut doc = 0;
        for stripe in &self.stripes {
            for &sum in lock(stripe).as_slice() {
                visit(doc, Sum::from_bytes(sum));
                doc += 1;
            }
        }
    }

    fn within(&self, doc: u32) -> usize {
        doc as usize & ((1 << self.shift) - 1)
    }
}

fn lock(stripe: &Mutex<Stripe>) -> MutexGuard<'_, Stripe> {
    stripe.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds items to documents. What waits is added when it is dropped.
pub(crate) struct Adder<'a> {
    sums: &'a SegmentSums,
    /// The stripe added to last.
    held: Option<(usize, MutexGuard<'a, Stripe>)>,
    /// Per stripe: documents within it, and what is to be added to them.
    waiting: Vec<Vec<(u32, Sum)>>,
}

impl Adder<'_> {
    /// Adds an item to `doc`; `false` if there is no such document.
    #[inline]
    pub(crate) fn add(&mut self, doc: u32, item: Sum) -> bool {
        let within = self.sums.within(doc);
        match self.hold(doc as usize >> self.sums.shift).get_mut(within) {
            Some(sum) => {
                add(sum, item);
                true
            }
            None => false,
        }
    }

    /// Adds an item of `seed` to each of `docs`, ascending ones fastest, made with the value at the same place, now or when
    /// the adder is dropped at the latest; `false` if one of them is no document.
    #[inline]
    pub(crate) fn add_all(&mut self, docs: &[u32], values: &[u64], seed: Seed) -> bool {
        if docs.len() >= FEW { self.add_now(docs, values, seed) } else { self.add_later(docs, values, seed) }
    }

    /// The inner loop never branches otherwise than foreseen, so that the waiting for one document overlaps with that for
    /// the next.
    fn add_now(&mut self, mut docs: &[u32], mut values: &[u64], seed: Seed) -> bool {
        let mut all = true;
        while let Some(&first) = docs.first() {
            let stripe = first as usize >> self.sums.shift;
            let start = stripe << self.sums.shift;
            let sums = self.hold(stripe);
            let mut added = 0;
            for (&doc, &value) in docs.iter().zip(values) {
                let Some(sum) = sums.get_mut((doc as usize).wrapping_sub(start)) else { break };
                add(sum, seed.item(value));
                added += 1;
            }
            if added == 0 {
                (all, added) = (false, 1);
            }
            docs = docs.get(added..).unwrap_or_default();
            values = values.get(added..).unwrap_or_default();
        }
        all
    }

    #[inline]
    fn add_later(&mut self, docs: &[u32], values: &[u64], seed: Seed) -> bool {
        let mut all = true;
        for (&doc, &value) in docs.iter().zip(values) {
            let stripe = doc as usize >> self.sums.shift;
            let Some(waiting) = self.waiting.get_mut(stripe).filter(|_| doc < self.sums.max_doc) else {
                all = false;
                continue;
            };
            waiting.push((doc & ((1 << self.sums.shift) - 1), seed.item(value)));
            if waiting.len() >= WAITING {
                self.flush(stripe);
            }
        }
        all
    }

    /// Adds what waits for a stripe.
    fn flush(&mut self, stripe: usize) {
        let Some(mut waiting) = self.waiting.get_mut(stripe).map(std::mem::take) else { return };
        let sums = self.hold(stripe);
        for (within, item) in waiting.drain(..) {
            if let Some(sum) = sums.get_mut(within as usize) {
                add(sum, item);
            }
        }
        // Others may have it while lists are read that only wait.
        self.held = None;
        if let Some(empty) = self.waiting.get_mut(stripe) {
            *empty = waiting;
        }
    }

    /// The sums of a stripe; none if there is no such stripe.
    #[inline]
    fn hold(&mut self, stripe: usize) -> &mut [[u8; SUM]] {
        if self.held.as_ref().is_none_or(|(held, _)| *held != stripe) {
            // ORDER: one stripe is let go before the next is taken, so threads cannot wait for each other in a circle.
            self.held = None;
            self.held = self.sums.stripes.get(stripe).map(|mutex| (stripe, lock(mutex)));
        }
        self.held.as_mut().map_or(&mut [][..], |(_, stripe)| stripe.as_mut_slice())
    }
}

impl Drop for Adder<'_> {
    fn drop(&mut self) {
        for stripe in 0..self.waiting.len() {
            if self.waiting.get(stripe).is_some_and(|waiting| !waiting.is_empty()) {
                self.flush(stripe);
            }
        }
    }
}

#[inline]
fn add(bytes: &mut [u8; SUM], item: Sum) {
    let mut sum = Sum::from_bytes(*bytes);
    sum.add(item);
    *bytes = sum.to_bytes();
}

#[cfg(test)]
mod tests {
    use super::super::digest::Tag;
    use super::*;

    #[test]
    fn threads_that_add_to_the_same_documents_get_the_same_sums_as_one() {
        let max_doc = 100_000;
        let work = |sums: &SegmentSums, part: u32| {
            let seed = Seed::new(Tag::Posting, part, b"term");
            let mut adder = sums.adder();
            for doc in (0..max_doc).step_by(1 + part as usize) {
                assert!(adder.add(doc, seed.item(u64::from(doc))));
            }
        };
        let alone = SegmentSums::new(max_doc);
        (0..4).for_each(|part| work(&alone, part));
        let shared = SegmentSums::new(max_doc);
        std::thread::scope(|scope| {
            for part in 0..4 {
                let shared = &shared;
                scope.spawn(move || work(shared, part));
            }
        });
        let mut docs = 0;
        alone.for_each(|doc, sums| {
            assert_eq!(sums, shared.get(doc));
            docs += 1;
        });
        assert_eq!(docs, max_doc);
    }

    #[test]
    fn a_list_adds_what_its_documents_add_alone_in_any_order_and_says_if_one_lies_beyond() {
        // Small stripes, and huge ones with a last one that is not.
        for max_doc in [100_000, 600_000] {
            check_list(max_doc);
        }
    }

    fn check_list(max_doc: u32) {
        let seed = Seed::new(Tag::Posting, 1, b"term");
        let docs: Vec<u32> = (0..max_doc).step_by(977).chain([99_999, 5, 40_000, 3, max_doc - 1]).collect();
        let values: Vec<u64> = docs.iter().map(|&doc| u64::from(doc) * 3 + 1).collect();
        let (alone, listed) = (SegmentSums::new(max_doc), SegmentSums::new(max_doc));
        let mut adder = alone.adder();
        for (&doc, &value) in docs.iter().zip(&values) {
            assert!(adder.add(doc, seed.item(value)));
        }
        drop(adder);
        assert!(listed.adder().add_all(&docs, &values, seed));
        let compare = || {
            alone.for_each(|doc, sums| assert_eq!(sums, listed.get(doc), "{doc}"));
        };
        compare();
        // What is no document is passed over, and what follows it is not.
        for beyond in [max_doc, max_doc + 1, u32::MAX] {
            // One that waits, and one that is added at once.
            for len in [3, 2 * FEW as u32] {
                let mut docs: Vec<u32> = (0..len).collect();
                docs[1] = beyond;
                let values: Vec<u64> = (0..u64::from(len)).collect();
                assert!(!listed.adder().add_all(&docs, &values, seed), "{beyond}");
                let mut adder = alone.adder();
                let others = docs.iter().zip(values).filter(|(doc, _)| **doc != beyond);
                others.for_each(|(&doc, value)| assert!(adder.add(doc, seed.item(value))));
                drop(adder);
                compare();
            }
        }
    }

    #[test]
    fn lists_of_any_length_add_what_their_documents_add_alone_by_any_thread() {
        let max_doc = 150_000;
        let (alone, listed) = (SegmentSums::new(max_doc), SegmentSums::new(max_doc));
        assert!(listed.stripes.len() > 3, "some stripes, and one that is not full");
        let lists = |part: u32| {
            (0..2_000u32).map(move |number| {
                let seed = Seed::new(Tag::Posting, part, &number.to_le_bytes());
                let len = if number.is_multiple_of(50) { 3 * FEW as u32 } else { 1 + number % (FEW as u32 - 1) };
                let docs: Vec<u32> = (0..len).map(|at| (number * 71 + at * (max_doc / len)) % max_doc).collect();
                let values: Vec<u64> = docs.iter().map(|&doc| u64::from(doc) + u64::from(number)).collect();
                (seed, docs, values)
            })
        };
        let mut adder = alone.adder();
        for (seed, docs, values) in (0..3).flat_map(lists) {
            docs.iter().zip(values).for_each(|(&doc, value)| assert!(adder.add(doc, seed.item(value))));
        }
        drop(adder);
        std::thread::scope(|scope| {
            for part in 0..3 {
                let listed = &listed;
                scope.spawn(move || {
                    let mut adder = listed.adder();
                    lists(part).for_each(|(seed, docs, values)| assert!(adder.add_all(&docs, &values, seed)));
                });
            }
        });
        alone.for_each(|doc, sums| assert_eq!(sums, listed.get(doc), "{doc}"));
    }

    #[test]
    fn a_document_beyond_the_segment_is_refused() {
        let item = Seed::new(Tag::Norm, 0, b"").alone();
        // Within the last stripe, and where it is full.
        for max_doc in [32_769, 65_536, 262_144, 262_145] {
            let sums = SegmentSums::new(max_doc);
            let mut adder = sums.adder();
            assert!(adder.add(max_doc - 1, item));
            assert!(!adder.add(max_doc, item));
            assert!(!adder.add(u32::MAX, item));
            assert!(adder.add(0, item));
        }
        assert!(!SegmentSums::new(0).adder().add(0, item));
    }
}
