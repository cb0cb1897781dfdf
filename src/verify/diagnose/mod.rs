//! Which documents differ, and in what.
//!
//! Runs only where digests differ. Source and suspected children are read again; documents are matched by all they
//! consist of, whatever their numbers. What is left over on both sides is paired ([`pairs`]), and the pairs are
//! compared part by part ([`parts`]). Memory: up to 128 bytes per document.

mod case;
mod detail;
mod matching;
mod pairs;
mod parts;
mod run;

use case::{Case, Pair, by_child};

pub(super) use run::{file_of, run};
