//! What goes into the indexes, in words that no release of tantivy owns: fields, and documents made from a number.

use std::net::{Ipv4Addr, Ipv6Addr};

/// What postings record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    Basic,
    Freqs,
    Positions,
}

/// How a text, or the texts of a JSON field, are indexed.
#[derive(Clone, Copy, Debug)]
pub struct Indexing {
    pub tokenizer: &'static str,
    pub record: Record,
    pub norms: bool,
}

/// To how much a column truncates its dates.
#[derive(Clone, Copy, Debug)]
pub enum Precision {
    Seconds,
    Milliseconds,
    Microseconds,
    Nanoseconds,
}

/// Where values of fields that are not text go: `i`ndex, `f`ast, `s`tore, `n`orms.
#[derive(Clone, Copy, Debug)]
pub struct Flags(&'static str);

impl Flags {
    pub fn indexed(self) -> bool {
        self.0.contains('i')
    }

    pub fn fast(self) -> bool {
        self.0.contains('f')
    }

    pub fn stored(self) -> bool {
        self.0.contains('s')
    }

    pub fn norms(self) -> bool {
        self.0.contains('n')
    }
}

/// A field type with its options.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Text { index: Option<Indexing>, fast: Option<&'static str>, stored: bool },
    U64(Flags),
    I64(Flags),
    F64(Flags),
    Bool(Flags),
    Date(Flags, Precision),
    Ip(Flags),
    Bytes(Flags),
    Facet { stored: bool },
    Json { index: Option<Indexing>, fast: Option<&'static str>, stored: bool, dots: bool },
    TieBreaker,
}

/// A field.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    pub name: &'static str,
    pub kind: Kind,
}

/// A value as it is added, or as it was stored.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Str(String),
    /// Words, each with its position.
    Tokens(Vec<(String, usize)>),
    U64(u64),
    I64(i64),
    F64(f64),
    Bool(bool),
    /// Nanoseconds since 1970.
    Date(i64),
    Ip(Ipv6Addr),
    Bytes(Vec<u8>),
    /// With slashes.
    Facet(String),
    Array(Vec<Value>),
    Object(Vec<(String, Value)>),
}

/// A document: fields by name, in the order in which they are added.
pub type Document = Vec<(&'static str, Value)>;

const fn indexing(tokenizer: &'static str, record: Record, norms: bool) -> Option<Indexing> {
    Some(Indexing { tokenizer, record, norms })
}

/// Every field type with the options that make a difference on disk; `tie_breaker` is tantivy 0.27's own.
pub fn fields(tie_breaker: bool) -> Vec<Field> {
    let text = |index, fast, stored| Kind::Text { index, fast, stored };
    let json = |index, fast, stored, dots| Kind::Json { index, fast, stored, dots };
    let mut fields = vec![
        ("id", text(indexing("raw", Record::Basic, false), Some("raw"), true)),
        ("rank", Kind::U64(Flags("f"))),
        ("body", text(indexing("default", Record::Positions, true), None, true)),
        ("bare", text(indexing("default", Record::Positions, false), None, false)),
        ("freqs", text(indexing("default", Record::Freqs, true), None, false)),
        ("basic", text(indexing("whitespace", Record::Basic, true), Some("default"), false)),
        ("fast", text(None, Some("raw"), false)),
        ("kept", text(None, None, true)),
        ("u64_ifs", Kind::U64(Flags("ifs"))),
        ("u64_f", Kind::U64(Flags("f"))),
        ("i64_fs", Kind::I64(Flags("fs"))),
        ("i64_in", Kind::I64(Flags("in"))),
        ("f64_ifs", Kind::F64(Flags("ifs"))),
        ("bool_ifs", Kind::Bool(Flags("ifs"))),
        ("date_ifs", Kind::Date(Flags("ifs"), Precision::Seconds)),
        ("date_fs", Kind::Date(Flags("fs"), Precision::Microseconds)),
        ("date_f", Kind::Date(Flags("f"), Precision::Nanoseconds)),
        ("date_is", Kind::Date(Flags("is"), Precision::Milliseconds)),
        ("ip_ifs", Kind::Ip(Flags("ifs"))),
        ("bytes_ifs", Kind::Bytes(Flags("ifs"))),
        ("bytes_f", Kind::Bytes(Flags("f"))),
        ("facet_s", Kind::Facet { stored: true }),
        ("json_all", json(indexing("default", Record::Positions, false), Some("raw"), true, false)),
        ("json_dots", json(indexing("default", Record::Freqs, false), Some("default"), false, true)),
        ("json_s", json(None, None, true, false)),
        ("void_f", Kind::I64(Flags("f"))),
        ("void_i", text(indexing("default", Record::Positions, true), Some("raw"), false)),
    ];
    if tie_breaker {
        fields.push(("tie", Kind::TieBreaker));
    }
    fields.into_iter().map(|(name, kind)| Field { name, kind }).collect()
}

/// Some of [`fields`], for indexes that are about something else.
pub fn few_fields(names: &[&str], tie_breaker: bool) -> Vec<Field> {
    fields(tie_breaker).into_iter().filter(|field| names.contains(&field.name)).collect()
}

/// The id of a document.
pub fn id(number: u32) -> String {
    match number % 4 {
        0 => format!("d-{number}"),
        1 => number.to_string(),
        2 => format!("文書/{number}"),
        _ => format!("{number:08x}"),
    }
}

/// The place of a document in an index sort. Few different ones, so that documents share them.
pub fn rank(number: u32) -> u64 {
    u64::from(number * 7 % 11)
}

/// A document. Most of the first ones are small, so that some terms of a segment have more than 128 documents in
/// little space: only such lists have skip entries and packed blocks.
pub fn document(number: u32) -> Document {
    let mut rng = Rng(u64::from(number));
    let mut doc: Document = vec![("id", Value::Str(id(number))), ("rank", Value::U64(rank(number)))];
    let rich = number >= 136 || number % 40 == 5;
    if !rich {
        let lamps = ["lamp", "lamp", "lamp stone lamp"][number as usize % 3];
        doc.push(("body", Value::Str(lamps.to_owned())));
        doc.push(("json_all", object(vec![("n", Value::U64(1))])));
        return doc;
    }
    if number % 50 == 45 {
        // More positions than fit into a block.
        doc.push(("body", Value::Str("a ".repeat(130))));
    }
    let mut add = |name, rng: &mut Rng, at_most: u64, value: &dyn Fn(&mut Rng) -> Value| {
        let count = rng.pick(&[0, 0, 1, 1, 2, 3]).min(at_most);
        (0..count).for_each(|_| doc.push((name, value(rng))));
    };
    add("body", &mut rng, 3, &|rng| match rng.below(8) {
        0 | 1 => Value::Tokens(vec![("über".to_owned(), 0), ("lamp".to_owned(), 0), ("stone".to_owned(), 700)]),
        _ => Value::Str(words(rng, 8)),
    });
    for name in ["bare", "freqs", "basic", "fast", "kept"] {
        add(name, &mut rng, 3, &|rng| Value::Str(words(rng, 4)));
    }
    add("u64_ifs", &mut rng, 1, &|rng| Value::U64(integer(rng)));
    add("u64_f", &mut rng, 3, &|rng| Value::U64(integer(rng)));
    add("i64_fs", &mut rng, 1, &|rng| Value::I64(integer(rng).cast_signed()));
    add("i64_in", &mut rng, 3, &|rng| Value::I64(integer(rng).cast_signed()));
    add("f64_ifs", &mut rng, 3, &|rng| Value::F64(float(rng)));
    add("bool_ifs", &mut rng, 3, &|rng| Value::Bool(rng.below(2) == 0));
    for name in ["date_ifs", "date_fs", "date_f", "date_is"] {
        add(name, &mut rng, if name == "date_ifs" { 1 } else { 3 }, &|rng| Value::Date(date(rng)));
    }
    add("ip_ifs", &mut rng, 3, &|rng| Value::Ip(ip(rng)));
    for name in ["bytes_ifs", "bytes_f"] {
        let at_most = if name == "bytes_f" { 1 } else { 3 };
        add(name, &mut rng, at_most, &|rng| Value::Bytes((0..rng.below(6)).map(|_| rng.next() as u8).collect()));
    }
    add("facet_s", &mut rng, 3, &|rng| Value::Facet(format!("/{}/{}", rng.pick(&["north", "Süd"]), rng.below(3))));
    for name in ["json_all", "json_dots", "json_s"] {
        let at_most = if name == "json_all" { 2 } else { 1 };
        add(name, &mut rng, at_most, &|rng| json(rng, name == "json_s"));
    }
    doc
}

fn object(entries: Vec<(&str, Value)>) -> Value {
    Value::Object(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

/// Values of several types on the same paths, in objects and arrays. Where they go into columns integers stay exact as
/// floats, since tantivy unites the numbers of a path.
fn json(rng: &mut Rng, stored_only: bool) -> Value {
    let mut entries = Vec::new();
    for key in ["n", "t", "when", "k8s.node", "list", "in"] {
        let value = match key {
            _ if rng.below(2) == 0 => continue,
            "n" => mixed(rng, stored_only),
            "t" => Value::Str(words(rng, 4)),
            "when" => Value::Date(json_date(rng)),
            "k8s.node" => Value::Str(rng.pick(&["a-1", "b.2"]).to_owned()),
            "list" => Value::Array(vec![Value::Date(json_date(rng)), mixed(rng, stored_only), Value::Null]),
            _ => object(vec![("when", Value::Date(json_date(rng))), ("n", mixed(rng, stored_only))]),
        };
        entries.push((key, value));
    }
    object(entries)
}

fn mixed(rng: &mut Rng, stored_only: bool) -> Value {
    match rng.below(6) {
        0 => Value::Bool(true),
        1 => Value::Str(rng.pick(&["7", "far from a date", "2999-12-31T00:00:00Z"]).to_owned()),
        2 => Value::F64(rng.pick(&[0.5, -1.25e10, 3.0])),
        3 => Value::I64(-5),
        4 if stored_only => Value::U64(u64::MAX),
        _ => Value::U64(rng.below(9)),
    }
}

fn words(rng: &mut Rng, at_most: u64) -> String {
    let words = ["a", "stone", "river", "lamp", "über", "ÅNGSTRÖM", "東京", "🦀", "don't", "42", ""];
    (0..=rng.below(at_most)).map(|_| rng.pick(&words)).collect::<Vec<_>>().join(" ")
}

fn integer(rng: &mut Rng) -> u64 {
    match rng.below(4) {
        0 => rng.pick(&[0, u64::MAX, i64::MAX as u64, 1 << 63, (1 << 53) + 1]),
        _ => rng.below(50),
    }
}

fn float(rng: &mut Rng) -> f64 {
    rng.pick(&[0.0, -0.0, f64::MIN_POSITIVE, f64::MAX, -1e300, f64::INFINITY, 0.1, -2.5, 1024.0])
}

/// Before 1970, within microseconds, at both ends of what nanoseconds hold.
fn date(rng: &mut Rng) -> i64 {
    rng.pick(&[
        0,
        -1,
        1,
        123_000,
        -123_456_789,
        999,
        -1_001,
        1_700_000_000_123_456_789,
        -1_700_000_000_123_456_789,
        86_400_000_000_000,
        i64::MAX,
        i64::MIN,
    ])
}

/// Those that RFC 3339, as which the oldest releases keep them in JSON, can say.
fn json_date(rng: &mut Rng) -> i64 {
    rng.pick(&[0, -1_001, 123_000, 1_700_000_000_123_456_789, 1_000_000_000_000_000_000, -2_000_000_000_000_000_000])
}

fn ip(rng: &mut Rng) -> Ipv6Addr {
    match rng.below(4) {
        0 => Ipv6Addr::from(u128::from(rng.next()) << 64 | 7),
        1 => rng.pick(&[Ipv6Addr::UNSPECIFIED, Ipv6Addr::LOCALHOST, Ipv6Addr::from(u128::MAX)]),
        _ => Ipv4Addr::from(0x0A00_0000 + rng.below(300) as u32).to_ipv6_mapped(),
    }
}

/// SplitMix64: the same numbers everywhere.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}
