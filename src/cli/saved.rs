//! Saved plans: the flag that names one, and what `plan` and `split` do with it.

use std::path::{Path, PathBuf};

use clap::Args;
use shardsplit::error::{Error, Result};
use shardsplit::job::{PlanReport, PreparedPlan, SavedPlan};

use super::args::IndexArgs;
use super::console::Console;
use super::exit::Exit;
use super::plan::{self, PlaceArgs};
use super::{index, interrupt, split};

/// The plan to run.
#[derive(Args, Debug)]
pub(crate) struct SavedArgs {
    /// Take everything from a plan that `plan --save` wrote, and refuse if anything has changed since
    ///
    /// The source must have the same segments, opstamp and checksums, documents must go to the same children, and nothing
    /// may stand at the target. No other flag goes with it.
    #[arg(long, value_name = "FILE", conflicts_with_all = [
        "index", "no_lock", "out", "into", "key", "routing_field", "by", "routing", "number_of_routing_shards",
        "routing_partition_size", "source_shards", "source_shard", "missing_key", "stray", "method", "segments",
        "max_docs_per_segment", "verify", "parallel", "threads",
        "range", "slots", "ring", "ranges", "split_key", "sub_shards", "split_fuzz", "by_prefix", "weights", "balance",
        "move_slots", "move_key", "ring_after",
    ])]
    plan: Option<PathBuf>,
}

impl SavedArgs {
    pub(crate) fn file(&self) -> Option<&Path> {
        self.plan.as_deref()
    }
}

/// What is read, and what is made; both unless a saved plan says it.
#[derive(Args, Debug)]
pub(crate) struct JobPlaceArgs {
    /// Index directory to read; it is never changed
    #[arg(short, long, value_name = "DIR", required_unless_present = "plan")]
    index: Option<PathBuf>,
    /// Do not take tantivy's writer lock on the index
    ///
    /// For file systems that cannot lock. Then it is up to you that nothing writes to the index meanwhile: a merge that
    /// removes a file under the reader fails the run, and a commit in its midst is not seen.
    #[arg(long)]
    no_lock: bool,
    /// Directory to make; children stand at DIR/0, DIR/1, ... by shard number. It must not exist
    #[arg(long, value_name = "DIR", required_unless_present = "plan")]
    out: Option<PathBuf>,
}

impl JobPlaceArgs {
    pub(crate) fn required(&self) -> Result<PlaceArgs> {
        match (&self.index, &self.out) {
            (Some(index), Some(out)) => {
                let index = IndexArgs { index: index.clone(), no_lock: self.no_lock };
                Ok(PlaceArgs { index, out: out.clone() })
            }
            _ => Err(Error::Usage("--index and --out are missing".to_owned())),
        }
    }
}

/// Checks a saved plan against what is there now, and prints it.
pub(crate) fn show(file: &Path, console: &Console) -> Result<Exit> {
    let saved = SavedPlan::read(file)?;
    let cancel = interrupt::cancel_on_signal(console);
    let bars = console.bars();
    let prepared = saved.prepare(file, &bars, &cancel)?;
    drop(bars);
    match &prepared {
        PreparedPlan::Shard(prepared) => console.result("plan", prepared.plan(), || plan::text(prepared.plan()))?,
        PreparedPlan::Index(prepared) => {
            console.result("index_plan", prepared.plan(), || index::plan_text(prepared.plan()))?;
        }
    }
    Ok(Exit::Done)
}

/// Runs a saved plan.
pub(crate) fn run(file: &Path, console: &Console) -> Result<Exit> {
    let saved = SavedPlan::read(file)?;
    let cancel = interrupt::cancel_on_signal(console);
    let bars = console.bars();
    let prepared = saved.prepare(file, &bars, &cancel)?;
    console.warn(match &prepared {
        PreparedPlan::Shard(prepared) => &prepared.plan().warnings,
        PreparedPlan::Index(prepared) => &prepared.plan().warnings,
    });
    let report = prepared.execute(&bars, &cancel)?;
    drop(bars);
    match &report {
        PlanReport::Shard(report) => {
            let published = (report.plan.out.as_path(), report.verify.is_some());
            console.published("split", &**report, published, || split::text(report))?;
        }
        PlanReport::Index(report) => {
            let kind = match report.plan.operation {
                shardsplit::route::Operation::Split => "index_split",
                shardsplit::route::Operation::Merge => "merge",
                shardsplit::route::Operation::Clone => "clone",
                shardsplit::route::Operation::Move => "ring_move",
            };
            console.published(kind, &**report, (&report.plan.out, report.verify.is_some()), || {
                index::report_text(report)
            })?;
        }
    }
    Ok(Exit::Done)
}
