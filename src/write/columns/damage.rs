//! Columns of older files come out as new ones, and columns that contradict themselves are named.

use std::io::Write;

use tantivy::columnar::column_values::serialize_u64_based_column_values;
use tantivy::columnar::{ColumnIndex, ColumnType, DynamicColumn};
use tantivy_sstable::{SSTable, VoidSSTable};

use super::fixture::{self, Fixture, MemoryFiles};
use super::*;
use crate::partition::SegmentMode;
use crate::progress::Silent;
use crate::source::LockMode;
use crate::write::file::FileWriter;

/// Replaces the columns of the only segment of `index` (name, type, bytes) and opens it again.
fn replace_columns(
    index: Fixture,
    num_docs: u32,
    version: u32,
    columns: &[(&str, ColumnType, Vec<u8>)],
) -> Result<Fixture> {
    let files = MemoryFiles::default();
    let mut container = ColumnarFile::create(&files, 0, "new.fast".to_owned(), num_docs).unwrap();
    for (name, kind, bytes) in columns {
        container.file().write_all(bytes).unwrap();
        container.end_column(name, *kind).unwrap();
    }
    let mut body = files.body(0, &container.finish().unwrap());
    let at = body.len() - 8;
    body[at..at + 4].copy_from_slice(&version.to_le_bytes());

    let target = index.source.segments()[0].file(Component::FastFields);
    let mut file = FileWriter::create(&files, 0, "versioned.fast".to_owned()).unwrap();
    file.write_all(&body).unwrap();
    let written = file.finish().unwrap();
    std::fs::remove_file(&target).unwrap();
    std::fs::write(&target, files.bytes(0, &written)).unwrap();
    let source = Source::open(index.dir.path(), LockMode::None)?;
    Ok(Fixture { source, dir: index.dir })
}

/// The column files of two children.
fn split(index: &Fixture) -> Result<Vec<Vec<u8>>> {
    let map = fixture::deal(&index.source, 2, SegmentMode::One, |number| (number / 3) as u16);
    let (group, files) = (&map.groups[0], MemoryFiles::default());
    let written = write(&index.source, group, &files, &fixture::ids(group), &Cancel::new(), &Silent)?;
    Ok(group.outputs.iter().zip(&written.files).map(|(output, file)| files.body(output.child, file)).collect())
}

/// The column with its index as version 1 writes it: an offset for every row, empty ones too.
fn as_version_1(bytes: &[u8], column: &DynamicColumn, num_docs: u32) -> Vec<u8> {
    let ColumnIndex::Multivalued(index) = column.column_index() else { return bytes.to_vec() };
    let mut offsets = vec![0u32];
    for doc in 0..num_docs {
        let values = ColumnIndex::Multivalued(index.clone()).value_row_ids(doc);
        offsets.push(offsets.last().unwrap() + values.len() as u32);
    }
    let number = |bytes: &[u8]| u32::from_le_bytes(*bytes.last_chunk::<4>().unwrap()) as usize;
    let (dictionary, column_bytes) = match column {
        DynamicColumn::Str(_) | DynamicColumn::Bytes(_) => bytes[..bytes.len() - 4].split_at(number(bytes)),
        _ => bytes.split_at(0),
    };
    let values = &column_bytes[number(column_bytes)..column_bytes.len() - 4];
    let mut index = vec![2];
    serialize_u64_based_column_values(&offsets.as_slice(), &values::OFFSETS, &mut index).unwrap();
    let mut out = [dictionary, &index, values].concat();
    out.extend_from_slice(&(index.len() as u32).to_le_bytes());
    if !dictionary.is_empty() {
        out.extend_from_slice(&(dictionary.len() as u32).to_le_bytes());
    }
    out
}

#[test]
fn multivalued_columns_of_version_1_come_out_as_version_2() {
    let index = fixture::index(fixture::schema(), &[fixture::documents(0, 500)], &[], None);
    let expected = split(&index).unwrap();
    let num_docs = index.source.segments()[0].max_doc();
    let mut old = Vec::new();
    for (name, handle) in index.source.segments()[0].columns().list_columns().unwrap() {
        let bytes = handle.file_slice().read_bytes().unwrap();
        old.push((name, handle.column_type(), as_version_1(&bytes, &handle.open().unwrap(), num_docs)));
    }
    let old: Vec<_> = old.iter().map(|(name, kind, bytes)| (name.as_str(), *kind, bytes.clone())).collect();
    let index = replace_columns(index, num_docs, 1, &old).unwrap();
    assert!(split(&index).unwrap() == expected);
}

/// A 64-bit column: index bytes, then values.
fn words(index: &[u8], values: &[u64]) -> Vec<u8> {
    let mut out = index.to_vec();
    serialize_u64_based_column_values(&values, &values::NUMBERS, &mut out).unwrap();
    out.extend_from_slice(&(index.len() as u32).to_le_bytes());
    out
}

/// A string column: terms, then ordinals, one per row.
fn strings(terms: &[&str], ordinals: &[u64], claimed_terms: Option<u64>) -> Vec<u8> {
    let mut dictionary = Vec::new();
    let mut writer = VoidSSTable::writer(&mut dictionary);
    for term in terms {
        writer.insert(term, &()).unwrap();
    }
    writer.finish().unwrap();
    if let Some(claimed) = claimed_terms {
        let at = dictionary.len() - 12;
        dictionary[at..at + 8].copy_from_slice(&claimed.to_le_bytes());
    }
    let len = dictionary.len() as u32;
    [dictionary, words(&[0], ordinals), len.to_le_bytes().to_vec()].concat()
}

/// Index of a multivalued column of four rows, all with values.
fn multivalued(offsets: &[u64]) -> Vec<u8> {
    let set = [132, 0, 0, 1, 0, 2, 0, 3, 0, 0, 0, 3, 0, 1, 0];
    let mut out = vec![2];
    out.extend_from_slice(&set);
    serialize_u64_based_column_values(&offsets, &values::OFFSETS, &mut out).unwrap();
    out.extend_from_slice(&(set.len() as u32).to_le_bytes());
    out
}

/// The problem that stops the split of an index with this column: when it is opened or, beyond what is looked at there,
/// when the column is written.
fn problem_with(num_docs: u32, name: &str, kind: ColumnType, bytes: Vec<u8>) -> String {
    let index = fixture::index(fixture::schema(), &[fixture::documents(0, 4)], &[], None);
    let damaged = index.source.segments()[0].file(Component::FastFields);
    match replace_columns(index, num_docs, 2, &[(name, kind, bytes)]).and_then(|index| split(&index)) {
        Err(Error::Corrupt { path, problem }) => {
            assert_eq!(path, damaged);
            problem
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_column_without_contradictions_passes() {
    // What the damaged ones below are made from.
    let index = fixture::index(fixture::schema(), &[fixture::documents(0, 4)], &[], None);
    let columns = [
        ("i", ColumnType::I64, words(&multivalued(&[0, 1, 2, 3, 5]), &[5, 6, 7, 8, 9])),
        ("s", ColumnType::Str, strings(&["a", "b"], &[0, 1, 1, 0], None)),
        ("u", ColumnType::U64, words(&[0], &[1, 2, 3, 4])),
    ];
    split(&replace_columns(index, 4, 2, &columns).unwrap()).unwrap();
}

#[test]
fn a_column_file_with_other_rows_than_the_segment_is_named() {
    let problem = problem_with(5, "u", ColumnType::U64, words(&[0], &[1, 2, 3, 4, 5]));
    assert_eq!(problem, "its columns have 5 rows for 4 documents");
}

#[test]
fn a_column_with_too_few_values_is_named() {
    let problem = problem_with(4, "u", ColumnType::U64, words(&[0], &[1, 2, 3]));
    assert_eq!(problem, "column \"u\" has 3 rows for 4 documents");
}

#[test]
fn offsets_beyond_the_values_or_backwards_are_named() {
    let column = |offsets: &[u64]| words(&multivalued(offsets), &[5, 6, 7, 8, 9]);
    let problem = |offsets| problem_with(4, "i", ColumnType::I64, column(offsets));
    assert_eq!(problem(&[0, 1, 2, 3, 4]), "column \"i\" has 5 values, its index 4");
    assert_eq!(problem(&[0, 1, 9, 3, 5]), "column \"i\" gives a row the values 1..9 of 5");
    assert_eq!(problem(&[0, 3, 2, 3, 5]), "column \"i\" gives a row the values 3..2 of 5");
    assert_eq!(problem(&[0, 1, 2, 5]), "column \"i\" has 4 offsets for 4 rows with values");
}

#[test]
fn an_index_out_of_order_is_named() {
    // Rows 0 to 2 of four have a value; the set lists them in another order.
    let column = |set: [u8; 6]| words(&[&[1, 132][..], &set, &[0, 0, 2, 0, 1, 0]].concat(), &[5, 6, 7]);
    let index = fixture::index(fixture::schema(), &[fixture::documents(0, 4)], &[], None);
    let sound = [("i", ColumnType::I64, column([0, 0, 1, 0, 2, 0]))];
    split(&replace_columns(index, 4, 2, &sound).unwrap()).unwrap();
    let problem = |set| problem_with(4, "i", ColumnType::I64, column(set));
    assert_eq!(problem([1, 0, 0, 0, 2, 0]), "column \"i\" has an index that is out of order");
    assert_eq!(problem([0, 0, 0, 0, 1, 0]), "column \"i\" has an index that is out of order");
}

#[test]
fn values_that_no_row_has_are_named() {
    let problem = problem_with(4, "i", ColumnType::I64, words(&multivalued(&[1, 2, 3, 4, 5]), &[5, 6, 7, 8, 9]));
    assert_eq!(problem, "column \"i\" has 5 values, its rows 4");
}

#[test]
fn ordinals_beyond_the_dictionary_are_named() {
    let problem = problem_with(4, "s", ColumnType::Str, strings(&["a", "b"], &[0, 1, 2, 0], None));
    assert_eq!(problem, "column \"s\" refers to value 2 of a dictionary of 2");
}

#[test]
fn a_dictionary_that_lies_about_its_size_is_named() {
    let problem = |claimed| problem_with(4, "s", ColumnType::Str, strings(&["a", "b"], &[0, 1, 1, 0], Some(claimed)));
    assert_eq!(problem(3), "column \"s\" says it has 3 distinct values, its dictionary does not");
    assert!(problem(1 << 40).starts_with("column \"s\" says it has 1099511627776 distinct values in a dictionary of"));
}

#[test]
fn two_numeric_columns_of_one_name_in_a_segment_are_named() {
    let index = fixture::index(fixture::schema(), &[fixture::documents(0, 4)], &[], None);
    let columns = [
        ("j\u{1}x", ColumnType::I64, words(&[0], &[1, 2, 3, 4])),
        ("j\u{1}x", ColumnType::U64, words(&[0], &[1, 2, 3, 4])),
    ];
    let error = replace_columns(index, 4, 2, &columns).and_then(|index| split(&index)).unwrap_err().to_string();
    assert!(error.contains("column \"j.x\" is there with two numeric types"), "{error}");
}
