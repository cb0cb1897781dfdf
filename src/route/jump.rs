//! Jump consistent hash: no table, numbered shards, equal weights.
//!
//! Lamping and Veach, "A fast, minimal memory, consistent hash algorithm", arXiv:1406.2294. From n to n + 1 shards one
//! hash in n + 1 moves, all to the new shard. Only the last shard can be removed: to drop another moves nearly everything
//! behind it. Cost: about ln n rounds of one division; nothing is stored.

use super::{HashTable, RouteError, RoutingHash, ShardNumber};
use crate::route::elasticsearch::check_number_of_shards;

/// Jump hash over a number of shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jump {
    number_of_shards: u32,
}

impl Jump {
    /// # Errors
    /// [`RouteError::NumberOfShards`] unless 1 ≤ `number_of_shards` ≤ 2^31 - 1.
    pub fn new(number_of_shards: u32) -> Result<Jump, RouteError> {
        check_number_of_shards(u64::from(number_of_shards))?;
        Ok(Jump { number_of_shards })
    }

    /// Shards of the index.
    #[must_use]
    pub fn number_of_shards(&self) -> u32 {
        self.number_of_shards
    }

    /// Shard of a 64-bit key: the published function.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "the published function computes in doubles and rounds down; all of its numbers are positive and below 2^62"
    )]
    pub fn shard_of_key(&self, mut key: u64) -> ShardNumber {
        let (mut bucket, mut next) = (0, 0i64);
        while next < i64::from(self.number_of_shards) {
            bucket = next;
            key = key.wrapping_mul(2_862_933_555_777_941_757).wrapping_add(1);
            next = ((bucket + 1) as f64 * (2_147_483_648.0 / ((key >> 33) + 1) as f64)) as i64;
        }
        u32::try_from(bucket).unwrap_or_default()
    }

    /// Shard of a routing hash: that of the key with the same 32 bits and zeros before them.
    #[inline]
    #[must_use]
    pub fn shard(&self, hash: RoutingHash) -> ShardNumber {
        self.shard_of_key(u64::from(hash.cast_unsigned()))
    }
}

impl HashTable for Jump {
    fn shard(&self, hash: RoutingHash) -> ShardNumber {
        Jump::shard(self, hash)
    }

    fn shards(&self) -> Vec<ShardNumber> {
        (0..self.number_of_shards).collect()
    }
}

#[cfg(test)]
mod tests;
