//! `routing.json` of a set that has no routing: its documents were placed without a key.
//!
//! Pretty JSON of one object:
//!
//! | key | value |
//! |---|---|
//! | `format` | 1 |
//! | `routing` | `none` |
//! | `number_of_shards` | children of the set |
//! | `placement` | what decided: `by` and what belongs to it |
//!
//! Nothing tells from an id which shard has a document, so such a set is searched as a whole, and is neither split nor
//! merged as one. Each of its shards is an index like any other.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::manifest_file::to_bytes;
use crate::error::Result;
use crate::partition::Placement;

const FORMAT: u32 = 1;

/// The value of `routing`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Routing {
    #[serde(rename = "none")]
    None,
}

/// The routing file of a set without routing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnroutedFile {
    format: u32,
    routing: Routing,
    number_of_shards: usize,
    placement: Placement,
}

impl UnroutedFile {
    /// The file of a set of so many children.
    #[must_use]
    pub fn new(number_of_shards: usize, placement: &Placement) -> UnroutedFile {
        UnroutedFile { format: FORMAT, routing: Routing::None, number_of_shards, placement: placement.clone() }
    }

    /// What decided where documents went.
    #[must_use]
    pub fn placement(&self) -> &Placement {
        &self.placement
    }

    pub(super) fn to_bytes(&self, path: &Path) -> Result<Vec<u8>> {
        to_bytes(path, self)
    }

    /// The file that `bytes` are, if they are one of this kind.
    pub(super) fn parse(bytes: &[u8]) -> Option<UnroutedFile> {
        let file: UnroutedFile = serde_json::from_slice(bytes).ok()?;
        (file.format == FORMAT && file.placement.num_children() == Some(file.number_of_shards)).then_some(file)
    }

    /// Why such a set is no index that can be split.
    pub(super) fn problem(&self) -> String {
        format!(
            "its documents were placed {}, so no routing says where one is, and the set cannot be split, merged or cloned as \
             a whole; name one of its shards, with --key or --by",
            self.placement
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_says_that_there_is_no_routing_and_is_read_back() {
        let placement = Placement::Value { field: "team".to_owned(), values: vec!["a".to_owned(), "b".to_owned()] };
        let written = UnroutedFile::new(3, &placement);
        let bytes = written.to_bytes(Path::new("routing.json")).unwrap();
        let line: String = String::from_utf8(bytes.clone()).unwrap().split_whitespace().collect();
        let expected = r#"{"format":1,"routing":"none","number_of_shards":3,"placement":{"by":"value","field":"team","values":["a","b"]}}"#;
        assert_eq!(line, expected);
        assert_eq!(UnroutedFile::parse(&bytes), Some(written));
        for (from, to) in [("\"none\"", "\"elasticsearch\""), (": 3", ": 4"), (": 1", ": 2"), ("\"field\"", "\"feld\"")]
        {
            let changed = String::from_utf8(bytes.clone()).unwrap().replacen(from, to, 1);
            assert_eq!(UnroutedFile::parse(changed.as_bytes()), None, "{changed}");
        }
    }
}
