//! What is drawn, and that all of it is: a generator that silently loses a value finds nothing where it would matter.
//!
//! [`labels`] says what is special about a case; [`EXPECTED`] lists all that must occur. What only shows in the documents
//! themselves (pre-tokenised text with gaps and several words at one position, JSON paths of several types, numbers at
//! the ends of their range) is drawn by document, see [`crate::common::documents`].

use std::collections::{BTreeMap, BTreeSet};

use shardsplit::partition::Policy;
use tantivy::schema::IndexRecordOption;
use tantivy::store::Compressor;

use super::case::{Case, cases};
use crate::common::schema::{Flags, Kind};
use crate::common::seeds;

/// Dimensions and their values.
const EXPECTED: [(&str, &[&str]); 32] = [
    ("segments", &["0", "1", "2-5", "6+"]),
    ("documents", &["0", "1", "2-20", "21-200", "201+"]),
    ("commits that delete", &["0", "1", "2+"]),
    ("all of a commit deleted", &["no", "yes"]),
    ("segment of deleted documents", &["no", "yes"]),
    ("segment without documents", &["no", "yes"]),
    ("merged segments", &["0-1", "2+"]),
    ("merged after deletes", &["no", "yes"]),
    ("equal documents", &["no", "yes"]),
    ("payload", &["no", "yes"]),
    ("unknown keys in meta.json", &["no", "yes"]),
    ("codec", &["lz4", "none", "zstd", "zstd(-3)", "zstd(1)", "zstd(3)", "zstd(9)"]),
    ("codec of the settings", &["another", "the same"]),
    ("block size", &["1", "200", "1024", "4096", "16384", "65536", "1048576"]),
    ("compressing on a thread of its own", &["no", "yes"]),
    ("index sort", &["none", "U64", "I64", "F64", "Date", "Bytes", "Text"]),
    ("order of the index sort", &["Asc", "Desc"]),
    ("id", KEY_KINDS),
    ("ids", &["empty and long", "missing", "repeated", "shared", "as usual"]),
    ("large texts", &["no", "yes"]),
    ("routing value", &["Never", "Sometimes", "Always"]),
    ("routing field", &["RawStored", "Everything", "RawIndexed", "Column", "Stored", "Tokenised"]),
    ("children", &["1", "2", "3", "4", "5-8", "9-16"]),
    ("routing function", &["Elasticsearch", "ElasticsearchModulo"]),
    ("number_of_routing_shards", &["default", "given"]),
    ("routing_partition_size", &["1", "2+"]),
    ("source_shards", &["1", "2", "3"]),
    ("policy for strays", &["Child", "Refuse"]),
    ("policy for missing keys", &["Child", "Refuse"]),
    ("way", &["Link", "Rewrite One", "Rewrite One, cut", "Rewrite Keep", "Rewrite Keep, cut"]),
    ("threads", &["1", "2", "3", "4"]),
    ("field name", &["dotted", "not ASCII", "plain", "spaced"]),
];

const KEY_KINDS: &[&str] = &[
    "Everything",
    "RawStored",
    "RawIndexed",
    "Column",
    "Stored",
    "Tokenised",
    "NumberColumn",
    "NumberStored",
    "SignedColumn",
];

/// What is special about a case, by dimension.
fn labels(case: &Case) -> Vec<(&'static str, String)> {
    let mut labels = of_documents(case);
    labels.extend(of_settings(case));
    labels.extend(of_keys(case));
    labels.extend(of_way(case));
    labels.extend(case.fixture.fields.iter().map(|field| {
        let name = match field.name.as_str() {
            name if name.contains('.') => "dotted",
            name if name.contains(' ') => "spaced",
            name if !name.is_ascii() => "not ASCII",
            _ => "plain",
        };
        ("field name", name.to_owned())
    }));
    labels
}

fn of_documents(case: &Case) -> Vec<(&'static str, String)> {
    let fixture = &case.fixture;
    let batches = || fixture.batches.iter();
    let documents: usize = batches().map(|batch| batch.add.len()).sum();
    let distinct: BTreeSet<u32> = batches().flat_map(|batch| &batch.add).copied().collect();
    let deleting = batches().filter(|batch| !batch.delete.is_empty()).count();
    let segments = batches().filter(|batch| !batch.add.is_empty()).count();
    let merged = fixture.merge.min(segments);
    let purged = |doomed: &[u32]| {
        batches().any(|batch| !batch.add.is_empty() && batch.add.iter().all(|number| doomed.contains(number)))
    };
    vec![
        ("segments", bucket(segments, &[0, 1, 5])),
        ("documents", bucket(documents, &[0, 1, 20, 200])),
        ("commits that delete", bucket(deleting, &[0, 1])),
        ("all of a commit deleted", yes(batches().any(|batch| purged(&batch.delete)))),
        ("segment of deleted documents", yes(!fixture.dead.is_empty())),
        ("segment without documents", yes(fixture.empty_segment)),
        ("merged segments", bucket(merged, &[1])),
        ("merged after deletes", yes(merged > 1 && deleting > 0)),
        ("equal documents", yes(distinct.len() < documents)),
        ("payload", yes(fixture.payload.is_some())),
        ("unknown keys in meta.json", yes(fixture.unknown_keys)),
    ]
}

fn of_settings(case: &Case) -> Vec<(&'static str, String)> {
    let fixture = &case.fixture;
    let codec = match fixture.compressor {
        Compressor::None => "none".to_owned(),
        Compressor::Lz4 => "lz4".to_owned(),
        Compressor::Zstd(zstd) => {
            zstd.compression_level.map_or_else(|| "zstd".to_owned(), |level| format!("zstd({level})"))
        }
    };
    let id = std::mem::discriminant::<Compressor>;
    let another = fixture.renamed_codec.is_some_and(|renamed| id(&renamed) != id(&fixture.compressor));
    let mut labels = vec![
        ("codec", codec),
        ("codec of the settings", if another { "another" } else { "the same" }.to_owned()),
        ("block size", fixture.blocksize.to_string()),
        ("compressing on a thread of its own", yes(fixture.dedicated_thread)),
        ("index sort", fixture.sort.map_or_else(|| "none".to_owned(), |(kind, _)| variant(&kind))),
    ];
    labels.extend(fixture.sort.map(|(_, order)| ("order of the index sort", variant(&order))));
    labels
}

fn of_keys(case: &Case) -> Vec<(&'static str, String)> {
    let fixture = &case.fixture;
    let odd = fixture.odd;
    let ids = [
        (odd.odd_ids, "empty and long"),
        (odd.missing_ids, "missing"),
        (odd.repeated_ids, "repeated"),
        (odd.shared_ids, "shared"),
        (!(odd.odd_ids || odd.missing_ids || odd.repeated_ids || odd.shared_ids), "as usual"),
    ];
    let mut labels = vec![
        ("id", variant(&fixture.key)),
        ("large texts", yes(odd.large_texts)),
        ("routing value", variant(&fixture.routing)),
        ("routing field", variant(&fixture.routing_kind)),
    ];
    labels.extend(ids.into_iter().filter(|(is, _)| *is).map(|(_, label)| ("ids", label.to_owned())));
    labels
}

fn of_way(case: &Case) -> Vec<(&'static str, String)> {
    let way = &case.way;
    let split = &way.split;
    let children = match split.into {
        into @ 1..5 => into.to_string(),
        5..9 => "5-8".to_owned(),
        _ => "9-16".to_owned(),
    };
    let method = match variant(&way.method).as_str() {
        "Link" => "Link".to_owned(),
        method => {
            let cut = if way.max_docs_per_segment < u32::MAX { ", cut" } else { "" };
            format!("{method} {:?}{cut}", way.segments)
        }
    };
    let policy = |policy: Policy| variant(&policy);
    let given = if split.number_of_routing_shards.is_some() { "given" } else { "default" };
    let mut labels = vec![
        ("children", children),
        ("routing function", variant(&split.function)),
        ("number_of_routing_shards", given.to_owned()),
        ("routing_partition_size", bucket(split.routing_partition_size as usize, &[0, 1])),
        ("source_shards", split.source_shards.to_string()),
        ("policy for missing keys", policy(way.missing)),
        ("way", method),
        ("threads", way.threads.to_string()),
    ];
    // One shard has no strays.
    labels.extend((split.source_shards > 1).then(|| ("policy for strays", policy(way.stray))));
    labels
}

fn yes(yes: bool) -> String {
    if yes { "yes" } else { "no" }.to_owned()
}

/// The bucket of a number; buckets end with these numbers.
fn bucket(number: usize, ends: &[usize]) -> String {
    let place = ends.partition_point(|end| *end < number);
    let first = place.checked_sub(1).map_or(0, |before| ends[before] + 1);
    match ends.get(place) {
        None => format!("{first}+"),
        Some(end) if *end == first => format!("{first}"),
        Some(end) => format!("{first}-{end}"),
    }
}

/// The name of an enum's variant.
fn variant(value: &impl std::fmt::Debug) -> String {
    format!("{value:?}").split(|letter: char| !letter.is_alphanumeric()).next().unwrap().to_owned()
}

/// A field's type and options, in one word each.
fn options(kind: &Kind) -> String {
    let of = |flags: &Flags| {
        format!("indexed={} fast={} stored={} norms={}", flags.indexed, flags.fast, flags.stored, flags.norms)
    };
    match kind {
        Kind::U64(flags) | Kind::I64(flags) | Kind::F64(flags) | Kind::Bool(flags) => {
            format!("{} {}", variant(kind), of(flags))
        }
        Kind::Ip(flags) | Kind::Bytes(flags) => format!("{} {}", variant(kind), of(flags)),
        Kind::Date(flags, precision) => format!("Date {} {precision:?}", of(flags)),
        Kind::Facet { .. } | Kind::TieBreaker => format!("{kind:?}"),
        Kind::Text { index, fast, stored } => {
            format!("Text {:?} fast={} stored={stored}", index.map(|index| (index.record, index.norms)), fast.is_some())
        }
        Kind::Json { index, fast, stored, expand_dots } => {
            let record = index.map(|index| index.record);
            format!("Json {record:?} fast={} stored={stored} expand_dots={expand_dots}", fast.is_some())
        }
    }
}

#[test]
fn every_value_of_every_dimension_is_drawn() {
    let mut seen: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for case in seeds::draw(&cases(), 0..600) {
        for (dimension, value) in labels(&case) {
            seen.entry(dimension).or_default().insert(value);
        }
    }
    for (dimension, values) in EXPECTED {
        let found: BTreeSet<String> = seen.remove(dimension).unwrap_or_default();
        let expected: BTreeSet<String> = values.iter().map(|&value| value.to_owned()).collect();
        assert_eq!(found, expected, "{dimension}");
    }
    assert!(seen.is_empty(), "not among those that are expected: {:?}", seen.keys());
}

#[test]
fn every_type_of_field_is_drawn_with_every_option() {
    let kinds: Vec<Kind> = seeds::draw(&cases(), 0..3_000)
        .into_iter()
        .flat_map(|case| case.fixture.fields)
        .map(|field| field.kind)
        .collect();
    let drawn: BTreeSet<String> = kinds.iter().map(options).collect();
    let count = |start: &str| drawn.iter().filter(|options| options.starts_with(start)).count();
    // Norms only where indexed: 12 of 16 combinations of four flags.
    let flagged = ["U64", "I64", "F64", "Bool", "Ip", "Bytes"].map(|kind| (kind, 12));
    let others = [("Date", 12 * 4), ("Facet", 2), ("TieBreaker", 1), ("Text", 7 * 4), ("Json", 4 * 8)];
    for (kind, combinations) in flagged.into_iter().chain(others) {
        assert_eq!(count(kind), combinations, "{kind}");
    }
    let indexes = kinds.iter().filter_map(|kind| match kind {
        Kind::Text { index, .. } | Kind::Json { index, .. } => *index,
        _ => None,
    });
    let tokenised: BTreeSet<(&str, String)> =
        indexes.map(|index| (index.tokenizer, format!("{:?}", index.record))).collect();
    assert_eq!(tokenised.len(), 4 * 3, "{tokenised:?}");
    assert!(tokenised.contains(&("pairs", format!("{:?}", IndexRecordOption::Basic))));
}
