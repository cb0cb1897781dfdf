//! Building an index: batches of documents, each a commit and a segment, deletes, merges, settings.
//!
//! Built in memory and written out at once: tantivy syncs every file that it makes, which takes longer than all the
//! rest. The files are the same.

use std::path::Path;

use tantivy::directory::RamDirectory;
use tantivy::index::SegmentId;
use tantivy::indexer::NoMergePolicy;
use tantivy::schema::{DateTimePrecision, Schema};
use tantivy::store::Compressor;
use tantivy::tokenizer::{NgramTokenizer, TokenizerManager};
use tantivy::{Index, IndexBuilder, IndexSettings, IndexSortByField, IndexWriter, Order, TantivyDocument, Term};

use super::documents::{self, Oddities, RoutingValues};
use super::routing::Routing;
use super::schema::{FieldSpec, Flags, KeyKind, Kind, catalogue, schema};
use super::surgery;

/// One commit: documents added, then documents deleted by their number.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Numbers of documents to add.
    pub add: Vec<u32>,
    /// Numbers of documents to delete, of this batch or an earlier one.
    pub delete: Vec<u32>,
}

/// An index to build.
#[derive(Clone, Debug)]
pub struct Fixture {
    /// Fields besides `serial`, `id`, `routing` and `rank`.
    pub fields: Vec<FieldSpec>,
    /// How `id` is declared.
    pub key: KeyKind,
    /// Which documents have a custom routing value, in a field `routing`.
    pub routing: RoutingValues,
    /// How `routing` is declared; not as a number.
    pub routing_kind: KeyKind,
    /// What is odd about some documents.
    pub odd: Oddities,
    /// Codec of the doc store.
    pub compressor: Compressor,
    /// Block size of the doc store in bytes.
    pub blocksize: usize,
    /// What the settings say of compressing on a thread of its own.
    pub dedicated_thread: bool,
    /// Codec that the settings name in the end, whatever the files have.
    pub renamed_codec: Option<Compressor>,
    /// Index sort by a field `rank` of this type.
    pub sort: Option<(Kind, Order)>,
    /// The commits.
    pub batches: Vec<Batch>,
    /// Documents of a segment that comes first, is not merged, and in the end has deleted documents only.
    pub dead: Vec<u32>,
    /// Whether the last segment has no documents, not even deleted ones.
    pub empty_segment: bool,
    /// Whether `meta.json` has keys that tantivy does not know.
    pub unknown_keys: bool,
    /// How many of the first segments to merge into one in the end.
    pub merge: usize,
    /// Payload of the last commit.
    pub payload: Option<String>,
}

/// Types that tantivy sorts an index by.
pub fn sort_kinds() -> Vec<Kind> {
    let flags = Flags { fast: true, stored: true, ..Flags::default() };
    vec![
        Kind::U64(flags),
        Kind::I64(flags),
        Kind::F64(flags),
        Kind::Date(flags, DateTimePrecision::Seconds),
        Kind::Bytes(flags),
        Kind::Text { index: None, fast: Some("raw"), stored: true },
    ]
}

impl Fixture {
    /// Every field type; batches of documents numbered from 0, `docs` each; ids of every kind of plane.
    pub fn everything(batches: u32, docs: u32) -> Fixture {
        Fixture {
            fields: catalogue(),
            key: KeyKind::Everything,
            routing: RoutingValues::Sometimes,
            routing_kind: KeyKind::RawStored,
            odd: Oddities::default(),
            compressor: Compressor::Lz4,
            blocksize: 16_384,
            dedicated_thread: true,
            renamed_codec: None,
            sort: None,
            batches: (0..batches)
                .map(|batch| Batch { add: (batch * docs..(batch + 1) * docs).collect(), delete: Vec::new() })
                .collect(),
            dead: Vec::new(),
            empty_segment: false,
            unknown_keys: false,
            merge: 0,
            payload: Some("a payload of the operator's own".to_owned()),
        }
    }

    /// The same with every `n`-th document deleted by the last commit.
    #[must_use]
    pub fn delete_every(mut self, n: usize) -> Fixture {
        let doomed: Vec<u32> = self.batches.iter().flat_map(|batch| &batch.add).copied().step_by(n).collect();
        if let Some(last) = self.batches.last_mut() {
            last.delete.extend(doomed);
        }
        self
    }

    /// All fields in the order of the schema, but for `serial` and `routing`.
    pub fn specs(&self) -> Vec<FieldSpec> {
        let mut specs = vec![FieldSpec { name: "id".to_owned(), kind: self.key.kind() }];
        specs.extend(self.sort.map(|(kind, _)| FieldSpec { name: "rank".to_owned(), kind }));
        specs.extend(self.fields.iter().cloned());
        specs
    }

    /// The schema.
    pub fn schema(&self) -> Schema {
        let number = Flags { indexed: true, fast: true, stored: true, norms: false };
        let mut specs = vec![FieldSpec { name: "serial".to_owned(), kind: Kind::U64(number) }];
        if self.routing != RoutingValues::Never {
            specs.push(FieldSpec { name: "routing".to_owned(), kind: self.routing_kind.kind() });
        }
        specs.extend(self.specs());
        schema(&specs)
    }

    /// Settings of the index.
    pub fn settings(&self) -> IndexSettings {
        IndexSettings {
            sort_by_field: self.sort.map(|(_, order)| IndexSortByField { field: "rank".to_owned(), order }),
            docstore_compression: self.compressor,
            docstore_blocksize: self.blocksize,
            docstore_compress_dedicated_thread: self.dedicated_thread,
            ..IndexSettings::default()
        }
    }

    /// A document of this index.
    pub fn document(&self, schema: &Schema, specs: &[FieldSpec], number: u32) -> TantivyDocument {
        documents::document(schema, specs, self.key, self.routing, self.odd, number)
    }

    /// Builds the index in `dir`, which is made.
    pub fn build(&self, dir: &Path) -> Index {
        let ram = RamDirectory::create();
        let (schema, specs) = (self.schema(), self.specs());
        let index = builder(schema.clone(), self.settings()).open_or_create(ram.clone()).unwrap();
        // One thread: documents stand in the segment in the order in which they were added.
        let mut writer = index.writer_with_num_threads(1, MEMORY).unwrap();
        writer.set_merge_policy(Box::new(NoMergePolicy));
        let dead = if self.dead.is_empty() { Vec::new() } else { self.add_dead(&mut writer, &schema, &specs) };
        let serial = schema.get_field("serial").unwrap();
        for (ord, batch) in self.batches.iter().enumerate() {
            for &number in &batch.add {
                writer.add_document(self.document(&schema, &specs, number)).unwrap();
            }
            for &number in &batch.delete {
                writer.delete_term(Term::from_field_u64(serial, u64::from(number)));
            }
            let mut commit = writer.prepare_commit().unwrap();
            if let Some(payload) = self.payload.as_ref().filter(|_| ord + 1 == self.batches.len()) {
                commit.set_payload(payload);
            }
            commit.commit().unwrap();
        }
        let mut segments = index.searchable_segment_ids().unwrap();
        segments.retain(|segment| !dead.contains(segment));
        let merged = &segments[..self.merge.min(segments.len())];
        if merged.len() > 1 {
            writer.merge(merged).wait().unwrap();
        }
        writer.wait_merging_threads().unwrap();

        surgery::write_out(&index, &ram, dir);
        surgery::delete_all_documents(dir, &dead);
        if self.empty_segment {
            surgery::add_empty_segment(dir, &index_of(&schema, self.settings(), std::iter::empty()));
        }
        if let Some(codec) = self.renamed_codec {
            surgery::rename_codec(dir, codec);
        }
        if self.unknown_keys {
            surgery::add_unknown_keys(dir);
        }
        Index::open_in_dir(dir).unwrap()
    }

    fn add_dead(&self, writer: &mut IndexWriter, schema: &Schema, specs: &[FieldSpec]) -> Vec<SegmentId> {
        for &number in &self.dead {
            writer.add_document(self.document(schema, specs, number)).unwrap();
        }
        writer.commit().unwrap();
        writer.index().searchable_segment_ids().unwrap()
    }

    /// One segment of these documents, in this order, as tantivy's writer makes it from nothing.
    pub fn segment_of(&self, numbers: &[u32]) -> (Index, RamDirectory) {
        let (schema, specs) = (self.schema(), self.specs());
        let settings = IndexSettings {
            // They stand as they shall; tantivy would sort equal ones as it likes.
            sort_by_field: None,
            docstore_compression: self.renamed_codec.unwrap_or(self.compressor),
            ..self.settings()
        };
        index_of(&schema, settings, numbers.iter().map(|&number| self.document(&schema, &specs, number)))
    }

    /// Routing by `id`, and by `routing` where there is such a field.
    pub fn routing(&self, into: u32) -> Routing {
        Routing {
            routing_field: (self.routing != RoutingValues::Never).then(|| "routing".to_owned()),
            ..Routing::by_key("id", into)
        }
    }

    /// Numbers of the documents that live in the end, in source order as long as nothing was merged.
    pub fn live(&self) -> Vec<u32> {
        let mut live: Vec<u32> = Vec::new();
        for batch in &self.batches {
            live.extend(&batch.add);
            live.retain(|number| !batch.delete.contains(number));
        }
        live
    }
}

/// Bytes for a tantivy writer; it takes no less.
const MEMORY: usize = 15_000_000;

fn index_of(
    schema: &Schema,
    settings: IndexSettings,
    documents: impl Iterator<Item = TantivyDocument>,
) -> (Index, RamDirectory) {
    let ram = RamDirectory::create();
    // The less memory, the smaller a hash table to clear; it grows.
    let mut writer = builder(schema.clone(), settings).single_segment_index_writer(ram.clone(), 200_000).unwrap();
    documents.for_each(|document| writer.add_document(document).unwrap());
    (writer.finalize().unwrap(), ram)
}

fn builder(schema: Schema, settings: IndexSettings) -> IndexBuilder {
    let tokenizers = TokenizerManager::default();
    tokenizers.register("pairs", NgramTokenizer::new(2, 2, false).unwrap());
    IndexBuilder::new().schema(schema).settings(settings).tokenizers(tokenizers)
}
