//! Writing child segments: one pass over each plane of the source feeds all children together.
//!
//! Input: a [`crate::source::Source`] and a [`crate::partition::DocMap`]. Output: files, through [`ChildFiles`], and a
//! [`WrittenSegment`] per child segment as proof of what was written. Nothing here decides where files go, syncs or
//! renames: that is [`crate::publish`].

mod columns;
mod dictionary;
mod file;
mod norms;
mod output;
mod pool;
mod postings;
mod store;

pub use output::{ChildFiles, OutputFile, WrittenFile, WrittenSegment};
