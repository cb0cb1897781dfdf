//! The columns of a segment, as lines of its documents and as facts about themselves.

use std::collections::{BTreeMap, BTreeSet};

use tantivy::SegmentReader;
use tantivy::columnar::{BytesColumn, Cardinality, Column, ColumnarReader, DynamicColumn};
use tantivy::index::SegmentComponent;
use tantivy::schema::Schema;

use super::content::{Doc, SortKey};
use super::values::render;

/// What a column says about itself, deleted documents included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnFacts {
    /// Full, optional or multivalued.
    pub cardinality: String,
    /// Values.
    pub values: u32,
    /// Terms in the dictionary of a string or bytes column.
    pub dictionary: Option<usize>,
    /// Terms of the dictionary that no document has.
    pub unused: usize,
}

/// Reads every column, adds a line to every document that has values in it, and fills keys and sort keys.
///
/// Numbers of a column that the schema does not name (a path of a JSON field) have the type `num`: uniting segments
/// may widen it, as tantivy's merges do, but never change a value.
pub fn read(
    reader: &SegmentReader,
    schema: &Schema,
    key_fields: &[&str],
    sort: Option<&str>,
    docs: &mut [Option<Doc>],
) -> BTreeMap<(String, String), ColumnFacts> {
    let file = reader.open_read(SegmentComponent::FastFields).unwrap();
    let columnar = ColumnarReader::open(file).unwrap();
    assert_eq!(columnar.num_docs(), reader.max_doc(), "documents of the columns");
    let mut facts = BTreeMap::new();
    for (name, handle) in columnar.list_columns().unwrap() {
        let column = handle.open().unwrap();
        let kind = column.column_type();
        let named = schema.get_field(&name).is_ok();
        let label = if column.is_numerical() && !named { "num".to_owned() } else { format!("{kind:?}") };
        let (values, dictionary) = rendered(&column, reader.max_doc());
        for (doc, values) in docs.iter_mut().zip(&values) {
            let Some(doc) = doc.as_mut().filter(|_| !values.is_empty()) else { continue };
            let texts: Vec<&str> = values.iter().map(|(text, _)| text.as_str()).collect();
            doc.lines.push(format!("column {name:?} {label} [{}]", texts.join(", ")));
            if key_fields.contains(&name.as_str()) && doc.keys.get(&name).is_none_or(Vec::is_empty) {
                doc.keys.insert(name.clone(), values.iter().map(|(text, sort)| key_string(text, sort)).collect());
            }
        }
        if sort == Some(name.as_str()) {
            set_sort_keys(reader, &name, &values, docs);
        }
        let used: BTreeSet<&SortKey> = values.iter().flatten().map(|(_, sort)| sort).collect();
        facts.insert(
            (name, format!("{kind:?}")),
            ColumnFacts {
                cardinality: match column.get_cardinality() {
                    Cardinality::Full => "full",
                    Cardinality::Optional => "optional",
                    Cardinality::Multivalued => "multivalued",
                }
                .to_owned(),
                values: column.num_values(),
                dictionary,
                unused: dictionary.map_or(0, |terms| terms - used.len()),
            },
        );
    }
    facts
}

/// Per document the values, each as text and (strings and bytes) as sortable bytes.
type Values = Vec<Vec<(String, SortKey)>>;

fn rendered(column: &DynamicColumn, max_doc: u32) -> (Values, Option<usize>) {
    let plain = |text: String| (text, SortKey::Missing);
    match column {
        DynamicColumn::Bool(column) => (each(column, max_doc, |value| plain(value.to_string())), None),
        DynamicColumn::I64(column) => (each(column, max_doc, |value| plain(value.to_string())), None),
        DynamicColumn::U64(column) => (each(column, max_doc, |value| plain(value.to_string())), None),
        DynamicColumn::F64(column) => (each(column, max_doc, |value| plain(float(value))), None),
        DynamicColumn::IpAddr(column) => (each(column, max_doc, |value| plain(value.to_string())), None),
        DynamicColumn::DateTime(column) => {
            (each(column, max_doc, |value| plain(value.into_timestamp_nanos().to_string())), None)
        }
        DynamicColumn::Bytes(column) => dictionary(column, max_doc),
        DynamicColumn::Str(column) => dictionary(&BytesColumn::from(column.clone()), max_doc),
    }
}

fn each<T: PartialOrd + Copy + std::fmt::Debug + Send + Sync + 'static>(
    column: &Column<T>,
    max_doc: u32,
    render: impl Fn(T) -> (String, SortKey),
) -> Values {
    (0..max_doc).map(|doc| column.values_for_doc(doc).map(&render).collect()).collect()
}

fn dictionary(column: &BytesColumn, max_doc: u32) -> (Values, Option<usize>) {
    let mut terms = Vec::new();
    let mut stream = column.dictionary().stream().unwrap();
    while stream.advance() {
        terms.push(stream.key().to_vec());
    }
    assert!(terms.is_sorted_by(|left, right| left < right), "a column's dictionary is not sorted");
    assert_eq!(terms.len(), column.num_terms(), "terms of a column's dictionary");
    let values = each(column.ords(), max_doc, |ord| {
        let term = &terms[usize::try_from(ord).unwrap()];
        (render(term), SortKey::Bytes(term.clone()))
    });
    (values, Some(terms.len()))
}

/// A float; one without a fraction as the integer it equals, so that integers widened to floats look the same.
pub fn float(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e19 && !(value == 0.0 && value.is_sign_negative()) {
        format!("{value:.0}")
    } else {
        format!("{value:?}/{:x}", value.to_bits())
    }
}

fn key_string(text: &str, sort: &SortKey) -> String {
    match sort {
        SortKey::Bytes(bytes) => String::from_utf8(bytes.clone()).expect("a key that is not UTF-8"),
        _ => text.to_owned(),
    }
}

fn set_sort_keys(reader: &SegmentReader, name: &str, values: &Values, docs: &mut [Option<Doc>]) {
    let numbers = reader.fast_fields().u64_lenient(name).unwrap().map(|(column, _)| column);
    for (doc, values) in docs.iter_mut().zip(values) {
        let Some(doc) = doc else { continue };
        doc.sort = match values.first() {
            None => SortKey::Missing,
            Some((_, SortKey::Bytes(bytes))) => SortKey::Bytes(bytes.clone()),
            Some(_) => SortKey::Number(numbers.as_ref().unwrap().first(doc.address.1).unwrap()),
        };
    }
}
