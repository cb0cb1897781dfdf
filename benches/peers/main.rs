//! Whole jobs against peers, on one corpus, alternating: our rewrite, link and verification, k × tantivy's
//! `merge_filtered_segments` over all cores, a copy with sync of what the rewrite wrote, and a plain read of the source.
//!
//! ```text
//! cargo bench --bench peers -- --docs 1000000 --children 2,8,32 --segments 8 --runs 3
//! cargo bench --bench peers -- --help
//! ```
//!
//! Each run has a process of its own. Prints, per source and number of children: CPU seconds (user, system), wall seconds,
//! how busy the threads were, peak anonymous memory beside its bound, bytes left on disk, documents and megabytes per
//! second, major faults, bytes read from disk, the ratios to our rewrite, the stages of our jobs; the same as one JSON object
//! per line; and at last the ratios of all of them in one table. Corpora are made once and kept under `target/`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a bench stops where it fails")]
#![allow(clippy::cast_possible_truncation, clippy::panic, missing_docs, reason = "no library code")]

mod compare;
#[path = "../corpus/mod.rs"]
mod corpus;
mod disk;
mod figures;
mod limit;
mod measure;
mod options;
mod report;
mod work;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use compare::{Case, Input};
use limit::MemoryGroup;
use options::Options;
use work::Work;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [option, json] = args.as_slice()
        && option == measure::RUN
    {
        measure::run(json);
        return ExitCode::SUCCESS;
    }
    let outcome = match Options::parse(&args) {
        Ok(None) => {
            print!("{}", options::HELP);
            Ok(())
        }
        Ok(Some(options)) => bench(&options),
        Err(problem) => Err(problem),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("peers: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn bench(options: &Options) -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/bench-corpora");
    fs::create_dir_all(&root).unwrap();
    let scratch = match (&options.scratch, &options.index) {
        (Some(scratch), _) => scratch.clone(),
        // Beside the index: links need its file system.
        (None, Some(index)) => index.join(".."),
        (None, None) => root.clone(),
    };
    check_room(options, &root, &scratch)?;
    if options.dry_run {
        let sources = if options.index.is_some() { 1 } else { options.sizes().len() };
        let cases = sources * options.children.len() * options.caches.len();
        println!("{cases} cases, {} runs of each kind of work", options.runs);
        return Ok(());
    }

    let group = match options.memory_limit {
        None => None,
        Some(limit) => match MemoryGroup::limited_to(limit, options.memory_group.as_deref()) {
            Ok(group) => Some(group),
            Err(problem) => return Err(format!("SKIPPED, nothing was measured: no memory limit here: {problem}")),
        },
    };
    if let Some(limit) = options.memory_limit {
        println!("each run within {} MB of memory, page cache included", limit >> 20);
    }

    let mut summaries = Vec::new();
    for input in inputs(options, &root) {
        let input = input?;
        for &children in &options.children {
            for &cache in &options.caches {
                let case = Case { input: &input, children, cache };
                let measured =
                    compare::compare(options, &case, &scratch, group.as_ref().map(|group| group.dir.as_path()));
                summaries.push(report::case(options, &case, &measured));
            }
        }
    }
    report::summaries(&summaries);
    Ok(())
}

/// The sources, each made when its turn comes.
fn inputs<'a>(options: &'a Options, root: &'a Path) -> Box<dyn Iterator<Item = Result<Input, String>> + 'a> {
    if let Some(dir) = &options.index {
        return Box::new(std::iter::once(Input::open(dir.display().to_string(), dir.clone())));
    }
    Box::new(options.sizes().into_iter().map(|(corpus, docs, segments)| {
        let input = Input::open(corpus.name().to_owned(), corpus.build(root, docs, segments))?;
        if input.segments as u64 != segments.min(docs) {
            eprintln!("peers: {} has {} segments, not {segments}", input.dir.display(), input.segments);
        }
        Ok(input)
    }))
}

/// Says how much disk is needed at most, and refuses if that much is not free.
fn check_room(options: &Options, root: &Path, scratch: &Path) -> Result<(), String> {
    let sizes: Vec<(u64, bool)> = match &options.index {
        Some(dir) if !dir.is_dir() => return Err(format!("{}: no such directory", dir.display())),
        Some(dir) => vec![(work::size_of(dir, |_| true), true)],
        None => options
            .sizes()
            .into_iter()
            .map(|(corpus, docs, segments)| (docs * corpus.bytes_per_document(), corpus.is_built(root, docs, segments)))
            .collect(),
    };
    let corpora: u64 = sizes.iter().filter(|(_, is_built)| !is_built).map(|(bytes, _)| bytes).sum();
    let largest = sizes.iter().map(|(bytes, _)| *bytes).max().unwrap_or(0);
    // What the rewrite made stays while one other result comes and goes. Dictionaries are in every child: a tenth more.
    let beside = options.works.contains(&Work::Copy) || options.works.contains(&Work::Merge);
    let results = largest / 10 * if beside || options.critical_path { 22 } else { 11 };
    let needs: Vec<(PathBuf, u64)> = match &options.scratch {
        Some(scratch) => vec![(root.to_path_buf(), corpora), (scratch.clone(), results)],
        None => vec![(scratch.to_path_buf(), corpora + results)],
    };
    for (dir, bytes) in needs {
        let free = disk::free_bytes(&dir);
        println!("needs up to {:.2} GB in {}; {:.2} GB are free", bytes as f64 / 1e9, dir.display(), free as f64 / 1e9);
        if bytes > free {
            return Err(format!("not enough room in {}: free some, or choose another --scratch", dir.display()));
        }
    }
    Ok(())
}
