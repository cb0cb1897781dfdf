//! Reading keys from the cheapest plane that gives them exactly.
//!
//! Input: a segment and the fields that decide. Output: for each document the routing hash of its id and of its
//! routing value, or that there is none, or that there are several. The hash function is that of the routing function.
//! Text hashes as it is, 64-bit integers as their decimal string. One value repeated within a document is one key. An empty string is a key.
//!
//! Which plane, per segment and field, first that exists (a hash sidecar comes before all of them, see [`super::walk`]):
//!
//! 1. the column, if numbers or untokenised text are in it: every distinct text is hashed once. tantivy keeps 65,535 bytes
//!    of a text there; documents with one as long as that are looked up in the doc store where the field is stored too,
//!    and refused where it is not;
//! 2. the term dictionary, if the field is indexed with the `raw` tokenizer or holds numbers: every term is hashed
//!    once. tantivy does not index terms over 65,530 bytes; where the field is stored too, documents without a term are
//!    looked up in the doc store (which a sparse routing field pays for: one pass over the store). A document with one
//!    such value beside an indexed one counts with the indexed one;
//! 3. the doc store: stored text even of a tokenised field, stored numbers.
//!
//! Cost in memory: 4 bytes and 2 bits per document for the result. Per field, one after the other: 4 bytes per distinct
//! text of a column, 4 bytes and 2 bits per document for terms, nothing for numbers, 4 bytes per document for ids of the
//! store; where ids of several segments are compared, 4 bytes per distinct id stay until then. The store is decompressed once where both fields are read from it, ascending, and nothing of it is materialised
//! but the two fields.

mod column;
mod field;
mod key;
mod segment;
mod store;
mod terms;

pub(super) use column::{number_at, numbers, text_dictionary};
pub(super) use field::{KeyField, KeyFields};
pub(super) use key::Key;
pub(super) use segment::{Compared, Seen, SeenTerms, read_keys};
pub(super) use store::StoreCursor;

pub use field::usable_key_fields;
pub use key::{KeyPlane, KeyReading, KeySpec};
