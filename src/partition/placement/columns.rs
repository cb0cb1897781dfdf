//! Children from a column: by value or by range.
//!
//! All columns are looked at as u64 in the order of their values: ordinals of text, numbers and dates in tantivy's
//! order-preserving disguise. Listed values and cut points are brought into the same form once, so that a document costs
//! one look-up in a sorted list.

use tantivy::DocId;
use tantivy::columnar::{Column, DynamicColumn, DynamicColumnHandle};
use tantivy::schema::Schema;

use super::Placement;
use super::kind::{Kind, float};
use crate::error::{Error, Result};
use crate::partition::NO_CHILD;
use crate::source::{Component, Segment, check_terms};

/// Columns keep so many bytes of a text: what is as long may have been cut.
const MOST_BYTES: usize = 65_535;

/// What a document's values say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placed {
    /// Its child.
    In(u16),
    /// It has no value.
    Missing,
    /// It has values of several children.
    Several,
}

/// A field, and what its values mean.
#[derive(Debug)]
pub(super) struct ByColumn {
    field: String,
    kind: Kind,
    rule: Rule,
}

#[derive(Debug)]
enum Rule {
    /// Texts by child.
    Texts(Vec<String>),
    /// Numbers with their child, ascending; the child of all others.
    Numbers(Vec<(u64, u16)>, u16),
    /// Ascending.
    Cuts(Vec<u64>),
}

impl ByColumn {
    /// `None` if `placement` is not by column.
    ///
    /// # Errors
    /// [`Error::Field`], and [`Error::Usage`] for values that the field cannot have, that repeat or do not ascend.
    pub(super) fn resolve(schema: &Schema, placement: &Placement) -> Result<Option<ByColumn>> {
        let (name, listed, ranges) = match placement {
            Placement::Value { field, values } => (field, values, false),
            Placement::Range { field, cuts } => (field, cuts, true),
            _ => return Ok(None),
        };
        let kind = match schema.get_field(name) {
            Ok(field) => Kind::of(schema.get_field_entry(field).field_type()),
            Err(_) => Err("does not exist"),
        };
        let kind = kind.and_then(|kind| {
            let fits = !ranges || kind.has_ranges();
            if fits { Ok(kind) } else { Err("has no ranges: numbers and dates have") }
        });
        let kind = kind.map_err(|problem| Error::Field {
            field: name.clone(),
            problem: problem.to_owned(),
            usable: usable(schema, ranges),
        })?;
        let rule = if kind == Kind::Text { texts(name, listed)? } else { numbers(name, kind, listed, ranges)? };
        Ok(Some(ByColumn { field: name.clone(), kind, rule }))
    }

    /// The column of a segment.
    pub(super) fn open(&self, segment: &Segment) -> Result<OpenColumn> {
        let handles = segment.column_handles(&self.field);
        let Some(handle) = handles.iter().find(|handle| handle.column_type() == self.kind.column()) else {
            // No document of the segment has a value.
            return Ok(OpenColumn { column: None, float: false, lookup: Lookup::Sorted(Vec::new(), 0) });
        };
        let path = segment.file(Component::FastFields);
        let read = |error| Error::io("read a column of", &path)(error);
        let (column, lookup) = match &self.rule {
            Rule::Texts(values) => {
                let DynamicColumn::Str(column) = handle.open().map_err(read)? else {
                    return Err(Error::corrupt(&path, format!("column {:?} is not of text", self.field)));
                };
                let (dictionary, column) = column.into_parts();
                check_terms(&path, &self.field, &dictionary)?;
                let mut children = Vec::with_capacity(values.len());
                for (child, value) in (0u16..).zip(values) {
                    children.extend(dictionary.term_ord(value.as_bytes()).map_err(read)?.map(|ord| (ord, child)));
                }
                children.sort_unstable();
                let terms = dictionary.num_terms() as u64;
                if let Some(ord) = column.values.iter().find(|&ord| ord >= terms) {
                    let problem =
                        format!("column {:?} has ordinal {ord}, its dictionary has {terms} terms", self.field);
                    return Err(Error::corrupt(&path, problem));
                }
                (column, Lookup::Sorted(children, u16::try_from(values.len()).unwrap_or(NO_CHILD)))
            }
            Rule::Numbers(children, rest) => (self.numbers(handle, read)?, Lookup::Sorted(children.clone(), *rest)),
            Rule::Cuts(cuts) => (self.numbers(handle, read)?, Lookup::Cuts(cuts.clone())),
        };
        if column.num_docs() != segment.max_doc() {
            let (docs, most) = (column.num_docs(), segment.max_doc());
            return Err(Error::corrupt(
                &path,
                format!("column {:?} has {docs} documents, the segment {most}", self.field),
            ));
        }
        Ok(OpenColumn { column: Some(column), float: self.kind == Kind::F64, lookup })
    }

    fn numbers(&self, handle: &DynamicColumnHandle, read: impl FnOnce(std::io::Error) -> Error) -> Result<Column<u64>> {
        let column = handle.open_u64_lenient().map_err(read)?;
        column.ok_or_else(|| Error::defect(format!("column {:?} has no numbers", self.field)))
    }
}

/// Fields that documents can be placed by.
fn usable(schema: &Schema, ranges: bool) -> Vec<String> {
    let fields = schema.fields().filter(|(_, entry)| match Kind::of(entry.field_type()) {
        Ok(kind) => !ranges || kind.has_ranges(),
        Err(_) => false,
    });
    fields.map(|(_, entry)| entry.name().to_owned()).collect()
}

fn texts(field: &str, values: &[String]) -> Result<Rule> {
    if let Some(long) = values.iter().find(|value| value.len() >= MOST_BYTES) {
        return Err(Error::Usage(format!(
            "a value of {field:?} has {} bytes; columns keep the first 65,535 bytes of a text, so shorter values are needed",
            long.len()
        )));
    }
    let mut sorted: Vec<&String> = values.iter().collect();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair.first() == pair.last()).and_then(<[&String]>::first) {
        Some(twice) => {
            Err(Error::Usage(format!("value {twice:?} of {field:?} is listed twice; every child has its own")))
        }
        None => Ok(Rule::Texts(values.to_vec())),
    }
}

fn numbers(field: &str, kind: Kind, listed: &[String], ranges: bool) -> Result<Rule> {
    let mut numbers = Vec::with_capacity(listed.len());
    for (text, child) in listed.iter().zip(0u16..) {
        let Some(number) = kind.number(text.trim()) else {
            return Err(Error::Usage(format!("{text:?} cannot be a value of {field:?}, which is {}", kind.expects())));
        };
        numbers.push((number, child));
    }
    if ranges {
        let wrong = numbers.windows(2).position(|pair| !pair.is_sorted_by(|(left, _), (right, _)| left < right));
        if let Some((left, right)) = wrong.and_then(|at| listed.get(at).zip(listed.get(at + 1))) {
            return Err(Error::Usage(format!("cut points of {field:?} must ascend, and {right} follows {left}")));
        }
        return Ok(Rule::Cuts(numbers.into_iter().map(|(number, _)| number).collect()));
    }
    numbers.sort_unstable();
    let twice = numbers.windows(2).find(|pair| pair.is_sorted_by(|(left, _), (right, _)| left == right));
    if let Some(text) = twice.and_then(|pair| pair.last()).and_then(|(_, child)| listed.get(usize::from(*child))) {
        return Err(Error::Usage(format!("value {text:?} of {field:?} is listed twice; every child has its own")));
    }
    Ok(Rule::Numbers(numbers, u16::try_from(listed.len()).unwrap_or(NO_CHILD)))
}

/// The column of one segment.
pub(super) struct OpenColumn {
    /// `None`: no document has a value.
    column: Option<Column<u64>>,
    /// Whether it holds floating-point numbers.
    float: bool,
    lookup: Lookup,
}

enum Lookup {
    /// Values with their child, ascending, and the child of all others.
    Sorted(Vec<(u64, u16)>, u16),
    Cuts(Vec<u64>),
}

impl OpenColumn {
    /// The child of a document. What is no number (NaN) is no value.
    pub(super) fn child(&self, doc: DocId) -> Placed {
        let Some(column) = &self.column else { return Placed::Missing };
        let mut placed = Placed::Missing;
        for value in column.values_for_doc(doc) {
            let Some(value) = (if self.float { float(value) } else { Some(value) }) else { continue };
            let child = self.lookup.child(value);
            match placed {
                Placed::In(other) if other != child => return Placed::Several,
                _ => placed = Placed::In(child),
            }
        }
        placed
    }
}

impl Lookup {
    fn child(&self, value: u64) -> u16 {
        match self {
            Lookup::Sorted(children, rest) => match children.binary_search_by_key(&value, |(value, _)| *value) {
                Ok(at) => children.get(at).map_or(*rest, |(_, child)| *child),
                Err(_) => *rest,
            },
            // At most as many as there are children.
            Lookup::Cuts(cuts) => u16::try_from(cuts.partition_point(|&cut| cut <= value)).unwrap_or(NO_CHILD),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_on_a_cut_lies_above_it() {
        let lookup = Lookup::Cuts(vec![10, 20]);
        assert_eq!([0, 9, 10, 19, 20, u64::MAX].map(|value| lookup.child(value)), [0, 0, 1, 1, 2, 2]);
    }
}
