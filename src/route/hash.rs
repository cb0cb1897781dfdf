//! The routing hash.

/// murmur3 x86 32-bit with seed 0, as a signed integer.
pub type RoutingHash = i32;

/// Elasticsearch's routing hash.
#[must_use]
pub fn routing_hash(key: &str) -> RoutingHash {
    let _ = key;
    0
}
