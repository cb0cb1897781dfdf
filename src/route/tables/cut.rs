//! Where one shard is cut: what is asked, and the tables that come of it.
//!
//! Input: a [`TableSpec`], and loads where the cut goes by them ([`Cut::measure`]). Output: a [`TableSplit`]. The first part
//! keeps the number of the shard that is split, the others get the next free ones, so that numbers stay without holes.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{RoutingTable, TableSplit};
use crate::route::slots::{Arrangement, SlotLoads};
use crate::route::solr::{HashRange, HashRanges, PrefixHistogram, RangeError, SplitFuzz, SubRanges};
use crate::route::{RouteError, ShardNumber, SlotError, SlotTable, routing_hash};

/// What is counted per slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Load {
    /// Documents.
    Docs,
    /// Uncompressed bytes of stored documents.
    Bytes,
}

/// Where a shard is cut.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cut {
    /// Solr: at given ranges (`ranges`).
    Ranges(Vec<HashRange>),
    /// Solr: around a route key (`split.key`).
    Key(String),
    /// Solr: into equally wide ranges (`numSubShards`, `splitFuzz`).
    SubShards(u32, SplitFuzz),
    /// Solr: into parts of about equally many documents, between route keys (`splitByPrefix`).
    Prefixes(u32),
    /// Slots: into equally many neighbouring slots.
    Even(u32),
    /// Slots: into neighbouring slots by weights.
    Weights(Vec<u32>),
    /// Slots: into neighbouring slots of about equal load.
    Balanced(u32, Load),
    /// Slots: these slots go to a new shard.
    MoveSlots(Vec<u32>),
    /// Slots: those of a key go to a new shard.
    MoveKey(String),
    /// To what another table of the whole index says.
    To(RoutingTable),
}

/// What a cut has to know about the shard's documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Documents per prefix of their ids.
    Prefixes,
    /// Load per slot.
    Slots(Load),
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Measured {
    /// Documents per prefix.
    Prefixes(PrefixHistogram),
    /// Load per slot.
    Slots(SlotLoads),
}

/// A split of one shard of an index that is routed by a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableSpec {
    /// The table of the index.
    pub table: RoutingTable,
    /// The shard.
    pub source_shard: ShardNumber,
    /// Where it is cut.
    pub cut: Cut,
    /// routing_partition_size of the index; 1 unless the table is one of slots.
    pub routing_partition_size: u32,
}

impl Cut {
    /// What must be measured first.
    #[must_use]
    pub fn measure(&self) -> Option<Measure> {
        match self {
            Cut::Prefixes(_) => Some(Measure::Prefixes),
            Cut::Balanced(_, load) => Some(Measure::Slots(*load)),
            _ => None,
        }
    }

    /// The cut in words, and what it is for.
    fn words(&self) -> (&'static str, &'static str) {
        match self {
            Cut::Ranges(_) => ("a cut at given ranges", "Solr's"),
            Cut::Key(_) => ("a cut around a route key", "Solr's compositeId"),
            Cut::SubShards(..) => ("a cut into sub-shards", "Solr's"),
            Cut::Prefixes(_) => ("a cut along prefixes", "Solr's compositeId"),
            Cut::Even(_) => ("a cut into equally many slots", "slots"),
            Cut::Weights(_) => ("a cut by weights", "slots"),
            Cut::Balanced(..) => ("a balanced cut", "slots"),
            Cut::MoveSlots(_) => ("moving slots", "slots"),
            Cut::MoveKey(_) => ("moving the slots of a key", "slots"),
            Cut::To(_) => ("another table", "tables of the same kind"),
        }
    }
}

impl TableSpec {
    /// The tables before and after. `measured`: what [`Cut::measure`] asks for.
    ///
    /// # Errors
    /// [`RouteError`]: what does not fit, and why.
    pub fn resolve(&self, measured: Option<&Measured>) -> Result<TableSplit, RouteError> {
        let known = self.table.shards();
        if known.binary_search(&self.source_shard).is_err() {
            return Err(RouteError::TableSource { shard: self.source_shard, known });
        }
        let other = || {
            let (cut, wanted) = self.cut.words();
            RouteError::OtherCut { cut, function: self.table.function().name(), wanted }
        };
        let after = match (&self.cut, &self.table) {
            (Cut::To(after), _) => after.clone(),
            (Cut::Key(_) | Cut::Prefixes(_), RoutingTable::SolrPlain(_)) => return Err(other()),
            (_, RoutingTable::Solr(table)) => RoutingTable::Solr(self.ranges(table, measured).ok_or_else(other)??),
            (_, RoutingTable::SolrPlain(table)) => {
                RoutingTable::SolrPlain(self.ranges(table, measured).ok_or_else(other)??)
            }
            (_, RoutingTable::Slots(table)) => RoutingTable::Slots(self.slots(table, measured).ok_or_else(other)??),
            (_, RoutingTable::Ring(_)) => return Err(other()),
        };
        let (before, sources) = (Arc::new(self.table.clone()), vec![self.source_shard]);
        TableSplit::new(before, Arc::new(after), sources, self.routing_partition_size)
    }

    fn not_measured(&self) -> RouteError {
        RouteError::NotMeasured { cut: self.cut.words().0 }
    }

    /// The shard's own number and the next free ones; after the largest number there is, those that were left out.
    fn numbers(&self, parts: usize) -> Vec<ShardNumber> {
        let known = self.table.shards();
        let first = known.last().map_or(0, |last| last.saturating_add(1));
        let free = (first..=ShardNumber::MAX).chain(0..first).filter(|number| known.binary_search(number).is_err());
        std::iter::once(self.source_shard).chain(free).take(parts).collect()
    }

    /// `None`: the cut is not for ranges.
    fn ranges(&self, table: &HashRanges, measured: Option<&Measured>) -> Option<Result<HashRanges, RouteError>> {
        // The shard is in the table.
        let parent = table.range_of(self.source_shard).unwrap_or(HashRange::FULL);
        let pieces: Result<SubRanges, RangeError> = match &self.cut {
            Cut::Ranges(ranges) => SubRanges::new(parent, ranges.clone()),
            Cut::Key(key) => SubRanges::by_key(parent, key),
            Cut::SubShards(pieces, fuzz) => SubRanges::even(parent, *pieces, *fuzz),
            Cut::Prefixes(pieces) => match measured {
                Some(Measured::Prefixes(histogram)) => histogram.split(parent, *pieces).map(|split| split.pieces),
                _ => return Some(Err(self.not_measured())),
            },
            _ => return None,
        };
        let split = |pieces: SubRanges| table.split(self.source_shard, &pieces, &self.numbers(pieces.ranges().len()));
        Some(pieces.and_then(split).map_err(RouteError::from))
    }

    /// `None`: the cut is not for slots.
    fn slots(&self, table: &SlotTable, measured: Option<&Measured>) -> Option<Result<SlotTable, RouteError>> {
        let shard = self.source_shard;
        // A slot each is the most there can be; a larger number is refused by the table, and need not be spelt out.
        let parts = |into: u32| self.numbers((into as usize).min(table.owners().len() + 1));
        let split: Result<SlotTable, SlotError> = match &self.cut {
            Cut::Even(into) => table.split_even(shard, &parts(*into)),
            Cut::Weights(weights) => {
                let numbers = self.numbers(weights.len());
                let parts: Vec<_> = numbers.into_iter().zip(weights.iter().copied()).collect();
                table.split_weighted(shard, &parts)
            }
            Cut::Balanced(into, _) => match measured {
                Some(Measured::Slots(loads)) => {
                    table.split_balanced(shard, &parts(*into), loads, Arrangement::Contiguous)
                }
                _ => return Some(Err(self.not_measured())),
            },
            Cut::MoveSlots(slots) => self.move_slots(table, slots),
            Cut::MoveKey(key) => self.move_slots(table, &self.slots_of_key(table, key)),
            _ => return None,
        };
        Some(split.map_err(RouteError::from))
    }

    /// Slots that documents with the routing value `key` are in: one, or as many as it spreads over.
    fn slots_of_key(&self, table: &SlotTable, key: &str) -> Vec<u32> {
        let hash = routing_hash(key);
        let size = i32::try_from(self.routing_partition_size.min(table.slots())).unwrap_or(i32::MAX);
        let mut slots: Vec<u32> = (0..size.max(1)).map(|offset| table.slot(hash, offset)).collect();
        slots.sort_unstable();
        slots.dedup();
        slots
    }

    fn move_slots(&self, table: &SlotTable, slots: &[u32]) -> Result<SlotTable, SlotError> {
        let mut owners = slots.iter().filter_map(|&slot| Some((slot, *table.owners().get(slot as usize)?)));
        if let Some((slot, shard)) = owners.find(|&(_, shard)| shard != self.source_shard) {
            return Err(SlotError::SlotElsewhere { slot, shard, expected: self.source_shard });
        }
        let to = self.numbers(2).last().copied().unwrap_or_default();
        table.move_slots(slots, to)
    }
}
