//! Work that is cut into units, done in any order by several threads, and appended in order.
