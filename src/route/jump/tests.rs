//! Published vectors, an independent crate, and what jump hash promises.

use proptest::prelude::*;

use super::*;
use crate::route::ring::tests::vectors;

fn jump(number_of_shards: u32) -> Jump {
    Jump::new(number_of_shards).unwrap()
}

#[test]
fn every_published_bucket_holds() {
    let vectors = &vectors()["jump"];
    let mut rows = 0;
    for (key, buckets) in vectors["by_bucket_count_from_1"].as_object().unwrap() {
        for (shards, bucket) in (1..).zip(buckets.as_array().unwrap()) {
            let found = jump(shards).shard_of_key(key.parse().unwrap());
            assert_eq!(u64::from(found), bucket.as_u64().unwrap(), "{key} of {shards}");
            rows += 1;
        }
    }
    for (key, bucket) in (0..).zip(vectors["guava_100_buckets_keys_0_19"].as_array().unwrap()) {
        assert_eq!(u64::from(jump(100).shard_of_key(key)), bucket.as_u64().unwrap(), "{key}");
        rows += 1;
    }
    for row in vectors["large"].as_array().unwrap() {
        let shards = u32::try_from(row["n"].as_u64().unwrap()).unwrap();
        let found = jump(shards).shard_of_key(row["key"].as_u64().unwrap());
        assert_eq!(u64::from(found), row["bucket"].as_u64().unwrap(), "{row}");
        rows += 1;
    }
    assert_eq!(rows, 77 + 20 + 6);
}

#[test]
fn where_a_shard_is_added_hashes_move_to_it_and_nowhere_else() {
    // Guava's testConsistentHash_correctness.
    for key in [u64::MAX, 0, 1, 2, i64::MAX.cast_unsigned(), i64::MIN.cast_unsigned()] {
        let mut last = 0;
        for shards in 1..20_000 {
            let found = jump(shards).shard_of_key(key);
            assert!(found == last || found == shards - 1, "{key} of {shards}: {last}, then {found}");
            last = found;
        }
    }
}

#[test]
fn a_routing_hash_is_a_key_without_sign() {
    assert_eq!(jump(1000).shard(-1), jump(1000).shard_of_key(0xffff_ffff));
    assert_eq!(jump(1000).shard(-559_038_737), jump(1000).shard_of_key(0xdead_beef));
}

#[test]
fn an_index_without_shards_is_refused() {
    assert!(Jump::new(0).is_err());
    assert!(Jump::new(1 << 31).is_err());
}

proptest! {
    #[test]
    fn any_key_goes_where_the_jumpconsistenthash_crate_says(key: u64, shards in 1u32..1_000_000) {
        prop_assert_eq!(jump(shards).shard_of_key(key), jumpconsistenthash::jump_hash_from_u64(key, shards));
    }
}
