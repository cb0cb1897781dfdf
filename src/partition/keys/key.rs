//! What is asked for, where it was read, and what a document says.

use serde::{Deserialize, Serialize};

use crate::route::RoutingHash;
use crate::source::HashedBy;

/// Which fields decide where a document goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeySpec {
    /// The id field (Elasticsearch's `_id`).
    pub key: String,
    /// The field of custom routing values (Elasticsearch's `_routing`), where documents may have one.
    pub routing_field: Option<String>,
}

impl KeySpec {
    /// How keys of these fields become hashes: by the function that routing calls `hash`, with the offsets of
    /// routing_partition_size (0 and 1: none) added.
    #[must_use]
    pub fn hashed_by(&self, hash: &str, routing_partition_size: u32) -> HashedBy {
        HashedBy {
            hash: hash.to_owned(),
            key: self.key.clone(),
            routing_field: self.routing_field.clone(),
            routing_partition_size: routing_partition_size.max(1),
        }
    }
}

/// Where keys can be read, cheapest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyPlane {
    /// A hash sidecar of the segment: nothing is hashed.
    Sidecar,
    /// A column: each distinct value is hashed once.
    Column,
    /// A raw-indexed term dictionary: each term is hashed once, its postings give the documents.
    Terms,
    /// The doc store: the stored value of every document.
    Store,
}

/// Which plane served a field, and how many keys were hashed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeyReading {
    /// The field.
    pub field: String,
    /// Where it was read.
    pub plane: KeyPlane,
    /// Keys hashed.
    pub hashed: u64,
}

/// What a field of one document says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::partition) enum Key {
    /// No value.
    Missing,
    /// One value, with this hash.
    One(RoutingHash),
    /// Different values.
    Several,
}
