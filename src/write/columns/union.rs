//! Which columns the children may have, and from which source columns each of them draws.
//!
//! As in tantivy's merge (tantivy-columnar 0.27, `src/columnar/merge/mod.rs`), columns are one where name and category
//! agree; the three numeric types are one category. Fast fields of the schema have a column in every child, even
//! without values; the columns of JSON paths exist only where a value is.

use std::collections::BTreeMap;

use tantivy::columnar::{ColumnType, DynamicColumnHandle};
use tantivy::schema::{Schema, Type};

use crate::error::{Error, Result};
use crate::partition::Group;
use crate::source::{Component, Segment, Source};

/// Column types that are united under one name, in the order of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Category {
    Numerical,
    Bytes,
    Str,
    Bool,
    IpAddr,
    DateTime,
}

impl Category {
    pub(super) fn of(kind: ColumnType) -> Category {
        match kind {
            ColumnType::I64 | ColumnType::U64 | ColumnType::F64 => Category::Numerical,
            ColumnType::Bytes => Category::Bytes,
            ColumnType::Str => Category::Str,
            ColumnType::Bool => Category::Bool,
            ColumnType::IpAddr => Category::IpAddr,
            ColumnType::DateTime => Category::DateTime,
        }
    }
}

/// One column of the children.
pub(super) struct Union {
    pub(super) name: String,
    /// The type the schema demands; `None` for dynamic columns.
    pub(super) required: Option<ColumnType>,
    /// Segment of the group and its column, ascending by segment.
    pub(super) parts: Vec<(usize, DynamicColumnHandle)>,
}

impl Union {
    /// Bytes of its source columns.
    pub(super) fn num_bytes(&self) -> u64 {
        self.parts.iter().map(|(_, handle)| handle.num_bytes().get_bytes()).sum()
    }

    /// The types that meet here, the required one included.
    pub(super) fn kinds(&self) -> impl Iterator<Item = ColumnType> + '_ {
        self.required.into_iter().chain(self.parts.iter().map(|(_, handle)| handle.column_type()))
    }
}

/// The segments of a group.
pub(super) fn segments<'a>(source: &'a Source, group: &'a Group) -> impl Iterator<Item = &'a Segment> {
    group.segments.iter().filter_map(|&index| source.segments().get(index))
}

/// The columns of the children of `group`, in the order of the file.
pub(super) fn unite(source: &Source, group: &Group) -> Result<Vec<Union>> {
    let mut unions: BTreeMap<(String, Category), Union> = BTreeMap::new();
    for (name, kind) in required(&source.schema()) {
        let union = Union { name: name.clone(), required: Some(kind), parts: Vec::new() };
        unions.insert((name, Category::of(kind)), union);
    }
    for (index, segment) in segments(source, group).enumerate() {
        let path = segment.file(Component::FastFields);
        if segment.columns().num_docs() != segment.max_doc() {
            let problem =
                format!("its columns have {} rows for {} documents", segment.columns().num_docs(), segment.max_doc());
            return Err(Error::corrupt(path, problem));
        }
        for (name, handle) in segment.columns().list_columns().map_err(Error::io("read", &path))? {
            let union = unions.entry((name.clone(), Category::of(handle.column_type()))).or_insert_with(|| Union {
                name,
                required: None,
                parts: Vec::new(),
            });
            if union.parts.last().is_some_and(|(last, _)| *last == index) {
                let problem = format!("column {:?} is there with two numeric types", readable(&union.name));
                return Err(Error::corrupt(path, problem));
            }
            union.parts.push((index, handle));
        }
    }
    Ok(unions.into_values().collect())
}

/// The columns that every segment of an index with this schema has.
fn required(schema: &Schema) -> impl Iterator<Item = (String, ColumnType)> + '_ {
    schema.fields().filter(|(_, entry)| entry.is_fast()).filter_map(|(_, entry)| {
        let kind = match entry.field_type().value_type() {
            Type::Str | Type::Facet => ColumnType::Str,
            Type::U64 => ColumnType::U64,
            Type::I64 => ColumnType::I64,
            Type::F64 => ColumnType::F64,
            Type::Bool => ColumnType::Bool,
            Type::Date => ColumnType::DateTime,
            Type::Bytes => ColumnType::Bytes,
            Type::IpAddr => ColumnType::IpAddr,
            // Their columns come from the values.
            Type::Json | Type::Custom => return None,
        };
        Some((entry.name().to_owned(), kind))
    })
}

/// A column's name for messages: JSON paths with dots.
pub(super) fn readable(name: &str) -> String {
    name.replace('\u{1}', ".")
}
