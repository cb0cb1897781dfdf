//! Writes small indexes with old releases of tantivy, and beside each what the same release reads in it.
//!
//! `cargo run --manifest-path data/golden/generator/Cargo.toml -- data/golden` writes one directory per release below
//! its argument. Nothing is replaced: remove a directory to have it made again. The same releases make the same bytes,
//! but for the values of tie-breakers, which tantivy draws.

#![allow(clippy::duplicate_mod, reason = "the same source is compiled once for every release")]

mod documents;
mod files;
mod v0_19;
mod v0_20;
mod v0_21;
mod v0_22;
mod v0_24;
mod v0_25;
mod v0_26;
mod v0_27;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Builds one index unless it stands already. A macro, since every release has types of its own.
macro_rules! golden {
    ($out:expr, $release:ident, $name:literal, |$tantivy:ident, $plan:ident| $make:expr) => {
        let dir = $out.join(stringify!($release)).join($name);
        if !dir.exists() {
            use $release::index::{self, Plan as $plan};
            #[allow(unused_imports, reason = "some plans need nothing of tantivy")]
            use $release::tantivy::store as $tantivy;
            index::write(&$make, &dir);
            println!("{}", dir.display());
        }
    };
}

fn main() -> ExitCode {
    let Some(out) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: golden-generator DIRECTORY");
        return ExitCode::from(2);
    };
    write(&out);
    ExitCode::SUCCESS
}

fn write(out: &Path) {
    // Small blocks: several of them, so that the doc store's skip index has layers.
    let small = 400;
    for (name, numbers) in [("numbers", true), ("texts", false)] {
        let dir = out.join("v0_19").join(name);
        if !dir.exists() {
            v0_19::write(&dir, numbers);
            println!("{}", dir.display());
        }
    }
    golden!(out, v0_20, "plain", |store, Plan| Plan::full(store::Compressor::Lz4));
    golden!(out, v0_20, "brotli", |store, Plan| Plan::tiny(store::Compressor::Brotli));
    golden!(out, v0_20, "snappy", |store, Plan| Plan::tiny(store::Compressor::Snappy));
    golden!(out, v0_21, "plain", |store, Plan| {
        let zstd = store::ZstdCompressor { compression_level: Some(5) };
        Plan { blocksize: small, ..Plan::full(store::Compressor::Zstd(zstd)) }
    });
    golden!(out, v0_21, "sorted", |store, Plan| Plan::sorted(store::Compressor::None, "rank", false));
    golden!(out, v0_22, "plain", |store, Plan| Plan { blocksize: small, ..Plan::full(store::Compressor::None) });
    golden!(out, v0_22, "sorted", |store, Plan| Plan::sorted(store::Compressor::Lz4, "date_ifs", true));
    golden!(out, v0_24, "plain", |store, Plan| Plan { blocksize: small, ..Plan::full(store::Compressor::Lz4) });
    golden!(out, v0_25, "plain", |store, Plan| {
        Plan::full(store::Compressor::Zstd(store::ZstdCompressor { compression_level: None }))
    });
    golden!(out, v0_26, "plain", |store, Plan| {
        Plan { dedicated_thread: false, ..Plan::full(store::Compressor::None) }
    });
    golden!(out, v0_27, "plain", |store, Plan| {
        Plan { blocksize: small, fields: documents::fields(true), ..Plan::full(store::Compressor::Lz4) }
    });
    golden!(out, v0_27, "sorted", |store, Plan| Plan::sorted(store::Compressor::None, "id", true));
}
