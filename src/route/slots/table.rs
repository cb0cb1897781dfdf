//! The table itself: look-up, and the operations that give a new table.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::form::Form;
use super::{Arrangement, SlotError, SlotLoads};
use crate::route::{Elasticsearch, RoutingHash, ShardNumber, balance};

/// Most slots of a table: 64 MiB of shard numbers.
pub const MAX_SLOTS: u32 = 1 << 24;

/// Which shard has which slot. See the [module](super).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Form", into = "Form")]
pub struct SlotTable {
    /// Position is the slot; 1 to [`MAX_SLOTS`].
    owners: Vec<ShardNumber>,
    /// Number of slots, as the divisor of a hash.
    modulus: i32,
    /// Ascending.
    shards: Vec<ShardNumber>,
}

impl SlotTable {
    /// A table from the shard of each slot.
    ///
    /// # Errors
    /// [`SlotError::Slots`] for no slot or more than [`MAX_SLOTS`].
    pub fn new(owners: Vec<ShardNumber>) -> Result<SlotTable, SlotError> {
        let modulus = u32::try_from(owners.len()).ok().filter(|slots| (1..=MAX_SLOTS).contains(slots));
        let Some(modulus) = modulus.and_then(|slots| i32::try_from(slots).ok()) else {
            return Err(SlotError::Slots { slots: owners.len() as u64 });
        };
        let mut shards = owners.clone();
        shards.dedup();
        shards.sort_unstable();
        shards.dedup();
        Ok(SlotTable { owners, modulus, shards })
    }

    /// The table that is Elasticsearch's scaled modulo: as many neighbouring slots for each shard.
    ///
    /// # Errors
    /// [`SlotError::Route`] where [`Elasticsearch::new`] refuses; [`SlotError::Slots`] for more than [`MAX_SLOTS`].
    pub fn even(number_of_shards: u32, number_of_routing_shards: u32) -> Result<SlotTable, SlotError> {
        let formula = Elasticsearch::new(number_of_shards, number_of_routing_shards)?;
        if number_of_routing_shards > MAX_SLOTS {
            return Err(SlotError::Slots { slots: u64::from(number_of_routing_shards) });
        }
        SlotTable::new((0..number_of_routing_shards).map(|slot| slot / formula.routing_factor()).collect())
    }

    /// Number of slots; number_of_routing_shards of the index.
    #[must_use]
    pub fn slots(&self) -> u32 {
        self.modulus.cast_unsigned()
    }

    /// Slot of a document. Arguments as for [`crate::route::Router::shard`].
    #[inline]
    #[must_use]
    pub fn slot(&self, hash: RoutingHash, partition_offset: i32) -> u32 {
        hash.wrapping_add(partition_offset).rem_euclid(self.modulus).cast_unsigned()
    }

    /// Shard of a document. Arguments as for [`crate::route::Router::shard`].
    #[inline]
    #[must_use]
    pub fn shard(&self, hash: RoutingHash, partition_offset: i32) -> ShardNumber {
        // A modulus is less than the number of slots, so there always is one.
        self.owners.get(self.slot(hash, partition_offset) as usize).copied().unwrap_or(0)
    }

    /// Shards, ascending.
    pub fn shards(&self) -> impl Iterator<Item = ShardNumber> + '_ {
        self.shards.iter().copied()
    }

    /// Shard of each slot.
    #[must_use]
    pub fn owners(&self) -> &[ShardNumber] {
        &self.owners
    }

    /// Slots of a shard, ascending.
    pub fn slots_of(&self, shard: ShardNumber) -> impl Iterator<Item = u32> + '_ {
        (0..).zip(&self.owners).filter(move |&(_, &owner)| owner == shard).map(|(slot, _)| slot)
    }

    /// Splits `shard` alone into neighbouring slots, as evenly as slots allow: parts differ by one slot at most. `numbers`
    /// are the shard numbers of the parts, ascending by slot; one may be the number of the shard that is split.
    ///
    /// # Errors
    /// [`SlotError::UnknownShard`], [`SlotError::Parts`], [`SlotError::NumberTaken`].
    pub fn split_even(&self, shard: ShardNumber, numbers: &[ShardNumber]) -> Result<SlotTable, SlotError> {
        let parts: Vec<(ShardNumber, u32)> = numbers.iter().map(|&number| (number, 1)).collect();
        self.split_weighted(shard, &parts)
    }

    /// As [`SlotTable::split_even`], with a weight per part: it gets this share of the slots, off by less than one slot, but
    /// at least one slot.
    ///
    /// # Errors
    /// As for [`SlotTable::split_even`], and [`SlotError::Weight`].
    pub fn split_weighted(&self, shard: ShardNumber, parts: &[(ShardNumber, u32)]) -> Result<SlotTable, SlotError> {
        let numbers: Vec<ShardNumber> = parts.iter().map(|&(number, _)| number).collect();
        let slots = self.slots_to_split(shard, &numbers)?;
        if let Some(&(number, _)) = parts.iter().find(|&&(_, weight)| weight == 0) {
            return Err(SlotError::Weight { number });
        }
        let total: u128 = parts.iter().map(|&(_, weight)| u128::from(weight)).sum();
        let mut sum = 0u128;
        let mut start = 0;
        let mut part_of = Vec::with_capacity(slots.len());
        for (nth, &(_, weight)) in parts.iter().enumerate() {
            sum += u128::from(weight);
            let wanted = usize::try_from(slots.len() as u128 * sum / total).unwrap_or(slots.len());
            // Later parts need a slot each.
            let end = wanted.clamp(start + 1, slots.len() - (parts.len() - 1 - nth));
            part_of.resize(end, nth);
            start = end;
        }
        self.with_parts(&slots, &part_of, &numbers)
    }

    /// Splits `shard` alone so that the heaviest part is as light as can be. [`Arrangement`] tells how, and the bounds.
    ///
    /// # Errors
    /// As for [`SlotTable::split_even`], and [`SlotError::Loads`].
    pub fn split_balanced(
        &self,
        shard: ShardNumber,
        numbers: &[ShardNumber],
        loads: &SlotLoads,
        arrangement: Arrangement,
    ) -> Result<SlotTable, SlotError> {
        let slots = self.slots_to_split(shard, numbers)?;
        let loads = loads.loads();
        if loads.len() != self.owners.len() {
            return Err(SlotError::Loads { found: loads.len(), expected: self.owners.len() });
        }
        let own: Vec<u64> = slots.iter().filter_map(|&slot| loads.get(slot as usize)).copied().collect();
        let part_of = match arrangement {
            Arrangement::Contiguous => balance::contiguous(&own, numbers.len()).map(|ends| {
                let mut part_of = Vec::with_capacity(own.len());
                ends.into_iter().enumerate().for_each(|(nth, end)| part_of.resize(end, nth));
                part_of
            }),
            Arrangement::Scattered => balance::scattered(&own, numbers.len()),
        };
        self.with_parts(&slots, &part_of.unwrap_or_default(), numbers)
    }

    /// Moves slots of one shard out to a new shard `to`: a heavy tenant's slot, for instance ([`SlotTable::slot`]).
    ///
    /// # Errors
    /// [`SlotError::NothingToMove`], [`SlotError::UnknownSlot`], [`SlotError::SlotTwice`], [`SlotError::SlotElsewhere`],
    /// [`SlotError::AllSlots`]; [`SlotError::NumberTaken`] if `to` has slots: its documents would have to be merged.
    pub fn move_slots(&self, slots: &[u32], to: ShardNumber) -> Result<SlotTable, SlotError> {
        let mut seen = BTreeSet::new();
        let mut source = None;
        for &slot in slots {
            let Some(&shard) = self.owners.get(slot as usize) else {
                return Err(SlotError::UnknownSlot { slot, slots: self.slots() });
            };
            if !seen.insert(slot) {
                return Err(SlotError::SlotTwice { slot });
            }
            let expected = *source.get_or_insert(shard);
            if shard != expected {
                return Err(SlotError::SlotElsewhere { slot, shard, expected });
            }
        }
        let Some(shard) = source else { return Err(SlotError::NothingToMove { to }) };
        if self.shards.binary_search(&to).is_ok() {
            return Err(SlotError::NumberTaken { number: to, free: self.free_number(&[]) });
        }
        if self.slots_of(shard).count() == seen.len() {
            return Err(SlotError::AllSlots { shard, slots: seen.len() });
        }
        self.with_parts(slots, &vec![0; slots.len()], &[to])
    }

    /// Slots of `shard`, if it can be split into shards of these numbers.
    fn slots_to_split(&self, shard: ShardNumber, numbers: &[ShardNumber]) -> Result<Vec<u32>, SlotError> {
        let slots: Vec<u32> = self.slots_of(shard).collect();
        if slots.is_empty() {
            let first = self.shards.first().copied().unwrap_or(0);
            let last = self.shards.last().copied().unwrap_or(0);
            return Err(SlotError::UnknownShard { shard, first, last, count: self.shards.len() });
        }
        if !(1..=slots.len()).contains(&numbers.len()) {
            return Err(SlotError::Parts { shard, slots: slots.len(), parts: numbers.len() });
        }
        let mut seen = BTreeSet::new();
        for &number in numbers {
            let others = number != shard && self.shards.binary_search(&number).is_ok();
            if others || !seen.insert(number) {
                return Err(SlotError::NumberTaken { number, free: self.free_number(numbers) });
            }
        }
        Ok(slots)
    }

    /// The smallest number above all shards and `numbers`; if there is none, the smallest that is free.
    fn free_number(&self, numbers: &[ShardNumber]) -> ShardNumber {
        let taken: BTreeSet<ShardNumber> = self.shards.iter().chain(numbers).copied().collect();
        let next = taken.last().and_then(|last| last.checked_add(1));
        next.or_else(|| (0..).find(|number| !taken.contains(number))).unwrap_or(0)
    }

    /// The table in which slot `slots[i]` belongs to shard `numbers[part_of[i]]`.
    fn with_parts(&self, slots: &[u32], part_of: &[usize], numbers: &[ShardNumber]) -> Result<SlotTable, SlotError> {
        let mut owners = self.owners.clone();
        for (&slot, &part) in slots.iter().zip(part_of) {
            if let (Some(owner), Some(&number)) = (owners.get_mut(slot as usize), numbers.get(part)) {
                *owner = number;
            }
        }
        SlotTable::new(owners)
    }
}
