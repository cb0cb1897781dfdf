//! The table file: what it says, what it refuses.

use proptest::prelude::*;

use super::{nodes, seed_nodes};
use crate::route::{CollisionRule, HashTable, Node, PlannedRing, Ring, RingError, RingTable};

fn classic(nodes: Vec<Node>, rule: CollisionRule) -> RingTable {
    RingTable::Ring(Ring::new(nodes, rule).unwrap())
}

fn planned(nodes: Vec<Node>, tokens_per_node: u32) -> RingTable {
    RingTable::Planned(PlannedRing::new(nodes, tokens_per_node).unwrap())
}

const CLASSIC: &str = r#"{
  "format": 1,
  "kind": "ring",
  "hash": "murmur3-x86-32-seed-0",
  "encoding": "utf-16le",
  "collision": "lowest-name",
  "nodes": [
    {"name":"a","weight":2,"shard":1},
    {"name":"b","weight":1,"shard":0}
  ]
}
"#;

const PLANNED: &str = r#"{"format": 1, "kind": "planned", "hash": "murmur3-x86-32-seed-0", "encoding": "utf-16le",
    "tokens_per_node": 2, "nodes": [{"name": "a", "weight": 1, "shard": 0}, {"name": "b", "weight": 1, "shard": 9}],
    "tokens": [[1073741823, 9], [2147483647, 0], [3221225471, 9], [4294967295, 0]]}"#;

#[test]
fn a_file_says_everything_and_equal_tables_give_equal_bytes() {
    let given = classic(vec![Node::new("b", 1, 0), Node::new("a", 2, 1)], CollisionRule::LowestName);
    assert_eq!(given.to_json().unwrap(), CLASSIC);
    assert_eq!(RingTable::from_json(CLASSIC.as_bytes()).unwrap(), given);
}

#[test]
fn a_planned_file_keeps_its_tokens() {
    let read = RingTable::from_json(PLANNED.as_bytes()).unwrap();
    assert_eq!(read, planned(nodes(&[("a", 1), ("b", 1)]).into_iter().map(ninth).collect(), 2));
    assert_eq!((read.shard(0), read.shard(1 << 30), read.shard(-1)), (9, 0, 0));
    assert_eq!(read.shares().iter().map(|share| share.ratio()).collect::<Vec<_>>(), [0.5, 0.5]);
}

/// Shard 1 as 9.
fn ninth(mut node: Node) -> Node {
    node.shard *= 9;
    node
}

#[test]
fn the_order_of_nodes_is_kept_where_it_decides() {
    let turned: Vec<Node> = seed_nodes().into_iter().rev().collect();
    let table = classic(turned.clone(), CollisionRule::TreemapLastWins);
    let read = RingTable::from_json(table.to_json().unwrap().as_bytes()).unwrap();
    assert_eq!(read.nodes(), turned);
}

fn refusal(json: &str) -> RingError {
    RingTable::from_json(json.as_bytes()).unwrap_err()
}

#[test]
fn what_is_no_sound_table_is_refused_with_its_reason() {
    let with = |from: &str, to: &str| {
        let text = if CLASSIC.contains(from) { CLASSIC } else { PLANNED };
        assert!(text.contains(from), "{from}");
        refusal(&text.replacen(from, to, 1))
    };
    assert!(matches!(with("\"format\": 1", "\"format\": 2"), RingError::Format { format: 2 }));
    assert!(matches!(refusal(r#"{"format": 2, "new": []}"#), RingError::Format { format: 2 }));
    for (from, to) in [
        ("\"kind\": \"ring\"", "\"kind\": \"ring\", \"extra\": 1"),
        ("\"weight\":2", "\"weight\":2, \"zone\": 1"),
        ("\"weight\":2", "\"weight\":-2"),
        ("murmur3-x86-32-seed-0", "md5"),
        ("utf-16le", "utf-8"),
        ("lowest-name", "first"),
    ] {
        assert!(matches!(with(from, to), RingError::Json(_)), "{from} -> {to}");
    }
    assert!(matches!(with("\"weight\":2", "\"weight\":0"), RingError::Weight { .. }));
    assert!(matches!(with("\"name\":\"b\"", "\"name\":\"a\""), RingError::DuplicateName { .. }));
    assert!(matches!(with("\"shard\":1", "\"shard\":0"), RingError::DuplicateShard { shard: 0, .. }));
    assert!(matches!(
        with("\"collision\": \"lowest-name\",", ""),
        RingError::Field { kind: "ring", field: "collision", wanted: true }
    ));
    assert!(matches!(
        with("\"collision\": \"lowest-name\",", "\"collision\": \"lowest-name\", \"tokens\": [],"),
        RingError::Field { kind: "ring", field: "tokens", wanted: false }
    ));
    let token = |from: &str, to: &str| refusal(&PLANNED.replacen(from, to, 1));
    assert!(matches!(token("2147483647", "1073741823"), RingError::TokenOrder { token: 1073741823, .. }));
    assert!(matches!(token("[2147483647, 0]", "[2147483647, 5]"), RingError::TokenShard { shard: 5, .. }));
    let starved = PLANNED.replace("9], [2", "0], [2").replace("9], [4", "0], [4");
    assert!(matches!(refusal(&starved), RingError::NoToken { name } if name == "b"));
    assert!(matches!(token("\"tokens_per_node\": 2,", ""), RingError::Field { field: "tokens_per_node", .. }));
    assert!(matches!(token("_node\": 2,", "_node\": 0,"), RingError::TokensPerNode { tokens_per_node: 0 }));
}

#[test]
fn a_reason_inside_another_document_is_kept() {
    let error =
        serde_json::from_str::<Vec<RingTable>>(&format!("[{}]", CLASSIC.replace("\"weight\":2", "\"weight\":0")));
    assert!(error.unwrap_err().to_string().contains("the weight of node \"a\" is 0; give it at least 1"));
}

proptest! {
    #[test]
    fn any_table_is_read_as_it_was_written(
        weights in proptest::collection::btree_map("[^#]{1,6}", (1u32..300, any::<u32>()), 1..10),
        tokens in 1u32..40,
        kind in 0..3,
    ) {
        let nodes: Vec<Node> = weights.into_iter().map(|(name, (weight, shard))| Node::new(name, weight, shard)).collect();
        let mut shards: Vec<u32> = nodes.iter().map(|node| node.shard).collect();
        shards.sort_unstable();
        shards.dedup();
        prop_assume!(shards.len() == nodes.len());
        let table = match kind {
            0 => classic(nodes, CollisionRule::LowestName),
            1 => classic(nodes, CollisionRule::TreemapLastWins),
            _ => planned(nodes, tokens),
        };
        let json = table.to_json().unwrap();
        let read = RingTable::from_json(json.as_bytes()).unwrap();
        prop_assert_eq!(read.to_json().unwrap(), json);
        prop_assert_eq!(read.shards(), shards);
        prop_assert_eq!(read, table);
    }

    #[test]
    fn no_bytes_make_the_reader_panic(json in "[\\[\\]{}:,\"a-z0-9_-]{0,80}") {
        if let Ok(table) = RingTable::from_json(json.as_bytes()) {
            prop_assert!(!table.nodes().is_empty());
        }
    }
}
