//! One pair of lanes per document of a segment, added to by several threads.
//!
//! 16 bytes per document. Documents are cut into stripes with a lock each. Postings come in no order that caches like, so
//! items wait in a small buffer per stripe and are added many at a time: one lock for all of them, and a stripe stays in
//! the cache meanwhile. Sums wrap and commute, so the result does not depend on threads.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::digest::Lanes;

/// Fewest documents per stripe.
const STRIPE: usize = 2_048;
/// Most stripes per segment, which bounds what waits.
const STRIPES: usize = 512;
/// Items that wait per stripe and adder.
const WAITING: usize = 32;

/// The lanes of all documents of a segment.
#[derive(Debug)]
pub(crate) struct SegmentLanes {
    stripes: Vec<Mutex<Vec<Lanes>>>,
    max_doc: u32,
    /// Documents per stripe are 1 << shift.
    shift: u32,
}

impl SegmentLanes {
    /// Empty documents 0..`max_doc`.
    pub(crate) fn new(max_doc: u32) -> SegmentLanes {
        let len = max_doc as usize;
        let stripe = STRIPE.max(len.div_ceil(STRIPES)).next_power_of_two();
        let stripes =
            (0..len).step_by(stripe).map(|start| Mutex::new(vec![Lanes::default(); stripe.min(len - start)])).collect();
        SegmentLanes { stripes, max_doc, shift: stripe.trailing_zeros() }
    }

    /// Begins to add to documents, in any order. Everything was added when the adder is dropped.
    pub(crate) fn adder(&self) -> Adder<'_> {
        Adder { lanes: self, waiting: self.stripes.iter().map(|_| Vec::with_capacity(WAITING)).collect() }
    }

    /// The lanes of one document.
    pub(crate) fn get(&self, doc: u32) -> Lanes {
        let stripe = self.stripes.get(doc as usize >> self.shift);
        stripe.and_then(|stripe| lock(stripe).get(self.within(doc)).copied()).unwrap_or_default()
    }

    /// Calls `visit` with every document in order.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(u32, Lanes)) {
        let mut doc = 0;
        for stripe in &self.stripes {
            for &lanes in lock(stripe).iter() {
                visit(doc, lanes);
                doc += 1;
            }
        }
    }

    fn within(&self, doc: u32) -> usize {
        doc as usize & ((1 << self.shift) - 1)
    }
}

fn lock(stripe: &Mutex<Vec<Lanes>>) -> MutexGuard<'_, Vec<Lanes>> {
    stripe.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds items to documents; they count once it is dropped.
pub(crate) struct Adder<'a> {
    lanes: &'a SegmentLanes,
    /// By stripe, items on their way there.
    waiting: Vec<Vec<(u32, Lanes)>>,
}

impl Adder<'_> {
    /// Adds an item to `doc`; `false` if there is no such document.
    #[inline]
    pub(crate) fn add(&mut self, doc: u32, item: Lanes) -> bool {
        if doc >= self.lanes.max_doc {
            return false;
        }
        let stripe = doc as usize >> self.lanes.shift;
        let Some(waiting) = self.waiting.get_mut(stripe) else { return false };
        waiting.push((doc, item));
        if waiting.len() >= WAITING {
            self.add_waiting(stripe);
        }
        true
    }

    fn add_waiting(&mut self, stripe: usize) {
        let (Some(waiting), Some(mutex)) = (self.waiting.get_mut(stripe), self.lanes.stripes.get(stripe)) else {
            return;
        };
        let mut lanes = lock(mutex);
        for (doc, item) in waiting.drain(..) {
            if let Some(lanes) = lanes.get_mut(self.lanes.within(doc)) {
                lanes.add(item);
            }
        }
    }
}

impl Drop for Adder<'_> {
    fn drop(&mut self) {
        (0..self.waiting.len()).for_each(|stripe| self.add_waiting(stripe));
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
