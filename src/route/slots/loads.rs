//! What the slots of an index hold, as measured, and how a balanced split arranges them.

use super::SlotTable;
use crate::route::ShardNumber;

/// Documents, or bytes, per slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotLoads(Vec<u64>);

/// How a balanced split deals slots to parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arrangement {
    /// Neighbouring slots, so that tables stay short. The heaviest part is as light as contiguous parts can be, and within
    /// `load of the shard / parts + heaviest slot`.
    #[default]
    Contiguous,
    /// The heaviest slot first, always to the lightest part (Graham's LPT rule). The heaviest part is at most 4/3 of what any
    /// arrangement could reach, and a table may need a run for every slot.
    Scattered,
}

impl SlotLoads {
    /// Nothing counted, for the slots of `table`.
    #[must_use]
    pub fn new(table: &SlotTable) -> SlotLoads {
        SlotLoads(vec![0; table.owners().len()])
    }

    /// Loads measured elsewhere; position is the slot.
    #[must_use]
    pub fn from_loads(loads: Vec<u64>) -> SlotLoads {
        SlotLoads(loads)
    }

    /// Counts a document in its slot ([`SlotTable::slot`]): `load` is 1, or its bytes. A slot beyond the table has no effect.
    #[inline]
    pub fn add(&mut self, slot: u32, load: u64) {
        if let Some(sum) = self.0.get_mut(slot as usize) {
            *sum = sum.saturating_add(load);
        }
    }

    /// Load of each slot.
    #[must_use]
    pub fn loads(&self) -> &[u64] {
        &self.0
    }

    /// Load of a shard, by `table`.
    #[must_use]
    pub fn of_shard(&self, table: &SlotTable, shard: ShardNumber) -> u64 {
        table
            .slots_of(shard)
            .filter_map(|slot| self.0.get(slot as usize))
            .fold(0, |sum, &load| sum.saturating_add(load))
    }

    /// The heaviest slot of a shard and its load: no split makes its part lighter.
    #[must_use]
    pub fn heaviest_slot(&self, table: &SlotTable, shard: ShardNumber) -> Option<(u32, u64)> {
        let loads = table.slots_of(shard).filter_map(|slot| Some((slot, *self.0.get(slot as usize)?)));
        // Of several, the first.
        loads.reduce(|heaviest, next| if next.1 > heaviest.1 { next } else { heaviest })
    }
}
