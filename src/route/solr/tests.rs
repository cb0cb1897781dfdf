//! Every published vector of Solr holds (`data/vectors/solr.json`).

use std::collections::BTreeSet;

use serde::Deserialize;

use super::*;

#[derive(Deserialize)]
struct Vectors {
    plain_hashes: Vec<HashRow>,
    composite_ids: Vec<IdRow>,
    route_keys: Vec<KeyRow>,
    partitions: Vec<PartitionRow>,
    prefix_splits: Vec<PrefixRow>,
    explicit_ranges: Vec<ExplicitRow>,
}

#[derive(Deserialize)]
struct HashRow {
    key: String,
    hash: i32,
}

#[derive(Deserialize)]
struct IdRow {
    id: String,
    hash: Option<i32>,
    shard_of_4: Option<u32>,
}

#[derive(Deserialize)]
struct KeyRow {
    key: String,
    range: Option<HashRange>,
    shards_of_4: Option<Vec<u32>>,
}

#[derive(Deserialize)]
struct PartitionRow {
    rounding: String,
    range: HashRange,
    fuzz: Option<f32>,
    pieces: Vec<HashRange>,
}

#[derive(Deserialize)]
struct PrefixRow {
    range: (i32, i32),
    loads: Vec<(i32, i32, u64)>,
    first_piece_max: i32,
}

#[derive(Deserialize)]
struct ExplicitRow {
    range: HashRange,
    ranges: String,
    decimal: Vec<(i32, i32)>,
}

fn vectors() -> Vectors {
    serde_json::from_str(include_str!("../../../data/vectors/solr.json")).unwrap()
}

fn four_shards() -> HashRanges {
    HashRanges::even(4, Rounding::PrefixGroups).unwrap()
}

#[test]
fn no_row_of_the_vectors_was_lost() {
    let vectors = vectors();
    assert_eq!(vectors.plain_hashes.len(), 30);
    assert_eq!(vectors.composite_ids.len(), 46);
    assert_eq!(vectors.route_keys.len(), 13);
    assert_eq!(vectors.partitions.len(), 31);
    assert_eq!(vectors.prefix_splits.len(), 7);
    assert_eq!(vectors.explicit_ranges.len(), 1);
}

#[test]
fn keys_have_the_hashes_that_solr_gives_them() {
    for row in vectors().plain_hashes {
        assert_eq!(plain_id_hash(&row.key), row.hash, "{}", row.key);
        assert_eq!(composite_id_hash(&row.key), row.hash, "{}", row.key);
    }
}

#[test]
fn ids_have_the_hashes_and_shards_that_solr_gives_them() {
    let table = four_shards();
    for row in vectors().composite_ids {
        let hash = composite_id_hash(&row.id);
        assert!(row.hash.is_some() || row.shard_of_4.is_some(), "{} says nothing", row.id);
        assert_eq!(hash, row.hash.unwrap_or(hash), "{}", row.id);
        assert_eq!(table.shard(hash), row.shard_of_4.unwrap_or(table.shard(hash)), "{}", row.id);
    }
}

#[test]
fn route_keys_have_the_ranges_and_shards_that_solr_gives_them() {
    let table = four_shards();
    for row in vectors().route_keys {
        let range = route_key_range(&row.key).unwrap();
        assert!(row.range.is_some() || row.shards_of_4.is_some(), "{} says nothing", row.key);
        assert_eq!(range, row.range.unwrap_or(range), "{}", row.key);
        let shards: Vec<u32> = table.shards_with(range).collect();
        assert_eq!(&shards, row.shards_of_4.as_ref().unwrap_or(&shards), "{}", row.key);
    }
}

#[test]
fn ranges_are_cut_where_solr_cuts_them() {
    for row in vectors().partitions {
        let pieces = u32::try_from(row.pieces.len()).unwrap();
        let rounding = match row.rounding.as_str() {
            "prefix-groups" => Rounding::PrefixGroups,
            "exact" => Rounding::Exact,
            other => panic!("{other}"),
        };
        let fuzz = SplitFuzz::new(row.fuzz.unwrap_or(0.0)).unwrap();
        if row.fuzz.is_none() {
            assert_eq!(partition_range(row.range, pieces, rounding).unwrap(), row.pieces);
        }
        if rounding == Rounding::Exact {
            assert_eq!(partition_range_with_fuzz(row.range, pieces, fuzz).unwrap(), row.pieces);
            assert_eq!(SubRanges::even(row.range, pieces, fuzz).unwrap().ranges(), row.pieces);
        }
    }
}

#[test]
fn even_pieces_of_splitshard_may_cut_a_route_key_that_new_collections_keep_whole() {
    let prefixes: BTreeSet<i32> = (i32::from(i16::MIN)..=i32::from(i16::MAX)).map(|high| high << 16).collect();
    let cut_by = |rounding| {
        let ends = partition_range(HashRange::FULL, 3, rounding).unwrap();
        ends.iter().skip(1).filter(|range| !prefixes.contains(&range.min_hash())).count()
    };
    assert_eq!((cut_by(Rounding::PrefixGroups), cut_by(Rounding::Exact)), (0, 2));
}

#[test]
fn two_pieces_along_prefixes_are_those_of_solr() {
    for row in vectors().prefix_splits {
        let mut histogram = PrefixHistogram::new();
        for &(min, max, load) in &row.loads {
            histogram.add_range(HashRange::new(min, max).unwrap(), load);
        }
        let parent = HashRange::new(row.range.0, row.range.1).unwrap();
        let split = histogram.split(parent, 2).unwrap();
        let expected = [(row.range.0, row.first_piece_max), (row.first_piece_max + 1, row.range.1)];
        assert_eq!(split.pieces.ranges(), expected.map(|(min, max)| HashRange::new(min, max).unwrap()));
    }
}

#[test]
fn explicit_ranges_are_read_as_the_reference_guide_says() {
    for row in vectors().explicit_ranges {
        let pieces = SubRanges::parse(row.range, &row.ranges).unwrap();
        let decimal: Vec<(i32, i32)> =
            pieces.ranges().iter().map(|range| (range.min_hash(), range.max_hash())).collect();
        assert_eq!(decimal, row.decimal);
    }
}

#[test]
fn a_key_is_set_apart_with_what_is_before_and_after_it() {
    // The reference guide's example has hash 12-15 of 0-20; this one is a real key.
    let pieces = SubRanges::by_key("80000000-bfffffff".parse().unwrap(), "b!").unwrap();
    let expected = ["80000000-95ddffff", "95de0000-95deffff", "95df0000-bfffffff"];
    assert_eq!(pieces.ranges().iter().map(HashRange::to_string).collect::<Vec<_>>(), expected);
    assert_eq!(pieces.child_of(composite_id_hash("b!foo")), Some(1));
}
