//! What becomes of one shard, of several that go together, or of all shards of an index, under two tables.
//!
//! Input: the table of the index before and after, and the source shards. Output: a checked [`TableSplit`]: the children
//! are the shards that have hashes of the sources afterwards. Where all shards are taken from one table to another
//! ([`TableSplit::moved`]), a shard keeps the documents that it has under both, and gets others from any shard. JSON is the
//! fields of [`Form`], and is checked when it is read.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{RoutingTable, overlay};
use crate::route::{MAX_CHILDREN, RouteError, RoutingFunction, ShardNumber};

/// From some shards of an index to the shards that have their documents afterwards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Form", into = "Form")]
pub struct TableSplit {
    before: Arc<RoutingTable>,
    after: Arc<RoutingTable>,
    sources: Vec<ShardNumber>,
    children: Vec<ShardNumber>,
    routing_partition_size: u32,
    /// Children that have hashes of other shards too.
    shared: Vec<ShardNumber>,
    /// All shards of the index: documents move between them.
    moves: bool,
}

/// What stands in JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    sources: Vec<ShardNumber>,
    routing_partition_size: u32,
    before: RoutingTable,
    after: RoutingTable,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    moves: bool,
}

impl From<TableSplit> for Form {
    fn from(split: TableSplit) -> Form {
        Form {
            sources: split.sources,
            routing_partition_size: split.routing_partition_size,
            before: Arc::unwrap_or_clone(split.before),
            after: Arc::unwrap_or_clone(split.after),
            moves: split.moves,
        }
    }
}

impl TryFrom<Form> for TableSplit {
    type Error = RouteError;

    fn try_from(form: Form) -> Result<TableSplit, RouteError> {
        let (before, after, size) = (Arc::new(form.before), Arc::new(form.after), form.routing_partition_size);
        if !form.moves {
            return TableSplit::new(before, after, form.sources, size);
        }
        let split = TableSplit::moved(before, after, size)?;
        match split.sources.iter().find(|shard| !form.sources.contains(shard)) {
            None => Ok(split),
            Some(&shard) => Err(RouteError::TableSource { shard, known: form.sources }),
        }
    }
}

impl TableSplit {
    /// `sources`: one, or several whose documents all go to one child.
    ///
    /// # Errors
    /// [`RouteError::OtherTable`], [`RouteError::TableSource`], [`RouteError::Children`], [`RouteError::TableMerge`],
    /// [`RouteError::PartitionSize`], [`RouteError::TablePartition`].
    pub fn new(
        before: Arc<RoutingTable>,
        after: Arc<RoutingTable>,
        sources: Vec<ShardNumber>,
        routing_partition_size: u32,
    ) -> Result<TableSplit, RouteError> {
        let split = TableSplit::between(before, after, sources, routing_partition_size)?;
        if split.sources.len() > 1 && split.children.len() > 1 {
            return Err(RouteError::TableMerge { sources: split.sources, children: split.children });
        }
        Ok(split)
    }

    /// All shards of an index from one table to another.
    ///
    /// # Errors
    /// [`RouteError::OtherTable`], [`RouteError::Children`], [`RouteError::PartitionSize`], [`RouteError::TablePartition`].
    pub fn moved(
        before: Arc<RoutingTable>,
        after: Arc<RoutingTable>,
        routing_partition_size: u32,
    ) -> Result<TableSplit, RouteError> {
        let sources = before.shards();
        let split = TableSplit::between(before, after, sources, routing_partition_size)?;
        Ok(TableSplit { moves: true, ..split })
    }

    fn between(
        before: Arc<RoutingTable>,
        after: Arc<RoutingTable>,
        sources: Vec<ShardNumber>,
        routing_partition_size: u32,
    ) -> Result<TableSplit, RouteError> {
        check_partition(&before, routing_partition_size)?;
        let Some(overlay) = overlay(&before, &after) else {
            return Err(RouteError::OtherTable { before: describe(&before), after: describe(&after) });
        };
        let (known, mut sources) = (before.shards(), sources);
        sources.sort_unstable();
        sources.dedup();
        let unknown = sources.iter().find(|shard| known.binary_search(shard).is_err()).copied();
        if let Some(shard) = unknown.or_else(|| sources.is_empty().then_some(0)) {
            return Err(RouteError::TableSource { shard, known });
        }
        let pairs = overlay.pairs();
        let own = |shard: &ShardNumber| sources.binary_search(shard).is_ok();
        let mut children: Vec<ShardNumber> = pairs.iter().filter(|(from, _)| own(from)).map(|&(_, to)| to).collect();
        children.sort_unstable();
        children.dedup();
        if children.is_empty() || children.len() > MAX_CHILDREN as usize {
            return Err(RouteError::Children { into: u32::try_from(children.len()).unwrap_or(u32::MAX) });
        }
        let mut shared: Vec<ShardNumber> = pairs
            .iter()
            .filter(|(from, to)| !own(from) && children.binary_search(to).is_ok())
            .map(|&(_, to)| to)
            .collect();
        shared.sort_unstable();
        shared.dedup();
        Ok(TableSplit { before, after, sources, children, routing_partition_size, shared, moves: false })
    }

    /// The table of the index that the sources are shards of.
    #[must_use]
    pub fn before(&self) -> &Arc<RoutingTable> {
        &self.before
    }

    /// The table of the index that the children are shards of.
    #[must_use]
    pub fn after(&self) -> &Arc<RoutingTable> {
        &self.after
    }

    /// The source shards, ascending.
    #[must_use]
    pub fn sources(&self) -> &[ShardNumber] {
        &self.sources
    }

    /// The children, ascending.
    #[must_use]
    pub fn children(&self) -> &[ShardNumber] {
        &self.children
    }

    /// routing_partition_size of the index.
    #[must_use]
    pub fn routing_partition_size(&self) -> u32 {
        self.routing_partition_size
    }

    /// Whether all shards of an index are taken from one table to the other: what a shard has under both stays there.
    #[must_use]
    pub fn moves(&self) -> bool {
        self.moves
    }

    /// Shards of the index afterwards that are no children: they stay as they are, or get documents of other shards only.
    #[must_use]
    pub fn others(&self) -> Vec<ShardNumber> {
        let mut shards = self.after.shards();
        shards.retain(|shard| self.children.binary_search(shard).is_err());
        shards
    }

    /// What an operator should know.
    pub(in crate::route) fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if !self.shared.is_empty() {
            warnings.push(format!(
                "{} documents of other shards too; what is made here holds those of {} only: merge it with the others' \
                 before it is searched (from ring to ring `ring move` takes all shards at once)",
                named(&self.shared, "shard", "gets", "get"),
                named(&self.sources, "shard", "", "").trim_end()
            ));
        }
        let others = self.others();
        if !others.is_empty() && self.shared.is_empty() {
            warnings.push(format!(
                "the index has {} after this too, which {} as {}: put {} beside the children (a link will do), and the set is an \
                 index directory",
                named(&others, "shard", "", "").trim_end(),
                if others.len() == 1 { "stays" } else { "stay" },
                if others.len() == 1 { "it is" } else { "they are" },
                if others.len() == 1 { "it" } else { "them" },
            ));
        }
        warnings
    }
}

/// `slots of 8`, `solr`.
fn describe(table: &RoutingTable) -> String {
    let name = table.function().name();
    table.slots().map_or_else(|| name.to_owned(), |slots| format!("{name} of {slots}"))
}

/// `shards 1, 2 get`.
fn named(shards: &[ShardNumber], noun: &str, one: &str, many: &str) -> String {
    const SHOWN: usize = 12;
    let mut list = shards.iter().take(SHOWN).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if shards.len() > SHOWN {
        list.push_str(&format!(" and {} more", shards.len() - SHOWN));
    }
    if shards.len() == 1 { format!("{noun} {list} {one}") } else { format!("{noun}s {list} {many}") }
}

/// Only slots know partitions; they have Elasticsearch's bound.
fn check_partition(table: &RoutingTable, routing_partition_size: u32) -> Result<(), RouteError> {
    if routing_partition_size == 1 {
        return Ok(());
    }
    let Some(slots) = table.slots() else {
        let function: RoutingFunction = table.function();
        return Err(RouteError::TablePartition { function: function.name(), routing_partition_size });
    };
    let limit = slots.saturating_sub(1).max(1);
    if (1..=limit).contains(&routing_partition_size) {
        Ok(())
    } else {
        Err(RouteError::PartitionSize { routing_partition_size, limit })
    }
}
