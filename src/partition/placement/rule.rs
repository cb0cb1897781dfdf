//! What a placement is: data, as manifests and routing files record it.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::route::MAX_CHILDREN;

/// Most bytes of text in a placement: it stands in the manifest of every child.
const MAX_TEXT: usize = 512 << 10;

/// What decides which child gets a document. Children are numbered in the order of what is listed.
///
/// Text, numbers, booleans and dates are written as in options: decimal numbers, `true` and `false`, dates as
/// `2024-05-01` or `2024-05-01T12:00:00Z` (RFC 3339). A document's values in the field must all lead to one child.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Placement {
    /// The routing hash of its key.
    #[default]
    Hash,
    /// The value of a field: a child for each of `values`, then one for all other values.
    Value {
        /// A fast field of untokenised text, numbers, booleans or dates.
        field: String,
        /// The values that have a child of their own.
        values: Vec<String>,
    },
    /// Where the value of a field lies between cut points: below the first, from each to the next, from the last on.
    Range {
        /// A fast field of numbers or dates.
        field: String,
        /// Ascending. A value that equals a cut point lies above it.
        cuts: Vec<String>,
    },
    /// The first of some queries that it matches: a child for each, then one for documents that match none.
    Query {
        /// In the language of tantivy's query parser; every clause names its field.
        queries: Vec<String>,
    },
    /// Its place among all live documents: children take turns.
    RoundRobin {
        /// Number of children.
        children: u32,
    },
    /// Its place among all live documents: each child gets a run of them, equal up to one document.
    Sequence {
        /// Number of children.
        children: u32,
    },
}

impl Placement {
    /// Whether routing hashes decide, so that a key is needed.
    #[must_use]
    pub fn is_hash(&self) -> bool {
        *self == Placement::Hash
    }

    /// Whether a document's place among the others decides, so that the document alone does not tell its child.
    #[must_use]
    pub fn is_positional(&self) -> bool {
        matches!(self, Placement::RoundRobin { .. } | Placement::Sequence { .. })
    }

    /// How many children there are; `None` for hashes, where routing says it.
    #[must_use]
    pub fn num_children(&self) -> Option<usize> {
        match self {
            Placement::Hash => None,
            Placement::Value { values: listed, .. }
            | Placement::Range { cuts: listed, .. }
            | Placement::Query { queries: listed } => Some(listed.len() + 1),
            Placement::RoundRobin { children } | Placement::Sequence { children } => {
                Some(usize::try_from(*children).unwrap_or(usize::MAX))
            }
        }
    }

    /// The same as a number of shards.
    ///
    /// # Errors
    /// [`Error::Usage`] if there are none or too many, if nothing is listed, or too much text.
    pub fn number_of_shards(&self) -> Result<u32> {
        let (listed, what) = match self {
            Placement::Value { values, .. } => (values, "values"),
            Placement::Range { cuts, .. } => (cuts, "cut points"),
            Placement::Query { queries } => (queries, "queries"),
            _ => (&Vec::new(), ""),
        };
        if !what.is_empty() && listed.is_empty() {
            return Err(Error::Usage(format!("no {what} were given: list at least one")));
        }
        let text: usize = listed.iter().map(String::len).sum();
        if text > MAX_TEXT {
            return Err(Error::Usage(format!(
                "{text} bytes of {what} are too many to stand in manifests: at most {MAX_TEXT}"
            )));
        }
        let children = self.num_children().unwrap_or(0);
        match u32::try_from(children) {
            Ok(children) if (1..=MAX_CHILDREN).contains(&children) => Ok(children),
            _ => Err(Error::Usage(format!("{children} children cannot be made: 1 to {MAX_CHILDREN} can"))),
        }
    }

    /// The field whose values decide.
    #[must_use]
    pub fn field(&self) -> Option<&str> {
        match self {
            Placement::Value { field, .. } | Placement::Range { field, .. } => Some(field),
            _ => None,
        }
    }

    /// What a child holds, in words: `status = open`, `year < 2000`, `neither`.
    #[must_use]
    pub fn label(&self, child: usize) -> String {
        let before = child.checked_sub(1);
        match self {
            Placement::Hash => String::new(),
            Placement::Value { field, values } => match values.get(child) {
                Some(value) => format!("{field} = {value}"),
                None => format!("{field} = anything else"),
            },
            Placement::Range { field, cuts } => match (before.and_then(|before| cuts.get(before)), cuts.get(child)) {
                (None, Some(to)) => format!("{field} < {to}"),
                (Some(from), Some(to)) => format!("{from} <= {field} < {to}"),
                (Some(from), None) => format!("{field} >= {from}"),
                (None, None) => field.clone(),
            },
            Placement::Query { queries } => match queries.get(child) {
                Some(query) => format!("query {query}"),
                None => "matched by no query".to_owned(),
            },
            Placement::RoundRobin { children } => format!("every {children}. document, from {child} on"),
            Placement::Sequence { children } => format!("run {} of {children}", child + 1),
        }
    }
}

impl std::fmt::Display for Placement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Placement::Hash => write!(f, "by routing hash"),
            Placement::Value { field, values } => {
                write!(f, "by value of {field}: {}, anything else", values.join(", "))
            }
            Placement::Range { field, cuts } => write!(f, "by range of {field}, cut at {}", cuts.join(", ")),
            Placement::Query { queries } => write!(f, "by {} queries, the first that matches decides", queries.len()),
            Placement::RoundRobin { .. } => write!(f, "round robin"),
            Placement::Sequence { .. } => write!(f, "in sequence"),
        }
    }
}
