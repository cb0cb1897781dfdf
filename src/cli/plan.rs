//! `shardsplit plan`: what `split`, `merge` or `clone` would do with the same flags.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use shardsplit::error::{Error, Result};
use shardsplit::job::{Change, IndexJob, Job};
use shardsplit::partition::{KeyPlane, KeyPolicies, KeyReading, Placement, SegmentMode};
use shardsplit::plan::{Method, Plan};
use shardsplit::route::{Operation, ShardNumber, SplitSpec};

use super::args::{self, IndexArgs, PolicyArgs, RoutingArgs};
use super::by::ByArgs;
use super::console::Console;
use super::exit::Exit;
use super::explain;
use super::human::{self, Align, Table};
use super::index::{self, Asked};
use super::interrupt;
use super::routers::{CutArgs, TableArgs};
use super::saved::{self, JobPlaceArgs, SavedArgs};
use super::writing::WritingArgs;

/// Most children whose contents are named.
const MOST_LABELS: usize = 64;

/// Show what `split`, `merge` or `clone` would do, and write nothing
///
/// Opens and checks the index, reads and hashes the key of every document, and prints documents and predicted bytes
/// per child, the most disk space needed, and what an operator should know. Costs one pass over the key field: seconds
/// for a column or a raw-indexed field, a pass over the doc store otherwise.
#[derive(Args, Debug)]
pub(crate) struct PlanArgs {
    /// What to plan [default: split]
    #[arg(long, value_name = "OPERATION")]
    operation: Option<OperationArg>,
    /// Write the plan to a file as well, for `split --plan FILE`: which source, with the checksums of all its files, and
    /// everything the job was asked. Nothing may stand at FILE
    #[arg(long, value_name = "FILE", conflicts_with = "plan")]
    save: Option<PathBuf>,
    /// Say what the plan rests on as well: legal numbers of children and why others are not, documents by part of the hash
    /// space, the heaviest keys and what they force, disk by method, file systems
    ///
    /// For a single index. Costs some passes over the routing hashes in memory. With --json a line of type "explanation"
    /// stands before the plan.
    #[arg(long, conflicts_with = "plan")]
    explain: bool,
    #[command(flatten)]
    pub(crate) job: JobArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum OperationArg {
    /// Every shard becomes --into shards
    Split,
    /// The shards of an index directory become --into shards
    Merge,
    /// Every shard of an index directory becomes one
    Clone,
}

/// What a split needs to know: the flags of `plan` and `split`.
#[derive(Args, Debug)]
pub(crate) struct JobArgs {
    #[command(flatten)]
    pub(crate) place: JobPlaceArgs,
    #[command(flatten)]
    pub(crate) saved: SavedArgs,
    /// Number of children of each shard; of a merge, number of shards that are left
    #[arg(long, value_name = "K")]
    pub(crate) into: Option<u32>,
    /// Field that holds each document's id (Elasticsearch's _id) [default: as routing.json says]
    ///
    /// Must give exactly one value per document. Cheapest is a string column (fast field), then a raw-indexed field;
    /// any other stored field serves too, but every document must be decompressed for it. `inspect` lists usable fields.
    /// Needed unless --index is an index directory, or --by says how to do without.
    #[arg(long, value_name = "FIELD", help_heading = "Routing")]
    pub(crate) key: Option<String>,
    /// Field with custom routing values (Elasticsearch's _routing); documents without one go by --key
    #[arg(long, value_name = "FIELD", help_heading = "Routing")]
    pub(crate) routing_field: Option<String>,
    #[command(flatten)]
    pub(crate) by: ByArgs,
    #[command(flatten)]
    pub(crate) routing: RoutingArgs,
    #[command(flatten)]
    pub(crate) tables: TableArgs,
    #[command(flatten)]
    pub(crate) cuts: CutArgs,
    #[command(flatten)]
    pub(crate) policies: PolicyArgs,
    #[command(flatten)]
    pub(crate) writing: WritingArgs,
}

/// What is read, and what is made.
#[derive(Args, Debug)]
pub(crate) struct PlaceArgs {
    #[command(flatten)]
    pub(crate) index: IndexArgs,
    /// Directory to make; children stand at DIR/0, DIR/1, ... by shard number. It must not exist
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
}

impl JobArgs {
    /// The job without a key that these flags ask for.
    pub(crate) fn placed_job(&self, place: &PlaceArgs, placement: Placement) -> Result<Job> {
        if self.key.is_some()
            || self.routing_field.is_some()
            || self.routing.given()
            || self.tables.any()
            || self.cuts.any()
        {
            return Err(Error::Usage(
                "--by places documents without a key: leave --key, --routing-field and all numbers of shards away"
                    .to_owned(),
            ));
        }
        let into = placement.number_of_shards()?;
        Ok(Job { placement, ..self.shard_job(place, into, "") })
    }

    /// The job on a single shard that these flags ask for.
    pub(crate) fn shard_job(&self, place: &PlaceArgs, into: u32, key: &str) -> Job {
        // What both kinds of jobs have in common is said once.
        let IndexJob { method, segments, max_docs_per_segment, verify, threads, .. } =
            self.writing.over(IndexJob::new(&place.index.index, &place.out, Change::Clone));
        Job {
            source: place.index.index.clone(),
            out: place.out.clone(),
            split: self.routing.over(SplitSpec::new(into)),
            tables: None,
            keys: args::key_spec(key, self.routing_field.as_deref()),
            placement: Placement::Hash,
            policies: self.policies.over(KeyPolicies::default()),
            method,
            segments,
            max_docs_per_segment,
            verify,
            threads,
            lock: place.index.lock(),
        }
    }
}

/// Runs the command.
pub(crate) fn run(args: &PlanArgs, console: &Console) -> Result<Exit> {
    let operation = match args.operation {
        None | Some(OperationArg::Split) => Operation::Split,
        Some(OperationArg::Merge) => Operation::Merge,
        Some(OperationArg::Clone) => Operation::Clone,
    };
    if let Some(file) = args.job.saved.file() {
        return saved::show(file, console);
    }
    show_and_save(&index::asked(&args.job, operation)?, (args.save.as_deref(), args.explain), console)
}

/// Prepares a job and prints its plan: also what `--dry-run` does.
pub(crate) fn show(asked: &Asked, console: &Console) -> Result<Exit> {
    show_and_save(asked, (None, false), console)
}

fn show_and_save(asked: &Asked, (save, explain): (Option<&Path>, bool), console: &Console) -> Result<Exit> {
    let cancel = interrupt::cancel_on_signal(console);
    let bars = console.bars();
    match asked {
        Asked::Shard(job) => {
            let prepared = job.prepare(&bars, &cancel)?;
            drop(bars);
            let explanation = if explain { Some(prepared.explain()?) } else { None };
            save.map(|file| prepared.save(file)).transpose()?;
            if let Some(explanation) = &explanation {
                console.detail("explanation", explanation)?;
            }
            console.result("plan", prepared.plan(), || {
                let more = explanation.as_ref().map(|explanation| explain::text(explanation, prepared.plan()));
                text(prepared.plan()) + &more.unwrap_or_default()
            })?;
        }
        Asked::Index(_) if explain => {
            return Err(Error::Usage("--explain is for a single index: name the directory of a shard".to_owned()));
        }
        Asked::Index(job) => {
            let prepared = job.prepare(&bars, &cancel)?;
            drop(bars);
            save.map(|file| prepared.save(file)).transpose()?;
            console.result("index_plan", prepared.plan(), || index::plan_text(prepared.plan()))?;
        }
    }
    Ok(Exit::Done)
}

/// Children whose part of the hashes is shown.
const SHOWN_HOLDINGS: usize = 24;

pub(super) fn text(plan: &Plan) -> String {
    let mut text = format!("{}\n\n", headline("plan: split", plan));
    let children = plan.children.iter().map(|child| (child.shard, child.docs, child.segments, child.predicted_bytes));
    text.push_str(&children_table("predicted size", children));

    let mut facts = Table::new([("", Align::Left), ("", Align::Left)]);
    let mut fact = |name: &str, value: String| facts.row([name.to_owned(), value]);
    let (live, deleted) = (human::documents(plan.census.live), human::count(plan.census.deleted));
    fact("source", format!("{live}, {deleted} deleted, {}", human::bytes(plan.source_bytes)));
    if plan.placement.is_hash() {
        fact("routing", routing(plan));
        if let Some(tables) = &plan.tables {
            let children = plan.children.iter().take(SHOWN_HOLDINGS);
            let mut holdings: Vec<String> =
                children.map(|child| format!("{}: {}", child.shard, tables.after().holding(child.shard))).collect();
            holdings.extend((plan.children.len() > SHOWN_HOLDINGS).then(|| "...".to_owned()));
            fact("children", holdings.join("; "));
        }
        fact("keys", keys(&plan.key_readings));
        fact("hashed", human::counted(plan.keys_hashed, "key", "keys"));
    } else {
        placed(plan).into_iter().for_each(|(name, value)| fact(&name, value));
    }
    if let Some(count) = plan.census.duplicate_keys.filter(|&count| count > 0) {
        fact("duplicate keys", format!("{}, each with the key of an earlier one", human::documents(count)));
    }
    if plan.census.missing_placed > 0 {
        fact("without key", format!("{} placed by --missing-key", human::documents(plan.census.missing_placed)));
    }
    if plan.census.stray_placed > 0 {
        fact("strays", format!("{} placed by --stray", human::documents(plan.census.stray_placed)));
    }
    fact("peak disk", human::bytes(plan.peak_disk_bytes));
    let _ = write!(text, "\n{}", facts.render());
    for warning in &plan.warnings {
        let _ = writeln!(text, "warning: {}", human::printable(warning));
    }
    text
}

/// What decides where no key does, and what each child holds.
pub(super) fn placed(plan: &Plan) -> Vec<(String, String)> {
    let mut facts = vec![("placed".to_owned(), human::printable(&plan.placement.to_string()))];
    let child = |child: usize| (format!("child {child}"), human::printable(&plan.placement.label(child)));
    let shown = if plan.placement.is_positional() { 0 } else { plan.children.len().min(MOST_LABELS) };
    facts.extend((0..shown).map(child));
    if plan.census.overlaps > 0 {
        let overlaps = human::documents(plan.census.overlaps);
        facts.push((
            "overlaps".to_owned(),
            format!("{overlaps} matched by several queries, each in the first one's child"),
        ));
    }
    facts
}

/// `rewrite, one segment per child`.
pub(crate) fn how(method: Method, segments: SegmentMode) -> &'static str {
    match (method, segments) {
        (Method::Rewrite, SegmentMode::One) => "rewrite, one segment per child",
        (Method::Rewrite, SegmentMode::Keep) => "rewrite, one segment per source segment",
        (Method::Link, _) => "link, segments shared with the source",
    }
}

/// `split SOURCE into 8 children at OUT (rewrite, one segment per child)`.
pub(crate) fn headline(verb: &str, plan: &Plan) -> String {
    let how = how(plan.method, plan.segments);
    let (from, to) = (plan.source.display().to_string(), plan.out.display().to_string());
    let children = human::counted(plan.children.len() as u64, "child", "children");
    human::printable(&format!("{verb} {from} into {children} at {to} ({how})"))
}

/// `elasticsearch, shard 0 of 1, number_of_routing_shards 1024`.
fn routing(plan: &Plan) -> String {
    let spec = &plan.routing;
    let mut text = format!("{}, shard {} of {}", spec.function.name(), spec.source_shard, spec.source_shards);
    if let Some(shards) = plan.number_of_routing_shards {
        let _ = write!(text, ", number_of_routing_shards {shards}");
    }
    if spec.routing_partition_size > 1 {
        let _ = write!(text, ", routing_partition_size {}", spec.routing_partition_size);
    }
    text
}

/// `id from its column (1,000 hashed); owner from its terms (12 hashed)`.
pub(crate) fn keys(readings: &[KeyReading]) -> String {
    let one = |field: &str, plane: KeyPlane, hashed: u64| {
        format!("{field} read from {} ({} hashed)", plane_name(plane), human::count(hashed))
    };
    let readings: Vec<String> =
        readings.iter().map(|reading| one(&reading.field, reading.plane, reading.hashed)).collect();
    readings.join("; ")
}

/// The plane in words.
pub(crate) fn plane_name(plane: KeyPlane) -> &'static str {
    match plane {
        KeyPlane::Sidecar => "its hash sidecar",
        KeyPlane::Column => "its column",
        KeyPlane::Terms => "its terms",
        KeyPlane::Store => "the doc store",
    }
}

/// A line per child (shard number, documents, segments, bytes) and one for all; `size` says what the bytes are.
pub(super) fn children_table(
    size: &'static str,
    children: impl Iterator<Item = (ShardNumber, u64, usize, u64)> + Clone,
) -> String {
    let mut table = Table::new([
        ("shard", Align::Right),
        ("documents", Align::Right),
        ("share", Align::Right),
        ("segments", Align::Right),
        (size, Align::Right),
    ]);
    let all = children
        .clone()
        .fold((0, 0, 0), |all, (_, docs, segments, bytes)| (all.0 + docs, all.1 + segments, all.2 + bytes));
    let mut row = |name: String, (docs, segments, bytes): (u64, usize, u64)| {
        let share = human::share(docs, all.0);
        table.row([name, human::count(docs), share, human::count(segments as u64), human::bytes(bytes)]);
    };
    for (shard, docs, segments, bytes) in children {
        row(shard.to_string(), (docs, segments, bytes));
    }
    row("total".to_owned(), all);
    table.render()
}
