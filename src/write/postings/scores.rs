//! Block-max data: the norm and frequency whose BM25 score bounds a block.

use std::cmp::Ordering;

use tantivy::fieldnorm::FieldNormReader;

/// BM25 length factors by field norm id, for choosing a block's best document.
///
/// A factor is `K1 * (1 - B + B * length / mean length)` with K1 = 1.2, B = 0.75: Robertson and Zaragoza, "The
/// Probabilistic Relevance Framework: BM25 and Beyond", 2009; in tantivy `src/query/bm25.rs`. The mean length of an output
/// is known when all its postings are written, which is too late here; but norms tell between which two numbers it is.
pub(super) struct LengthFactors {
    least: Box<[f32; 256]>,
    /// `None` where norms are exact, and with them the mean.
    most: Option<Box<[f32; 256]>>,
}

impl LengthFactors {
    /// The mean field length is between `least` and `most` tokens.
    pub(super) fn new(least: f32, most: f32) -> LengthFactors {
        #[expect(clippy::float_cmp, reason = "equal inputs give equal tables")]
        let exact = least == most;
        LengthFactors { least: factors(least), most: (!exact).then(|| factors(most)) }
    }

    /// Norm id and frequency whose score bounds those of all documents, whatever the mean length is: of the best
    /// document if that is the same one everywhere, else of no document, but of one as short as the shortest candidate
    /// and as frequent as the most frequent.
    pub(super) fn bound(&self, norms: &[u8], freqs: &[u32]) -> (u8, u32) {
        let best = best_document(&self.least, norms, freqs);
        let Some(most) = &self.most else { return best };
        let other = best_document(most, norms, freqs);
        if best == other {
            // Which of two documents scores more changes at most once as the mean grows.
            return best;
        }
        let (norm, freq) = (best.0.min(other.0), best.1.max(other.1));
        let bounds = |factors: &[f32; 256]| {
            let bound = score(factors, norm, freq);
            norms.iter().zip(freqs).all(|(&norm, &freq)| score(factors, norm, freq) <= bound)
        };
        if bounds(&self.least) && bounds(most) {
            return (norm, freq);
        }
        (norms.iter().copied().min().unwrap_or(0), freqs.iter().copied().max().unwrap_or(0))
    }
}

fn factors(mean: f32) -> Box<[f32; 256]> {
    const K1: f32 = 1.2;
    const B: f32 = 0.75;
    let mut factors = Box::new([0.0; 256]);
    for (id, factor) in (0..=u8::MAX).zip(factors.iter_mut()) {
        let length = FieldNormReader::id_to_fieldnorm(id);
        *factor = K1 * (1.0 - B + B * length as f32 / mean);
    }
    factors
}

/// Score of a document up to the term's weight.
#[inline]
fn score(factors: &[f32; 256], norm: u8, freq: u32) -> f32 {
    let freq = freq as f32;
    freq / (freq + factors.get(usize::from(norm)).copied().unwrap_or(0.0))
}

/// Norm id and frequency of the document that scores best; the last one of equals, as in tantivy.
fn best_document(factors: &[f32; 256], norms: &[u8], freqs: &[u32]) -> (u8, u32) {
    let mut best = (0, 0);
    let mut best_score = f32::NEG_INFINITY;
    for (&norm, &freq) in norms.iter().zip(freqs) {
        let score = score(factors, norm, freq);
        // Not `>=`: without a mean length scores are not numbers, and then, too, the last one counts.
        if !matches!(score.partial_cmp(&best_score), Some(Ordering::Less)) {
            (best, best_score) = ((norm, freq), score);
        }
    }
    best
}
