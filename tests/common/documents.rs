//! Documents made from a number: the same number gives the same document, small numbers give small documents.
//!
//! That makes them easy to shrink: a property test draws numbers, and a failing one shrinks towards few, small
//! documents. Equal numbers make equal documents, so duplicates (of ids, of whole documents) come by themselves.

use std::collections::BTreeMap;
use std::net::Ipv6Addr;

use proptest::prelude::*;
use tantivy::schema::{Facet, Field, OwnedValue, Schema};
use tantivy::tokenizer::{PreTokenizedString, Token};
use tantivy::{DateTime, TantivyDocument};

use super::schema::{FieldSpec, KeyKind, Kind};

/// Numbers for documents: mostly small ones, so that duplicates occur.
pub fn number() -> impl Strategy<Value = u32> {
    prop_oneof![3 => 0u32..60, 4 => 0u32..400, 1 => 0u32..u32::MAX]
}

/// A small generator of pseudo-random numbers (SplitMix64), the same everywhere.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// Starts from `seed`.
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// One of `choices`.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[usize::try_from(self.below(choices.len() as u64)).unwrap()]
    }
}

const WORDS: [&str; 24] = [
    "a",
    "the",
    "stone",
    "river",
    "lamp",
    "über",
    "naïve",
    "e\u{301}",
    "ÅNGSTRÖM",
    "東京",
    "杜甫",
    "वन",
    "มะม่วง",
    "🦀",
    "👩‍🚀",
    "don't",
    "x",
    "42",
    "-7",
    "3.5",
    "true",
    "\u{0}",
    "supercalifragilisticexpialidocious-and-much-longer",
    "",
];

/// The id of a document, as a string; numbers where the id field is one.
pub fn id(number: u32, key: KeyKind) -> String {
    match key {
        KeyKind::NumberColumn | KeyKind::NumberStored => (u64::from(number) * 0x1_0000_0001).to_string(),
        KeyKind::SignedColumn => (i64::from(number) - 200).to_string(),
        _ => match number % 5 {
            0 => format!("doc-{number}"),
            1 => number.to_string(),
            2 => format!("文書/{number}"),
            3 => format!("🦀{number}é"),
            _ => format!("{number:032x}"),
        },
    }
}

/// What is odd about some documents of an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Oddities {
    /// Every seventh document has no id.
    pub missing_ids: bool,
    /// Every fifth document shares its id with another one.
    pub shared_ids: bool,
    /// Every ninth document says its id twice.
    pub repeated_ids: bool,
    /// Some ids are empty, some have thousands of characters, and some are longer than what tantivy indexes as a term.
    pub odd_ids: bool,
    /// Every sixteenth document has a hundred kilobytes of text in each of its text fields.
    pub large_texts: bool,
}

impl Oddities {
    /// The id of a document, if it has one.
    pub fn id(self, number: u32, key: KeyKind) -> Option<String> {
        let number = if self.shared_ids && number % 5 == 4 { number / 5 } else { number };
        let text = !matches!(key, KeyKind::NumberColumn | KeyKind::NumberStored | KeyKind::SignedColumn);
        match number % 32 {
            _ if self.missing_ids && number % 7 == 3 => None,
            1 | 9 if self.odd_ids && text => Some(String::new()),
            5 | 30 if self.odd_ids && text => Some(format!("{} {number}", "длинный ".repeat(400))),
            // Where it is not stored, nobody could tell such an id.
            17 if self.odd_ids && text && !matches!(key, KeyKind::RawIndexed | KeyKind::Column) => {
                Some(format!("{number} {}", "x".repeat(70_000)))
            }
            _ => Some(id(number, key)),
        }
    }
}

/// Which documents have a custom routing value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoutingValues {
    /// None: the schema has no such field.
    Never,
    /// Two of three.
    Sometimes,
    /// All, as a routing_partition_size demands.
    Always,
}

/// The custom routing value of a document, if it has one.
pub fn routing(number: u32, values: RoutingValues) -> Option<String> {
    let has = match values {
        RoutingValues::Never => false,
        RoutingValues::Sometimes => !number.is_multiple_of(3),
        RoutingValues::Always => true,
    };
    has.then(|| ["alpha", "李白", "", "🇨🇭", "e"][number as usize % 5].to_owned())
}

/// A document of `schema`: `serial` is the number itself, `id` and `rank` (the sort field) are set where `fields` has
/// them, `routing` as `values` says, and every other field of `fields` gets none, one or several values.
pub fn document(
    schema: &Schema,
    fields: &[FieldSpec],
    key: KeyKind,
    values: RoutingValues,
    odd: Oddities,
    number: u32,
) -> TantivyDocument {
    let mut rng = Rng::new(u64::from(number));
    let mut doc = TantivyDocument::new();
    let field = |name: &str| schema.get_field(name).ok();
    if let Some(serial) = field("serial") {
        doc.add_u64(serial, u64::from(number));
    }
    if let Some(routing) = routing(number, values) {
        doc.add_text(field("routing").unwrap(), routing);
    }
    let large = odd.large_texts && number % 16 == 9;
    for spec in fields {
        let field = schema.get_field(&spec.name).unwrap();
        match spec.name.as_str() {
            "id" => {
                let times = if odd.repeated_ids && number % 9 == 2 { 2 } else { 1 };
                let id = odd.id(number, key);
                (0..times).filter_map(|_| id.as_ref()).for_each(|id| add_id(&mut doc, field, key, id));
            }
            // A sort field has one value or none, and few different ones.
            "rank" => (0..(number % 4).min(1)).for_each(|_| add_rank(&mut doc, field, spec.kind, &mut rng)),
            _ => {
                let values = if number < 4 { u64::from(number) % 2 } else { rng.pick(&[0, 1, 1, 1, 2, 3]) };
                (0..values).for_each(|_| add_value(&mut doc, field, spec.kind, &mut rng));
                if large && matches!(spec.kind, Kind::Text { .. }) {
                    doc.add_text(field, large_text(&mut rng));
                }
            }
        }
    }
    doc
}

fn add_id(doc: &mut TantivyDocument, field: Field, key: KeyKind, id: &str) {
    match key {
        KeyKind::NumberColumn | KeyKind::NumberStored => doc.add_u64(field, id.parse().unwrap()),
        KeyKind::SignedColumn => doc.add_i64(field, id.parse().unwrap()),
        _ => doc.add_text(field, id),
    }
}

fn add_rank(doc: &mut TantivyDocument, field: Field, kind: Kind, rng: &mut Rng) {
    let rank = rng.below(40);
    match kind {
        Kind::U64(_) => doc.add_u64(field, rank),
        Kind::I64(_) => doc.add_i64(field, rank.cast_signed() - 20),
        Kind::F64(_) => doc.add_f64(field, rank as f64 / 4.0 - 3.0),
        Kind::Date(..) => doc.add_date(field, DateTime::from_timestamp_secs(rank.cast_signed() * 1_000 - 9_000)),
        Kind::Bytes(_) => doc.add_bytes(field, &[200 + rank as u8, 0, 255]),
        Kind::Text { .. } => doc.add_text(field, format!("rank {rank}")),
        other => panic!("tantivy does not sort by {other:?}"),
    }
}

fn add_value(doc: &mut TantivyDocument, field: Field, kind: Kind, rng: &mut Rng) {
    match kind {
        Kind::Text { index, .. } if index.is_some_and(|index| index.tokenizer != "raw") && rng.below(6) == 0 => {
            doc.add_pre_tokenized_text(field, pre_tokenized(rng));
        }
        Kind::Text { .. } => doc.add_text(field, text(rng)),
        Kind::U64(_) => doc.add_u64(field, integer(rng)),
        Kind::I64(_) => doc.add_i64(field, integer(rng).cast_signed()),
        Kind::F64(_) => doc.add_f64(field, float(rng)),
        Kind::Bool(_) => doc.add_bool(field, rng.below(2) == 0),
        Kind::Date(..) => doc.add_date(field, date(rng)),
        Kind::Ip(_) => doc.add_ip_addr(field, ip(rng)),
        Kind::Bytes(_) => doc.add_bytes(field, &bytes(rng)),
        Kind::Facet { .. } => doc.add_facet(field, facet(rng)),
        Kind::Json { .. } => doc.add_object(field, object(rng, 3)),
        Kind::TieBreaker => {}
    }
}

/// Some words; now and then none, or one word often enough for several blocks of positions.
fn text(rng: &mut Rng) -> String {
    match rng.below(24) {
        0 => String::new(),
        1 => "lamp ".repeat(100 + usize::try_from(rng.below(600)).unwrap()),
        _ => (0..=rng.below(30)).map(|_| rng.pick(&WORDS)).collect::<Vec<_>>().join(" "),
    }
}

/// A hundred kilobytes and more, one word of them longer than what tantivy indexes as a term.
fn large_text(rng: &mut Rng) -> String {
    let word = if rng.below(2) == 0 { "ω".repeat(33_000) } else { String::new() };
    let words = 4_000 + usize::try_from(rng.below(4_000)).unwrap();
    let words: Vec<String> = (0..words).map(|_| format!("{} w{}", rng.pick(&WORDS), rng.below(3_000))).collect();
    format!("{word} {}", words.join(" "))
}

/// Tokens with gaps, with several at one position, and with lengths.
fn pre_tokenized(rng: &mut Rng) -> PreTokenizedString {
    let mut position = usize::try_from(rng.below(3)).unwrap();
    let mut tokens = Vec::new();
    for _ in 0..rng.below(8) {
        let text = rng.pick(&WORDS).to_owned();
        let length = rng.pick(&[1, 1, 1, 3]);
        tokens.push(Token { offset_from: 0, offset_to: text.len(), position, text, position_length: length });
        position += rng.pick(&[0, 1, 1, 1, 2, 900]);
    }
    PreTokenizedString { text: "made of tokens".to_owned(), tokens }
}

fn integer(rng: &mut Rng) -> u64 {
    match rng.below(8) {
        0 => rng.next(),
        1 => rng.pick(&[0, 1, u64::MAX, i64::MAX as u64, 1 << 63, (1 << 53) + 1]),
        _ => rng.below(50),
    }
}

fn float(rng: &mut Rng) -> f64 {
    match rng.below(6) {
        0 => rng.pick(&[0.0, -0.0, f64::MIN_POSITIVE, f64::MAX, f64::MIN, 1e300, -1e-300, f64::INFINITY, f64::NAN]),
        _ => (rng.below(2_000) as f64 - 1_000.0) / 8.0,
    }
}

fn date(rng: &mut Rng) -> DateTime {
    match rng.below(6) {
        0 => DateTime::from_timestamp_nanos(rng.next().cast_signed()),
        1 => DateTime::from_timestamp_nanos(rng.pick(&[0, -1, 1, 123_000, i64::MAX, i64::MIN])),
        _ => DateTime::from_timestamp_micros(rng.below(2_000_000_000_000_000).cast_signed()),
    }
}

fn ip(rng: &mut Rng) -> Ipv6Addr {
    match rng.below(4) {
        0 => Ipv6Addr::from(u128::from(rng.next()) << 64 | u128::from(rng.next())),
        1 => rng.pick(&[Ipv6Addr::UNSPECIFIED, Ipv6Addr::LOCALHOST, Ipv6Addr::from(u128::MAX)]),
        _ => std::net::Ipv4Addr::from(0x0A00_0000 + rng.below(300) as u32).to_ipv6_mapped(),
    }
}

fn bytes(rng: &mut Rng) -> Vec<u8> {
    (0..rng.below(12)).map(|_| rng.pick(&[0, 1, 0x7F, 0x80, 0xC3, 0xFF, b'a'])).collect()
}

fn facet(rng: &mut Rng) -> Facet {
    let words = ["north", "Süd", "東", "a b", "🦀"];
    Facet::from_path((0..=rng.below(3)).map(|_| rng.pick(&words)))
}

/// An object with values of several types on the same paths. Integers stay exact as floats: tantivy unites the numbers
/// of a path in one column.
fn object(rng: &mut Rng, depth: u32) -> BTreeMap<String, OwnedValue> {
    let keys = ["a", "b", "a.b", "ключ", "k8s.node", "list", "a\\.b"];
    (0..rng.below(5)).map(|_| (rng.pick(&keys).to_owned(), json_value(rng, depth))).collect()
}

fn json_value(rng: &mut Rng, depth: u32) -> OwnedValue {
    match rng.below(if depth == 0 { 8 } else { 11 }) {
        0 => OwnedValue::Null,
        1 => OwnedValue::Bool(rng.below(2) == 0),
        2 => OwnedValue::U64(rng.pick(&[0, 7, 1 << 53, 1 << 63])),
        3 => OwnedValue::I64(rng.below(100).cast_signed() - 50),
        4 => OwnedValue::F64(float(rng)),
        5 => OwnedValue::Date(date(rng)),
        6 | 7 => OwnedValue::Str(text(rng)),
        8 => OwnedValue::Array((0..rng.below(4)).map(|_| json_value(rng, depth - 1)).collect()),
        _ => OwnedValue::Object(object(rng, depth - 1).into_iter().collect()),
    }
}
