//! Distinct ids that were read from doc stores.

use std::collections::HashSet;

use super::{REPEATED_BYTES, Repeated};
use crate::error::Result;
use crate::partition::bits::Bits;
use crate::partition::keys::{Key, KeyField, StoreCursor};
use crate::progress::Cancel;
use crate::route::RoutingHash;
use crate::source::Segment;

/// Documents whose id an earlier one has; `None` if the repeated ids are too many to be compared.
pub(super) fn repeated(
    field: &KeyField,
    segments: &[(&Segment, Vec<RoutingHash>, Bits)],
    threads: usize,
    cancel: &Cancel,
) -> Result<Option<u64>> {
    let hashes = || {
        segments.iter().flat_map(|(segment, hashes, keyed)| {
            live(segment, keyed).filter_map(|doc| hashes.get(doc as usize).copied())
        })
    };
    let candidates = Repeated::find(hashes, threads, cancel)?;
    // Each has at least one id of its own below.
    if candidates.hashes.len() * size_of::<Box<str>>() > REPEATED_BYTES {
        return Ok(None);
    }

    let (mut repeated, mut bytes) = (0u64, 0usize);
    let mut ids: HashSet<Box<str>> = HashSet::new();
    for (segment, hashes, keyed) in segments {
        if candidates.hashes.is_empty() {
            break;
        }
        let mut store = StoreCursor::open(segment)?;
        for doc in live(segment, keyed) {
            let candidate = hashes.get(doc as usize).is_some_and(|&hash| candidates.contains(hash));
            if !candidate || !matches!(store.read(field, doc)?, Key::One(_)) {
                continue;
            }
            if ids.contains(store.key()) {
                repeated += 1;
                continue;
            }
            bytes += store.key().len() + size_of::<Box<str>>();
            if bytes > REPEATED_BYTES {
                return Ok(None);
            }
            ids.insert(store.key().into());
            if ids.len().is_multiple_of(1024) {
                cancel.check()?;
            }
        }
    }
    Ok(Some(repeated))
}

/// Documents that have an id.
fn live<'k>(segment: &Segment, keyed: &'k Bits) -> impl Iterator<Item = u32> + use<'k> {
    (0..segment.max_doc()).filter(|&doc| keyed.contains(doc as usize))
}
