//! Block maxima: what a search is told a block of 128 postings can score at most.
//!
//! A search for the best hits passes over blocks whose promise is too low, so a promise below what the block really has
//! loses hits although every posting is right.

use tantivy::fieldnorm::FieldNormReader;
use tantivy::postings::BlockSegmentPostings;
use tantivy::query::Bm25Weight;
use tantivy::schema::Field;

use super::unit::View;

/// Postings in a block.
pub(super) const BLOCK: usize = 128;

/// Scores postings of one field of one segment as its own statistics have it.
pub(super) struct Maxima {
    norms: FieldNormReader,
    weight: Bm25Weight,
}

impl Maxima {
    /// For a field with a token total of `tokens`; `None` if it has no norms.
    pub(super) fn open(view: &View<'_>, field: Field, tokens: u64) -> Option<Maxima> {
        let norms = view.segment.reader().get_fieldnorms_reader(field).ok()?;
        let docs = view.segment.max_doc();
        #[expect(clippy::cast_precision_loss, reason = "as tantivy computes it")]
        let average = tokens as f32 / docs as f32;
        // How rare the term is does not matter: it scales promise and score alike.
        let weight = Bm25Weight::for_one_term_without_explain(1, u64::from(docs).max(1), average);
        Some(Maxima { norms, weight })
    }

    /// What the block under `cursor` promises; `None` if it is not a full block with frequencies.
    pub(super) fn promise(&self, cursor: &mut BlockSegmentPostings) -> Option<f32> {
        let full = cursor.docs().len() == BLOCK && !cursor.freqs().is_empty();
        full.then(|| cursor.block_max_score(&self.norms, &self.weight))
    }

    /// The best score of a block, if it is above `promise` by more than rounding.
    pub(super) fn broken(&self, promise: f32, docs: &[u32], freqs: &[u32]) -> Option<f32> {
        let scores = docs.iter().zip(freqs).map(|(&doc, &freq)| self.weight.score(self.norms.fieldnorm_id(doc), freq));
        let best = scores.fold(0.0, f32::max);
        (best > promise * 1.000_01).then_some(best)
    }
}
