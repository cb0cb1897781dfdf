//! The file of a ring: JSON that names everything on which a look-up depends.
//!
//! | field | value |
//! |---|---|
//! | `format` | 1 |
//! | `kind` | `ring` or `planned` |
//! | `hash`, `encoding` | `murmur3-x86-32-seed-0`, `utf-16le`: the routing hash |
//! | `collision` | of a `ring`: `lowest-name` or `treemap-last-wins` |
//! | `tokens_per_node` | of a `planned` ring |
//! | `nodes` | `{name, weight, shard}`, by name; under `treemap-last-wins` as they were added |
//! | `tokens` | of a `planned` ring: `[token, shard]`, ascending; an arc ends at its token |
//!
//! Input is checked when it is read: a [`RingTable`] that exists is sound. Output is deterministic: equal tables give
//! equal bytes, whatever the order in which nodes were given.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{CollisionRule, Node, PlannedRing, Ring, RingError};
use crate::route::{HashTable, Layout, RoutingHash, ShardNumber, Share};

/// Format number of the file.
pub const FORMAT: u32 = 1;

/// A ring that can be kept in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "File", try_from = "File")]
pub enum RingTable {
    /// The classic ring.
    Ring(Ring),
    /// A ring of planned tokens.
    Planned(PlannedRing),
}

impl RingTable {
    /// Reads a table.
    ///
    /// # Errors
    /// [`RingError::Format`] for another format, [`RingError::Json`] for what is no table, with the place of what is
    /// wrong as its source.
    pub fn from_json(json: &[u8]) -> Result<RingTable, RingError> {
        #[derive(Deserialize)]
        struct Peek {
            format: u32,
        }
        // Another format may have other fields; its number says more than the first of them.
        let Peek { format } = serde_json::from_slice(json)?;
        check_format(format)?;
        RingTable::try_from(serde_json::from_slice::<File>(json)?)
    }

    /// The table as a file: a row per node and token, a newline at its end.
    ///
    /// # Errors
    /// None that is known: the table is plain data.
    pub fn to_json(&self) -> Result<String, RingError> {
        let mut json = String::from("{");
        // A row per line, so that a diff of two tables shows nodes and tokens.
        let fields: serde_json::Map<String, Value> = serde_json::from_value(serde_json::to_value(self)?)?;
        for (place, (field, value)) in fields.iter().enumerate() {
            json.push_str(if place == 0 { "\n  " } else { ",\n  " });
            json.push_str(&serde_json::to_string(field)?);
            json.push_str(": ");
            match value {
                Value::Array(rows) => {
                    let rows: Vec<String> = rows.iter().map(Value::to_string).collect();
                    json.push_str(&format!("[\n    {}\n  ]", rows.join(",\n    ")));
                }
                value => json.push_str(&value.to_string()),
            }
        }
        json.push_str("\n}\n");
        Ok(json)
    }

    /// The table with one node more.
    ///
    /// # Errors
    /// [`RingError`] where the nodes do not make a ring.
    pub fn add(&self, node: Node) -> Result<RingTable, RingError> {
        match self {
            RingTable::Ring(ring) => ring.add(node).map(RingTable::Ring),
            RingTable::Planned(ring) => ring.add(node).map(RingTable::Planned),
        }
    }

    /// The table without a node.
    ///
    /// # Errors
    /// [`RingError::UnknownNode`]; [`RingError::Empty`] where it was the last.
    pub fn remove(&self, name: &str) -> Result<RingTable, RingError> {
        match self {
            RingTable::Ring(ring) => ring.remove(name).map(RingTable::Ring),
            RingTable::Planned(ring) => ring.remove(name).map(RingTable::Planned),
        }
    }

    /// The table in which a node has another weight.
    ///
    /// # Errors
    /// [`RingError::UnknownNode`], or where the nodes do not make a ring.
    pub fn reweigh(&self, name: &str, weight: u32) -> Result<RingTable, RingError> {
        match self {
            RingTable::Ring(ring) => ring.reweigh(name, weight).map(RingTable::Ring),
            RingTable::Planned(ring) => ring.reweigh(name, weight).map(RingTable::Planned),
        }
    }

    /// The nodes.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        match self {
            RingTable::Ring(ring) => ring.nodes(),
            RingTable::Planned(ring) => ring.nodes(),
        }
    }

    /// The node that holds a shard.
    #[must_use]
    pub fn node(&self, shard: ShardNumber) -> Option<&Node> {
        self.nodes().iter().find(|node| node.shard == shard)
    }

    /// Points or tokens, ascending, each with the shard that owns it.
    #[must_use]
    pub fn points(&self) -> Vec<(u32, ShardNumber)> {
        match self {
            RingTable::Ring(ring) => ring.points().collect(),
            RingTable::Planned(ring) => ring.tokens().collect(),
        }
    }

    /// The share that each node's weight asks for, to one hash, in the order of [`RingTable::nodes`].
    #[must_use]
    pub fn wanted_shares(&self) -> Vec<Share> {
        super::planned::wanted(self.nodes()).into_iter().map(Share::of_hashes).collect()
    }

    /// Exact share of each node, in the order of [`RingTable::nodes`].
    #[must_use]
    pub fn shares(&self) -> Vec<Share> {
        match self {
            RingTable::Ring(ring) => ring.shares(),
            RingTable::Planned(ring) => ring.shares(),
        }
    }

    /// Shard of a hash.
    #[inline]
    #[must_use]
    pub fn shard(&self, hash: RoutingHash) -> ShardNumber {
        match self {
            RingTable::Ring(ring) => ring.shard(hash),
            RingTable::Planned(ring) => ring.shard(hash),
        }
    }
}

impl HashTable for RingTable {
    fn shard(&self, hash: RoutingHash) -> ShardNumber {
        RingTable::shard(self, hash)
    }

    fn shards(&self) -> Vec<ShardNumber> {
        super::node::shards(self.nodes())
    }

    fn layout(&self) -> Layout {
        match self {
            RingTable::Ring(ring) => ring.layout(),
            RingTable::Planned(ring) => ring.layout(),
        }
    }
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Ring,
    Planned,
}

#[derive(Serialize, Deserialize)]
enum HashName {
    #[serde(rename = "murmur3-x86-32-seed-0")]
    Murmur3,
}

#[derive(Serialize, Deserialize)]
enum Encoding {
    #[serde(rename = "utf-16le")]
    Utf16Le,
}

/// The file, field by field.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: u32,
    kind: Kind,
    hash: HashName,
    encoding: Encoding,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    collision: Option<CollisionRule>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tokens_per_node: Option<u32>,
    nodes: Vec<Node>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tokens: Option<Vec<(u32, ShardNumber)>>,
}

impl From<RingTable> for File {
    fn from(table: RingTable) -> File {
        let (kind, collision, tokens_per_node, tokens) = match &table {
            RingTable::Ring(ring) => (Kind::Ring, Some(ring.collision_rule()), None, None),
            RingTable::Planned(ring) => {
                (Kind::Planned, None, Some(ring.tokens_per_node()), Some(ring.tokens().collect()))
            }
        };
        let (hash, encoding) = (HashName::Murmur3, Encoding::Utf16Le);
        File { format: FORMAT, kind, hash, encoding, collision, tokens_per_node, nodes: table.nodes().to_vec(), tokens }
    }
}

impl TryFrom<File> for RingTable {
    type Error = RingError;

    fn try_from(file: File) -> Result<RingTable, RingError> {
        check_format(file.format)?;
        match file.kind {
            Kind::Ring => {
                absent("ring", "tokens_per_node", file.tokens_per_node.is_some())?;
                absent("ring", "tokens", file.tokens.is_some())?;
                let rule = file.collision.ok_or(needed("ring", "collision"))?;
                Ring::new(file.nodes, rule).map(RingTable::Ring)
            }
            Kind::Planned => {
                absent("planned", "collision", file.collision.is_some())?;
                let tokens_per_node = file.tokens_per_node.ok_or(needed("planned", "tokens_per_node"))?;
                let tokens = file.tokens.ok_or(needed("planned", "tokens"))?;
                PlannedRing::from_tokens(file.nodes, tokens_per_node, &tokens).map(RingTable::Planned)
            }
        }
    }
}

fn check_format(format: u32) -> Result<(), RingError> {
    if format == FORMAT { Ok(()) } else { Err(RingError::Format { format }) }
}

fn absent(kind: &'static str, field: &'static str, there: bool) -> Result<(), RingError> {
    if there { Err(RingError::Field { kind, field, wanted: false }) } else { Ok(()) }
}

fn needed(kind: &'static str, field: &'static str) -> RingError {
    RingError::Field { kind, field, wanted: true }
}
