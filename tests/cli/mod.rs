//! The real binary: flags, exit codes, streams, JSON lines, and the main job from the shell.

pub mod place;
mod refusals;
mod streams;
mod usage;
mod whole;
mod work;
