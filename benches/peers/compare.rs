//! One source, one number of children: every kind of work in turn, round by round, so that whatever else the machine does
//! meets all of them.

use std::fs;
use std::path::{Path, PathBuf};

use shardsplit::source::{LockMode, Source};

use crate::disk::Cache;
use crate::measure::{Cost, spawn};
use crate::options::Options;
use crate::work::{Run, Work, size_of};

/// An index to split.
#[derive(Clone, Debug)]
pub struct Input {
    /// Of the corpus, or the path.
    pub name: String,
    pub dir: PathBuf,
    /// Live documents.
    pub docs: u64,
    /// Deleted ones included: what memory is needed for.
    pub all_docs: u64,
    pub segments: usize,
    /// Of its files.
    pub bytes: u64,
}

impl Input {
    /// Looks at the index, and lets it go again: mapped pages could not be dropped from the cache.
    pub fn open(name: String, dir: PathBuf) -> Result<Input, String> {
        let source = Source::open(&dir, LockMode::None).map_err(|error| format!("{}: {error}", dir.display()))?;
        Ok(Input {
            name,
            docs: source.num_docs(),
            all_docs: source.num_docs() + source.num_deleted(),
            segments: source.segments().len(),
            bytes: size_of(&dir, |_| true),
            dir,
        })
    }
}

/// What is measured together.
#[derive(Clone, Debug)]
pub struct Case<'a> {
    pub input: &'a Input,
    pub children: u32,
    pub cache: Cache,
}

/// The runs of one kind of work.
#[derive(Clone, Debug)]
pub struct Series {
    pub work: Work,
    pub threads: usize,
    /// By round.
    pub costs: Vec<Cost>,
}

/// All series of a case, in the order of the table. The first is our rewrite with all threads.
#[derive(Clone, Debug)]
pub struct Measured(pub Vec<Series>);

impl Measured {
    /// The runs of `work` with so many threads; none if it was not measured.
    pub fn costs(&self, work: Work, threads: usize) -> &[Cost] {
        let found = self.0.iter().find(|series| series.work == work && series.threads == threads);
        found.map_or(&[], |series| &series.costs)
    }
}

/// Measures a case. Results are written below `scratch` and removed.
pub fn compare(options: &Options, case: &Case<'_>, scratch: &Path, memory_group: Option<&Path>) -> Measured {
    let mut works = vec![(Work::Rewrite, options.threads)];
    if options.critical_path && options.threads > 1 {
        works.push((Work::Rewrite, 1));
    }
    let others = Work::ALL.into_iter().filter(|&work| work != Work::Rewrite && options.works.contains(&work));
    works.extend(others.map(|work| (work, options.threads)));
    let mut all: Vec<Series> =
        works.into_iter().map(|(work, threads)| Series { work, threads, costs: Vec::new() }).collect();

    for _ in 0..options.runs {
        let round = tempfile::Builder::new().prefix("peers-run-").tempdir_in(scratch).unwrap();
        let rewritten = round.path().join("rewritten");
        for series in &mut all {
            let keep = series.work == Work::Rewrite && series.threads == options.threads;
            let other = round.path().join("other");
            let source = case.input.dir.as_path();
            let hashed = round.path().join("hashed");
            let (index, out, reads) = match series.work {
                Work::Rewrite if keep => (source, &rewritten, vec![source]),
                Work::Rewrite | Work::Link | Work::Merge | Work::Read => (source, &other, vec![source]),
                Work::HashedLink => (hashed.as_path(), &other, vec![source]),
                Work::Verify => (source, &rewritten, vec![source, rewritten.as_path()]),
                Work::Copy => (rewritten.as_path(), &other, vec![rewritten.as_path()]),
            };
            let run = Run {
                work: series.work,
                index: index.to_path_buf(),
                out: out.clone(),
                key: options.key.clone(),
                routing_field: options.routing_field.clone(),
                children: case.children,
                threads: series.threads,
                memory_group: memory_group.map(Path::to_path_buf),
            };
            if series.work == Work::HashedLink {
                run.with_sidecars(source, &hashed);
            }
            case.cache.prepare(&reads);
            series.costs.push(spawn(&run));
            if other.exists() {
                fs::remove_dir_all(&other).unwrap();
            }
        }
    }
    Measured(all)
}
