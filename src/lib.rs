//! Split one on-disk [tantivy] index into k child indexes, offline, in one pass, and prove that nothing was lost.
//!
//! Data moves one way, and every stage consumes the value of the one before it:
//!
//! ```text
//! Job ──▶ Source ──▶ DocMap ──▶ Plan ──▶ Staged ──▶ Verified ──▶ Published ──▶ Report
//! args    mmap,      key→hash    sizes,    one-pass    reads the     one rename    text, JSON
//!         checks     →child      dry run   writers     children back
//! ```
//!
//! | module | room for |
//! |---|---|
//! | [`route`] | routing hashes, Elasticsearch's two routing functions, tables, split and merge of shard numbers: pure, no I/O |
//! | [`source`] | opening an index for reading: lock, mapping, pre-flight checks |
//! | [`partition`] | key → hash → child for every document; census; [`partition::DocMap`] |
//! | [`inspect`] | what an index is made of, as data |
//! | [`plan`] | what would be written, how large, with what warnings |
//! | [`mod@write`] | the one-pass writers of child segments, and the link method |
//! | [`verify`] | reads children back and compares them with the source; never imports [`mod@write`] |
//! | [`publish`] | staging, syncing, the one rename, recovery after a crash; index directories and their routing file |
//! | [`check_routing`] | which documents of a shard do not belong to it |
//! | [`moved`] | what another routing table would move among the documents of an index |
//! | [`index_hashes`] | hash sidecars beside any index, on request |
//! | [`report`] | what a finished job did, in numbers |
//! | [`job`] | the whole flow as one call for embedders, for one shard or all shards of an index |
//!
//! A module imports only what stands above it in this table, plus [`error`] and [`progress`], which know all of it
//! (errors carry what stages found), and [`limits`] and `threads`, which know none.

#![cfg_attr(test, allow(clippy::cast_possible_truncation, reason = "test data is small"))]

pub mod check_routing;
pub mod error;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzz;
mod huge;
pub mod index_hashes;
pub mod inspect;
pub mod job;
pub mod limits;
pub mod moved;
pub mod partition;
pub mod plan;
pub mod progress;
pub mod publish;
pub mod report;
pub mod route;
pub mod source;
mod threads;
pub mod verify;
pub mod write;

pub use error::{Error, ErrorKind, Result};
