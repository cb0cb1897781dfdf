//! The shapes that the benches know by name: the reference, and five that lean on one plane each.
//!
//! Input: a [`Corpus`], a number of documents and one of segments. Output: the directory of the index, made once. The key
//! of every shape is the field `id`. Documents depend on their number only, so a longer corpus begins with a shorter one.

use std::path::{Path, PathBuf};

use tantivy::schema::{
    DateOptions, FAST, Field, INDEXED, JsonObjectOptions, OwnedValue, STORED, STRING, Schema, SchemaBuilder, TEXT,
    TextFieldIndexing,
};
use tantivy::{DateTime, TantivyDocument};

use super::words::{Random, Vocabulary, mix};
use super::{Documents, Shape, index, is_built, once};

/// A shape by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Corpus {
    /// Two text fields with positions, unique ids of 32 characters, dates, facets, JSON: [`Shape::reference`].
    Reference,
    /// Timestamps, keywords, JSON attributes, a short message.
    Logs,
    /// 200 fields: texts, numbers, keywords.
    Wide,
    /// An id of a few characters and a number.
    Tiny,
    /// Some 100 kB of stored text each.
    Large,
    /// A unique id of 32 characters, in the term dictionary and nowhere else.
    Ids,
}

/// Counted up whenever documents of these shapes change; the reference has a label of its own.
const VERSION: u32 = 1;

type Made = Box<dyn Iterator<Item = TantivyDocument>>;

impl Corpus {
    /// In the order of the help.
    pub const ALL: [Corpus; 6] =
        [Corpus::Reference, Corpus::Logs, Corpus::Wide, Corpus::Tiny, Corpus::Large, Corpus::Ids];

    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Corpus::Reference => "reference",
            Corpus::Logs => "logs",
            Corpus::Wide => "wide",
            Corpus::Tiny => "tiny",
            Corpus::Large => "large",
            Corpus::Ids => "ids",
        }
    }

    /// Documents where nobody asked for a number.
    pub fn usual_docs(self) -> u64 {
        if self == Corpus::Large { 2_000 } else { 20_000 }
    }

    /// Bytes of index per document, rounded up: to know beforehand whether the disk has room.
    pub fn bytes_per_document(self) -> u64 {
        match self {
            Corpus::Reference => 1_000,
            Corpus::Logs => 250,
            Corpus::Wide => 3_200,
            Corpus::Tiny | Corpus::Ids => 60,
            Corpus::Large => 80_000,
        }
    }

    /// Where [`Corpus::build`] puts it.
    pub fn dir(self, root: &Path, docs: u64, segments: u64) -> PathBuf {
        root.join(format!("{}-{docs}-{segments}", self.name()))
    }

    /// Whether it was built before.
    pub fn is_built(self, root: &Path, docs: u64, segments: u64) -> bool {
        is_built(&self.dir(root, docs, segments), &self.label(docs, segments))
    }

    /// Builds it under `root` unless that was done before.
    pub fn build(self, root: &Path, docs: u64, segments: u64) -> PathBuf {
        let dir = self.dir(root, docs, segments);
        once(&dir, &self.label(docs, segments), || {
            let (schema, documents) = self.documents(docs);
            let mut writer = index(&dir, &schema, docs.div_ceil(segments), documents);
            writer.commit().unwrap();
            writer.wait_merging_threads().unwrap();
        });
        dir
    }

    fn label(self, docs: u64, segments: u64) -> String {
        match self {
            // As `build` marks it.
            Corpus::Reference => format!("{}-{segments}", Shape::reference(docs).label()),
            _ => format!("{}-{VERSION}-{docs}-{segments}", self.name()),
        }
    }

    fn documents(self, docs: u64) -> (Schema, Made) {
        match self {
            Corpus::Reference => {
                let schema = super::schema();
                let made = schema.clone();
                let documents = Documents::new(Shape::reference(docs));
                (schema, Box::new(documents.map(move |document| document.to_tantivy(&made))))
            }
            Corpus::Logs => logs(docs),
            Corpus::Wide => wide(docs),
            Corpus::Tiny => tiny(docs),
            Corpus::Large => large(docs),
            Corpus::Ids => ids(docs),
        }
    }
}

/// 32 hexadecimal digits; the second half makes it unique.
fn unique_id(seed: u64, number: u64, random: &mut Random) -> String {
    format!("{:016x}{:016x}", random.next(), mix(number ^ seed))
}

fn logs(docs: u64) -> (Schema, Made) {
    let mut builder = Schema::builder();
    let id = builder.add_text_field("id", STRING | FAST);
    let timestamp = builder.add_date_field("timestamp", DateOptions::default().set_indexed().set_fast().set_stored());
    let level = builder.add_text_field("level", STRING | FAST | STORED);
    let service = builder.add_text_field("service", STRING | FAST | STORED);
    let message = builder.add_text_field("message", TEXT | STORED);
    let attributes = JsonObjectOptions::default().set_stored().set_fast("raw");
    let attributes =
        builder.add_json_field("attributes", attributes.set_indexing_options(TextFieldIndexing::default()));
    let vocabulary = Vocabulary::new(3_000);
    let documents = (0..docs).map(move |number| {
        let random = &mut Random::of(3, number);
        let mut doc = TantivyDocument::new();
        doc.add_text(id, unique_id(3, number, random));
        // About 30 lines a second, in order.
        doc.add_date(
            timestamp,
            DateTime::from_timestamp_millis(1_700_000_000_000 + (number * 33 + random.below(33)) as i64),
        );
        doc.add_text(level, ["info", "warn", "error", "debug"][(random.below(32) as usize).saturating_sub(28)]);
        // Skewed: the first services write most.
        let services = random.below(40) + 1;
        doc.add_text(service, format!("service-{}", random.below(services)));
        doc.add_text(message, vocabulary.sentences((3, 6), random));
        let status = [200, 200, 200, 200, 204, 301, 404, 500][random.below(8) as usize];
        let path = format!("/{}/{}", vocabulary.word(random), random.below(1_000));
        let mut pairs = vec![
            ("host".to_owned(), OwnedValue::Str(format!("node-{}", random.below(64)))),
            ("status".to_owned(), OwnedValue::U64(status)),
            ("latency_ms".to_owned(), OwnedValue::F64(random.below(100_000) as f64 / 64.0)),
            ("path".to_owned(), OwnedValue::Str(path)),
        ];
        if random.below(4) == 0 {
            let trace = OwnedValue::Str(format!("{:016x}", random.next()));
            let sampled = OwnedValue::Bool(random.below(2) == 0);
            pairs.push((
                "trace".to_owned(),
                OwnedValue::Object(vec![("id".to_owned(), trace), ("sampled".to_owned(), sampled)]),
            ));
        }
        doc.add_object(attributes, pairs.into_iter().collect());
        doc
    });
    (builder.build(), Box::new(documents))
}

/// A field of [`Corpus::Wide`] by what it holds.
#[derive(Clone, Copy)]
enum Held {
    Text(Field),
    Keyword(Field),
    Number(Field),
    Fraction(Field),
}

fn wide(docs: u64) -> (Schema, Made) {
    let mut builder = Schema::builder();
    let id = builder.add_text_field("id", STRING | FAST | STORED);
    let fields: Vec<Held> = (1..200).map(|nth| wide_field(&mut builder, nth)).collect();
    let vocabulary = Vocabulary::new(20_000);
    let documents = (0..docs).map(move |number| {
        let random = &mut Random::of(4, number);
        let mut doc = TantivyDocument::new();
        doc.add_text(id, unique_id(4, number, random));
        for (nth, field) in fields.iter().enumerate() {
            // Every third field is in one document of eight only.
            if nth % 3 == 1 && random.below(8) > 0 {
                continue;
            }
            match *field {
                Held::Text(field) => doc.add_text(field, vocabulary.sentences((1, 4), random)),
                Held::Keyword(field) => doc.add_text(field, vocabulary.word(random)),
                Held::Number(field) => doc.add_u64(field, random.below(1 << (nth % 40 + 1))),
                Held::Fraction(field) => doc.add_f64(field, random.below(1_000_000) as f64 / 128.0),
            }
        }
        doc
    });
    (builder.build(), Box::new(documents))
}

fn wide_field(builder: &mut SchemaBuilder, nth: usize) -> Held {
    match nth % 4 {
        0 => Held::Text(builder.add_text_field(&format!("text_{nth}"), TEXT | STORED)),
        1 => Held::Keyword(builder.add_text_field(&format!("keyword_{nth}"), STRING | FAST | STORED)),
        2 => Held::Number(builder.add_u64_field(&format!("number_{nth}"), INDEXED | FAST | STORED)),
        _ => Held::Fraction(builder.add_f64_field(&format!("fraction_{nth}"), FAST | STORED)),
    }
}

fn tiny(docs: u64) -> (Schema, Made) {
    let mut builder = Schema::builder();
    let id = builder.add_text_field("id", STRING | FAST | STORED);
    let count = builder.add_u64_field("count", INDEXED | FAST | STORED);
    let documents = (0..docs).map(move |number| {
        let mut doc = TantivyDocument::new();
        doc.add_text(id, format!("{number:x}"));
        doc.add_u64(count, Random::of(5, number).below(1_000));
        doc
    });
    (builder.build(), Box::new(documents))
}

fn large(docs: u64) -> (Schema, Made) {
    let mut builder = Schema::builder();
    let id = builder.add_text_field("id", STRING | FAST | STORED);
    let title = builder.add_text_field("title", TEXT | STORED);
    let body = builder.add_text_field("body", STORED);
    let vocabulary = Vocabulary::new(100_000);
    let documents = (0..docs).map(move |number| {
        let random = &mut Random::of(6, number);
        let mut doc = TantivyDocument::new();
        doc.add_text(id, unique_id(6, number, random));
        doc.add_text(title, vocabulary.sentences((4, 8), random));
        doc.add_text(body, vocabulary.sentences((18_000, 2_000), random));
        doc
    });
    (builder.build(), Box::new(documents))
}

fn ids(docs: u64) -> (Schema, Made) {
    let mut builder = Schema::builder();
    let id = builder.add_text_field("id", STRING);
    let documents = (0..docs).map(move |number| {
        let mut doc = TantivyDocument::new();
        doc.add_text(id, unique_id(7, number, &mut Random::of(7, number)));
        doc
    });
    (builder.build(), Box::new(documents))
}
