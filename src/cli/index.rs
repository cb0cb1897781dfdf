//! `shardsplit merge` and `shardsplit clone`, and what `plan` and `split` do with an index directory.

use std::fmt::Write;
use std::path::Path;

use clap::Args;
use shardsplit::error::{Error, Result};
use shardsplit::job::{Change, IndexJob, Job, PreparedIndex};
use shardsplit::partition::{KeyPolicies, Placement};
use shardsplit::plan::{IndexPlan, Method};
use shardsplit::progress::Cancel;
use shardsplit::publish::{IndexDirectory, RoutingFile, index_of_shard};
use shardsplit::report::IndexReport;
use shardsplit::route::{IndexRouting, Operation, RoutingFunction, SplitSpec, choices};

use super::args::{PolicyArgs, Routing, RoutingArgs};
use super::console::Console;
use super::exit::Exit;
use super::human::{self, Align, Table};
use super::plan::{self, JobArgs, PlaceArgs};
use super::progress::Bars;
use super::routers;
use super::writing::WritingArgs;
use super::{explain, findings, interrupt, split};

/// Merge the shards of an index into fewer, verify them, publish them at once
///
/// The inverse of `split`, and Elasticsearch's shrink: the new number of shards divides the old one, documents are where
/// an index with so many shards looks for them, number_of_routing_shards stays. Takes an index directory: a routing.json,
/// and a directory for every shard.
#[derive(Args, Debug)]
pub(crate) struct MergeArgs {
    #[command(flatten)]
    place: PlaceArgs,
    /// Number of shards that are left
    #[arg(long, value_name = "N")]
    into: u32,
    #[command(flatten)]
    rest: RestArgs,
}

/// Make every shard of an index anew, verify them, publish them at once
///
/// By `rewrite` a compacted copy without deleted documents, by `--method link` one that shares the files. Takes an index
/// directory: a routing.json, and a directory for every shard.
#[derive(Args, Debug)]
pub(crate) struct CloneArgs {
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    rest: RestArgs,
}

#[derive(Args, Debug)]
struct RestArgs {
    #[command(flatten)]
    policies: PolicyArgs,
    #[command(flatten)]
    writing: WritingArgs,
    /// Print the plan and stop, as `plan` does
    #[arg(long)]
    dry_run: bool,
}

/// What the flags ask for.
pub(crate) enum Asked {
    /// A split of a single shard.
    Shard(Job),
    /// A change of a whole index.
    Index(IndexJob),
}

/// Runs `merge`.
pub(crate) fn run_merge(args: &MergeArgs, console: &Console) -> Result<Exit> {
    run("merge", Change::Merge { into: args.into }, &args.place, &args.rest, console)
}

/// Runs `clone`.
pub(crate) fn run_clone(args: &CloneArgs, console: &Console) -> Result<Exit> {
    run("clone", Change::Clone, &args.place, &args.rest, console)
}

fn run(kind: &'static str, change: Change, place: &PlaceArgs, rest: &RestArgs, console: &Console) -> Result<Exit> {
    let job = job(change, place, &rest.policies, &rest.writing);
    if rest.dry_run { plan::show(&Asked::Index(job), console) } else { execute(kind, &job, console) }
}

fn job(change: Change, place: &PlaceArgs, policies: &PolicyArgs, writing: &WritingArgs) -> IndexJob {
    let job = IndexJob::new(&place.index.index, &place.out, change);
    let policies = policies.over(KeyPolicies::default());
    writing.over(IndexJob { policies, lock: place.index.lock(), ..job })
}

/// What the flags of `plan` and `split` ask for: it depends on what stands at `--index`.
pub(crate) fn asked(args: &JobArgs, operation: Operation) -> Result<Asked> {
    let place = args.place.required()?;
    let directory = IndexDirectory::open(&place.index.index)?;
    let into =
        || args.into.ok_or_else(|| Error::Usage("--into is missing: say how many shards there shall be".to_owned()));
    let index = |change| Asked::Index(job(change, &place, &args.policies, &args.writing));
    if let Some(placement) = args.by.placement(args.into)? {
        return placed(args, &place, operation, directory.is_some(), placement);
    }
    if let Some(directory) = &directory {
        check_flags(directory.routing(), args.key.as_deref(), args.routing_field.as_deref(), &args.routing)?;
        routers::refuse_on_index(&args.tables, &args.cuts)?;
    }
    match (operation, &directory) {
        (Operation::Split, Some(_)) => {
            let number_of_routing_shards = args.routing.number_of_routing_shards;
            Ok(index(Change::Split { into: into()?, number_of_routing_shards }))
        }
        (Operation::Split, None) => {
            if args.writing.parallel.is_some() {
                return Err(Error::Usage(
                    "--parallel is for index directories: a single shard is one piece of work".to_owned(),
                ));
            }
            if let Some(job) = routers::job(args, &place)? {
                return Ok(Asked::Shard(job));
            }
            if args.routing.source_shards.is_none() && args.routing.source_shard.is_none() {
                refuse_lone_shard(&place.index.index, args.into)?;
            }
            let Some(into) = args.into else {
                let legal = explain::choices_text(&choices(args.routing.over(SplitSpec::new(1))));
                let legal = legal.lines().next().unwrap_or_default();
                return Err(Error::Usage(format!("--into is missing: say how many children there shall be ({legal})")));
            };
            let Some(key) = &args.key else {
                return Err(Error::Usage(
                    "--key is missing: name the field that holds each document's id (only index directories have a \
                     routing.json that says it); `inspect` lists usable fields, and --by splits without a key"
                        .to_owned(),
                ));
            };
            Ok(Asked::Shard(args.shard_job(&place, into, key)))
        }
        // What is no index directory is refused by the job, which says what one is.
        (Operation::Merge, _) => Ok(index(Change::Merge { into: into()? })),
        (Operation::Clone, _) => match args.into {
            None | Some(1) => Ok(index(Change::Clone)),
            Some(into) => Err(Error::Usage(format!("a clone makes one shard of each, not {into}: leave --into away"))),
        },
        (Operation::Move, _) => {
            Err(Error::Usage("a move is planned by `ring move --dry-run`, which knows the new table".to_owned()))
        }
    }
}

/// A split without a key.
fn placed(args: &JobArgs, place: &PlaceArgs, operation: Operation, whole: bool, placement: Placement) -> Result<Asked> {
    if operation != Operation::Split || whole || args.writing.parallel.is_some() {
        return Err(Error::Usage(
            "--by splits a single index: it merges and clones nothing, and of an index directory it takes one shard (name its \
             directory), without --parallel"
                .to_owned(),
        ));
    }
    args.placed_job(place, placement).map(Asked::Shard)
}

/// A shard of an index of several cannot be split alone, unless somebody says in so many words that it shall.
fn refuse_lone_shard(source: &Path, into: Option<u32>) -> Result<()> {
    let Some((index, routing, shard)) = index_of_shard(source)? else { return Ok(()) };
    let IndexRouting { function, number_of_shards, number_of_routing_shards, routing_partition_size } =
        routing.routing();
    if number_of_shards == 1 {
        return Ok(());
    }
    let into = into.unwrap_or(2);
    let target = u64::from(number_of_shards) * u64::from(into);
    let mut flags = format!("--source-shards {number_of_shards} --source-shard {shard} --routing {}", function.name());
    if let Some(shards) = number_of_routing_shards {
        let _ = write!(flags, " --number-of-routing-shards {shards}");
    }
    if routing_partition_size > 1 {
        let _ = write!(flags, " --routing-partition-size {routing_partition_size}");
    }
    Err(Error::Usage(format!(
        "{} is shard {shard} of an index of {number_of_shards}, and cannot be split alone: under {} routing every shard has \
         an equal share of the hashes, so its children would be shards of an index of {target}, while the other shards stay \
         those of an index of {number_of_shards}; split the index: -i {}. To split this shard all the same and the others \
         later, say {flags}{}",
        source.display(),
        function.name(),
        index.display(),
        if function == RoutingFunction::Elasticsearch {
            "; to split it alone for good, by a table of slots that leaves the others as they are, say --routing slots"
        } else {
            ""
        }
    )))
}

/// Flags that say something else than the routing file are refused.
pub(crate) fn check_flags(
    file: &RoutingFile,
    key: Option<&str>,
    routing_field: Option<&str>,
    flags: &RoutingArgs,
) -> Result<()> {
    let (recorded, keys) = (file.routing(), file.keys());
    if flags.source_shards.is_some() || flags.source_shard.is_some() {
        return Err(Error::Usage(
            "--source-shards and --source-shard are for a single shard, and this is an index directory, of which all shards \
             are taken; name the directory of the shard to take one"
                .to_owned(),
        ));
    }
    let differ = |flag: &str, given: &str, recorded: &str| {
        Err(Error::Usage(format!(
            "{flag} {given} contradicts routing.json, which says {recorded}; leave the flag away"
        )))
    };
    if let Some(given) = key.filter(|given| *given != keys.key) {
        return differ("--key", given, &keys.key);
    }
    if let Some(given) = routing_field.filter(|given| Some(*given) != keys.routing_field.as_deref()) {
        return differ("--routing-field", given, keys.routing_field.as_deref().unwrap_or("none"));
    }
    if let Some(given) = flags.routing.map(Routing::function).filter(|given| *given != recorded.function) {
        return differ("--routing", given.name(), recorded.function.name());
    }
    if let Some(given) = flags.routing_partition_size.filter(|given| *given != recorded.routing_partition_size) {
        return differ("--routing-partition-size", &given.to_string(), &recorded.routing_partition_size.to_string());
    }
    Ok(())
}

/// Runs a job on an index and prints its report.
pub(crate) fn execute(kind: &'static str, job: &IndexJob, console: &Console) -> Result<Exit> {
    let cancel = interrupt::cancel_on_signal(console);
    let bars = console.bars();
    let report = run_prepared(job.prepare(&bars, &cancel)?, &bars, &cancel, console)?;
    drop(bars);
    console.published(kind, &report, (&report.plan.out, report.verify.is_some()), || report_text(&report))?;
    Ok(Exit::Done)
}

/// Says what the plan warns of, and spends it.
pub(crate) fn run_prepared(
    prepared: PreparedIndex,
    bars: &Bars,
    cancel: &Cancel,
    console: &Console,
) -> Result<IndexReport> {
    console.warn(&prepared.plan().warnings);
    prepared.execute(bars, cancel)
}

/// The plan for people.
pub(crate) fn plan_text(plan: &IndexPlan) -> String {
    let mut text = format!("plan: {}\n\n", headline(plan));
    let children = plan.children.iter().map(|child| (child.shard, child.docs, child.segments, child.predicted_bytes));
    text.push_str(&plan::children_table("predicted size", children));
    let mut facts = Table::new([("", Align::Left), ("", Align::Left)]);
    let mut fact = |name: &str, value: String| facts.row([name.to_owned(), value]);
    let (live, deleted) = (human::documents(plan.docs), human::count(plan.deleted));
    fact("source", format!("{live}, {deleted} deleted, {}", human::bytes(plan.source_bytes)));
    fact("routing", routing(plan));
    fact("keys", plan::keys(&plan.key_readings));
    fact("hashed", human::counted(plan.keys_hashed, "key", "keys"));
    let sum =
        |count: fn(&shardsplit::partition::Census) -> u64| plan.parts.iter().map(|part| count(&part.census)).sum();
    let placed: [(&str, u64, &str); 3] = [
        ("duplicate keys", sum(|census| census.duplicate_keys.unwrap_or(0)), ", each with the key of an earlier one"),
        ("without key", sum(|census| census.missing_placed), " placed by --missing-key"),
        ("strays", sum(|census| census.stray_placed), " placed by --stray"),
    ];
    for (name, count, what) in placed.into_iter().filter(|(_, count, _)| *count > 0) {
        fact(name, format!("{}{what}", human::documents(count)));
    }
    fact("peak disk", human::bytes(plan.peak_disk_bytes));
    let _ = write!(text, "\n{}", facts.render());
    for warning in &plan.warnings {
        let _ = writeln!(text, "warning: {}", human::printable(warning));
    }
    text
}

pub(super) fn report_text(report: &IndexReport) -> String {
    let plan = &report.plan;
    let mut text = format!("{}\n\n", headline(plan));
    let size = if plan.method == Method::Link { "linked size" } else { "size" };
    let children = report.children.iter().map(|child| (child.shard, child.docs, child.segments, child.bytes));
    text.push_str(&plan::children_table(size, children));
    let mut facts = Table::new([("", Align::Left), ("", Align::Left)]);
    facts.row(["keys".to_owned(), plan::keys(&plan.key_readings)]);
    proof(&mut text, facts, report, &[]);
    for note in &report.notes {
        let _ = writeln!(text, "note: {}", human::printable(note));
    }
    text
}

/// What the report of every job on an index ends with: keys, proof, stages, findings, warnings. `more`: warnings beside
/// those of the plan.
pub(super) fn proof(text: &mut String, mut facts: Table, report: &IndexReport, more: &[String]) {
    let plan = &report.plan;
    facts.row(["hashed".to_owned(), human::counted(plan.keys_hashed, "key", "keys")]);
    split::taken_up(report.taken_up.as_ref()).into_iter().for_each(|text| facts.row(["taken up".to_owned(), text]));
    let verified = report.verify.as_ref().map_or_else(|| "not verified (--verify none)".to_owned(), findings::verdict);
    facts.row(["verified".to_owned(), verified]);
    if let Some(digest) = report.verify.as_ref().and_then(|verify| verify.source_digest.as_ref()) {
        facts.row(["digest".to_owned(), digest.to_string()]);
    }
    let stages = split::stages(&report.stages, plan.docs, plan.source_bytes);
    let _ = write!(text, "\n{}\n{stages}", facts.render());
    if let Some(found) = report.verify.as_ref() {
        text.push_str(&findings::list(found));
    }
    for warning in plan.warnings.iter().chain(more) {
        let _ = writeln!(text, "warning: {}", human::printable(warning));
    }
}

/// `merge INDEX of 6 shards into 2 at OUT (rewrite, one segment per child)`.
fn headline(plan: &IndexPlan) -> String {
    let (from, to) = (plan.source.display(), plan.out.display());
    let shards = human::counted(u64::from(plan.before.number_of_shards), "shard", "shards");
    let (into, how) = (human::count(plan.after.number_of_shards), plan::how(plan.method, plan.segments));
    human::printable(&format!("{} {from} of {shards} into {into} at {to} ({how})", plan.operation.name()))
}

/// `elasticsearch, number_of_routing_shards 1024`.
fn routing(plan: &IndexPlan) -> String {
    let after = &plan.after;
    let mut text = after.function.name().to_owned();
    if let Some(shards) = after.number_of_routing_shards {
        let _ = write!(text, ", number_of_routing_shards {shards}");
        if let Some(before) = plan.before.number_of_routing_shards.filter(|before| *before != shards) {
            let _ = write!(text, " (was {before})");
        }
    }
    if after.routing_partition_size > 1 {
        let _ = write!(text, ", routing_partition_size {}", after.routing_partition_size);
    }
    text
}
