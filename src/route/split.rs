//! From one shard to its children, or from several shards to the one they become: which numbers they have, which are
//! legal, which child a hash belongs to.
//!
//! Input: a [`SplitSpec`], or a [`TableSplit`] where the index is routed by a table. Output: a [`SplitRouting`], whose
//! numbers were checked as Elasticsearch checks them (`IndexMetadata.getRoutingFactor`, `assertSplitMetadata`, `selectShrinkShards`, `Builder.build`): one number of
//! shards is a multiple of the other, and under scaled modulo the larger divides number_of_routing_shards. A one-shard
//! source may go to any number of children, because number_of_routing_shards is then chosen anew from the target. k = 1
//! is a clone.
//!
//! Invariants: shard s of n has the children s·k … s·k+k-1 under scaled modulo and s, s+n, s+2n … under plain modulo.
//! A merge is the inverse: shard t of n is made of t·k … t·k+k-1, or of t, t+n, t+2n … Under tables the children are the
//! shards that have the source's hashes afterwards.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::elasticsearch::check_number_of_shards;
use super::legal::{check_merge, check_partition_size, routing_shards};
use super::{
    Elasticsearch, ElasticsearchModulo, RouteError, Router, RoutingFunction, RoutingHash, ShardNumber, TableSplit,
    partition_offset,
};

/// Most children of one shard: child indexes are 16 bits wide in [`crate::partition::Assignment`], and one value
/// stands for no child.
pub const MAX_CHILDREN: u32 = 65_534;

/// Elasticsearch's own bound on number_of_shards, unless `-Des.index.max_number_of_shards` raises it.
const USUAL_MAX_SHARDS: u32 = 1024;

/// What a split asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SplitSpec {
    /// The routing function.
    pub function: RoutingFunction,
    /// Source shards that become the children together: 1, unless shards are merged; then `into` is 1.
    pub from: u32,
    /// Children per source shard.
    pub into: u32,
    /// Shards of the index that the source is a shard of.
    pub source_shards: u32,
    /// Which of them it is; of several, the first.
    pub source_shard: ShardNumber,
    /// number_of_routing_shards of the index; `None`: Elasticsearch's default. For a one-shard source: of the index
    /// that the children make. Plain modulo does not use it.
    pub number_of_routing_shards: Option<u32>,
    /// routing_partition_size of the index; the children keep it.
    pub routing_partition_size: u32,
}

impl SplitSpec {
    /// A one-shard source into `into` children, with Elasticsearch's defaults.
    #[must_use]
    pub fn new(into: u32) -> SplitSpec {
        SplitSpec {
            function: RoutingFunction::default(),
            from: 1,
            into,
            source_shards: 1,
            source_shard: 0,
            number_of_routing_shards: None,
            routing_partition_size: 1,
        }
    }
}

/// A checked split or merge: from hash to child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitRouting {
    spec: SplitSpec,
    sources: Vec<ShardNumber>,
    children: Vec<ShardNumber>,
    before: Router,
    after: Router,
    tables: Option<TableSplit>,
}

impl SplitRouting {
    /// By tables. [`SplitRouting::spec`] then says how many shards they have and which ones are concerned.
    ///
    /// # Errors
    /// [`RouteError::NumberOfShards`] if a table has more shards than can be counted.
    pub fn by_tables(tables: TableSplit) -> Result<SplitRouting, RouteError> {
        let count = |shards: usize| {
            u32::try_from(shards).map_err(|_| RouteError::NumberOfShards { number_of_shards: shards as u64 })
        };
        let (sources, children) = (tables.sources().to_vec(), tables.children().to_vec());
        let spec = SplitSpec {
            function: tables.before().function(),
            from: count(sources.len())?,
            into: count(children.len())?,
            source_shards: tables.before().number_of_shards(),
            source_shard: sources.first().copied().unwrap_or_default(),
            number_of_routing_shards: tables.before().slots(),
            routing_partition_size: tables.routing_partition_size(),
        };
        let [before, after] = [tables.before(), tables.after()].map(|table| Router::Table(Arc::clone(table)));
        Ok(SplitRouting { spec, sources, children, before, after, tables: Some(tables) })
    }

    /// The tables, if it is by tables.
    #[must_use]
    pub fn tables(&self) -> Option<&TableSplit> {
        self.tables.as_ref()
    }

    /// Whether documents move between shards that stay: see [`TableSplit::moved`].
    #[must_use]
    pub fn moves(&self) -> bool {
        self.tables.as_ref().is_some_and(TableSplit::moves)
    }

    /// Whether the child with index `child` is the very shard with index `source`: a document of that shard stays there.
    #[must_use]
    pub fn stays(&self, source: usize, child: usize) -> bool {
        let source = self.sources.get(source);
        source.is_some() && source == self.children.get(child)
    }

    /// Checks `spec`.
    ///
    /// # Errors
    /// [`RouteError`]: what does not fit, why, and which numbers would; [`RouteError::TableNeeded`] for a function that has
    /// a table.
    pub fn new(spec: SplitSpec) -> Result<SplitRouting, RouteError> {
        let SplitSpec { function, from, into, source_shards, source_shard, .. } = spec;
        if function.has_table() {
            return Err(RouteError::TableNeeded { function: function.name() });
        }
        if !(1..=MAX_CHILDREN).contains(&into) {
            return Err(RouteError::Children { into });
        }
        check_number_of_shards(u64::from(source_shards))?;
        if source_shard >= source_shards {
            return Err(RouteError::SourceShard { source_shard, source_shards });
        }
        check_merge(&spec)?;
        let wide = u64::from(source_shards / from) * u64::from(into);
        let target = check_number_of_shards(wide)?.cast_unsigned();
        let scaled = function == RoutingFunction::Elasticsearch;
        let (before, after) = if scaled {
            let routing_shards = routing_shards(&spec, target)?;
            (
                Router::Elasticsearch(Elasticsearch::new(source_shards, routing_shards)?),
                Router::Elasticsearch(Elasticsearch::new(target, routing_shards)?),
            )
        } else {
            (
                Router::Modulo(ElasticsearchModulo::new(source_shards)?),
                Router::Modulo(ElasticsearchModulo::new(target)?),
            )
        };
        check_partition_size(&spec, &after)?;
        // Neighbours under scaled modulo, strided under plain modulo.
        let (sources, children): (Vec<ShardNumber>, Vec<ShardNumber>) = if scaled {
            let child = source_shard / from * into;
            ((0..from).map(|nth| source_shard + nth).collect(), (0..into).map(|nth| child + nth).collect())
        } else {
            (
                (0..from).map(|nth| source_shard + nth * target).collect(),
                (0..into).map(|nth| source_shard + nth * source_shards).collect(),
            )
        };
        Ok(SplitRouting { spec, sources, children, before, after, tables: None })
    }

    /// What was asked for.
    #[must_use]
    pub fn spec(&self) -> &SplitSpec {
        &self.spec
    }

    /// Shard numbers of the source, ascending: one, or those that are merged.
    #[must_use]
    pub fn sources(&self) -> &[ShardNumber] {
        &self.sources
    }

    /// Shard numbers of the children, ascending; position is the child index.
    #[must_use]
    pub fn children(&self) -> &[ShardNumber] {
        &self.children
    }

    /// Index of the child with this shard number.
    #[must_use]
    pub fn child_index(&self, shard: ShardNumber) -> Option<usize> {
        self.children.binary_search(&shard).ok()
    }

    /// Routing of the index that the source is a shard of.
    #[must_use]
    pub fn before(&self) -> &Router {
        &self.before
    }

    /// Routing of the index that the children are shards of.
    #[must_use]
    pub fn after(&self) -> &Router {
        &self.after
    }

    /// number_of_routing_shards of the children's index, given or default; `None` for functions that have none.
    #[must_use]
    pub fn number_of_routing_shards(&self) -> Option<u32> {
        match &self.after {
            Router::Elasticsearch(router) => Some(router.number_of_routing_shards()),
            Router::Table(table) => table.slots(),
            Router::Modulo(_) => None,
        }
    }

    /// Whether documents of one routing value are spread over several shards, so that both the routing value and the
    /// id decide, and every document must have a routing value.
    #[must_use]
    pub fn is_partitioned(&self) -> bool {
        self.spec.routing_partition_size > 1
    }

    /// What to add to the routing hash of a document whose id has the hash `id_hash`; 0 without partitions.
    #[inline]
    #[must_use]
    pub fn partition_offset(&self, id_hash: RoutingHash) -> i32 {
        partition_offset(id_hash, self.spec.routing_partition_size)
    }

    /// Child index, or the source shard that the document belongs to instead. Arguments as for [`Router::shard`].
    ///
    /// # Errors
    /// The number of another shard, in the numbering of the source's index.
    #[inline]
    pub fn child_of(&self, hash: RoutingHash, partition_offset: i32) -> Result<usize, ShardNumber> {
        let SplitSpec { from, into, source_shards, source_shard, .. } = self.spec;
        if from > 1 || self.tables.is_some() {
            let owner = self.before.shard(hash, partition_offset);
            if self.tables.is_some() {
                let own = self.sources.binary_search(&owner).ok();
                // Every hash of a source has a child.
                return own.and_then(|_| self.child_index(self.after.shard(hash, partition_offset))).ok_or(owner);
            }
            return if self.sources.binary_search(&owner).is_ok() { Ok(0) } else { Err(owner) };
        }
        let shard = self.after.shard(hash, partition_offset);
        let (owner, child) = match self.spec.function {
            RoutingFunction::ElasticsearchModulo => (shard % source_shards, shard / source_shards),
            _ => (shard / into, shard % into),
        };
        if owner == source_shard { Ok(child as usize) } else { Err(owner) }
    }

    /// [`SplitRouting::child_of`] of a document that stands in the source shard with index `source` in
    /// [`SplitRouting::sources`]: it must belong to that very one.
    ///
    /// # Errors
    /// As [`SplitRouting::child_of`].
    #[inline]
    pub fn child_from(&self, source: usize, hash: RoutingHash, partition_offset: i32) -> Result<usize, ShardNumber> {
        let child = self.child_of(hash, partition_offset)?;
        if self.spec.from > 1 {
            let owner = self.before.shard(hash, partition_offset);
            if self.sources.get(source) != Some(&owner) {
                return Err(owner);
            }
        }
        Ok(child)
    }

    /// What an operator should know before documents are routed like this; empty if there is nothing.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        if let Some(tables) = &self.tables {
            return tables.warnings();
        }
        let mut warnings = Vec::new();
        warnings.extend(self.void_partition_warning());
        if self.spec.function == RoutingFunction::ElasticsearchModulo && self.spec.number_of_routing_shards.is_some() {
            warnings.push("number_of_routing_shards has no effect on elasticsearch-modulo routing".to_owned());
        }
        let shards = self.after.number_of_shards();
        if shards > USUAL_MAX_SHARDS {
            warnings.push(format!(
                "the children make an index of {shards} shards; Elasticsearch takes more than {USUAL_MAX_SHARDS} only with \
                 -Des.index.max_number_of_shards"
            ));
        }
        warnings
    }

    /// Scaled modulo divides the offset away where it is smaller than the routing factor: documents of one routing
    /// value then share one or two shards whatever the partition size says.
    fn void_partition_warning(&self) -> Option<String> {
        let Router::Elasticsearch(router) = &self.after else { return None };
        let (size, factor) = (self.spec.routing_partition_size, router.routing_factor());
        (size > 1 && size <= factor).then(|| {
            format!(
                "routing_partition_size {size} hardly spreads documents: it does not exceed the routing factor {factor} \
                 ({} routing shards / {} shards), so one routing value stays within one shard or two; Elasticsearch routes \
                 the same way",
                router.number_of_routing_shards(),
                router.number_of_shards()
            )
        })
    }
}
