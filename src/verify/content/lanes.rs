//! One pair of lanes per document of a segment, added to by several threads.
//!
//! 16 bytes per document. Documents are cut into stripes with a lock each: a posting block takes one lock per stripe
//! it touches, not one per posting. Sums wrap and commute, so the result does not depend on threads.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::digest::Lanes;

/// Documents per lock.
const STRIPE: usize = 4096;

/// The lanes of all documents of a segment.
#[derive(Debug)]
pub(crate) struct SegmentLanes {
    stripes: Vec<Mutex<Vec<Lanes>>>,
}

impl SegmentLanes {
    /// Empty documents 0..`max_doc`.
    pub(crate) fn new(max_doc: u32) -> SegmentLanes {
        let len = max_doc as usize;
        let stripes =
            (0..len).step_by(STRIPE).map(|start| Mutex::new(vec![Lanes::default(); STRIPE.min(len - start)])).collect();
        SegmentLanes { stripes }
    }

    /// Begins to add to documents that come in any order, best in runs.
    pub(crate) fn adder(&self) -> Adder<'_> {
        Adder { lanes: self, held: None }
    }

    /// The lanes of one document.
    pub(crate) fn get(&self, doc: u32) -> Lanes {
        let stripe = self.stripes.get(doc as usize / STRIPE);
        let lanes = stripe.and_then(|stripe| {
            stripe.lock().unwrap_or_else(PoisonError::into_inner).get(doc as usize % STRIPE).copied()
        });
        lanes.unwrap_or_default()
    }

    /// Calls `visit` with every document in order.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(u32, Lanes)) {
        for (doc, lanes) in (0u32..).zip(self.stripes.iter().flat_map(|stripe| {
            // Copied out: a stripe is small, and the guard cannot outlive this closure.
            stripe.lock().unwrap_or_else(PoisonError::into_inner).clone()
        })) {
            visit(doc, lanes);
        }
    }
}

/// Holds at most one stripe; release it between runs with [`Adder::release`].
pub(crate) struct Adder<'a> {
    lanes: &'a SegmentLanes,
    held: Option<(usize, MutexGuard<'a, Vec<Lanes>>)>,
}

impl Adder<'_> {
    /// Adds an item to `doc`; `false` if there is no such document.
    #[inline]
    pub(crate) fn add(&mut self, doc: u32, item: Lanes) -> bool {
        let (stripe, within) = (doc as usize / STRIPE, doc as usize % STRIPE);
        if self.held.as_ref().is_none_or(|(held, _)| *held != stripe) {
            // The old guard goes first: two are never held at once.
            self.held = None;
            let Some(mutex) = self.lanes.stripes.get(stripe) else { return false };
            self.held = Some((stripe, mutex.lock().unwrap_or_else(PoisonError::into_inner)));
        }
        let Some(lanes) = self.held.as_mut().and_then(|(_, guard)| guard.get_mut(within)) else { return false };
        lanes.add(item);
        true
    }

    /// Lets other threads have the stripe.
    #[inline]
    pub(crate) fn release(&mut self) {
        self.held = None;
    }
}

#[cfg(test)]
mod tests {
    use super::super::digest::{Seed, Tag};
    use super::*;

    #[test]
    fn threads_that_add_to_the_same_documents_get_the_same_sums_as_one() {
        let max_doc = 10_000;
        let work = |lanes: &SegmentLanes, part: u32| {
            let seed = Seed::new(Tag::Posting, part, b"term");
            let mut adder = lanes.adder();
            for doc in (0..max_doc).step_by(1 + part as usize) {
                assert!(adder.add(doc, seed.item(u64::from(doc))));
                if doc % 128 == 0 {
                    adder.release();
                }
            }
        };
        let alone = SegmentLanes::new(max_doc);
        (0..4).for_each(|part| work(&alone, part));
        let shared = SegmentLanes::new(max_doc);
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
    fn a_document_beyond_the_segment_is_refused() {
        let lanes = SegmentLanes::new(4097);
        let item = Seed::new(Tag::Norm, 0, b"").alone();
        let mut adder = lanes.adder();
        assert!(adder.add(4096, item));
        assert!(!adder.add(4097, item));
        assert!(!adder.add(u32::MAX, item));
        assert!(adder.add(0, item));
    }
}
