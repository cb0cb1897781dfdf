//! Invented documents, the same on every machine: for the benches, and for the index bundled in `data/`.
//!
//! Input: a [`Shape`], numbers only. Output: [`Documents`], an iterator; or [`build`], an index of them. Words follow
//! Zipf's law (the n-th word is n times rarer than the first), because the cost of a split lies in the lengths of
//! posting lists. Integers decide everything, so no floating-point library can change a document. Cost: a million
//! documents of [`Shape::reference`] make about 0.8 GB of index.

#![allow(dead_code, reason = "the benches and the data generator each use their own part")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::cast_possible_truncation, reason = "no library code")]

pub mod shapes;
mod words;

use std::fs;
use std::path::Path;

use tantivy::indexer::NoMergePolicy;
use tantivy::schema::Facet;
use tantivy::schema::{
    DateOptions, FAST, FacetOptions, Field, INDEXED, JsonObjectOptions, OwnedValue, STORED, STRING, Schema, TEXT,
    TextFieldIndexing,
};
use tantivy::{DateTime, Index, IndexWriter, TantivyDocument, Term};

use words::{Random, Vocabulary, author, mix};

/// Holds the label of what was built beside it; written last.
const MARK: &str = ".complete";

/// What the documents look like.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Start of the pseudo-random numbers.
    pub seed: u64,
    /// How many documents.
    pub docs: u64,
    /// Different words.
    pub vocabulary: u64,
    /// Words of a title: least, and how many more at most.
    pub title: (u64, u64),
    /// Words of a body.
    pub body: (u64, u64),
    /// Different authors.
    pub authors: u64,
}

impl Shape {
    /// The reference scale of the benches.
    pub fn reference(docs: u64) -> Shape {
        Shape { seed: 1, docs, vocabulary: 200_000, title: (4, 8), body: (60, 40), authors: 20_000 }
    }

    /// The bundled index: small, with prose short enough to read.
    pub fn library() -> Shape {
        Shape { seed: 2, docs: 2_000, vocabulary: 3_000, title: (2, 4), body: (12, 28), authors: 90 }
    }

    fn label(&self) -> String {
        format!("{}-{}-{}-{:?}-{:?}-{}", self.seed, self.docs, self.vocabulary, self.title, self.body, self.authors)
    }
}

/// A document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// 32 hexadecimal digits, unique.
    pub id: String,
    /// Routing value.
    pub author: String,
    /// A few words.
    pub title: String,
    /// Sentences.
    pub body: String,
    /// Seconds since 1970.
    pub published: i64,
    /// Keyword.
    pub language: &'static str,
    /// Facet paths.
    pub tags: Vec<String>,
    /// Pages.
    pub pages: u64,
    /// Price in hundredths; in the JSON attributes a whole number for some documents and a fraction for others.
    pub price: u64,
}

/// The documents of a shape, one after another.
pub struct Documents {
    shape: Shape,
    vocabulary: Vocabulary,
    next: u64,
}

impl Documents {
    /// Starts at the first document.
    pub fn new(shape: Shape) -> Documents {
        Documents { vocabulary: Vocabulary::new(shape.vocabulary), shape, next: 0 }
    }
}

impl Iterator for Documents {
    type Item = Document;

    fn next(&mut self) -> Option<Document> {
        if self.next == self.shape.docs {
            return None;
        }
        let number = self.next;
        self.next += 1;
        let random = &mut Random::of(self.shape.seed, number);
        let id = format!("{:016x}{:016x}", random.next(), mix(number ^ self.shape.seed));
        let title = self.vocabulary.sentences(self.shape.title, random);
        // Skewed: the first authors write most.
        let authors = random.below(self.shape.authors) + 1;
        let author = author(random.below(authors));
        let language = ["en", "de", "fr", "ja", "pt"][(random.below(16) as usize).saturating_sub(11)];
        let subjects = ["sea", "weather", "tools", "gardens", "maps", "music"];
        let tags = (0..random.below(4)).map(|_| {
            format!("/{}/{}", subjects[random.below(6) as usize], ["practice", "history"][random.below(2) as usize])
        });
        let mut tags: Vec<String> = tags.collect();
        tags.sort();
        tags.dedup();
        Some(Document {
            id,
            author,
            title: title.trim_end_matches('.').to_owned(),
            body: self.vocabulary.sentences(self.shape.body, random),
            published: 631_152_000 + random.below(1_100_000_000) as i64,
            language,
            tags,
            pages: 8 + random.below(900),
            price: 100 + random.below(9_000),
        })
    }
}

/// The schema: each document's routing value is its author.
pub fn schema() -> Schema {
    let mut builder = Schema::builder();
    builder.add_text_field("id", STRING | STORED | FAST);
    builder.add_text_field("author", STRING | STORED | FAST);
    builder.add_text_field("title", TEXT | STORED);
    builder.add_text_field("body", TEXT | STORED);
    builder.add_date_field("published", DateOptions::default().set_indexed().set_fast().set_stored());
    builder.add_text_field("language", STRING | FAST);
    builder.add_facet_field("tags", FacetOptions::default().set_stored());
    builder.add_u64_field("pages", INDEXED | FAST | STORED);
    let attrs = JsonObjectOptions::default().set_stored().set_fast("raw");
    builder.add_json_field("attrs", attrs.set_indexing_options(TextFieldIndexing::default()));
    builder.build()
}

impl Document {
    /// The document as tantivy takes it.
    pub fn to_tantivy(&self, schema: &Schema) -> TantivyDocument {
        let field = |name: &str| -> Field { schema.get_field(name).unwrap() };
        let mut doc = TantivyDocument::new();
        doc.add_text(field("id"), &self.id);
        doc.add_text(field("author"), &self.author);
        doc.add_text(field("title"), &self.title);
        doc.add_text(field("body"), &self.body);
        doc.add_date(field("published"), DateTime::from_timestamp_secs(self.published));
        doc.add_text(field("language"), self.language);
        for tag in &self.tags {
            doc.add_facet(field("tags"), Facet::from(tag.as_str()));
        }
        doc.add_u64(field("pages"), self.pages);
        let price = match self.price % 4 {
            0 => OwnedValue::U64(self.price / 100),
            _ => OwnedValue::F64(self.price as f64 / 100.0),
        };
        let binding = if self.pages < 100 { "paper" } else { "cloth" };
        let attrs = [("price", price), ("binding", OwnedValue::Str(binding.to_owned()))];
        doc.add_object(field("attrs"), attrs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect());
        doc
    }
}

/// Indexes the documents of `shape` in `dir` as `segments` segments. Does nothing where that was done before.
pub fn build(dir: &Path, shape: &Shape, segments: u64) {
    once(dir, &format!("{}-{segments}", shape.label()), || write(dir, shape, segments, None));
}

/// Whether [`once`] made `dir` with this label.
fn is_built(dir: &Path, label: &str) -> bool {
    fs::read_to_string(dir.join(MARK)).is_ok_and(|found| found == label)
}

/// Makes the index in `dir` anew unless it is there, whole and with this label.
fn once(dir: &Path, label: &str, make: impl FnOnce()) {
    if is_built(dir, label) {
        return;
    }
    if dir.exists() {
        fs::remove_dir_all(dir).unwrap();
    }
    fs::create_dir_all(dir).unwrap();
    make();
    fs::write(dir.join(MARK), label).unwrap();
}

/// Indexes the documents of `shape` in the empty directory `dir`; every `delete`-th is deleted again.
pub fn write(dir: &Path, shape: &Shape, segments: u64, delete: Option<u64>) {
    let schema = schema();
    let mut doomed = Vec::new();
    let documents = (1..).zip(Documents::new(shape.clone())).map(|(number, document)| {
        let made = document.to_tantivy(&schema);
        if delete.is_some_and(|nth| number % nth == 0) {
            doomed.push(document.id);
        }
        made
    });
    let mut writer = index(dir, &schema, shape.docs.div_ceil(segments), documents);
    let id = schema.get_field("id").unwrap();
    for doomed in doomed {
        writer.delete_term(Term::from_field_text(id, &doomed));
    }
    writer.commit().unwrap();
    writer.wait_merging_threads().unwrap();
}

/// Adds `documents` to a new index in `dir`, with a commit, and so a segment, after every so many.
fn index(
    dir: &Path,
    schema: &Schema,
    per_segment: u64,
    documents: impl Iterator<Item = TantivyDocument>,
) -> IndexWriter {
    let index = Index::create_in_dir(dir, schema.clone()).unwrap();
    // One thread and a budget that is not reached: one segment per commit, documents in order.
    let budget = if per_segment > 2_000_000 { 4_200_000_000 } else { 2_000_000_000 };
    let mut writer: IndexWriter = index.writer_with_num_threads(1, budget).unwrap();
    writer.set_merge_policy(Box::new(NoMergePolicy));
    for (number, document) in (1..).zip(documents) {
        writer.add_document(document).unwrap();
        if number % per_segment.max(1) == 0 {
            writer.commit().unwrap();
        }
    }
    writer
}
