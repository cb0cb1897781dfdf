//! Content: everything a document consists of, compared without document numbers.
//!
//! Input: the source and its children, and, if routing is known, which child each source document belongs to. Output:
//! digests (see [`digest`]), token totals, findings. Each plane of every segment is read once; segments whose files are
//! the source's own, or equal to them byte by byte, are not read again.
//!
//! Memory: 8 bytes per source document, then 8 per document of the children that are read together (never more
//! documents than the source has), 8 more per entry of a string dictionary that is being read.

mod columns;
mod compare;
pub(super) mod dictionary;
pub(super) mod digest;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzz;
mod maxima;
mod norms;
pub(super) mod order;
mod positions;
mod postings;
pub(super) mod read;
mod shared;
mod short_list;
mod store;
pub(super) mod sums;
mod tokens;
pub(super) mod unit;

pub(super) use compare::{Routed, compare, readable, view};
pub use digest::Digest;
