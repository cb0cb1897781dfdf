//! Field norms: one byte per document.

use tantivy::schema::Field;

use super::digest::{Seed, Tag};
use super::sums::SegmentSums;
use super::unit::{Outcome, View};
use crate::error::Result;

/// Reads the norms of `field`. A norm of 0 adds nothing, so a segment without norms equals one whose norms are all 0.
pub(super) fn read(view: &View<'_>, field: Field, sums: &SegmentSums, outcome: &mut Outcome) -> Result<()> {
    let Some(norms) = view.segment.norms(field)? else { return Ok(()) };
    let seed = Seed::new(Tag::Norm, field.field_id(), b"");
    let mut adder = sums.adder();
    let mut with_field = 0;
    for (doc, &norm) in (0u32..).zip(norms.as_slice()) {
        if norm != 0 {
            adder.add(doc, seed.item(u64::from(norm)));
            with_field += 1;
        }
    }
    outcome.docs_with_field = Some(with_field);
    Ok(())
}
