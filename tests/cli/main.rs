//! The real binary: flags, exit codes, streams, JSON lines, and the main job from the shell.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that panics has failed"
)]

mod place;
mod refusals;
mod streams;
mod usage;
mod work;
