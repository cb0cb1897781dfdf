//! Elasticsearch's two routing functions, and the numbers they need.
//!
//! Sources: `IndexRouting.java`, `RoutingFunction.java`, `IndexMetadata.java` and `MetadataCreateIndexService.java` of
//! elastic/elasticsearch; `OperationRouting.java` of OpenSearch. Both functions add the partition offset to the hash as
//! Java adds `int`s, wrapping around, and then take the mathematical modulus, which is never negative.

use super::{RouteError, RoutingHash, ShardNumber};

/// Java's largest `int`: no number of shards exceeds it.
pub(super) const JAVA_INT_MAX: u32 = i32::MAX.cast_unsigned();

/// Scaled modulo: `floorMod(hash + offset, number_of_routing_shards) / routing_factor`, where `routing_factor` is
/// `number_of_routing_shards / number_of_shards`. OpenSearch, and Elasticsearch indices created before 9.4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elasticsearch {
    number_of_shards: u32,
    number_of_routing_shards: i32,
    routing_factor: u32,
}

impl Elasticsearch {
    /// # Errors
    /// [`RouteError::NumberOfShards`] unless 1 ≤ `number_of_shards` ≤ 2^31 - 1; [`RouteError::RoutingShards`] unless
    /// `number_of_routing_shards` is a multiple of it in the same bounds.
    pub fn new(number_of_shards: u32, number_of_routing_shards: u32) -> Result<Elasticsearch, RouteError> {
        check_number_of_shards(u64::from(number_of_shards))?;
        let illegal = RouteError::RoutingShards { number_of_routing_shards, number_of_shards };
        let Ok(routing_shards) = i32::try_from(number_of_routing_shards) else { return Err(illegal) };
        if routing_shards == 0 || !number_of_routing_shards.is_multiple_of(number_of_shards) {
            return Err(illegal);
        }
        Ok(Elasticsearch {
            number_of_shards,
            number_of_routing_shards: routing_shards,
            routing_factor: number_of_routing_shards / number_of_shards,
        })
    }

    /// Shards of the index.
    #[must_use]
    pub fn number_of_shards(&self) -> u32 {
        self.number_of_shards
    }

    /// Parts that the hash space is cut into.
    #[must_use]
    pub fn number_of_routing_shards(&self) -> u32 {
        self.number_of_routing_shards.cast_unsigned()
    }

    /// Neighbouring parts that make a shard.
    #[must_use]
    pub fn routing_factor(&self) -> u32 {
        self.routing_factor
    }

    /// The part of the hash space that a document is in: its routing shard, or slot.
    #[inline]
    #[must_use]
    pub fn slot(&self, hash: RoutingHash, partition_offset: i32) -> u32 {
        floor_mod(hash.wrapping_add(partition_offset), self.number_of_routing_shards)
    }

    /// Shard of a document.
    #[inline]
    #[must_use]
    pub fn shard(&self, hash: RoutingHash, partition_offset: i32) -> ShardNumber {
        self.slot(hash, partition_offset) / self.routing_factor
    }
}

/// Plain modulo: `floorMod(hash + offset, number_of_shards)`. Elasticsearch indices created by 9.4 or later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElasticsearchModulo {
    number_of_shards: i32,
}

impl ElasticsearchModulo {
    /// # Errors
    /// [`RouteError::NumberOfShards`] unless 1 ≤ `number_of_shards` ≤ 2^31 - 1.
    pub fn new(number_of_shards: u32) -> Result<ElasticsearchModulo, RouteError> {
        Ok(ElasticsearchModulo { number_of_shards: check_number_of_shards(u64::from(number_of_shards))? })
    }

    /// Shards of the index.
    #[must_use]
    pub fn number_of_shards(&self) -> u32 {
        self.number_of_shards.cast_unsigned()
    }

    /// Shard of a document.
    #[inline]
    #[must_use]
    pub fn shard(&self, hash: RoutingHash, partition_offset: i32) -> ShardNumber {
        floor_mod(hash.wrapping_add(partition_offset), self.number_of_shards)
    }
}

/// `floorMod(hash(id), routing_partition_size)`: which of the shards of a routing value a document goes to. 0 for the
/// sizes 0 and 1, which mean that the index is not partitioned.
#[inline]
#[must_use]
pub fn partition_offset(id_hash: RoutingHash, routing_partition_size: u32) -> i32 {
    match i32::try_from(routing_partition_size) {
        Ok(0 | 1) => 0,
        Ok(size) => id_hash.rem_euclid(size),
        // No Java int is this large: the modulus leaves what is not negative as it is.
        Err(_) => floor_mod_wide(id_hash, routing_partition_size),
    }
}

/// number_of_routing_shards that Elasticsearch (since 7.0) and OpenSearch give an index that does not name one:
/// `n << max(1, 10 - ceil(log2 n))`, that is the largest `n * 2^x` up to 1024, but at least one doubling
/// (`MetadataCreateIndexService.calculateNumRoutingShards`).
///
/// An `n` whose double is no Java int gives `n` itself; Elasticsearch has no index of that size.
#[must_use]
pub fn default_number_of_routing_shards(number_of_shards: u32) -> u32 {
    let ceil_log2 = u32::BITS - number_of_shards.saturating_sub(1).leading_zeros();
    let doublings = 10u32.saturating_sub(ceil_log2).max(1);
    let wide = u64::from(number_of_shards) << doublings;
    u32::try_from(wide).ok().filter(|&shards| shards <= JAVA_INT_MAX).unwrap_or(number_of_shards)
}

/// Whether Elasticsearch could count so many shards; as Java's int.
pub(super) fn check_number_of_shards(number_of_shards: u64) -> Result<i32, RouteError> {
    match i32::try_from(number_of_shards) {
        Ok(shards) if shards > 0 => Ok(shards),
        _ => Err(RouteError::NumberOfShards { number_of_shards }),
    }
}

/// Java's `Math.floorMod` for a positive `modulus`.
#[inline]
fn floor_mod(value: i32, modulus: i32) -> u32 {
    value.rem_euclid(modulus).cast_unsigned()
}

#[cold]
fn floor_mod_wide(value: i32, modulus: u32) -> i32 {
    i32::try_from(i64::from(value).rem_euclid(i64::from(modulus))).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_those_that_elasticsearch_computes() {
        let defaults = [
            (1, 1024),
            (2, 1024),
            (3, 768),
            (5, 640),
            (9, 576),
            (512, 1024),
            (513, 1026),
            (1024, 2048),
            (2048, 4096),
            (1 << 30, 1 << 30),
            (u32::MAX, u32::MAX),
        ];
        for (shards, routing_shards) in defaults {
            assert_eq!(default_number_of_routing_shards(shards), routing_shards, "{shards}");
        }
    }

    #[test]
    fn the_offset_is_added_as_java_adds_and_the_modulus_is_never_negative() {
        let modulo = ElasticsearchModulo::new(7).unwrap();
        // 2^31 - 1 + 1 is -2^31 in Java, and floorMod(-2^31, 7) is 5.
        assert_eq!(modulo.shard(i32::MAX, 1), 5);
        assert_eq!(modulo.shard(-1, 0), 6);
        let scaled = Elasticsearch::new(2, 8).unwrap();
        assert_eq!(scaled.shard(-1, 0), 1);
        assert_eq!(scaled.shard(i32::MAX, 1), 0);
    }

    #[test]
    fn a_router_is_refused_where_its_numbers_do_not_divide() {
        assert!(Elasticsearch::new(3, 1024).is_err());
        assert!(Elasticsearch::new(3, 0).is_err());
        assert!(Elasticsearch::new(0, 1024).is_err());
        assert!(Elasticsearch::new(1, 1 << 31).is_err());
        assert!(ElasticsearchModulo::new(0).is_err());
        assert!(ElasticsearchModulo::new(1 << 31).is_err());
    }

    #[test]
    fn partition_offsets_are_floor_moduli() {
        assert_eq!(partition_offset(-1, 3), 2);
        assert_eq!(partition_offset(-1, 1), 0);
        assert_eq!(partition_offset(7, 0), 0);
        assert_eq!(partition_offset(7, u32::MAX), 7);
    }
}
