//! Children from queries: a document belongs to the first that it matches.

use tantivy::query::{EnableScoring, QueryParser, Weight};

use super::Placement;
use crate::error::{Error, Result};
use crate::partition::NO_CHILD;
use crate::partition::bits::Bits;
use crate::progress::Cancel;
use crate::source::{Segment, Source};

/// Parsed queries, in their order.
pub(super) struct Queries(Vec<Box<dyn Weight>>);

/// What the queries say of a segment.
pub(super) struct Matched {
    /// The first query by document; [`NO_CHILD`] where none matches.
    pub(super) first: Vec<u16>,
    /// Documents that match several.
    pub(super) several: Bits,
}

impl Queries {
    /// `None` if `placement` is not by query.
    ///
    /// # Errors
    /// [`Error::Usage`] for a query that does not parse, or that the schema has no place for.
    pub(super) fn resolve(source: &Source, placement: &Placement) -> Result<Option<Queries>> {
        let Placement::Query { queries } = placement else { return Ok(None) };
        let schema = source.schema();
        // Without default fields: a word alone would match other fields once the schema changes.
        let parser = QueryParser::for_index(source.index(), Vec::new());
        let weight = |(number, text): (usize, &String)| {
            let refuse = |problem: String| {
                Error::Usage(format!(
                    "query {} ({text:?}) cannot be used: {problem}; every clause needs a field, like body:word",
                    number + 1
                ))
            };
            let query = parser.parse_query(text).map_err(|error| refuse(error.to_string()))?;
            query.weight(EnableScoring::disabled_from_schema(&schema)).map_err(|error| refuse(error.to_string()))
        };
        queries.iter().enumerate().map(weight).collect::<Result<_>>().map(|weights| Some(Queries(weights)))
    }

    /// Runs all queries on a segment. Deleted documents may match.
    pub(super) fn run(&self, segment: &Segment, cancel: &Cancel) -> Result<Matched> {
        let mut matched = Matched { first: vec![NO_CHILD; segment.max_doc() as usize], several: Bits::default() };
        for (child, weight) in (0u16..).zip(&self.0) {
            cancel.check()?;
            let Matched { first, several } = &mut matched;
            let mut see = |docs: &[u32]| {
                for &doc in docs {
                    match first.get_mut(doc as usize) {
                        Some(slot) if *slot == NO_CHILD => *slot = child,
                        Some(_) => {
                            several.insert(doc as usize);
                        }
                        None => {}
                    }
                }
            };
            weight
                .for_each_no_score(segment.reader(), &mut see)
                .map_err(Error::tantivy(format!("what query {} asks for", child + 1), segment.path()))?;
        }
        Ok(matched)
    }
}
