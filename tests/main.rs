//! The integration tests: one binary, so that tantivy is linked once. One module a kind; `cargo test --test all split::`
//! runs one of them.
//!
//! | modules | what they try |
//! |---|---|
//! | `split`, `embed`, `one_pass`, `stopped`, `inspect`, `data` | what a job promises, on indexes made here |
//! | `carried`, `large` | row by row, what the README says that a split carries and refuses |
//! | `property`, `golden_oracle`, `fixtures_selftest` | any index, against documents indexed anew and `merge_filtered_segments` |
//! | `shared_indexes`, `source_real`, `corpora` | indexes and documents that others wrote |
//! | `golden_versions` | indexes that old releases of tantivy wrote, against what those read in them |
//! | `ranking` | scores over all children |
//! | `routing` | published vectors |
//! | `routers` | Solr's ranges, slots, rings: splits of one shard alone, routing files, `check-routing` |
//! | `rings` | rings as files; indexes that are taken from one ring to another |
//! | `refusals`, `refusals_meta`, `damage_source`, `source_shapes`, `source_lock` | what is refused, and how it is said |
//! | `claims` | sizes that damaged blocks claim, which would end the process |
//! | `lies` | files that lie, names and links that lead elsewhere, others at work at the same time |
//! | `sidecar` | hash sidecars: chains of splits, damage, `index-hashes` |
//! | `link_files`, `children` | linked files, and children in the hands of a tantivy writer |
//! | `keyless` | splits without a key, saved plans |
//! | `explain`, `predicted` | what plans say of keys, numbers and sizes |
//! | `whole` | all shards of an index together: split, merge, clone |
//! | `crash`, `recover` | failures, kills and lost power at every step |
//! | `faults` | the table of `RELIABILITY.md`: every step, kills, second runs, limits of the system |
//! | `soak` | any index, any job, any fault, for as long as you like |
//! | `verify_catches` | what verification must find |
//! | `regression` | faults that were mended |
//! | `cli` | the program |
//!
//! Shared: `common`, `linked`, `small_index`, and the documents of the benches as `corpus`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test may stop at what it does not expect"
)]

#[path = "../benches/corpus/mod.rs"]
mod corpus;

mod common;
mod linked;
mod small_index;

mod carried;
mod children;
mod claims;
mod cli;
mod column_bounds;
mod corpora;
mod crash;
mod damage_source;
mod data;
mod embed;
mod explain;
mod faults;
mod fixtures_selftest;
mod golden_oracle;
mod golden_versions;
mod inspect;
mod keyless;
mod large;
mod lies;
mod link_files;
mod one_pass;
mod predicted;
mod property;
mod ranking;
mod recover;
mod refusals;
mod refusals_meta;
mod regression;
mod rings;
mod routers;
mod routing;
mod shared_indexes;
mod sidecar;
mod soak;
mod source_lock;
mod source_real;
mod source_shapes;
mod split;
mod stopped;
mod verify_catches;
mod whole;
