//! The same under a table: all shards of an index together.

use std::sync::Arc;

use super::{IndexRouting, Operation, Resize, bounded};
use crate::route::{RouteError, RoutingTable, SplitRouting, TableSplit, tables};

impl Resize {
    /// [`Resize::split`] of an index that is routed by a table: every shard is cut evenly, and keeps its number for the first
    /// piece.
    ///
    /// # Errors
    /// [`RouteError`]: what does not fit; [`RouteError::WholeTable`] for rings.
    pub fn split_table(before: &Arc<RoutingTable>, partition_size: u32, into: u32) -> Result<Resize, RouteError> {
        if into == 1 {
            return Resize::clone_table(before, partition_size);
        }
        let parts = tables::split_all(before, partition_size, into)?;
        Resize::by_tables(Operation::Split, before, parts)
    }

    /// [`Resize::merge`] of an index that is routed by a table: neighbours by the order of their hashes go together, and are
    /// numbered in that order.
    ///
    /// # Errors
    /// [`RouteError::Merge`]; [`RouteError::WholeTable`] for rings.
    pub fn merge_table(before: &Arc<RoutingTable>, partition_size: u32, into: u32) -> Result<Resize, RouteError> {
        let parts = tables::merge_all(before, partition_size, into)?;
        Resize::by_tables(Operation::Merge, before, parts)
    }

    /// [`Resize::cloned`] of an index that is routed by a table.
    ///
    /// # Errors
    /// [`RouteError`] if the table does not fit routing_partition_size.
    pub fn clone_table(before: &Arc<RoutingTable>, partition_size: u32) -> Result<Resize, RouteError> {
        Resize::by_tables(Operation::Clone, before, tables::clone_all(before, partition_size)?)
    }

    /// From one table to another: a shard keeps the documents that it has under both, and gets the others that it has
    /// afterwards from any shard. One part, of all shards.
    ///
    /// # Errors
    /// [`RouteError::OtherTable`]; those of [`TableSplit::moved`].
    pub fn moved(
        before: &Arc<RoutingTable>,
        after: &Arc<RoutingTable>,
        partition_size: u32,
    ) -> Result<Resize, RouteError> {
        let part = TableSplit::moved(Arc::clone(before), Arc::clone(after), partition_size)?;
        Resize::by_tables(Operation::Move, before, vec![part])
    }

    /// [`Resize::between`] two tables: any shards may have been split, or have gone together; from ring to ring, and where
    /// several shards share their documents out among several, they have moved.
    ///
    /// # Errors
    /// [`RouteError::OtherTable`].
    pub fn between_tables(
        before: &Arc<RoutingTable>,
        after: &Arc<RoutingTable>,
        partition_size: u32,
    ) -> Result<Resize, RouteError> {
        let rings = matches!((&**before, &**after), (RoutingTable::Ring(_), RoutingTable::Ring(_)));
        if rings && before != after {
            return Resize::moved(before, after, partition_size);
        }
        let parts = match tables::related(before, after, partition_size) {
            Err(RouteError::Unrelated { .. }) => return Resize::moved(before, after, partition_size),
            related => related?,
        };
        let operation = if parts.iter().any(|part| part.children().len() > 1) {
            Operation::Split
        } else if parts.iter().any(|part| part.sources().len() > 1) {
            Operation::Merge
        } else {
            Operation::Clone
        };
        Resize::by_tables(operation, before, parts)
    }

    fn by_tables(
        operation: Operation,
        before: &Arc<RoutingTable>,
        parts: Vec<TableSplit>,
    ) -> Result<Resize, RouteError> {
        let (after, partition_size) = parts
            .first()
            .map_or_else(|| (Arc::clone(before), 1), |part| (Arc::clone(part.after()), part.routing_partition_size()));
        for table in [before, &after] {
            bounded(u64::from(table.number_of_shards()))?;
        }
        let parts = parts.into_iter().map(SplitRouting::by_tables).collect::<Result<Vec<_>, _>>()?;
        Ok(Resize {
            operation,
            before: IndexRouting::of_table(before, partition_size),
            after: IndexRouting::of_table(&after, partition_size),
            parts,
            tables: Some((Arc::clone(before), after)),
        })
    }
}
