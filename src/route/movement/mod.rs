//! Movement: what goes where when one routing table follows another.
//!
//! Input: two [`super::HashTable`]s over the same hash, and for documents and bytes a measurement. Output: a
//! [`Movement`], exact where the layouts allow it, and named as sampled where not; [`Measured`] for real documents.
//!
//! | layouts | method | cost |
//! |---|---|---|
//! | arcs and arcs | exact, lists the arcs that move | their number |
//! | residues and residues | exact, by classes of the least common multiple, up to 2^24 | that multiple |
//! | arcs and residues | exact, by class within each arc, up to 2^24 in all | arcs times modulus |
//! | anything else | [`SAMPLES`] hashes, evenly spread | two look-ups each |

mod count;
mod measured;
mod plan;
#[cfg(test)]
mod tests;

pub use count::{Method, SAMPLES};
pub use measured::{Load, Measured, MeasuredFlow, NodeLoad, Sample, measure};
pub use plan::{Flow, Incomparable, MovedArc, Movement};
