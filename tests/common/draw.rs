//! Any index: strategies that draw fields, documents, commits, deletes, merges and settings.
//!
//! Most indexes are small: many small ones find more than few large ones, and shrink faster. Some have lists of more
//! than 128 documents, many segments, or no document at all.

use proptest::prelude::*;
use proptest::sample::{Index as Place, select};
use tantivy::Order;
use tantivy::schema::{DateTimePrecision, IndexRecordOption};
use tantivy::store::{Compressor, ZstdCompressor};

use super::documents::{Oddities, RoutingValues, number};
use super::fixture::{Batch, Fixture, sort_kinds};
use super::schema::{FieldSpec, Flags, KEY_KINDS, KeyKind, Kind, TextIndex, catalogue};

/// How many fields, commits and documents an index has.
#[derive(Clone, Copy, Debug)]
struct Size {
    fields: usize,
    batches: (usize, usize),
    docs: (usize, usize),
}

fn sizes() -> impl Strategy<Value = Size> {
    let size = |fields, batches, docs| Just(Size { fields, batches, docs });
    prop_oneof![
        1 => size(6, (0, 0), (0, 0)),
        2 => size(20, (1, 1), (1, 1)),
        2 => size(6, (6, 20), (1, 1)),
        24 => size(14, (1, 4), (0, 8)),
        12 => size(10, (1, 4), (0, 40)),
        3 => size(8, (1, 3), (20, 120)),
        // More than 128 documents per list and child.
        1 => size(3, (1, 2), (300, 700)),
    ]
}

/// Any index.
pub fn fixtures() -> impl Strategy<Value = Fixture> {
    sizes().prop_flat_map(fixtures_of)
}

fn fixtures_of(size: Size) -> impl Strategy<Value = Fixture> {
    let batches = prop::collection::vec(batches(size), size.batches.0..=size.batches.1);
    let dead = prop_oneof![14 => Just(Vec::new()), 1 => prop::collection::vec(number(), 1..5)];
    let rare = || prop::bool::weighted(0.06);
    let merge = prop_oneof![3 => Just(0usize), 2 => 2usize..5];
    let commits = (batches, dead, (rare(), rare()), merge, prop::option::of("[a-z ]{0,12}"));
    let large = size.docs.1 <= 8;
    let ids = (select(KEY_KINDS.to_vec()), routing_values(), select(TEXT_KEY_KINDS.to_vec()), oddities(large));
    (fields(size.fields), ids, settings(), commits).prop_map(
        |(
            fields,
            (key, routing, routing_kind, odd),
            settings,
            (batches, dead, (empty_segment, unknown_keys), merge, payload),
        )| {
            let (compressor, renamed_codec, blocksize, dedicated_thread, sort) = settings;
            Fixture {
                fields,
                key,
                routing,
                routing_kind,
                odd,
                compressor,
                blocksize,
                dedicated_thread,
                renamed_codec,
                sort,
                batches: chosen(batches),
                dead,
                empty_segment,
                unknown_keys,
                merge,
                payload,
            }
        },
    )
}

/// Key kinds that hold any text.
const TEXT_KEY_KINDS: [KeyKind; 6] = [
    KeyKind::RawStored,
    KeyKind::Everything,
    KeyKind::RawIndexed,
    KeyKind::Column,
    KeyKind::Stored,
    KeyKind::Tokenised,
];

fn routing_values() -> impl Strategy<Value = RoutingValues> {
    select(vec![RoutingValues::Never, RoutingValues::Sometimes, RoutingValues::Always])
}

fn oddities(large: bool) -> impl Strategy<Value = Oddities> {
    let some = |weight| prop::bool::weighted(weight);
    (some(0.15), some(0.3), some(0.15), some(0.15), some(if large { 0.05 } else { 0.0 })).prop_map(
        |(missing_ids, shared_ids, repeated_ids, odd_ids, large_texts)| Oddities {
            missing_ids,
            shared_ids,
            repeated_ids,
            odd_ids,
            large_texts,
        },
    )
}

/// A commit as it is drawn: what to add, and the places of what to delete among all that was added so far.
#[derive(Clone, Debug)]
struct Drawn {
    add: Vec<u32>,
    delete: Vec<Place>,
    /// Deletes all that one batch added.
    delete_batch: Option<Place>,
}

fn batches(size: Size) -> impl Strategy<Value = Drawn> {
    let add = prop::collection::vec(number(), size.docs.0..=size.docs.1);
    let delete = prop_oneof![
        2 => Just(Vec::new()),
        3 => prop::collection::vec(any::<Place>(), 0..=size.docs.1 / 3 + 1),
    ];
    let delete_batch = prop::option::weighted(0.07, any::<Place>());
    (add, delete, delete_batch).prop_map(|(add, delete, delete_batch)| Drawn { add, delete, delete_batch })
}

fn chosen(drawn: Vec<Drawn>) -> Vec<Batch> {
    let mut batches: Vec<Batch> = Vec::new();
    for Drawn { add, delete, delete_batch } in drawn {
        batches.push(Batch { add, delete: Vec::new() });
        let added: Vec<u32> = batches.iter().flat_map(|batch| &batch.add).copied().collect();
        let mut doomed = Vec::new();
        if !added.is_empty() {
            doomed.extend(delete.iter().map(|place| *place.get(&added)));
        }
        doomed.extend(delete_batch.iter().flat_map(|place| &place.get(&batches).add));
        if let Some(last) = batches.last_mut() {
            last.delete = doomed;
        }
    }
    batches
}

type Settings = (Compressor, Option<Compressor>, usize, bool, Option<(Kind, Order)>);

fn settings() -> impl Strategy<Value = Settings> {
    let kinds = select(sort_kinds());
    let order = select(vec![Order::Asc, Order::Desc]);
    let sort = prop_oneof![3 => Just(None), 1 => (kinds, order).prop_map(Some)];
    let renamed = prop::option::weighted(0.12, compressors());
    let blocksize = select(vec![1usize, 200, 1_024, 4_096, 16_384, 65_536, 1 << 20]);
    (compressors(), renamed, blocksize, prop::bool::weighted(0.8), sort)
}

fn compressors() -> impl Strategy<Value = Compressor> {
    let zstd = select(vec![None, Some(-3), Some(1), Some(3), Some(9)])
        .prop_map(|compression_level| Compressor::Zstd(ZstdCompressor { compression_level }));
    prop_oneof![2 => Just(Compressor::Lz4), 1 => Just(Compressor::None), 2 => zstd]
}

/// Up to `most` fields of any type with any options; sometimes one of each.
fn fields(most: usize) -> impl Strategy<Value = Vec<FieldSpec>> {
    let name = prop_oneof![8 => Just(""), 1 => select(vec![".dotted", " spaced", "_имя"])];
    let every = prop::bool::weighted(if most >= 14 { 0.02 } else { 0.0 });
    (every, prop::collection::vec((kinds(), name), 0..=most)).prop_map(|(every, drawn)| {
        if every {
            return catalogue();
        }
        let named = drawn.into_iter().enumerate();
        named.map(|(ord, (kind, suffix))| FieldSpec { name: format!("{}{ord}{suffix}", label(&kind)), kind }).collect()
    })
}

fn label(kind: &Kind) -> &'static str {
    match kind {
        Kind::Text { .. } => "text",
        Kind::U64(_) => "u64_",
        Kind::I64(_) => "i64_",
        Kind::F64(_) => "f64_",
        Kind::Bool(_) => "bool",
        Kind::Date(..) => "date",
        Kind::Ip(_) => "ip",
        Kind::Bytes(_) => "bytes",
        Kind::Facet { .. } => "facet",
        Kind::Json { .. } => "json",
        Kind::TieBreaker => "tie",
    }
}

/// A field of any type with any options.
fn kinds() -> impl Strategy<Value = Kind> {
    let precision = select(vec![
        DateTimePrecision::Seconds,
        DateTimePrecision::Milliseconds,
        DateTimePrecision::Microseconds,
        DateTimePrecision::Nanoseconds,
    ]);
    let text = (prop::option::weighted(0.8, text_indexes()), prop::option::weighted(0.4, tokenizers()), any::<bool>());
    let json = (
        prop::option::weighted(0.8, text_indexes()),
        prop::option::weighted(0.6, tokenizers()),
        any::<bool>(),
        any::<bool>(),
    );
    prop_oneof![
        8 => text.prop_map(|(index, fast, stored)| Kind::Text { index, fast, stored }),
        5 => json.prop_map(|(index, fast, stored, expand_dots)| Kind::Json { index, fast, stored, expand_dots }),
        1 => flags().prop_map(Kind::U64),
        1 => flags().prop_map(Kind::I64),
        1 => flags().prop_map(Kind::F64),
        1 => flags().prop_map(Kind::Bool),
        2 => (flags(), precision).prop_map(|(flags, precision)| Kind::Date(flags, precision)),
        1 => flags().prop_map(Kind::Ip),
        1 => flags().prop_map(Kind::Bytes),
        1 => any::<bool>().prop_map(|stored| Kind::Facet { stored }),
        1 => Just(Kind::TieBreaker),
    ]
}

fn flags() -> impl Strategy<Value = Flags> {
    any::<[bool; 4]>().prop_map(|[indexed, fast, stored, norms]| Flags {
        indexed,
        fast,
        stored,
        norms: norms && indexed,
    })
}

fn tokenizers() -> impl Strategy<Value = &'static str> {
    select(vec!["raw", "default", "whitespace"])
}

fn text_indexes() -> impl Strategy<Value = TextIndex> {
    let tokenizer = prop_oneof![2 => Just("default"), 1 => tokenizers(), 1 => Just("pairs")];
    let record =
        select(vec![IndexRecordOption::Basic, IndexRecordOption::WithFreqs, IndexRecordOption::WithFreqsAndPositions]);
    (tokenizer, record, any::<bool>()).prop_map(|(tokenizer, record, norms)| TextIndex { tokenizer, record, norms })
}
