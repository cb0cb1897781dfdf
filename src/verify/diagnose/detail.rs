//! What exactly differs between a document and its original: for one document at a time, for people.

use std::collections::BTreeMap;
use std::fmt::Debug;

use tantivy::columnar::{BytesColumn, Column, DynamicColumn};
use tantivy::postings::Postings;
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocSet, TantivyError};

use super::matching::Entry;
use super::{Case, Pair};
use crate::error::{Error, Result};
use crate::source::{Component, guard, terms as terms_of_column};
use crate::verify::content::dictionary::show;
use crate::verify::content::unit::{Part, View};
use crate::verify::finding::FindingKind;

/// Values of a row or bytes around a difference that are shown.
const SHOWN: usize = 4;

/// One clause about the difference; `None` if reading fails.
pub(super) fn describe(case: &Case<'_>, part: &Part, (source, child): Pair) -> Option<String> {
    let ((source, doc), (child, other)) = (look(&case.source.views, source)?, look(&case.found.views, child)?);
    guard(child.segment.path(), "a document", || {
        Ok(match part {
            Part::Store => stored(stored_bytes(source, doc)?, stored_bytes(child, other)?),
            Part::Norms(field) => {
                let norm = |view: &View<'_>, doc: u32| -> Result<Option<u8>> {
                    Ok(view.segment.norms(*field)?.and_then(|norms| norms.get(doc as usize).copied()))
                };
                format!("norm id {:?} became {:?}", norm(source, doc)?.unwrap_or(0), norm(child, other)?.unwrap_or(0))
            }
            Part::Column(name) => format!("{} became {}", row(source, name, doc)?, row(child, name, other)?),
            Part::Postings(field, _) => terms(&posted(source, *field, doc)?, &posted(child, *field, other)?),
        })
    })
    .ok()
}

/// Whether a term that a document lost is gone altogether, or the document gained one instead.
pub(super) fn kind_of_term(case: &Case<'_>, field: Field, (source, child): Pair) -> FindingKind {
    let sides = (look(&case.source.views, source), look(&case.found.views, child));
    let (Some((source, doc)), Some((child, other))) = sides else { return FindingKind::PostingLost };
    let path = child.segment.file(Component::Terms);
    let found = guard(&path, "a document", || {
        let (before, after) = (posted(source, field, doc)?, posted(child, field, other)?);
        let Some(lost) = before.keys().find(|term| !after.contains_key(*term)) else {
            return Ok(FindingKind::PostingAdded);
        };
        let reader = child.segment.reader().inverted_index(field).map_err(Error::tantivy("terms", &path))?;
        let known = reader.terms().get(lost).map_err(Error::io("read", &path))?.is_some();
        Ok(if known { FindingKind::PostingLost } else { FindingKind::TermLost })
    });
    found.unwrap_or(FindingKind::PostingLost)
}

fn look<'a, 'b>(views: &'b [View<'a>], entry: Option<Entry>) -> Option<(&'b View<'a>, u32)> {
    let entry = entry?;
    Some((views.get(entry.view as usize)?, entry.doc))
}

fn stored_bytes(view: &View<'_>, doc: u32) -> Result<Vec<u8>> {
    let path = view.segment.file(Component::Store);
    let store = view.segment.reader().get_store_reader(1).map_err(Error::io("read", &path))?;
    let bytes = store.get_document_bytes(doc).map_err(Error::tantivy::<TantivyError>("a document", &path))?;
    Ok(bytes.to_vec())
}

fn stored(before: Vec<u8>, after: Vec<u8>) -> String {
    let at = before.iter().zip(&after).position(|(a, b)| a != b).unwrap_or(before.len().min(after.len()));
    let show = |bytes: &[u8]| bytes.iter().skip(at).take(SHOWN).map(|byte| format!("{byte:02x}")).collect::<String>();
    format!(
        "{} bytes became {}, from byte {at} on {:?} became {:?}",
        before.len(),
        after.len(),
        show(&before),
        show(&after)
    )
}

/// A row of all columns with a name.
fn row(view: &View<'_>, name: &str, doc: u32) -> Result<String> {
    let path = view.segment.file(Component::FastFields);
    let mut values: Vec<String> = Vec::new();
    for handle in view.segment.column_handles(name) {
        match handle.open().map_err(Error::io("read", &path))? {
            DynamicColumn::Bool(column) => list(&column, doc, &mut values),
            DynamicColumn::I64(column) => list(&column, doc, &mut values),
            DynamicColumn::U64(column) => list(&column, doc, &mut values),
            DynamicColumn::F64(column) => list(&column, doc, &mut values),
            DynamicColumn::IpAddr(column) => list(&column, doc, &mut values),
            DynamicColumn::DateTime(column) => list(&column, doc, &mut values),
            DynamicColumn::Bytes(column) => words(view, name, &column, doc, &mut values)?,
            DynamicColumn::Str(column) => words(view, name, &column, doc, &mut values)?,
        }
    }
    values.truncate(SHOWN);
    Ok(format!("[{}]", values.join(", ")))
}

fn list<T: PartialOrd + Copy + Debug + Send + Sync + 'static>(column: &Column<T>, doc: u32, values: &mut Vec<String>) {
    values.extend(column.values_for_doc(doc).take(SHOWN).map(|value| format!("{value:?}")));
}

/// Strings and bytes. The dictionary is read from its beginning: its index may be wrong too.
fn words(view: &View<'_>, name: &str, column: &BytesColumn, doc: u32, values: &mut Vec<String>) -> Result<()> {
    let ords: Vec<u64> = column.term_ords(doc).take(SHOWN).collect();
    let Some(last) = ords.iter().max().copied() else { return Ok(()) };
    let mut found = BTreeMap::new();
    let mut entries = terms_of_column(&view.segment.file(Component::FastFields), name, column.dictionary())?;
    for ord in 0..=last {
        if !entries.advance()? {
            break;
        }
        if ords.contains(&ord) {
            found.insert(ord, show(entries.key()));
        }
    }
    values.extend(ords.iter().map(|ord| found.get(ord).cloned().unwrap_or_else(|| "none".to_owned())));
    Ok(())
}

/// Frequency, if there is one, and positions of a document's posting.
type Posting = (Option<u32>, Vec<u32>);

/// All postings of a document in a field.
fn posted(view: &View<'_>, field: Field, doc: u32) -> Result<BTreeMap<Vec<u8>, Posting>> {
    let path = view.segment.file(Component::Postings);
    let option = view.schema.get_field_entry(field).field_type().get_index_record_option();
    let reader = view.segment.reader().inverted_index(field).map_err(Error::tantivy("postings", &path))?;
    let mut postings = BTreeMap::new();
    let mut stream = reader.terms().stream().map_err(Error::io("read", &path))?;
    while let Some((term, info)) = stream.next() {
        let option = option.unwrap_or(IndexRecordOption::Basic);
        let read = Error::io("read", &path);
        let mut cursor = reader.read_block_postings_from_terminfo(info, option).map_err(read)?;
        let has_freqs = !cursor.freqs().is_empty();
        let at = cursor.seek(doc);
        if cursor.docs().get(at) != Some(&doc) {
            continue;
        }
        let mut posting = (None, Vec::new());
        if has_freqs {
            let mut cursor = reader.read_postings_from_terminfo(info, option).map_err(Error::io("read", &path))?;
            cursor.seek(doc);
            posting.0 = Some(cursor.term_freq());
            // tantivy makes room for as many positions as the frequency says; a byte of them stands for 128 at most.
            let most = (info.positions_range.len() as u64).saturating_mul(128);
            if option.has_positions() && u64::from(cursor.term_freq()) <= most {
                cursor.positions(&mut posting.1);
            }
        }
        postings.insert(term.to_vec(), posting);
    }
    Ok(postings)
}

/// The first term that differs.
fn terms(before: &BTreeMap<Vec<u8>, Posting>, after: &BTreeMap<Vec<u8>, Posting>) -> String {
    for (term, (freq, positions)) in before {
        match after.get(term) {
            None => return format!("term {} is gone", show(term)),
            Some((now, _)) if now != freq => {
                let name = |freq: &Option<u32>| freq.map_or("none".to_owned(), |freq| freq.to_string());
                return format!("the frequency of term {} was {} and is {}", show(term), name(freq), name(now));
            }
            Some((_, now)) if now != positions => {
                let at = positions.iter().zip(now).position(|(a, b)| a != b).unwrap_or(0);
                let name = |list: &[u32]| list.get(at).map_or("none".to_owned(), u32::to_string);
                return format!("a position of term {} was {} and is {}", show(term), name(positions), name(now));
            }
            Some(_) => {}
        }
    }
    match after.keys().find(|term| !before.contains_key(*term)) {
        Some(term) => format!("term {} was added", show(term)),
        None => "no term differs".to_owned(),
    }
}
