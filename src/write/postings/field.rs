//! One indexed field of a group: its bytes by source segment, and what encoding it needs to know.

use std::sync::atomic::AtomicU64;

use tantivy::directory::OwnedBytes;
use tantivy::schema::{Field, IndexRecordOption};

use super::encode::Field as FieldOfOutput;
use super::scores::LengthFactors;
use crate::error::Result;
use crate::partition::Group;
use crate::source::Segment;
use crate::write::norms::FieldLengths;

/// An indexed field. Vectors are by segment of the group.
pub(super) struct IndexedField {
    pub(super) field: Field,
    pub(super) name: String,
    pub(super) record: IndexRecordOption,
    pub(super) dictionaries: Vec<Option<OwnedBytes>>,
    pub(super) postings: Vec<OwnedBytes>,
    pub(super) positions: Vec<OwnedBytes>,
    pub(super) norms: Vec<Option<OwnedBytes>>,
    pub(super) lengths: Option<FieldLengths>,
    /// By output; empty for fields without norms.
    factors: Vec<LengthFactors>,
    /// Tokens that the source segments count.
    pub(super) source_tokens: u64,
    /// Documents in the source's posting lists, deleted ones included, as units count them.
    pub(super) source_doc_freqs: AtomicU64,
}

impl IndexedField {
    pub(super) fn open(
        segments: &[&Segment],
        group: &Group,
        field: Field,
        name: &str,
        record: IndexRecordOption,
        lengths: Option<FieldLengths>,
    ) -> Result<IndexedField> {
        let mut opened = IndexedField {
            field,
            name: name.to_owned(),
            record,
            dictionaries: Vec::new(),
            postings: Vec::new(),
            positions: Vec::new(),
            norms: Vec::new(),
            factors: Vec::new(),
            lengths,
            source_tokens: 0,
            source_doc_freqs: AtomicU64::new(0),
        };
        for segment in segments {
            opened.dictionaries.push(segment.terms_bytes(field)?);
            let postings = segment.postings(field)?.unwrap_or_else(OwnedBytes::empty);
            // A part begins with the number of tokens; ranges count from behind it.
            let tokens = postings.first_chunk::<8>().map(|bytes| u64::from_le_bytes(*bytes));
            // Numbers from disk: their sum may not fit.
            opened.source_tokens = opened.source_tokens.saturating_add(tokens.unwrap_or(0));
            opened.postings.push(if tokens.is_some() { postings.slice(8..postings.len()) } else { postings });
            opened.positions.push(segment.positions(field)?.unwrap_or_else(OwnedBytes::empty));
            opened.norms.push(segment.norms(field)?);
        }
        if let Some(lengths) = &opened.lengths {
            opened.factors = group
                .outputs
                .iter()
                .zip(lengths.outputs.iter().zip(&lengths.most))
                .map(|(output, (&least, &most))| {
                    let docs = output.num_docs as f32;
                    LengthFactors::new(least as f32 / docs, most as f32 / docs)
                })
                .collect();
        }
        Ok(opened)
    }

    /// A byte per document of `segment`, if the field has norms.
    #[inline]
    pub(super) fn norms_of(&self, segment: usize) -> Option<&[u8]> {
        self.norms.get(segment)?.as_ref().map(OwnedBytes::as_slice)
    }

    pub(super) fn of_output(&self, output: usize) -> FieldOfOutput<'_> {
        FieldOfOutput { record: self.record, factors: self.factors.get(output) }
    }
}
