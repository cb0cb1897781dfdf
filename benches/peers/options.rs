//! The command line of the bench.

use std::path::PathBuf;
use std::str::FromStr;

use crate::corpus::shapes::Corpus;
use crate::disk::Cache;
use crate::work::Work;

/// Printed for `--help`.
pub const HELP: &str = "\
Whole jobs against peers, alternating: cargo bench --bench peers -- [options]

What to split (LIST: values with commas between; every combination is measured)
  --corpus LIST         reference (default), logs, wide, tiny, large, ids: made once, kept under target/bench-corpora
  --docs LIST           documents; default 20000, for large 2000
  --segments LIST       segments of the source; default 4
  --index DIR           an index of yours instead; needs --key
  --key FIELD           its key field; default id
  --routing-field FIELD its routing field
  --scratch DIR         where results go, and are removed; default: beside the source

How
  --children LIST       k; default 8
  --runs N              runs of each, in turn; default 3
  --threads N           default: all cores
  --cache MODE          what the page cache holds of the input before each run: warm (default), cold, both
  --only LIST           rewrite, link, hashed-link, verify, merge, copy, read; rewrite always runs, the others lean on it
  --ours-only           all but merge
  --critical-path       the rewrite with one thread too: what stays serial, and what 16 threads would give
  --memory-limit MB     ours only, cold, each run in a control group (version 2) with that limit
  --memory-group DIR    an existing control group for it, of either version; default: a new one
  --scale               preset: reference, 1 and 10 million documents, 4 and 200 segments, k = 2, 8, 32, 128, rewrite, link
                        and verify, one run; options after it change it. An hour or more
  --dry-run             how much would be measured, and how much disk it needs
";

/// What was asked for.
#[derive(Clone, Debug)]
pub struct Options {
    pub corpora: Vec<Corpus>,
    /// Empty: what is usual for the corpus.
    pub docs: Vec<u64>,
    pub segments: Vec<u64>,
    pub index: Option<PathBuf>,
    pub key: String,
    pub routing_field: Option<String>,
    pub scratch: Option<PathBuf>,
    pub children: Vec<u32>,
    pub runs: usize,
    pub threads: usize,
    pub caches: Vec<Cache>,
    pub works: Vec<Work>,
    pub critical_path: bool,
    /// Bytes.
    pub memory_limit: Option<u64>,
    pub memory_group: Option<PathBuf>,
    pub dry_run: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            corpora: vec![Corpus::Reference],
            docs: Vec::new(),
            segments: vec![4],
            index: None,
            key: "id".to_owned(),
            routing_field: None,
            scratch: None,
            children: vec![8],
            runs: 3,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            caches: vec![Cache::Warm],
            works: Work::ALL.to_vec(),
            critical_path: false,
            memory_limit: None,
            memory_group: None,
            dry_run: false,
        }
    }
}

impl Options {
    /// `None` if help was asked for.
    pub fn parse(args: &[String]) -> Result<Option<Options>, String> {
        let mut options = Options::default();
        let mut key = None;
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().map(String::as_str).ok_or_else(|| format!("{arg} needs a value"));
            match arg.as_str() {
                "--corpus" => options.corpora = named(arg, value()?, &Corpus::ALL, Corpus::name)?,
                "--docs" => options.docs = numbers(arg, value()?)?,
                "--segments" => options.segments = numbers(arg, value()?)?,
                "--index" => options.index = Some(value()?.into()),
                "--key" => key = Some(value()?.to_owned()),
                "--routing-field" => options.routing_field = Some(value()?.to_owned()),
                "--scratch" => options.scratch = Some(value()?.into()),
                "--children" => options.children = numbers(arg, value()?)?,
                "--runs" => options.runs = number(arg, value()?)?,
                "--threads" => options.threads = number(arg, value()?)?,
                "--cache" => {
                    options.caches = match value()? {
                        "both" => vec![Cache::Warm, Cache::Cold],
                        mode => named(arg, mode, &[Cache::Warm, Cache::Cold], Cache::name)?,
                    }
                }
                "--only" => options.works = named(arg, value()?, &Work::ALL, Work::name)?,
                "--ours-only" => options.works.retain(|&work| work != Work::Merge),
                "--critical-path" => options.critical_path = true,
                "--memory-limit" => options.memory_limit = Some(number::<u64>(arg, value()?)? << 20),
                "--memory-group" => options.memory_group = Some(value()?.into()),
                "--scale" => options.scale(),
                "--dry-run" => options.dry_run = true,
                "--help" | "-h" => return Ok(None),
                // cargo passes it.
                "--bench" => {}
                _ => return Err(format!("unknown option {arg}; --help lists those there are")),
            }
        }
        if options.index.is_some() && key.is_none() {
            return Err("--index needs --key FIELD: the field that decides where documents go".to_owned());
        }
        options.key = key.unwrap_or(options.key);
        if options.memory_limit.is_some() {
            // Pages that we read would be counted for us, outside the limit; and the peer may need more than there is.
            options.caches = vec![Cache::Cold];
            options.works.retain(|&work| work != Work::Merge);
        }
        let least = [options.runs, options.threads, options.segments.len(), options.children.len()];
        if least.contains(&0) || options.segments.contains(&0) || options.docs.contains(&0) {
            return Err("runs, threads, segments, documents: at least one of each".to_owned());
        }
        Ok(Some(options))
    }

    fn scale(&mut self) {
        self.corpora = vec![Corpus::Reference];
        self.docs = vec![1_000_000, 10_000_000];
        self.segments = vec![4, 200];
        self.children = vec![2, 8, 32, 128];
        self.works = vec![Work::Rewrite, Work::Link, Work::Verify];
        self.runs = 1;
    }

    /// Documents and segments of every corpus that is asked for.
    pub fn sizes(&self) -> Vec<(Corpus, u64, u64)> {
        let mut sizes = Vec::new();
        for &corpus in &self.corpora {
            let docs = if self.docs.is_empty() { vec![corpus.usual_docs()] } else { self.docs.clone() };
            for docs in docs {
                sizes.extend(self.segments.iter().map(|&segments| (corpus, docs, segments)));
            }
        }
        sizes
    }
}

fn number<T: FromStr>(option: &str, text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{option} {text}: not a number"))
}

fn numbers<T: FromStr>(option: &str, text: &str) -> Result<Vec<T>, String> {
    text.split(',').map(|text| number(option, text)).collect()
}

fn named<T: Copy>(option: &str, text: &str, all: &[T], name: fn(T) -> &'static str) -> Result<Vec<T>, String> {
    text.split(',')
        .map(|text| {
            all.iter().copied().find(|&one| name(one) == text).ok_or_else(|| {
                let known: Vec<&str> = all.iter().map(|&one| name(one)).collect();
                format!("{option} {text}: unknown; there are {}", known.join(", "))
            })
        })
        .collect()
}
