//! Building an index: batches of documents, each a commit and a segment, deletes, merges, settings.

use std::path::Path;

use proptest::prelude::*;
use tantivy::directory::MmapDirectory;
use tantivy::indexer::NoMergePolicy;
use tantivy::schema::{DateTimePrecision, Schema};
use tantivy::store::{Compressor, ZstdCompressor};
use tantivy::{Index, IndexBuilder, IndexSettings, IndexSortByField, Order, Term};

use super::documents::{self, RoutingValues};
use super::routing::Routing;
use super::schema::{FieldSpec, Flags, KEY_KINDS, KeyKind, Kind, TextIndex, catalogue, schema};

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
    /// Codec of the doc store.
    pub compressor: Compressor,
    /// Block size of the doc store in bytes.
    pub blocksize: usize,
    /// Index sort by a field `rank` of this type.
    pub sort: Option<(Kind, Order)>,
    /// The commits.
    pub batches: Vec<Batch>,
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
            compressor: Compressor::Lz4,
            blocksize: 16_384,
            sort: None,
            batches: (0..batches)
                .map(|batch| Batch { add: (batch * docs..(batch + 1) * docs).collect(), delete: Vec::new() })
                .collect(),
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
            let index = TextIndex { tokenizer: "raw", record: tantivy::schema::IndexRecordOption::Basic, norms: false };
            let kind = Kind::Text { index: Some(index), fast: None, stored: true };
            specs.push(FieldSpec { name: "routing".to_owned(), kind });
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
            ..IndexSettings::default()
        }
    }

    /// Builds the index in `dir`, which is made.
    pub fn build(&self, dir: &Path) -> Index {
        std::fs::create_dir_all(dir).unwrap();
        let (schema, specs) = (self.schema(), self.specs());
        let index = IndexBuilder::new()
            .schema(schema.clone())
            .settings(self.settings())
            .open_or_create(MmapDirectory::open(dir).unwrap())
            .unwrap();
        // One thread: documents stand in the segment in the order in which they were added.
        let mut writer = index.writer_with_num_threads(1, 20_000_000).unwrap();
        writer.set_merge_policy(Box::new(NoMergePolicy));
        let serial = schema.get_field("serial").unwrap();
        for (ord, batch) in self.batches.iter().enumerate() {
            for &number in &batch.add {
                writer.add_document(documents::document(&schema, &specs, self.key, self.routing, number)).unwrap();
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
        let segments = index.searchable_segment_ids().unwrap();
        let merged = &segments[..self.merge.min(segments.len())];
        if merged.len() > 1 {
            writer.merge(merged).wait().unwrap();
        }
        writer.wait_merging_threads().unwrap();
        index
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

/// Any index: some of the fields, some batches of up to `docs` documents, deletes, merges, settings.
pub fn fixtures(docs: usize) -> impl Strategy<Value = Fixture> {
    let fields = prop::collection::vec(any::<bool>(), catalogue().len()).prop_map(|kept| {
        catalogue().into_iter().zip(kept).filter_map(|(field, kept)| kept.then_some(field)).collect::<Vec<_>>()
    });
    let batch = (documents::numbers(docs), prop::collection::vec(0u32..400, 0..60))
        .prop_map(|(add, delete)| Batch { add, delete });
    let compressor = prop_oneof![
        Just(Compressor::Lz4),
        Just(Compressor::None),
        Just(Compressor::Zstd(ZstdCompressor { compression_level: Some(3) })),
    ];
    let kinds = prop::sample::select(sort_kinds());
    let order = prop_oneof![Just(Order::Asc), Just(Order::Desc)];
    let sort = prop_oneof![3 => Just(None), 1 => (kinds, order).prop_map(Some)];
    let settings = (compressor, prop::sample::select(vec![200usize, 4_096, 16_384]), sort);
    let routing = prop::sample::select(vec![RoutingValues::Never, RoutingValues::Sometimes, RoutingValues::Always]);
    let payload = prop::option::of("[a-z ]{0,12}");
    let batches = prop::collection::vec(batch, 0..5);
    (fields, prop::sample::select(KEY_KINDS.to_vec()), routing, settings, batches, 0usize..4, payload).prop_map(
        |(fields, key, routing, (compressor, blocksize, sort), batches, merge, payload)| Fixture {
            fields,
            key,
            routing,
            compressor,
            blocksize,
            sort,
            batches,
            merge,
            payload,
        },
    )
}
