//! What is read of a segment in one go, and what reading it gave.

use std::cell::Cell;
use std::ops::Range;

use tantivy::columnar::DynamicColumnHandle;
use tantivy::schema::{Field, Schema};

use super::sums::SegmentSums;
use super::{columns, norms, postings, store};
use crate::error::{Error, Result};
use crate::progress::Cancel;
use crate::source::{Component, Segment, guard};
use crate::verify::finding::FindingKind;

/// How much of a posting enters the sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Detail {
    /// Term and document.
    Documents,
    /// And the frequency, or that there is none.
    Frequencies,
    /// And positions.
    Positions,
}

/// A part of a document's content that can be compared alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Stored values.
    Store,
    /// Norms of a field.
    Norms(Field),
    /// Postings of a field.
    Postings(Field, Detail),
    /// Values of all columns with a name.
    Column(String),
}

/// Work for one thread: a part of a segment, or a range of one.
#[derive(Clone)]
pub(crate) struct Unit {
    /// Index of the segment.
    pub(crate) segment: usize,
    /// What to read.
    pub(crate) part: Part,
    /// Documents of the store, or ordinals of terms. Other parts are read whole.
    pub(crate) range: Range<u64>,
    /// The column, if one is to be read.
    column: Option<DynamicColumnHandle>,
    /// About how many bytes will be read.
    pub(crate) bytes: u64,
}

/// A segment and how to look at it.
#[derive(Clone)]
pub(crate) struct View<'a> {
    /// The segment.
    pub(crate) segment: &'a Segment,
    /// Its schema.
    pub(crate) schema: Schema,
    /// Whether stored documents are decoded instead of taken as bytes: needed where stores of both format versions
    /// are compared, since they encode dates differently.
    pub(crate) decoded: bool,
    /// Whether the segment is one that was written for a child without deleted documents: then what does not change
    /// any document (skip data, dictionary look-ups, empty terms) is checked too.
    pub(crate) strict: bool,
}

impl View<'_> {
    /// What a reader of one of the files failed with. Asked for in loops: makes the path only when it is needed.
    pub(crate) fn cannot_read(&self, component: Component, error: std::io::Error) -> Error {
        Error::io("read", self.segment.file(component))(error)
    }
}

/// Something wrong that does not stop reading. Faults of one kind in one file are counted, the first is described.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) kind: FindingKind,
    pub(crate) component: Component,
    pub(crate) count: u64,
    pub(crate) message: String,
}

/// Tokens of a field in one segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tokens {
    /// The total as stored.
    pub(crate) stored: u64,
    /// Sum of frequencies over all postings; a posting without frequency counts once.
    pub(crate) all: u64,
    /// The same over live documents.
    pub(crate) live: u64,
    /// Terms.
    pub(crate) terms: u64,
    /// Postings of all terms.
    pub(crate) postings: u64,
}

/// What reading a unit gave, sums apart.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) faults: Vec<Fault>,
    /// For postings.
    pub(crate) tokens: Option<Tokens>,
    /// For norms: documents with a norm above 0.
    pub(crate) docs_with_field: Option<u64>,
    /// The reader failed or panicked: sums of this segment are worthless.
    pub(crate) failed: Option<Error>,
}

impl Outcome {
    /// Counts a fault; `message` is asked for the first of its kind only.
    pub(crate) fn fault(&mut self, kind: FindingKind, component: Component, message: impl FnOnce() -> String) {
        match self.faults.iter_mut().find(|fault| fault.kind == kind && fault.component == component) {
            Some(fault) => fault.count += 1,
            None => self.faults.push(Fault { kind, component, count: 1, message: message() }),
        }
    }
}

/// About as many bytes make a unit.
const UNIT_BYTES: u64 = 4 << 20;

/// Cuts `part` of a segment, or all of it, into units.
pub(crate) fn plan(view: &View<'_>, segment: usize, only: Option<&Part>, detail: Detail) -> Result<Vec<Unit>> {
    guard(view.segment.path(), "the list of its parts", || plan_unguarded(view, segment, only, detail))
}

fn plan_unguarded(view: &View<'_>, segment: usize, only: Option<&Part>, detail: Detail) -> Result<Vec<Unit>> {
    let mut units = Vec::new();
    let wanted = |part: &Part| only.is_none_or(|only| only == part);
    let whole = |part: Part, bytes: u64| Unit { segment, part, range: 0..0, column: None, bytes };

    if wanted(&Part::Store) {
        let bytes = view.segment.body(Component::Store).len() as u64;
        for (range, bytes) in cut(u64::from(view.segment.max_doc()), bytes) {
            units.push(Unit { segment, part: Part::Store, range, column: None, bytes });
        }
    }
    for (field, entry) in view.schema.fields() {
        if entry.is_indexed() && entry.has_fieldnorms() && wanted(&Part::Norms(field)) {
            units.push(whole(Part::Norms(field), u64::from(view.segment.max_doc())));
        }
        let part = Part::Postings(field, detail);
        if entry.field_type().get_index_record_option().is_some() && wanted(&part) {
            let bytes = view.segment.postings(field)?.map_or(0, |bytes| bytes.len())
                + view.segment.positions(field)?.map_or(0, |bytes| bytes.len());
            let reader = view
                .segment
                .reader()
                .inverted_index(field)
                .map_err(Error::tantivy(entry.name(), view.segment.file(Component::Terms)))?;
            // One unit even where there is no term: it brings the stored token total.
            let terms = reader.terms().num_terms() as u64;
            for (range, bytes) in cut(terms, bytes as u64 + 16 * terms) {
                units.push(Unit { segment, part: part.clone(), range, column: None, bytes });
            }
        }
    }
    let columns =
        view.segment.columns().iter_columns().map_err(Error::io("read", view.segment.file(Component::FastFields)))?;
    for (name, column) in columns {
        let part = Part::Column(name);
        if wanted(&part) {
            let bytes = column.num_bytes().get_bytes();
            units.push(Unit { segment, part, range: 0..0, column: Some(column), bytes });
        }
    }
    Ok(units)
}

/// Cuts 0..`len` into ranges of about [`UNIT_BYTES`], with the bytes of each; at least one.
fn cut(len: u64, bytes: u64) -> Vec<(Range<u64>, u64)> {
    let pieces = (bytes / UNIT_BYTES + 1).min(len).max(1);
    let bound = |piece: u64| u64::try_from(u128::from(len) * u128::from(piece) / u128::from(pieces)).unwrap_or(len);
    (0..pieces).map(|piece| (bound(piece)..bound(piece + 1), bytes / pieces)).collect()
}

/// Reads `unit` into `sums`. Only an interruption is an error; what the reader could not read is in the outcome.
pub(crate) fn read(unit: &Unit, view: &View<'_>, sums: &SegmentSums, cancel: &Cancel) -> Result<Outcome> {
    let at = Cell::new(match unit.part {
        Part::Store => Component::Store,
        Part::Norms(_) => Component::FieldNorms,
        Part::Postings(..) => Component::Terms,
        Part::Column(_) => Component::FastFields,
    });
    let mut outcome = Outcome::default();
    let what = describe(&unit.part, &view.schema);
    let result = guard(view.segment.path(), what, || match &unit.part {
        Part::Store => store::read(view, unit.range.clone(), sums, cancel),
        Part::Norms(field) => norms::read(view, *field, sums, &mut outcome),
        Part::Postings(field, detail) => {
            postings::read(view, (*field, *detail), unit.range.clone(), sums, &mut outcome, (&at, cancel))
        }
        Part::Column(name) => match &unit.column {
            Some(column) => columns::read(view, name, column, sums, &mut outcome, cancel),
            None => Ok(()),
        },
    });
    match result {
        Ok(()) => Ok(outcome),
        Err(Error::Interrupted) => Err(Error::Interrupted),
        Err(error) => {
            // Which file was being read when it happened, only the reader knew.
            outcome.failed = Some(match error {
                Error::Panic { what, message, .. } => Error::Panic { path: view.segment.file(at.get()), what, message },
                other => other,
            });
            Ok(outcome)
        }
    }
}

/// A part by its names in the schema.
pub(crate) fn describe(part: &Part, schema: &Schema) -> String {
    match part {
        Part::Store => "the doc store".to_owned(),
        Part::Norms(field) => format!("the norms of field {:?}", schema.get_field_name(*field)),
        Part::Postings(field, _) => format!("the postings of field {:?}", schema.get_field_name(*field)),
        Part::Column(name) => format!("column {:?}", column_name(name)),
    }
}

/// A column's name as people write it: JSON paths with dots.
pub(crate) fn column_name(name: &str) -> String {
    name.replace('\u{1}', ".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_cover_everything_once_however_the_bytes_are_spread() {
        for (len, bytes) in [(0, 0), (0, 100 << 20), (1, 100 << 20), (7, 9 << 20), (1_000_003, 50 << 20)] {
            let ranges = cut(len, bytes);
            assert!(!ranges.is_empty());
            let mut next = 0;
            for (range, _) in ranges {
                assert_eq!(range.start, next);
                assert!(len == 0 || range.end > range.start);
                next = range.end;
            }
            assert_eq!(next, len);
        }
    }
}
