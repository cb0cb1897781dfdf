//! Opening an index for reading: lock, `meta.json`, mapping, pre-flight checks.
//!
//! Input: an index directory, or several of one kind. Output: a [`Source`], whose files are mapped and whose versions were checked; what would
//! make a later stage fail was refused here, by name. The source is never written: at most tantivy's own empty lock
//! file appears. Cost: one `meta.json`, the footers of all files, one open of every segment.
//!
//! Children are opened through the same door (without a lock) when they are verified. What blocks claim to be
//! uncompressed is checked when they are read, in `claims`.

mod bytes;
mod checksum;
mod claims;
pub(crate) mod dictionary;
mod directory;
mod file_id;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzz;
mod guard;
mod lock;
mod meta;
mod mmap;
mod open;
mod preflight;
mod regular;
mod segment;
mod sidecar;
pub(crate) mod store;
mod stored;
mod unite;

pub(crate) use bytes::Bytes;
pub use checksum::ChecksumProblem;
pub(crate) use claims::{ColumnTerms, block_size, cannot_read, check_terms, terms};
pub(crate) use file_id::{FileId, file_id};
pub(crate) use guard::guard;
pub use guard::panics_become_errors;
pub use lock::{LockMode, WRITER_LOCK};
pub(crate) use lock::{WriterLock, acquire};
pub use meta::{MANAGED, MAX_DOCS, META, Meta, SegmentEntry};
pub use open::Source;
pub(crate) use preflight::{COLUMNAR_MAGIC, FOOTER_MAGIC, MAX_FOOTER, STORE_FOOTER};
pub use preflight::{StoreCodec, StoreInfo, WrittenBy};
pub(crate) use regular::{open_regular, read_regular};
pub use segment::{Component, Segment, deletes_file_name};
pub(crate) use sidecar::PARTIAL_SIDECAR;
pub use sidecar::{
    Bound, Found, HashState, HashStates, HashedBy, Header, SIDECAR_VERSION, Sidecar, sidecar_bytes, sidecar_segment,
};
pub(crate) use stored::{StoredValue, check_document, holds_json_text, visit_dates, visit_values};
pub(crate) use unite::unite;
