//! Postings, positions and term dictionaries of all outputs of a group, in one pass over the merged terms.
//!
//! Every indexed field is cut into ranges of terms ([`units`]). A thread takes a range, walks the merged term stream of
//! the source segments ([`terms`]), decodes each block once ([`decode`]), gathers where the documents of a [`batch`] go,
//! deals them to the outputs ([`deal`]) and encodes them there ([`encode`]). One [`appender`] per output stitches the pieces
//! ([`piece`]): postings and positions are position independent and are copied as they are, terms are fed to the dictionary
//! builder in large batches.
//!
//! Memory: the pieces of at most two units per thread; a unit reads about [`units::UNIT_BYTES`] of the source, or one
//! term if that is larger. What a term takes is held once ([`lists`]): with positions, some bytes per document that has it.

mod appender;
mod batch;
mod deal;
mod decode;
mod encode;
mod field;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzz;
mod lists;
mod piece;
mod scores;
mod terms;
#[cfg(test)]
mod tests;
mod totals;
mod track;
mod units;

pub(super) use track::{PostingsTrack, cut};
