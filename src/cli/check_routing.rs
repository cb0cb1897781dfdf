//! `shardsplit check-routing`: which documents of a shard do not belong to it.

use std::fmt::Write;

use clap::Args;
use shardsplit::check_routing::{CheckedShard, RoutingCheck, RoutingReport};
use shardsplit::error::Result;
use shardsplit::partition::{DocAddress, KeyReading};
use shardsplit::publish::IndexDirectory;

use super::args::{IndexArgs, RoutingArgs, ThreadArgs};
use super::console::Console;
use super::exit::Exit;
use super::human::{self, Align, Table};
use super::routers::{self, Beside, CutArgs, TableArgs};
use super::{index, interrupt, plan};

/// Addresses that text names of each kind; JSON has more.
const NAMED: usize = 3;

/// List the documents of a shard that do not belong to it
///
/// Reads the key of every document and asks routing where it belongs. Takes the directory of one shard, or an index
/// directory, all shards of which are checked as its routing.json says; beside a single shard that file is looked for too.
/// Changes nothing and needs no other shard. Costs one pass over the key field. Exit code 0: every document is where routing
/// looks for it; 3: some are not.
#[derive(Args, Debug)]
pub(crate) struct CheckRoutingArgs {
    #[command(flatten)]
    index: IndexArgs,
    /// Field that holds each document's id [default: as routing.json says]
    #[arg(long, value_name = "FIELD", help_heading = "Routing")]
    key: Option<String>,
    /// Field with custom routing values [default: as routing.json says]
    #[arg(long, value_name = "FIELD", help_heading = "Routing")]
    routing_field: Option<String>,
    #[command(flatten)]
    routing: RoutingArgs,
    #[command(flatten)]
    tables: TableArgs,
    /// Believe hash sidecars: 4 bytes per document are read instead of its key, and a wrong sidecar is not noticed
    #[arg(long)]
    trust_sidecars: bool,
    #[command(flatten)]
    threads: ThreadArgs,
}

/// Runs the command.
pub(crate) fn run(args: &CheckRoutingArgs, console: &Console) -> Result<Exit> {
    let check = match IndexDirectory::open(&args.index.index)? {
        Some(directory) => {
            let (key, routing_field) = (args.key.as_deref(), args.routing_field.as_deref());
            index::check_flags(directory.routing(), key, routing_field, &args.routing)?;
            routers::refuse_on_index(&args.tables, &CutArgs::default())?;
            RoutingCheck::of_index(&directory)?
        }
        None => of_shard(args)?,
    };
    let check = RoutingCheck {
        trust_sidecars: args.trust_sidecars,
        threads: args.threads.threads,
        lock: args.index.lock(),
        ..check
    };
    let cancel = interrupt::cancel_on_signal(console);
    let bars = console.bars();
    let report = check.run(&bars, &cancel)?;
    drop(bars);
    for shard in &report.shards {
        console.detail("routing_shard", shard)?;
    }
    console.result("check_routing", &report, || text(&report))?;
    Ok(if report.is_clean() { Exit::Done } else { Exit::Difference })
}

fn of_shard(args: &CheckRoutingArgs) -> Result<RoutingCheck> {
    let beside = Beside::of(&args.index.index)?;
    let flags = &args.routing;
    let (router, shard, routing_partition_size) = routers::router(flags, &args.tables, beside.as_ref())?;
    let keys = routers::keys(beside.as_ref(), args.key.as_deref(), args.routing_field.as_deref())?;
    let shards = vec![(shard, args.index.index.clone())];
    Ok(RoutingCheck { routing_partition_size, ..RoutingCheck::new(shards, router, keys) })
}

fn text(report: &RoutingReport) -> String {
    let mut table = Table::new([
        ("shard", Align::Right),
        ("documents", Align::Right),
        ("belong", Align::Right),
        ("elsewhere", Align::Right),
        ("without key", Align::Right),
        ("several keys", Align::Right),
    ]);
    for shard in &report.shards {
        let elsewhere: u64 = shard.misplaced.iter().map(|misplaced| misplaced.docs).sum();
        table.row(
            [u64::from(shard.shard), shard.docs, shard.own, elsewhere, shard.missing, shard.several].map(human::count),
        );
    }
    let mut text = table.render();
    for shard in report.shards.iter().filter(|shard| shard.own < shard.docs) {
        list(&mut text, shard);
    }
    let mut readings: Vec<KeyReading> = Vec::new();
    for reading in report.shards.iter().flat_map(|shard| &shard.key_readings) {
        match readings.iter_mut().find(|sum| sum.field == reading.field && sum.plane == reading.plane) {
            Some(sum) => sum.hashed += reading.hashed,
            None => readings.push(reading.clone()),
        }
    }
    let read = if readings.is_empty() { "from sidecars".to_owned() } else { plan::keys(&readings) };
    let _ = writeln!(text, "\nkeys    {read}\nhashed  {}", human::counted(report.keys_hashed, "key", "keys"));
    let _ = match report.not_own {
        0 => writeln!(text, "every document belongs where it is"),
        not_own => writeln!(
            text,
            "{} of {} do not belong where they are",
            human::count(not_own),
            human::documents(report.docs)
        ),
    };
    for note in &report.notes {
        let _ = writeln!(text, "note: {}", human::printable(note));
    }
    text
}

/// The documents of a shard that do not belong to it.
fn list(text: &mut String, shard: &CheckedShard) {
    let mut line = |docs: u64, what: String, sample: &[DocAddress]| {
        let sample: Vec<String> = sample.iter().take(NAMED).map(ToString::to_string).collect();
        let shown = sample.join(", ");
        let more = if (sample.len() as u64) < docs { ", ..." } else { "" };
        let _ = writeln!(
            text,
            "\nshard {}: {} {what}: {}{more}",
            shard.shard,
            human::documents(docs),
            human::printable(&shown)
        );
    };
    for misplaced in &shard.misplaced {
        let what = format!("of shard {}", misplaced.belongs_to);
        line(misplaced.docs, what, &misplaced.sample);
    }
    if shard.missing > 0 {
        line(shard.missing, "without a key".to_owned(), &shard.missing_sample);
    }
    if shard.several > 0 {
        line(shard.several, "with several keys".to_owned(), &shard.several_sample);
    }
}
