//! `shardsplit ring plan`: what leads from one ring to another, and what of an index would move.

use std::path::PathBuf;

use clap::Args;
use shardsplit::error::{Error, Result};
use shardsplit::moved::MovedDocs;
use shardsplit::publish::IndexDirectory;
use shardsplit::source::LockMode;

use super::compare;
use super::table::Side;
use crate::cli::args::{ThreadArgs, key_spec};
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::interrupt;

/// Show what moves between two rings: which arcs from whom to whom, and which documents of an index
///
/// Either may be a table of slots too, or an index directory however it is routed, if both read one hash: what would move if
/// an index of Elasticsearch's became one of a ring? Shares are exact. Beside them stand the least that any ring with these weights would move, and what plain modulo would.
/// With --index the documents of an index are counted by node, whatever routes them now: hash sidecars are read, or keys are
/// hashed. Writes nothing.
#[derive(Args, Debug)]
pub(crate) struct PlanArgs {
    /// Table file or index directory: routing as it is
    #[arg(value_name = "BEFORE")]
    before: PathBuf,
    /// Table file or index directory: routing as it will be
    #[arg(value_name = "AFTER")]
    after: PathBuf,
    /// Count the documents and bytes of this index: an index directory, or a single index with --key
    #[arg(short, long, value_name = "DIR")]
    index: Option<PathBuf>,
    /// Field that holds each document's id [default: as routing.json says]
    #[arg(long, value_name = "FIELD", requires = "index")]
    key: Option<String>,
    /// Field with custom routing values [default: as routing.json says]
    #[arg(long, value_name = "FIELD", requires = "key")]
    routing_field: Option<String>,
    /// List every arc that moves
    #[arg(long)]
    arcs: bool,
    /// Do not take tantivy's writer lock on the index
    #[arg(long)]
    no_lock: bool,
    #[command(flatten)]
    threads: ThreadArgs,
}

/// Runs the command.
pub(super) fn run(args: &PlanArgs, console: &Console) -> Result<Exit> {
    let (before, after) = (Side::read(&args.before)?, Side::read(&args.after)?);
    let measured = match job(args)? {
        None => None,
        Some(job) => {
            let [from, to] = compare::modulos(&before, &after)?;
            let cancel = interrupt::cancel_on_signal(console);
            let bars = console.bars();
            let report = job.run(&[(&before.table, &after.table), (&from, &to)], &bars, &cancel)?;
            drop(bars);
            report.notes.iter().for_each(|note| console.notices().say(&format!("note: {note}")));
            Some(report)
        }
    };
    let comparison = compare::compare(&before, &after, measured.as_ref(), args.arcs)?;
    console.result("ring_plan", &comparison, || compare::text(&comparison))?;
    Ok(Exit::Done)
}

/// Which documents are counted.
fn job(args: &PlanArgs) -> Result<Option<MovedDocs>> {
    let Some(index) = &args.index else { return Ok(None) };
    let lock = if args.no_lock { LockMode::None } else { LockMode::Writer };
    let job = match (IndexDirectory::open(index)?, &args.key) {
        (Some(directory), None) => MovedDocs::of_index(&directory),
        (Some(directory), Some(key)) => {
            let keys = key_spec(key, args.routing_field.as_deref());
            MovedDocs { keys, ..MovedDocs::of_index(&directory) }
        }
        (None, Some(key)) => MovedDocs::new(index, key_spec(key, args.routing_field.as_deref())),
        (None, None) => {
            return Err(Error::Usage(format!(
                "--key is missing: {} is no index directory whose routing.json says it; name the field that holds each document's id",
                index.display()
            )));
        }
    };
    Ok(Some(MovedDocs { threads: args.threads.threads, lock, ..job }))
}
