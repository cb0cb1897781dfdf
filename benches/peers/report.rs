//! Tables for people, lines of JSON for programs.

use serde_json::json;

use crate::compare::{Case, Measured, Series};
use crate::figures::{CriticalPath, Spread, between};
use crate::measure::Cost;
use crate::options::Options;
use crate::work::Work;

const MB: f64 = 1e6;

/// The figures of a case that stand in the last table.
pub struct Summary {
    title: String,
    peer_cpu: Option<Spread>,
    peer_wall: Option<Spread>,
    over_copy: Option<Spread>,
    verify_cpu: Option<Spread>,
    link_wall: Option<Spread>,
    hashed_link_wall: Option<Spread>,
    /// CPU microseconds per document.
    per_document: Option<Spread>,
    /// Most anonymous memory of ours in relation to its bound.
    of_bound: Option<f64>,
}

/// Prints a case and returns what the last table shows of it.
pub fn case(options: &Options, case: &Case<'_>, measured: &Measured) -> Summary {
    let input = case.input;
    println!(
        "\n{}: {} documents, {} segments, {:.1} MB; k = {}, {} cache, median (least..most) of {}",
        input.name,
        input.docs,
        input.segments,
        input.bytes as f64 / MB,
        case.children,
        case.cache.name(),
        options.runs
    );
    println!(
        "{:18} {:>3} {:>7} {:>6} {:>21} {:>21} {:>5} {:>7} {:>7} {:>8} {:>9} {:>7} {:>7} {:>8} {:>8} {:>6} {:>6}",
        "",
        "thr",
        "user s",
        "sys s",
        "CPU s",
        "wall s",
        "busy",
        "anon MB",
        "bound",
        "MB out",
        "docs/s",
        "MB/s",
        "us/doc",
        "major",
        "disk MB",
        "x CPU",
        "x wall"
    );
    for series in &measured.0 {
        row(case, measured, series);
    }
    for series in measured.0.iter().filter(|series| series.costs.first().is_some_and(|cost| !cost.stages.is_empty())) {
        println!("  {} with {} threads, wall (CPU): {}", series.work.name(), series.threads, stages(&series.costs));
    }
    let ours = measured.costs(Work::Rewrite, options.threads);
    if options.threads > 1
        && let Some(path) = CriticalPath::of(measured.costs(Work::Rewrite, 1), ours, options.threads)
    {
        critical_path(&path);
        line(case, "critical_path", &json!(path));
    }
    for series in &measured.0 {
        line(case, "work", &figures(options, case, measured, series));
    }
    let summary = Summary::of(options, case, measured);
    line(case, "summary", &summary.json());
    summary
}

fn row(case: &Case<'_>, measured: &Measured, series: &Series) {
    let costs = &series.costs;
    let ours = &measured.0[0].costs;
    let median = |figure: fn(&Cost) -> f64| Spread::over(costs, figure).unwrap().median;
    let range = |figure: fn(&Cost) -> f64| {
        let Spread { median, min, max } = Spread::over(costs, figure).unwrap();
        format!("{median:.2} ({min:.2}..{max:.2})")
    };
    let wall = median(|cost| cost.wall);
    let bound = bound(case, series).map_or_else(String::new, |bound| {
        format!("{:.0}{}", bound as f64 / MB, if peak(costs) > bound { "!" } else { "" })
    });
    println!(
        "{:18} {:>3} {:>7.2} {:>6.2} {:>21} {:>21} {:>5.2} {:>7.1} {:>7} {:>8.1} {:>9.0} {:>7.1} {:>7.2} {:>8.0} {:>8.1} \
         {:>6.2} {:>6.2}",
        series.work.title(),
        series.threads,
        median(|cost| cost.user),
        median(|cost| cost.system),
        range(Cost::cpu),
        range(|cost| cost.wall),
        busy(series).unwrap().median,
        peak(costs) as f64 / MB,
        bound,
        median(|cost| cost.written as f64) / MB,
        case.input.docs as f64 / wall,
        case.input.bytes as f64 / MB / wall,
        median(Cost::cpu) * 1e6 / case.input.docs as f64,
        median(|cost| cost.major_faults as f64),
        median(|cost| cost.disk_read as f64) / MB,
        Spread::ratio(costs, ours, Cost::cpu).unwrap().median,
        Spread::ratio(costs, ours, |cost| cost.wall).unwrap().median,
    );
}

/// The share of the threads' time that they worked.
fn busy(series: &Series) -> Option<Spread> {
    Spread::over(&series.costs, |cost| cost.cpu() / (cost.wall * series.threads as f64))
}

fn bound(case: &Case<'_>, series: &Series) -> Option<u64> {
    series.work.memory_bound(case.input.all_docs, case.children, series.threads)
}

/// The most of all runs: a bound holds always or not at all.
fn peak(costs: &[Cost]) -> u64 {
    costs.iter().map(|cost| cost.peak_anonymous).max().unwrap_or(0)
}

fn stages(costs: &[Cost]) -> String {
    let mut text = String::new();
    for (nth, stage) in costs[0].stages.iter().enumerate() {
        let wall = Spread::over(costs, |cost| cost.stages[nth].wall).unwrap().median;
        let cpu = Spread::over(costs, |cost| cost.stages[nth].cpu).unwrap().median;
        text.push_str(&format!("{} {wall:.3} ({cpu:.3}), ", stage.name));
    }
    text + &format!("between {:.3}", Spread::over(costs, between).unwrap().median)
}

fn critical_path(path: &CriticalPath) {
    println!("  critical path, wall s: {:>9} {:>9} {:>8}", "1 thread", path.threads, "serial");
    for stage in &path.stages {
        println!("  {:>21}  {:>9.3} {:>9.3} {:>6.0} %", stage.name, stage.one, stage.several, 100.0 * stage.serial);
    }
    println!(
        "  {:>21}  {:>9.3} {:>9.3} {:>6.0} %; 16 threads would take {:.3} s, {:.1} times as fast as one",
        "all",
        path.one,
        path.several,
        100.0 * path.serial,
        path.at_16,
        path.one / path.at_16
    );
}

fn figures(options: &Options, case: &Case<'_>, measured: &Measured, series: &Series) -> serde_json::Value {
    let (costs, ours) = (&series.costs, &measured.0[0].costs);
    let over = |figure: fn(&Cost) -> f64| Spread::over(costs, figure);
    let wall = Spread::over(costs, |cost| cost.wall).unwrap();
    json!({
        "work": series.work, "threads": series.threads, "runs": options.runs, "memory_limit": options.memory_limit,
        "user_seconds": over(|cost| cost.user), "system_seconds": over(|cost| cost.system),
        "cpu_seconds": over(Cost::cpu), "wall_seconds": wall, "busy": busy(series),
        "peak_anonymous_bytes": peak(costs), "memory_bound_bytes": bound(case, series),
        "bytes_written": over(|cost| cost.written as f64),
        "docs_per_second": case.input.docs as f64 / wall.median,
        "bytes_per_second": case.input.bytes as f64 / wall.median,
        "major_faults": over(|cost| cost.major_faults as f64), "disk_read_bytes": over(|cost| cost.disk_read as f64),
        "cpu_ratio": Spread::ratio(costs, ours, Cost::cpu), "wall_ratio": Spread::ratio(costs, ours, |cost| cost.wall),
        "stages": costs.iter().map(|cost| &cost.stages).collect::<Vec<_>>(),
    })
}

/// One object on one line: what it is and of which case, then `figures`.
fn line(case: &Case<'_>, kind: &str, figures: &serde_json::Value) {
    let mut object = json!({
        "kind": kind, "corpus": case.input.name, "docs": case.input.docs, "segments": case.input.segments,
        "source_bytes": case.input.bytes, "children": case.children, "cache": case.cache.name(),
    });
    if let (Some(object), Some(figures)) = (object.as_object_mut(), figures.as_object()) {
        object.extend(figures.clone());
    }
    println!("{object}");
}

impl Summary {
    fn of(options: &Options, case: &Case<'_>, measured: &Measured) -> Summary {
        let costs = |work| measured.costs(work, options.threads);
        let ours = costs(Work::Rewrite);
        let docs = case.input.docs as f64;
        let of_bound = |series: &Series| Some(peak(&series.costs) as f64 / bound(case, series)? as f64);
        Summary {
            title: format!(
                "{}, {} documents, {} segments, k = {}, {}",
                case.input.name,
                case.input.docs,
                case.input.segments,
                case.children,
                case.cache.name()
            ),
            peer_cpu: Spread::ratio(costs(Work::Merge), ours, Cost::cpu),
            peer_wall: Spread::ratio(costs(Work::Merge), ours, |cost| cost.wall),
            over_copy: Spread::ratio(ours, costs(Work::Copy), |cost| cost.wall),
            verify_cpu: Spread::ratio(costs(Work::Verify), ours, Cost::cpu),
            link_wall: Spread::over(costs(Work::Link), |cost| cost.wall),
            hashed_link_wall: Spread::over(costs(Work::HashedLink), |cost| cost.wall),
            per_document: Spread::over(ours, |cost| cost.cpu() * 1e6 / docs),
            of_bound: measured.0.iter().filter_map(of_bound).max_by(f64::total_cmp),
        }
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "peer_over_rewrite_cpu": self.peer_cpu, "peer_over_rewrite_wall": self.peer_wall,
            "rewrite_over_copy_and_sync_wall": self.over_copy, "verify_over_rewrite_cpu": self.verify_cpu,
            "link_wall_seconds": self.link_wall, "hashed_link_wall_seconds": self.hashed_link_wall,
            "rewrite_cpu_microseconds_per_document": self.per_document,
            "peak_over_memory_bound": self.of_bound,
        })
    }
}

/// The last table.
pub fn summaries(summaries: &[Summary]) {
    let width = summaries.iter().map(|summary| summary.title.len()).max().unwrap_or(0);
    println!(
        "\n{:width$}  {:>12} {:>12} {:>12} {:>12} {:>9} {:>9} {:>8} {:>8}",
        "", "peer / ours,", "peer / ours,", "ours / copy,", "verify / re-", "link,", "… hashed,", "us CPU", "peak /"
    );
    println!(
        "{:width$}  {:>12} {:>12} {:>12} {:>12} {:>9} {:>9} {:>8} {:>8}",
        "", "CPU", "wall", "wall", "write, CPU", "wall s", "wall s", "per doc", "bound"
    );
    let text = |spread: Option<Spread>| spread.map_or_else(|| "-".to_owned(), |spread| format!("{:.2}", spread.median));
    for summary in summaries {
        println!(
            "{:width$}  {:>12} {:>12} {:>12} {:>12} {:>9} {:>9} {:>8} {:>8}",
            summary.title,
            text(summary.peer_cpu),
            text(summary.peer_wall),
            text(summary.over_copy),
            text(summary.verify_cpu),
            text(summary.link_wall),
            text(summary.hashed_link_wall),
            text(summary.per_document),
            summary.of_bound.map_or_else(|| "-".to_owned(), |share| format!("{share:.2}")),
        );
    }
}
