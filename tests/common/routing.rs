//! Where a document has to go: Elasticsearch's two routing functions on top of the `murmur3` crate.

use std::collections::BTreeMap;
use std::io::Cursor;

use shardsplit::route::{RoutingFunction, SplitSpec};

/// Which fields decide, and for what split.
#[derive(Clone, Debug)]
pub struct Routing {
    /// The id field.
    pub key: String,
    /// The field of custom routing values.
    pub routing_field: Option<String>,
    /// Numbers of shards.
    pub split: SplitSpec,
    /// The child that gets documents without a key.
    pub missing: Option<u32>,
    /// The child that gets documents of other shards.
    pub stray: Option<u32>,
}

impl Routing {
    /// By `key`, from a one-shard source into `into` children.
    pub fn by_key(key: &str, into: u32) -> Routing {
        Routing { key: key.to_owned(), routing_field: None, split: SplitSpec::new(into), missing: None, stray: None }
    }

    /// The fields to read: those that decide, and the number that a document was made from, where there is one.
    pub fn fields(&self) -> Vec<&str> {
        [self.key.as_str(), "serial"].into_iter().chain(self.routing_field.as_deref()).collect()
    }

    /// Shard numbers of the children, ascending.
    pub fn children(&self) -> Vec<u32> {
        let SplitSpec { from, into, source_shards, source_shard, .. } = self.split;
        match self.split.function {
            RoutingFunction::Elasticsearch => {
                let first = source_shard / from * into;
                (first..first + into).collect()
            }
            RoutingFunction::ElasticsearchModulo => (0..into).map(|i| source_shard + i * source_shards).collect(),
            other => panic!("{other:?} has a table"),
        }
    }

    /// Shard number of a document with these key values.
    pub fn shard(&self, keys: &BTreeMap<String, Vec<String>>) -> u32 {
        let value = |field: &str| keys.get(field).and_then(|values| values.first()).map(String::as_str);
        self.child(value(&self.key), self.routing_field.as_deref().and_then(value))
            .unwrap_or_else(|| panic!("no child: {keys:?}"))
    }

    /// Shard number of a document with this id and this routing value, if it belongs to some child.
    pub fn child(&self, id: Option<&str>, routing: Option<&str>) -> Option<u32> {
        // Where one routing value spreads over several shards, both decide.
        let partitioned = self.split.routing_partition_size > 1;
        let keys = match (id, routing) {
            (Some(id), Some(routing)) => Some((routing, id)),
            (Some(key), None) | (None, Some(key)) if !partitioned => Some((key, key)),
            _ => None,
        };
        let Some((routing, id)) = keys else { return self.missing };
        let shard = shard(&self.split, routing, id);
        if self.children().contains(&shard) { Some(shard) } else { self.stray }
    }
}

/// Shard number for a routing value and an id.
pub fn shard(split: &SplitSpec, routing: &str, id: &str) -> u32 {
    let shards = split.into * split.source_shards / split.from;
    let offset = match i32::try_from(split.routing_partition_size).unwrap() {
        0 | 1 => 0,
        size => hash(id).rem_euclid(size),
    };
    let hash = hash(routing).wrapping_add(offset);
    match split.function {
        RoutingFunction::ElasticsearchModulo => modulo(hash, shards),
        RoutingFunction::Elasticsearch => {
            // An index of one shard may be split to any number: its own default does not bind.
            let base = if split.source_shards == 1 { shards } else { split.source_shards };
            let routing_shards = split.number_of_routing_shards.unwrap_or_else(|| default_routing_shards(base));
            modulo(hash, routing_shards) / (routing_shards / shards)
        }
        other => panic!("{other:?} has a table"),
    }
}

/// Elasticsearch's hash of a routing value: murmur3 x86 32, seed 0, over UTF-16 little endian.
pub fn hash(key: &str) -> i32 {
    let bytes: Vec<u8> = key.encode_utf16().flat_map(u16::to_le_bytes).collect();
    murmur3::murmur3_32(&mut Cursor::new(bytes), 0).unwrap().cast_signed()
}

/// Doubled until there would be more than 1,024, but at least once.
pub fn default_routing_shards(shards: u32) -> u32 {
    let mut doubled = shards * 2;
    while doubled * 2 <= 1024 {
        doubled *= 2;
    }
    doubled
}

fn modulo(hash: i32, shards: u32) -> u32 {
    u32::try_from(i64::from(hash).rem_euclid(i64::from(shards))).unwrap()
}
