//! Routing is a contract: every published vector of Elasticsearch and OpenSearch holds, and splits are legal where
//! theirs are.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use shardsplit::route::{
    Elasticsearch, ElasticsearchModulo, MAX_CHILDREN, RouteError, Router, RoutingFunction, SplitRouting, SplitSpec,
    default_number_of_routing_shards, partition_offset, routing_hash,
};

#[derive(Deserialize)]
struct Vectors {
    hashes: Vec<HashRow>,
    shards: Vec<ShardRow>,
    default_number_of_routing_shards: Vec<DefaultRow>,
    split_chains: Vec<Vec<u32>>,
    shrink_chains: Vec<Vec<u32>>,
}

#[derive(Deserialize)]
struct HashRow {
    key: String,
    hash: i32,
}

#[derive(Deserialize, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct ShardRow {
    function: String,
    number_of_shards: u32,
    number_of_routing_shards: Option<u32>,
    #[serde(default = "one")]
    routing_partition_size: u32,
    routing: Option<String>,
    id: String,
    shard: u32,
}

#[derive(Deserialize)]
struct DefaultRow {
    number_of_shards: u32,
    number_of_routing_shards: u32,
}

fn one() -> u32 {
    1
}

fn vectors() -> Vectors {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/vectors/elasticsearch.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn router(row: &ShardRow) -> Router {
    match row.function.as_str() {
        "elasticsearch" => Router::Elasticsearch(
            Elasticsearch::new(row.number_of_shards, row.number_of_routing_shards.unwrap()).unwrap(),
        ),
        "elasticsearch-modulo" => Router::Modulo(ElasticsearchModulo::new(row.number_of_shards).unwrap()),
        other => panic!("no such routing function: {other}"),
    }
}

fn key(row: &ShardRow) -> (i32, i32) {
    let hash = routing_hash(row.routing.as_deref().unwrap_or(&row.id));
    (hash, partition_offset(routing_hash(&row.id), row.routing_partition_size))
}

fn spec(function: RoutingFunction, source_shards: u32, source_shard: u32, into: u32) -> SplitSpec {
    SplitSpec { function, source_shards, source_shard, ..SplitSpec::new(into) }
}

#[test]
fn every_published_hash_holds() {
    let vectors = vectors();
    assert!(vectors.hashes.len() >= 125);
    for row in vectors.hashes {
        assert_eq!(routing_hash(&row.key), row.hash, "{:?}", row.key);
    }
}

#[test]
fn every_published_document_is_routed_to_its_shard() {
    let vectors = vectors();
    assert!(vectors.shards.len() >= 500);
    for row in vectors.shards {
        let (hash, offset) = key(&row);
        assert_eq!(router(&row).shard(hash, offset), row.shard, "{row:?}");
    }
}

#[test]
fn every_published_document_is_in_the_child_that_its_split_says() {
    for row in vectors().shards {
        let (hash, offset) = key(&row);
        let function = match row.function.as_str() {
            "elasticsearch" => RoutingFunction::Elasticsearch,
            _ => RoutingFunction::ElasticsearchModulo,
        };
        // The vector's index as the result of a split of each index that could have been its source.
        for source_shards in (1..=row.number_of_shards).filter(|shards| row.number_of_shards % shards == 0) {
            let into = row.number_of_shards / source_shards;
            let mut owners = 0;
            for source_shard in 0..source_shards {
                let routing = SplitRouting::new(SplitSpec {
                    number_of_routing_shards: row.number_of_routing_shards,
                    routing_partition_size: row.routing_partition_size,
                    ..spec(function, source_shards, source_shard, into)
                })
                .unwrap();
                assert_eq!(routing.partition_offset(routing_hash(&row.id)), offset);
                match routing.child_of(hash, offset) {
                    Ok(child) => {
                        assert_eq!(routing.children()[child], row.shard, "{row:?} from {source_shards}");
                        assert_eq!(routing.before().shard(hash, offset), source_shard, "{row:?}");
                        owners += 1;
                    }
                    Err(owner) => assert_eq!(routing.before().shard(hash, offset), owner, "{row:?}"),
                }
            }
            assert_eq!(owners, 1, "{row:?} from {source_shards} shards");
        }
    }
}

#[test]
fn default_routing_shards_are_the_published_ones() {
    let rows = vectors().default_number_of_routing_shards;
    assert_eq!(rows.len(), 7);
    for row in rows {
        assert_eq!(default_number_of_routing_shards(row.number_of_shards), row.number_of_routing_shards);
    }
}

#[test]
fn along_every_published_chain_a_document_stays_with_its_parent() {
    let vectors = vectors();
    let chains = vectors.split_chains.iter().cloned();
    let shrunk = vectors.shrink_chains.iter().map(|chain| chain.iter().rev().copied().collect::<Vec<_>>());
    let keys: Vec<i32> = (0..200).map(|n| routing_hash(&format!("document {n}"))).collect();
    let mut steps = 0;
    for chain in chains.chain(shrunk) {
        let last = *chain.last().unwrap();
        for function in [RoutingFunction::Elasticsearch, RoutingFunction::ElasticsearchModulo] {
            let pairs = chain.windows(2).map(|pair| (pair[0], pair[1]));
            for (before, after) in pairs.chain([(chain[0], last)]) {
                steps += 1;
                for &hash in &keys {
                    let owners: Vec<u32> = (0..before)
                        .filter(|&source_shard| {
                            let routing = SplitRouting::new(SplitSpec {
                                number_of_routing_shards: Some(last * 4),
                                ..spec(function, before, source_shard, after / before)
                            });
                            routing.unwrap().child_of(hash, 0).is_ok()
                        })
                        .collect();
                    let parent = match function {
                        RoutingFunction::Elasticsearch => Elasticsearch::new(before, last * 4).unwrap().shard(hash, 0),
                        RoutingFunction::ElasticsearchModulo => {
                            ElasticsearchModulo::new(before).unwrap().shard(hash, 0)
                        }
                        other => panic!("{other:?}"),
                    };
                    assert_eq!(owners, [parent], "{before} to {after}");
                }
            }
        }
    }
    assert_eq!(steps, 8 * 2 * 3);
}

#[test]
fn the_shared_vectors_are_all_among_ours() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/vectors/es_vectors.json");
    let Ok(bytes) = std::fs::read(&path) else {
        eprintln!("SKIPPED: {} is not there, so our vectors were not compared with it", path.display());
        return;
    };
    let shared: Value = serde_json::from_slice(&bytes).unwrap();
    let ours = vectors();
    let hashes: BTreeSet<(&str, i64)> = ours.hashes.iter().map(|row| (row.key.as_str(), row.hash.into())).collect();
    let shards: BTreeSet<ShardRow> = ours.shards.iter().cloned().collect();
    let mut compared = 0;
    let mut expect_shard =
        |function: &str, shards_and_routing: (u32, Option<u32>), size: u64, row: &Value, shard: &Value| {
            let row = ShardRow {
                function: function.to_owned(),
                number_of_shards: shards_and_routing.0,
                number_of_routing_shards: shards_and_routing.1,
                routing_partition_size: u32::try_from(size).unwrap(),
                routing: row["routing"].as_str().map(str::to_owned),
                id: row["id"].as_str().unwrap().to_owned(),
                shard: u32::try_from(shard.as_u64().unwrap()).unwrap(),
            };
            assert!(shards.contains(&row), "{row:?} is missing");
            compared += 1;
        };
    let number = |value: &Value| value.as_u64().map(|number| u32::try_from(number).unwrap());
    for (name, group) in shared.as_object().unwrap() {
        let rows = group.get("rows").unwrap_or(group).as_array().cloned().unwrap_or_default();
        let params = &group["params"];
        let counts = (number(&params["number_of_shards"]).unwrap_or(0), number(&params["routing_num_shards"]));
        for row in &rows {
            if let Some(hash) = row["hash_i32"].as_i64() {
                let key = row["id"].as_str().or(row["input"].as_str()).unwrap();
                assert!(hashes.contains(&(key, hash)), "hash of {key:?} is missing");
            }
            match name.as_str() {
                "murmur3_known_values" | "routing_path_bwc_shards8" => {}
                "testBWC" => {
                    expect_shard("elasticsearch", counts, 1, row, &row["shard"]);
                    expect_shard("elasticsearch-modulo", (counts.0, None), 1, row, &row["shard"]);
                }
                "testPartitionedIndexBWC" | "testPartitionedIndexShrunk_legacy" => {
                    let size = params["routing_partition_size"].as_u64().unwrap();
                    expect_shard("elasticsearch", counts, size, row, &row["shard"]);
                }
                "testPartitionedIndexShrunk_mod" => {
                    let size = params["routing_partition_size"].as_u64().unwrap();
                    expect_shard("elasticsearch-modulo", (counts.0, None), size, row, &row["shard"]);
                }
                "testSimpleRoutingPreAndPostModRoutingChange" => {
                    let function = if row["function"] == "legacy" { "elasticsearch" } else { "elasticsearch-modulo" };
                    let counts = (number(&row["number_of_shards"]).unwrap(), number(&row["routing_num_shards"]));
                    expect_shard(function, counts, 1, row, &row["shard"]);
                }
                "calculateNumRoutingShards" => {
                    let found = ours.default_number_of_routing_shards.iter().any(|ours| {
                        Some(ours.number_of_shards) == number(&row["number_of_shards"])
                            && Some(ours.number_of_routing_shards) == number(&row["routing_num_shards"])
                    });
                    assert!(found, "{row}");
                }
                "derived" => {
                    for (column, function, routing_shards) in [
                        ("legacy_rns1024_shards", "elasticsearch", Some(1024)),
                        ("legacy_rns768_shards", "elasticsearch", Some(768)),
                        ("mod_shards", "elasticsearch-modulo", None),
                    ] {
                        for (shards, shard) in row[column].as_object().unwrap() {
                            expect_shard(function, (shards.parse().unwrap(), routing_shards), 1, row, shard);
                        }
                    }
                }
                other => panic!("the shared vectors have a group {other:?} that is not compared"),
            }
        }
    }
    let chains = &shared["shard_id_algebra_cases"];
    assert_eq!(chains["split_chains"], serde_json::to_value(&ours.split_chains).unwrap());
    assert_eq!(chains["shrink_chains"], serde_json::to_value(&ours.shrink_chains).unwrap());
    assert!(compared > 500, "{compared}");
}

#[test]
fn children_are_contiguous_under_scaled_modulo_and_strided_under_plain_modulo() {
    let scaled = SplitRouting::new(spec(RoutingFunction::Elasticsearch, 4, 2, 2)).unwrap();
    assert_eq!(scaled.children(), [4, 5]);
    let modulo = SplitRouting::new(spec(RoutingFunction::ElasticsearchModulo, 4, 2, 3)).unwrap();
    assert_eq!(modulo.children(), [2, 6, 10]);
    assert_eq!(modulo.child_index(6), Some(1));
    assert_eq!(modulo.child_index(3), None);
}

#[test]
fn one_shard_goes_to_any_number_and_the_routing_shards_follow_the_target() {
    for into in [1, 2, 3, 7, 8, 100, 1000, 1025, MAX_CHILDREN] {
        let routing = SplitRouting::new(SplitSpec::new(into)).unwrap();
        assert_eq!(routing.number_of_routing_shards(), Some(default_number_of_routing_shards(into)), "{into}");
        assert_eq!(routing.children().len(), into as usize);
        for hash in [i32::MIN, -1, 0, 1, i32::MAX] {
            let child = routing.child_of(hash, 0).unwrap();
            assert_eq!(routing.after().shard(hash, 0), routing.children()[child]);
        }
    }
    let given = SplitRouting::new(SplitSpec { number_of_routing_shards: Some(30), ..SplitSpec::new(3) }).unwrap();
    assert_eq!(given.number_of_routing_shards(), Some(30));
}

#[test]
fn an_illegal_number_says_why_and_lists_the_legal_ones() {
    let error = SplitRouting::new(spec(RoutingFunction::Elasticsearch, 5, 0, 3)).unwrap_err();
    let RouteError::Into { legal, number_of_routing_shards: 640, target: 15, is_default: true, .. } = &error else {
        panic!("{error:?}");
    };
    assert_eq!(*legal, [1, 2, 4, 8, 16, 32, 64, 128]);
    let text = error.to_string();
    assert!(text.contains("15 shards do not divide number_of_routing_shards, which is 640 (Elasticsearch's"), "{text}");
    assert!(text.ends_with("possible: 1, 2, 4, 8, 16, 32, 64, 128"), "{text}");
    for into in legal {
        assert!(SplitRouting::new(spec(RoutingFunction::Elasticsearch, 5, 4, *into)).is_ok(), "{into}");
    }
    // Plain modulo needs no common divisor.
    assert!(SplitRouting::new(spec(RoutingFunction::ElasticsearchModulo, 5, 0, 3)).is_ok());
}

#[test]
fn numbers_that_no_index_has_are_refused_by_kind() {
    let error = |spec: SplitSpec| SplitRouting::new(spec).unwrap_err();
    assert!(matches!(error(SplitSpec::new(0)), RouteError::Children { into: 0 }));
    assert!(matches!(error(SplitSpec::new(MAX_CHILDREN + 1)), RouteError::Children { .. }));
    let function = RoutingFunction::ElasticsearchModulo;
    assert!(matches!(error(spec(function, 0, 0, 2)), RouteError::NumberOfShards { number_of_shards: 0 }));
    assert!(matches!(error(spec(function, 3, 3, 2)), RouteError::SourceShard { source_shard: 3, source_shards: 3 }));
    assert!(matches!(
        error(spec(function, 1 << 30, 0, 4)),
        RouteError::NumberOfShards { number_of_shards: 0x1_0000_0000 }
    ));
    let routing_shards = |source_shards, into, number_of_routing_shards| {
        error(SplitSpec {
            number_of_routing_shards: Some(number_of_routing_shards),
            ..spec(RoutingFunction::Elasticsearch, source_shards, 0, into)
        })
    };
    assert!(matches!(routing_shards(3, 2, 1024), RouteError::RoutingShards { .. }));
    assert!(matches!(routing_shards(2, 2, 0), RouteError::RoutingShards { .. }));
    assert!(matches!(routing_shards(1, 5, 1024), RouteError::Into { is_default: false, .. }));
}

#[test]
fn partition_sizes_follow_elasticsearch() {
    let with = |routing_partition_size, number_of_routing_shards| {
        SplitRouting::new(SplitSpec { routing_partition_size, number_of_routing_shards, ..SplitSpec::new(4) })
    };
    assert!(matches!(with(0, None), Err(RouteError::PartitionSize { limit: 1023, .. })));
    assert!(matches!(with(4, Some(4)), Err(RouteError::PartitionSize { limit: 3, .. })));
    assert!(with(3, Some(4)).unwrap().is_partitioned());
    assert!(!with(1, None).unwrap().is_partitioned());
    assert!(with(1023, None).is_ok());
    assert!(matches!(with(1024, None), Err(RouteError::PartitionSize { .. })));
}

#[test]
fn a_partition_size_that_the_routing_factor_swallows_is_warned_about() {
    let warnings = |routing_partition_size, number_of_routing_shards| {
        let spec = SplitSpec { routing_partition_size, number_of_routing_shards, ..SplitSpec::new(20) };
        SplitRouting::new(spec).unwrap().warnings()
    };
    let void = warnings(3, None);
    assert_eq!(void.len(), 1);
    assert!(void[0].contains("routing_partition_size 3") && void[0].contains("routing factor 32"), "{}", void[0]);
    assert!(warnings(3, Some(20)).is_empty());
    assert!(warnings(1, None).is_empty());
    let ignored =
        SplitSpec { number_of_routing_shards: Some(8), ..spec(RoutingFunction::ElasticsearchModulo, 1, 0, 2) };
    assert_eq!(SplitRouting::new(ignored).unwrap().warnings().len(), 1);
    assert_eq!(SplitRouting::new(SplitSpec::new(1025)).unwrap().warnings().len(), 1);
}
