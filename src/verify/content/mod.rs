//! Reading everything a document consists of, and comparing it.
mod columns;
mod digest;
mod lanes;
mod norms;
mod postings;
mod read;
mod store;
mod unit;

pub use digest::Digest;
