//! Why a ring or its table file is refused.

use super::node::{MAX_NAME, MAX_NODES, MAX_TOTAL_WEIGHT};
use super::planned::MAX_TOKENS_PER_NODE;
use super::table::FORMAT;
use crate::route::ShardNumber;

/// Why a ring or its table file is refused: what was found, what was expected, what to do next.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RingError {
    /// No nodes.
    #[error("a ring needs at least one node; add another before the last is removed")]
    Empty,

    /// More nodes than a ring holds.
    #[error("{nodes} nodes are too many for a ring; at most {MAX_NODES} are possible")]
    Nodes {
        /// Nodes given.
        nodes: usize,
    },

    /// A node's name is no legal label.
    #[error(
        "the node name {name:?} is not legal; it needs 1 to {MAX_NAME} bytes and no '#', which separates a name from the number of a virtual node"
    )]
    Name {
        /// The name as given.
        name: String,
    },

    /// Two nodes have one name.
    #[error("the node {name:?} is there twice; to change its weight, reweigh it")]
    DuplicateName {
        /// The name.
        name: String,
    },

    /// Two nodes have one shard number.
    #[error("the nodes {first:?} and {second:?} both have shard number {shard}; give each node its own")]
    DuplicateShard {
        /// The shard number.
        shard: ShardNumber,
        /// The node with it that comes first.
        first: String,
        /// The other.
        second: String,
    },

    /// A weight is 0.
    #[error("the weight of node {name:?} is 0; give it at least 1, or remove the node")]
    Weight {
        /// The node.
        name: String,
    },

    /// The weights add up to too much.
    #[error("the weights add up to {total}; at most {MAX_TOTAL_WEIGHT} is possible: divide all of them by one number")]
    TotalWeight {
        /// Their sum.
        total: u64,
    },

    /// No node has the name.
    #[error("there is no node {name:?} in the ring; there are: {}", known.join(", "))]
    UnknownNode {
        /// The name as given.
        name: String,
        /// The names that exist.
        known: Vec<String>,
    },

    /// Every virtual node of a node lost its point to another node.
    #[error(
        "node {name:?} owns nothing: each of its {weight} virtual nodes has a point that another node owns; raise its weight"
    )]
    OwnsNothing {
        /// The node.
        name: String,
        /// Its weight.
        weight: u32,
    },

    /// The number of tokens per node is out of bounds.
    #[error("{tokens_per_node} tokens per node are not possible; between 1 and {MAX_TOKENS_PER_NODE} are")]
    TokensPerNode {
        /// As given.
        tokens_per_node: u32,
    },

    /// Planned tokens are not in ascending order.
    #[error("token {token} does not come after the token {previous} before it; tokens are ascending and differ")]
    TokenOrder {
        /// The token.
        token: u32,
        /// The token before it.
        previous: u32,
    },

    /// A planned token belongs to no node.
    #[error("token {token} belongs to shard {shard}, which no node of the table has")]
    TokenShard {
        /// The token.
        token: u32,
        /// Its shard.
        shard: ShardNumber,
    },

    /// A node has no token.
    #[error("node {name:?} has no token, so it would get nothing; give it one, or remove the node")]
    NoToken {
        /// The node.
        name: String,
    },

    /// The table file has another format.
    #[error("the ring table has format {format}; this version reads format {FORMAT}: use the version that wrote it")]
    Format {
        /// Format of the file.
        format: u32,
    },

    /// A field is missing, or there although the kind of table has none.
    #[error("a ring table of kind \"{kind}\" {} the field \"{field}\"", if *wanted { "needs" } else { "does not have" })]
    Field {
        /// Kind of table.
        kind: &'static str,
        /// Name of the field.
        field: &'static str,
        /// Whether the kind needs it.
        wanted: bool,
    },

    /// The table file is not JSON, or has not the shape of a table.
    #[error("the ring table cannot be read; it must be a JSON object of format {FORMAT}")]
    Json(#[from] serde_json::Error),
}
