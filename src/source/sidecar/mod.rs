//! Hash sidecars: the routing hash of every document of a segment, in a small file beside it.
//!
//! Written by [`crate::write`] with every child and by [`crate::index_hashes`] beside any index; read first when keys are
//! needed, so that a document whose key was hashed once is never hashed again. A sidecar only saves work: what is stale,
//! damaged or of other fields is ignored, with a note, and the keys are read.
//!
//! One file per segment and way of hashing ([`HashedBy`]: hash function, key field, routing field,
//! routing_partition_size), so that several can stand beside each other and none has to be replaced. tantivy does not
//! know the file: it is not in `.managed.json`, and its garbage collection leaves it alone.
//!
//! | file | room for |
//! |---|---|
//! | `format` | layout, sizes, name |
//! | `states` | which documents have no hash |
//! | `read` | finding, checking and reading the one of a segment |

mod format;
mod read;
mod states;

pub(crate) use format::PARTIAL_SIDECAR;
pub use format::{Bound, HashedBy, Header, SIDECAR_VERSION, sidecar_bytes, sidecar_segment};
pub use read::{Found, Sidecar};
pub use states::{HashState, HashStates};
