//! `shardsplit split`: the main job.

use std::fmt::Write;
use std::time::Duration;

use clap::Args;
use shardsplit::Result;
use shardsplit::plan::Method;
use shardsplit::progress::Stage;
use shardsplit::publish::TakenUp;
use shardsplit::report::{SplitReport, StageTime};
use shardsplit::route::Operation;

use super::console::Console;
use super::exit::Exit;
use super::human::{self, Align, Table};
use super::index::{self, Asked};
use super::plan::{self, JobArgs};
use super::{findings, interrupt, saved};

/// Split an index into k children, verify them, publish them at once
///
/// Of an index directory (a routing.json, and a directory for every shard) all shards are split, each into k: one of them
/// alone would not fit the others' routing. Routing and keys are then read from routing.json.
///
/// Children are written into a hidden directory beside --out, compared with the source, and made visible by one rename.
/// Whatever happens before that leaves nothing at --out. After a kill or a power loss the same command goes on: what was
/// finished is verified and not written again; `recover` removes it instead.
/// Nothing may write to the source meanwhile: its writer lock is held until the end.
#[derive(Args, Debug)]
pub(crate) struct SplitArgs {
    #[command(flatten)]
    job: JobArgs,
    /// Print the plan and stop, as `plan` does
    #[arg(long)]
    dry_run: bool,
}

/// Runs the command.
pub(crate) fn run(args: &SplitArgs, console: &Console) -> Result<Exit> {
    if let Some(file) = args.job.saved.file() {
        return if args.dry_run { saved::show(file, console) } else { saved::run(file, console) };
    }
    let asked = index::asked(&args.job, Operation::Split)?;
    if args.dry_run {
        return plan::show(&asked, console);
    }
    let job = match asked {
        Asked::Shard(job) => job,
        Asked::Index(job) => return index::execute("index_split", &job, console),
    };
    let cancel = interrupt::cancel_on_signal(console);
    let bars = console.bars();
    let report = {
        let prepared = job.prepare(&bars, &cancel)?;
        console.warn(&prepared.plan().warnings);
        prepared.execute(&bars, &cancel)?
    };
    drop(bars);
    console.published("split", &report, (&report.plan.out, report.verify.is_some()), || text(&report))?;
    Ok(Exit::Done)
}

pub(super) fn text(report: &SplitReport) -> String {
    let mut text = format!("{}\n\n", plan::headline("split", &report.plan));
    let size = if report.plan.method == Method::Link { "linked size" } else { "size" };
    let children = report.children.iter().map(|child| (child.shard, child.docs, child.segments, child.bytes));
    text.push_str(&plan::children_table(size, children));

    let mut facts = Table::new([("", Align::Left), ("", Align::Left)]);
    if report.plan.placement.is_hash() {
        facts.row(["keys".to_owned(), plan::keys(&report.plan.key_readings)]);
        facts.row(["hashed".to_owned(), human::counted(report.plan.keys_hashed, "key", "keys")]);
    } else {
        plan::placed(&report.plan).into_iter().for_each(|(name, value)| facts.row([name, value]));
    }
    taken_up(report.taken_up.as_ref()).into_iter().for_each(|text| facts.row(["taken up".to_owned(), text]));
    let verified = report.verify.as_ref().map_or_else(|| "not verified (--verify none)".to_owned(), findings::verdict);
    facts.row(["verified".to_owned(), verified]);
    let _ = write!(
        text,
        "\n{}\n{}",
        facts.render(),
        stages(&report.stages, report.plan.census.live, report.plan.source_bytes)
    );
    if let Some(found) = report.verify.as_ref() {
        text.push_str(&findings::list(found));
    }
    for warning in &report.plan.warnings {
        let _ = writeln!(text, "warning: {}", human::printable(warning));
    }
    // What opening the source gave to note is among the plan's warnings already.
    for note in report.notes.iter().filter(|note| !report.plan.warnings.contains(note)) {
        let _ = writeln!(text, "note: {}", human::printable(note));
    }
    text
}

/// What a run that was killed left, and what became of it.
pub(super) fn taken_up(found: Option<&TakenUp>) -> Option<String> {
    let found = found?;
    let removed = match found.removed_files {
        0 => String::new(),
        files => format!("; {} that were not finished, removed", human::counted(files, "file", "files")),
    };
    let children = found.children.len() as u64;
    Some(format!(
        "{} that an unfinished run had written: {}, {}, not written again{removed}",
        human::counted(children, "child", "children"),
        human::counted(found.files, "file", "files"),
        human::bytes(found.bytes)
    ))
}

/// A line per stage, with documents and source bytes per second.
pub(super) fn stages(times: &[StageTime], docs: u64, bytes: u64) -> String {
    let mut table = Table::new([
        ("stage", Align::Left),
        ("wall", Align::Right),
        ("cpu", Align::Right),
        ("documents/s", Align::Right),
        ("source MB/s", Align::Right),
    ]);
    let mut line = |name: &str, wall: f64, cpu: f64, rates: bool| {
        let [per_second, megabytes] = if rates { rates_of(docs, bytes, wall) } else { [String::new(), String::new()] };
        table.row([name.to_owned(), human::seconds(wall), human::seconds(cpu), per_second, megabytes]);
    };
    for time in times {
        let rates = matches!(time.stage, Stage::Route | Stage::Write | Stage::Verify);
        line(time.stage.name(), time.wall_seconds, time.cpu_seconds, rates);
    }
    let wall = times.iter().map(|time| time.wall_seconds).sum();
    let cpu = times.iter().map(|time| time.cpu_seconds).sum();
    line("total", wall, cpu, true);
    table.render()
}

/// Documents and source megabytes per second of `wall`.
#[expect(clippy::cast_precision_loss, reason = "rates are shown with few digits")]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate is not negative; casts saturate")]
fn rates_of(docs: u64, bytes: u64, wall: f64) -> [String; 2] {
    // Below a millisecond the clock says more than the disk.
    if wall < Duration::from_millis(1).as_secs_f64() {
        return ["-".to_owned(), "-".to_owned()];
    }
    let docs = docs as f64 / wall;
    let megabytes = bytes as f64 / 1e6 / wall;
    [human::count(docs.round() as u64), format!("{megabytes:.1}")]
}

#[cfg(test)]
mod tests {
    use shardsplit::partition::{Census, KeyPlane, KeyReading, Placement, SegmentMode};
    use shardsplit::plan::{Plan, PlannedChild};
    use shardsplit::report::ChildReport;
    use shardsplit::route::SplitSpec;

    use super::*;

    fn report() -> SplitReport {
        let plan = Plan {
            source: "shard".into(),
            out: "children".into(),
            method: Method::Rewrite,
            segments: SegmentMode::One,
            routing: SplitSpec::new(2),
            tables: None,
            number_of_routing_shards: Some(1024),
            placement: Placement::Hash,
            key: "id".into(),
            routing_field: None,
            keys_hashed: 3000,
            key_readings: vec![KeyReading { field: "id".into(), plane: KeyPlane::Column, hashed: 3000 }],
            children: vec![PlannedChild { shard: 0, docs: 3000, segments: 1, predicted_bytes: 2_000_000 }],
            census: Census { live: 3000, ..Census::default() },
            source_bytes: 4_000_000,
            peak_disk_bytes: 5_000_000,
            warnings: Vec::new(),
        };
        let children = vec![
            ChildReport {
                shard: 0,
                path: "children/0".into(),
                docs: 1000,
                segments: 1,
                bytes: 1_500_000,
                new_bytes: 1_500_000,
            },
            ChildReport {
                shard: 1,
                path: "children/1".into(),
                docs: 2000,
                segments: 1,
                bytes: 2_500_000,
                new_bytes: 2_500_000,
            },
        ];
        let stages = vec![StageTime { stage: Stage::Write, wall_seconds: 2.0, cpu_seconds: 4.0 }];
        SplitReport {
            plan,
            children,
            taken_up: None,
            reads: None,
            verify: None,
            stages,
            notes: vec!["children/1 was copied".into()],
        }
    }

    #[test]
    fn the_report_adds_up_children_and_gives_rates_over_wall_time() {
        let text = text(&report());
        assert!(text.contains("total      3,000  100.0 %         2  4.00 MB"), "{text}");
        assert!(text.contains("write  2.000 s  4.000 s        1,500          2.0"), "{text}");
        assert!(text.contains("not verified"), "{text}");
        assert!(text.contains("id read from its column (3,000 hashed)"), "{text}");
        assert!(text.ends_with("note: children/1 was copied\n"), "{text}");
    }

    #[test]
    fn a_stage_too_short_to_measure_has_no_rate() {
        assert_eq!(rates_of(1000, 1000, 0.0), ["-", "-"]);
    }
}
