//! Children against indexes of the same documents that tantivy's writer makes from nothing.
//!
//! What the source holds plays no part in this, only the order of its documents: what reading it hides on both sides
//! shows here.

use std::collections::BTreeMap;

use tantivy::index::SegmentComponent;

use super::content::{Content, Doc};
use super::fixture::Fixture;
use super::oracle::content_differences;
use super::routing::Routing;
use super::schema::Kind;
use super::{check, documents};

/// What differs between `children` of `fixture` and newly made ones: which documents they have, and per segment every
/// plane, dictionary and column, and the number of tokens. Documents were asked for their `serial`.
///
/// Where children share their segments with the source, which documents they have is all that can be said.
pub fn differences(
    fixture: &Fixture,
    source: &Content,
    routing: &Routing,
    children: &[(u32, Content)],
    shared: bool,
) -> Vec<String> {
    let mut found = Vec::new();
    let expected = by_child(fixture, routing);
    for (shard, child) in children {
        let label = format!("child {shard}, indexed anew");
        let mut serials: Vec<u32> = child.docs.iter().map(serial).collect();
        serials.sort_unstable();
        if serials != expected[shard] {
            found.push(format!("{label}: documents {:?}, not {serials:?}", expected[shard]));
            continue;
        }
        if !shared {
            found.extend(segment_differences(fixture, source, &label, child));
        }
    }
    found
}

/// What differs between the segments of `child` and newly made ones of the same documents, whatever those are.
pub fn segment_differences(fixture: &Fixture, source: &Content, label: &str, child: &Content) -> Vec<String> {
    let mut found = Vec::new();
    let ties: Vec<&str> =
        fixture.fields.iter().filter(|field| field.kind == Kind::TieBreaker).map(|field| field.name.as_str()).collect();
    for ord in 0..child.segments.len() {
        let mut child = child.segment(ord);
        let numbers: Vec<u32> = child.docs.iter().map(serial).collect();
        let mut anew = Content::of_index(&fixture.segment_of(&numbers).0, "anew", &["serial"]);
        unite_numbers(&mut child);
        unite_numbers(&mut anew);
        // A tie-breaker is drawn anew for every document.
        for doc in child.docs.iter_mut().chain(&mut anew.docs) {
            doc.lines.retain(|line| !ties.iter().any(|tie| line.starts_with(&format!("column {tie:?} "))));
        }
        found.extend(content_differences(&format!("{label}, segment {ord}"), &child, &anew));
        compare_tokens(label, source, &child, &anew, &mut found);
        compare_stores(label, &child, &anew, &mut found);
    }
    found
}

/// Gives the number columns of JSON paths one type: what is united may be widened, as in tantivy's merges.
fn unite_numbers(content: &mut Content) {
    for segment in &mut content.segments {
        let columns = std::mem::take(&mut segment.columns);
        segment.columns = columns
            .into_iter()
            .map(|((name, kind), facts)| {
                let is_number = name.contains('\u{1}') && ["I64", "U64", "F64"].contains(&kind.as_str());
                ((name, if is_number { "number".to_owned() } else { kind }), facts)
            })
            .collect();
    }
}

/// The number that a document was made from.
pub fn serial(doc: &Doc) -> u32 {
    doc.keys["serial"][0].parse().unwrap()
}

/// Numbers of the live documents by child, ascending.
fn by_child(fixture: &Fixture, routing: &Routing) -> BTreeMap<u32, Vec<u32>> {
    let mut children: BTreeMap<u32, Vec<u32>> = routing.children().into_iter().map(|shard| (shard, vec![])).collect();
    for number in fixture.live() {
        let id = fixture.odd.id(number, fixture.key);
        let value = documents::routing(number, fixture.routing);
        let shard = routing.child(id.as_deref(), value.as_deref()).unwrap_or_else(|| panic!("no child for {number}"));
        children.get_mut(&shard).unwrap().push(number);
    }
    children.values_mut().for_each(|numbers| numbers.sort_unstable());
    children
}

/// Stores are equal byte by byte: the codec that the settings name, blocks that end where tantivy's writer ends them.
fn compare_stores(label: &str, child: &Content, anew: &Content, found: &mut Vec<String>) {
    let bytes = |content: &Content| -> Vec<u8> {
        let file = content.segments[0].reader.open_read(SegmentComponent::Store).unwrap();
        file.read_bytes().unwrap().to_vec()
    };
    let (child, anew) = (bytes(child), bytes(anew));
    if child != anew {
        let at = child.iter().zip(&anew).position(|(left, right)| left != right);
        found.push(format!(
            "{label}: its store of {} bytes differs from one made anew of {} bytes, at {at:?}",
            child.len(),
            anew.len()
        ));
    }
}

/// Tokens are those of an index made anew where anything in the source tells them: where postings have frequencies, and
/// without them where norms are exact and the source's own number is, which it is not after tantivy merged deletes.
fn compare_tokens(label: &str, source: &Content, child: &Content, anew: &Content, found: &mut Vec<String>) {
    let schema = source.schema();
    for (_, entry) in schema.fields().filter(|(_, entry)| entry.is_indexed() && !entry.field_type().is_json()) {
        let name = entry.name();
        let exact_norms = entry.has_fieldnorms() && check::has_exact_norms(source, name);
        if check::has_all_freqs(entry) || exact_norms {
            let (tokens, expected) = (child.total_tokens(name), anew.total_tokens(name));
            if tokens != expected {
                found.push(format!("{label}: {name} has {tokens} tokens, indexed anew {expected}"));
            }
        }
    }
}
