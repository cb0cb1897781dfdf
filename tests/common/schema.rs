//! Schemas with every field type and option tantivy 0.27 has.

use tantivy::schema::{
    BytesOptions, DateOptions, DateTimePrecision, FacetOptions, IndexRecordOption, IpAddrOptions, JsonObjectOptions,
    NumericOptions, Schema, SchemaBuilder, TextFieldIndexing, TextOptions,
};

use IndexRecordOption::{Basic, WithFreqs, WithFreqsAndPositions};

/// Options of fields that are not text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// In the inverted index.
    pub indexed: bool,
    /// In a column.
    pub fast: bool,
    /// In the doc store.
    pub stored: bool,
    /// With norms; only where indexed.
    pub norms: bool,
}

/// How the text of a field is indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextIndex {
    /// `raw`, `default` or `whitespace`.
    pub tokenizer: &'static str,
    /// What postings record.
    pub record: IndexRecordOption,
    /// With norms.
    pub norms: bool,
}

/// A field type with its options.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Text; `fast` names the tokenizer of the column.
    Text {
        /// Inverted index.
        index: Option<TextIndex>,
        /// Column.
        fast: Option<&'static str>,
        /// Doc store.
        stored: bool,
    },
    /// Unsigned integers.
    U64(Flags),
    /// Signed integers.
    I64(Flags),
    /// Floats.
    F64(Flags),
    /// Booleans.
    Bool(Flags),
    /// Dates.
    Date(Flags, DateTimePrecision),
    /// IP addresses.
    Ip(Flags),
    /// Bytes.
    Bytes(Flags),
    /// Facets: always indexed, always in a column.
    Facet {
        /// Doc store.
        stored: bool,
    },
    /// JSON objects.
    Json {
        /// Inverted index.
        index: Option<TextIndex>,
        /// Tokenizer of the string columns.
        fast: Option<&'static str>,
        /// Doc store.
        stored: bool,
        /// Whether dots in keys separate.
        expand_dots: bool,
    },
    /// tantivy's own: a random column that is kept over merges.
    TieBreaker,
}

/// A field of a test schema.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldSpec {
    /// Name.
    pub name: String,
    /// Type and options.
    pub kind: Kind,
}

/// How the id field is declared; every way a key can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// Raw, stored, with a column.
    Everything,
    /// Raw, stored.
    RawStored,
    /// Raw, in the inverted index only.
    RawIndexed,
    /// In a column only.
    Column,
    /// In the doc store only.
    Stored,
    /// Tokenised, and stored.
    Tokenised,
    /// A number in a column.
    NumberColumn,
    /// A number, indexed and stored.
    NumberStored,
    /// A signed number in a column.
    SignedColumn,
}

/// All of them.
pub const KEY_KINDS: [KeyKind; 9] = [
    KeyKind::Everything,
    KeyKind::RawStored,
    KeyKind::RawIndexed,
    KeyKind::Column,
    KeyKind::Stored,
    KeyKind::Tokenised,
    KeyKind::NumberColumn,
    KeyKind::NumberStored,
    KeyKind::SignedColumn,
];

impl KeyKind {
    /// The field type.
    pub fn kind(self) -> Kind {
        let raw = Some(TextIndex { tokenizer: "raw", record: Basic, norms: false });
        let tokenised = Some(TextIndex { tokenizer: "default", record: WithFreqsAndPositions, norms: true });
        match self {
            KeyKind::Everything => Kind::Text { index: raw, fast: Some("raw"), stored: true },
            KeyKind::RawStored => Kind::Text { index: raw, fast: None, stored: true },
            KeyKind::RawIndexed => Kind::Text { index: raw, fast: None, stored: false },
            KeyKind::Column => Kind::Text { index: None, fast: Some("raw"), stored: false },
            KeyKind::Stored => Kind::Text { index: None, fast: None, stored: true },
            KeyKind::Tokenised => Kind::Text { index: tokenised, fast: None, stored: true },
            KeyKind::NumberColumn => Kind::U64(Flags { fast: true, ..Flags::default() }),
            KeyKind::NumberStored => Kind::U64(Flags { indexed: true, stored: true, ..Flags::default() }),
            KeyKind::SignedColumn => Kind::I64(Flags { fast: true, ..Flags::default() }),
        }
    }
}

/// Every field type with every combination of its options that makes a difference on disk.
pub fn catalogue() -> Vec<FieldSpec> {
    let mut fields = Vec::new();
    let mut add = |name: String, kind: Kind| fields.push(FieldSpec { name, kind });
    for (tokenizer, record, norms) in [
        ("default", WithFreqsAndPositions, true),
        ("default", WithFreqsAndPositions, false),
        ("default", WithFreqs, true),
        ("whitespace", WithFreqs, false),
        ("default", Basic, true),
        ("whitespace", Basic, false),
        ("raw", Basic, true),
    ] {
        let index = TextIndex { tokenizer, record, norms };
        let norms = if norms { "norms" } else { "plain" };
        let stored = record != Basic;
        let fast = (record == Basic).then_some("raw");
        add(format!("text_{tokenizer}_{record:?}_{norms}"), Kind::Text { index: Some(index), fast, stored });
    }
    add("text_fast".to_owned(), Kind::Text { index: None, fast: Some("raw"), stored: false });
    add("text_fast_tokenised".to_owned(), Kind::Text { index: None, fast: Some("default"), stored: true });
    add("text_stored".to_owned(), Kind::Text { index: None, fast: None, stored: true });

    for bits in 1..8u8 {
        let flags = Flags { indexed: bits & 1 != 0, fast: bits & 2 != 0, stored: bits & 4 != 0, norms: bits == 5 };
        let suffix: String = [(flags.indexed, 'i'), (flags.fast, 'f'), (flags.stored, 's')]
            .iter()
            .filter_map(|&(on, letter)| on.then_some(letter))
            .collect();
        let precision = match bits & 3 {
            0 => DateTimePrecision::Seconds,
            1 => DateTimePrecision::Milliseconds,
            2 => DateTimePrecision::Microseconds,
            _ => DateTimePrecision::Nanoseconds,
        };
        add(format!("u64_{suffix}"), Kind::U64(flags));
        add(format!("i64_{suffix}"), Kind::I64(flags));
        add(format!("f64_{suffix}"), Kind::F64(flags));
        add(format!("bool_{suffix}"), Kind::Bool(flags));
        add(format!("date_{suffix}"), Kind::Date(flags, precision));
        add(format!("ip_{suffix}"), Kind::Ip(flags));
        add(format!("bytes_{suffix}"), Kind::Bytes(flags));
    }
    add(
        "date_fast_seconds".to_owned(),
        Kind::Date(Flags { fast: true, ..Flags::default() }, DateTimePrecision::Seconds),
    );
    add("facet".to_owned(), Kind::Facet { stored: false });
    add("facet_stored".to_owned(), Kind::Facet { stored: true });
    for (name, record, fast, stored, expand_dots) in [
        ("json_all", Some(WithFreqsAndPositions), Some("raw"), true, false),
        ("json_dots", Some(WithFreqsAndPositions), Some("default"), true, true),
        ("json_freqs", Some(WithFreqs), None, false, false),
        ("json_basic", Some(Basic), None, true, true),
        ("json_fast", None, Some("raw"), false, false),
        ("json_stored", None, None, true, false),
    ] {
        // tantivy wants norms off for JSON: it has none.
        let index = record.map(|record| TextIndex { tokenizer: "default", record, norms: false });
        add(name.to_owned(), Kind::Json { index, fast, stored, expand_dots });
    }
    add("tie_breaker".to_owned(), Kind::TieBreaker);
    fields
}

/// Adds a field.
pub fn add_field(builder: &mut SchemaBuilder, spec: &FieldSpec) {
    let name = &spec.name;
    match spec.kind {
        Kind::Text { index, fast, stored } => {
            let mut options = TextOptions::default();
            if let Some(tokenizer) = fast {
                options = options.set_fast(tokenizer);
            }
            if let Some(index) = index {
                options = options.set_indexing_options(indexing(index));
            }
            builder.add_text_field(name, if stored { options.set_stored() } else { options });
        }
        Kind::U64(flags) => drop(builder.add_u64_field(name, numeric(flags))),
        Kind::I64(flags) => drop(builder.add_i64_field(name, numeric(flags))),
        Kind::F64(flags) => drop(builder.add_f64_field(name, numeric(flags))),
        Kind::Bool(flags) => drop(builder.add_bool_field(name, numeric(flags))),
        Kind::Date(flags, precision) => {
            let mut options = DateOptions::default().set_precision(precision);
            options = if flags.indexed { options.set_indexed() } else { options };
            options = if flags.fast { options.set_fast() } else { options };
            options = if flags.stored { options.set_stored() } else { options };
            builder.add_date_field(name, if flags.norms { options.set_fieldnorm() } else { options });
        }
        Kind::Ip(flags) => {
            let mut options = IpAddrOptions::default();
            options = if flags.indexed { options.set_indexed() } else { options };
            options = if flags.fast { options.set_fast() } else { options };
            options = if flags.stored { options.set_stored() } else { options };
            builder.add_ip_addr_field(name, if flags.norms { options.set_fieldnorms() } else { options });
        }
        Kind::Bytes(flags) => {
            let mut options = BytesOptions::default();
            options = if flags.indexed { options.set_indexed() } else { options };
            options = if flags.fast { options.set_fast() } else { options };
            options = if flags.stored { options.set_stored() } else { options };
            builder.add_bytes_field(name, if flags.norms { options.set_fieldnorms() } else { options });
        }
        Kind::Facet { stored } => {
            let options = FacetOptions::default();
            builder.add_facet_field(name, if stored { options.set_stored() } else { options });
        }
        Kind::Json { index, fast, stored, expand_dots } => {
            let mut options = JsonObjectOptions::default();
            if let Some(tokenizer) = fast {
                options = options.set_fast(tokenizer);
            }
            if let Some(index) = index {
                options = options.set_indexing_options(indexing(index));
            }
            options = if stored { options.set_stored() } else { options };
            builder.add_json_field(name, if expand_dots { options.set_expand_dots_enabled() } else { options });
        }
        Kind::TieBreaker => drop(builder.add_tie_breaker_field(name)),
    }
}

/// A schema of these fields.
pub fn schema(fields: &[FieldSpec]) -> Schema {
    let mut builder = Schema::builder();
    for field in fields {
        add_field(&mut builder, field);
    }
    builder.build()
}

fn indexing(index: TextIndex) -> TextFieldIndexing {
    TextFieldIndexing::default()
        .set_tokenizer(index.tokenizer)
        .set_index_option(index.record)
        .set_fieldnorms(index.norms)
}

fn numeric(flags: Flags) -> NumericOptions {
    let mut options = NumericOptions::default();
    options = if flags.indexed { options.set_indexed() } else { options };
    options = if flags.fast { options.set_fast() } else { options };
    options = if flags.stored { options.set_stored() } else { options };
    if flags.norms { options.set_fieldnorm() } else { options }
}
