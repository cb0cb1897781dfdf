//! `shardsplit index-hashes`: hash sidecars beside an index.

use std::fmt::Write;

use clap::Args;
use shardsplit::Result;
use shardsplit::index_hashes::{IndexHashes, IndexHashesReport, SidecarAction};
use shardsplit::publish::RealFs;
use shardsplit::route::RoutingFunction;
use shardsplit::source::LockMode;

use super::args::{self, IndexArgs, Routing, ThreadArgs};
use super::console::Console;
use super::exit::Exit;
use super::human::{self, Align, Table};
use super::interrupt;

/// Write hash sidecars beside the segments of an index, so that its splits hash no key
///
/// The only command that writes into an index: it adds one file of 4 bytes per document for each segment, and touches none
/// of the index's own; tantivy does not see them. Splits made by this program have their sidecars already. Reads the whole
/// index once, for its checksums, and its keys. Sound sidecars are left alone, so that a second run does nothing. Needs the
/// index to itself: it takes the writer lock as a writer does.
#[derive(Args, Debug)]
pub(crate) struct IndexHashesArgs {
    #[command(flatten)]
    index: IndexArgs,
    /// Field that holds each document's id
    #[arg(long, value_name = "FIELD", help_heading = "Routing")]
    key: String,
    /// Field with custom routing values
    #[arg(long, value_name = "FIELD", help_heading = "Routing")]
    routing_field: Option<String>,
    /// Routing function of the index, which says how keys are hashed [default: elasticsearch]
    #[arg(long, value_name = "FUNCTION", help_heading = "Routing")]
    routing: Option<Routing>,
    /// routing_partition_size of the index
    #[arg(long, value_name = "P", help_heading = "Routing", default_value_t = 1)]
    routing_partition_size: u32,
    #[command(flatten)]
    threads: ThreadArgs,
}

/// Runs the command.
pub(crate) fn run(args: &IndexHashesArgs, console: &Console) -> Result<Exit> {
    let cancel = interrupt::cancel_on_signal(console);
    let job = IndexHashes {
        index: args.index.index.clone(),
        keys: args::key_spec(&args.key, args.routing_field.as_deref()),
        function: args.routing.map_or_else(RoutingFunction::default, Routing::function),
        routing_partition_size: args.routing_partition_size,
        threads: args.threads.threads,
        lock: if args.index.lock() == LockMode::None { LockMode::None } else { LockMode::Exclusive },
    };
    let bars = console.bars();
    let report = job.run(&RealFs, &bars, &cancel)?;
    drop(bars);
    console.result("index_hashes", &report, || text(&report))?;
    Ok(Exit::Done)
}

fn text(report: &IndexHashesReport) -> String {
    let mut table = Table::new([("hash sidecar", Align::Left), ("documents", Align::Right), ("", Align::Left)]);
    for segment in &report.segments {
        let action = match segment.action {
            SidecarAction::Written => "written",
            SidecarAction::Replaced => "replaced: it could not be used",
            SidecarAction::Kept => "there already",
            SidecarAction::Skipped => "not needed",
        };
        table.row([segment.file.clone(), human::count(segment.docs), action.to_owned()]);
    }
    let mut text = table.render();
    let _ = writeln!(text, "\nhashed  {}", human::counted(report.keys_hashed, "key", "keys"));
    for note in &report.notes {
        let _ = writeln!(text, "note: {}", human::printable(note));
    }
    text
}
