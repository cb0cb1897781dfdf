//! `shardsplit verify`: any set of children against any source.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use shardsplit::error::{Error, Result};
use shardsplit::job::IndexVerifyJob;
use shardsplit::partition::{KeyPolicies, KeySpec, Placement, measure};
use shardsplit::progress::Cancel;
use shardsplit::publish::layout::{MANIFEST, shard_of};
use shardsplit::publish::{IndexDirectory, SetManifest, is_manifest, published_sidecars, read_set};
use shardsplit::route::{ShardNumber, SplitRouting, SplitSpec, TableSpec, TableSplit};
use shardsplit::source::Source;
use shardsplit::verify::{Ownership, SAMPLE, VerifyJob, VerifyLevel, VerifyReport, verify};

use super::args::{self, IndexArgs, PolicyArgs, RoutingArgs, ThreadArgs};
use super::by::ByArgs;
use super::console::Console;
use super::exit::Exit;
use super::findings::{self, Summary};
use super::routers::{self, Beside, CutArgs, TableArgs};
use super::{index, interrupt};

/// Compare a set of children with their source
///
/// Of an index directory all shards are compared with all shards in DIR, which must have been made from it by `split`,
/// `merge`, `clone` or `ring move`; both have a routing.json.
///
/// Reads source and children with tantivy's own readers, and prints every difference with its grade, child, file and
/// first documents. Where documents belong is read from DIR's manifest; flags override it. With neither manifest nor
/// --key the children are compared with the source as one set, whichever child a document is in. Changes nothing.
/// Exit code 0: no difference; 3: at least one.
#[derive(Args, Debug)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    index: IndexArgs,
    /// Directory with the children, each in a subdirectory named by its shard number
    #[arg(long, value_name = "DIR")]
    children: PathBuf,
    /// How much is compared [default: full]
    #[arg(long, value_name = "LEVEL")]
    level: Option<LevelArg>,
    /// Field that holds each document's id [default: as the manifest says]
    #[arg(long, value_name = "FIELD", help_heading = "Routing")]
    key: Option<String>,
    /// Field with custom routing values [default: as the manifest says]
    #[arg(long, value_name = "FIELD", help_heading = "Routing")]
    routing_field: Option<String>,
    /// Children per source shard [default: as the manifest says, else the children there are]
    #[arg(long, value_name = "K", help_heading = "Routing")]
    into: Option<u32>,
    #[command(flatten)]
    by: ByArgs,
    #[command(flatten)]
    routing: RoutingArgs,
    #[command(flatten)]
    tables: TableArgs,
    #[command(flatten)]
    cuts: CutArgs,
    #[command(flatten)]
    policies: PolicyArgs,
    #[command(flatten)]
    threads: ThreadArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LevelArg {
    /// Everything: files with their checksums, counts, ownership, and the content of store, postings, columns and
    /// norms. Source and children are read and decoded once, in 24 bytes of memory per document
    Full,
    /// Files are there and documents add up: no content is read
    Counts,
}

impl LevelArg {
    fn level(self) -> VerifyLevel {
        match self {
            LevelArg::Full => VerifyLevel::Full,
            LevelArg::Counts => VerifyLevel::Counts,
        }
    }
}

/// Runs the command.
pub(crate) fn run(args: &VerifyArgs, console: &Console) -> Result<Exit> {
    let manifest = manifest(&args.children)?;
    if let Some(directory) = IndexDirectory::open(&args.index.index)? {
        return run_index(args, &directory, manifest.as_ref(), console);
    }
    if let Some(made_from) = manifest.as_ref().map(sources_of).filter(|&sources| sources > 1) {
        return Err(Error::Usage(format!(
            "{} was made from an index of {made_from} shards: name that index with --index, not one of its shards",
            args.children.display()
        )));
    }
    let mut shards = shards(&args.children, manifest.as_ref())?;
    let dealt = dealt(args, manifest.as_ref(), shards.len())?;
    let cancel = interrupt::cancel_on_signal(console);
    let source = Source::open(&args.index.index, args.index.lock())?;
    let routing = dealt.as_ref().map(|dealt| dealt.routing(&source, args, &cancel)).transpose()?;
    if let Some(tables) = routing.as_ref().and_then(SplitRouting::tables) {
        // Other shards of the index may stand beside the children: they are no children of this source.
        let others = tables.others();
        shards.retain(|shard| others.binary_search(shard).is_err());
    }
    let ownership = dealt.as_ref().zip(routing.as_ref()).map(|(dealt, routing)| Ownership {
        keys: &dealt.keys,
        routing,
        placement: &dealt.placement,
        policies: dealt.policies,
    });
    if ownership.is_none() {
        console.notices().say("note: neither a manifest nor --key: which child a document is in is not checked");
    }

    let job = VerifyJob {
        source: &source,
        children: shards.iter().map(|&shard| (shard, args.children.join(shard.to_string()))).collect(),
        ownership,
        level: args.level.map_or_else(VerifyLevel::default, LevelArg::level),
        threads: args.threads.threads,
        sample: SAMPLE,
        known_file: is_manifest,
        sidecars: published_sidecars(&args.children, &shards),
        source_checked: false,
    };
    let bars = console.bars();
    let report = verify(&job, &bars, &cancel)?;
    drop(bars);
    print(&report, console)
}

/// Source shards of a set.
fn sources_of(manifest: &SetManifest) -> usize {
    manifest.parts.iter().map(|part| part.sources.len()).sum()
}

/// Compares a whole index with the one that it became.
fn run_index(
    args: &VerifyArgs,
    directory: &IndexDirectory,
    manifest: Option<&SetManifest>,
    console: &Console,
) -> Result<Exit> {
    if args.by.placement(args.into)?.is_some() {
        return Err(Error::Usage("--by is for single indexes, and this is an index directory".to_owned()));
    }
    index::check_flags(directory.routing(), args.key.as_deref(), args.routing_field.as_deref(), &args.routing)?;
    routers::refuse_on_index(&args.tables, &args.cuts)?;
    if args.into.is_some() {
        return Err(Error::Usage(
            "--into is read from the routing files of index directories; leave it away".to_owned(),
        ));
    }
    let cancel = interrupt::cancel_on_signal(console);
    let job = IndexVerifyJob {
        source: args.index.index.clone(),
        children: args.children.clone(),
        policies: args.policies.over(manifest.map(|manifest| manifest.routing.policies).unwrap_or_default()),
        level: args.level.map_or_else(VerifyLevel::default, LevelArg::level),
        threads: args.threads.threads,
        lock: args.index.lock(),
    };
    let bars = console.bars();
    let report = job.run(&bars, &cancel)?;
    drop(bars);
    print(&report, console)
}

fn print(report: &VerifyReport, console: &Console) -> Result<Exit> {
    for finding in &report.findings {
        console.detail("finding", finding)?;
    }
    console.result("verify", &Summary::of(report), || findings::text(report))?;
    Ok(if report.is_clean() { Exit::Done } else { Exit::Difference })
}

/// How documents were dealt, as far as manifest and flags say.
struct Dealt {
    by: Dealing,
    placement: Placement,
    keys: KeySpec,
    policies: KeyPolicies,
}

enum Dealing {
    /// By arithmetic.
    Numbers(SplitSpec),
    /// By tables, as the manifest has them.
    Tables(TableSplit),
    /// By tables, as flags say.
    Flags(TableSpec),
}

impl Dealt {
    /// From hash to child. A cut that goes by loads is measured again.
    fn routing(&self, source: &Source, args: &VerifyArgs, cancel: &Cancel) -> Result<SplitRouting> {
        Ok(match &self.by {
            Dealing::Numbers(split) => SplitRouting::new(*split)?,
            Dealing::Tables(tables) => SplitRouting::by_tables(tables.clone())?,
            Dealing::Flags(tables) => {
                let measured = measure(source, &self.keys, tables, args.threads.threads, cancel)?;
                SplitRouting::by_tables(tables.resolve(measured.as_ref())?)?
            }
        })
    }
}

/// The manifest's word with the flags in its place where they are given; `None` if nothing names a key.
fn dealt(args: &VerifyArgs, manifest: Option<&SetManifest>, children: usize) -> Result<Option<Dealt>> {
    let recorded = manifest.map(|manifest| &manifest.routing);
    let placement = args.by.placement(args.into)?;
    if placement.is_some() && (args.key.is_some() || args.routing.given() || args.tables.any() || args.cuts.any()) {
        return Err(Error::Usage(
            "--by is how documents were placed without a key; leave --key and routing away".to_owned(),
        ));
    }
    let made =
        recorded.map(|routing| &routing.placement).filter(|placement| !placement.is_hash() && args.key.is_none());
    if let Some(placement) = placement.as_ref().or(made) {
        let policies = args.policies.over(recorded.map(|routing| routing.policies).unwrap_or_default());
        let split = SplitSpec::new(placement.number_of_shards()?);
        return Ok(Some(Dealt {
            by: Dealing::Numbers(split),
            placement: placement.clone(),
            keys: args::key_spec("", None),
            policies,
        }));
    }
    let Some(key) = args.key.as_deref().or(recorded.map(|routing| routing.key.as_str())) else {
        return Ok(None);
    };
    let routing_field = args.routing_field.as_deref().or(recorded.and_then(|routing| routing.routing_field.as_deref()));
    let keys = args::key_spec(key, routing_field);
    let policies = args.policies.over(recorded.map(|routing| routing.policies).unwrap_or_default());
    let tables = recorded.and_then(|routing| routing.tables.as_ref());
    let asked = args.cuts.any() || args.tables.any();
    if let (Some(tables), Some(routing), false) = (tables, recorded, asked || args.into.is_some()) {
        if args.routing.over(routing.split) != routing.split {
            return Err(Error::Usage(format!(
                "the flags of routing contradict the manifest of {}, which has the tables of {} routing; leave them away",
                args.children.display(),
                routing.split.function.name()
            )));
        }
        return Ok(Some(Dealt { by: Dealing::Tables(tables.clone()), placement: Placement::Hash, keys, policies }));
    }
    if recorded.is_none() || tables.is_some() || asked || args.routing.routing.is_some() {
        let beside = Beside::of(&args.index.index)?;
        if let Some(spec) = routers::spec(&args.routing, &args.tables, &args.cuts, args.into, beside.as_ref())? {
            return Ok(Some(Dealt { by: Dealing::Flags(spec), placement: Placement::Hash, keys, policies }));
        }
    }
    let mut split = match recorded {
        Some(routing) => routing.split,
        None => SplitSpec::new(u32::try_from(children).map_err(|_| Error::Usage("too many children".to_owned()))?),
    };
    split.into = args.into.unwrap_or(split.into);
    let by = Dealing::Numbers(args.routing.over(split));
    Ok(Some(Dealt { by, placement: Placement::Hash, keys, policies }))
}

/// The manifest of the set in `dir`; `None` if there is none: children may have been made by anyone.
fn manifest(dir: &Path) -> Result<Option<SetManifest>> {
    if dir.join(MANIFEST).symlink_metadata().is_err() { Ok(None) } else { read_set(dir).map(Some) }
}

/// Shard numbers of the children: those that stand in `dir`, and those that the manifest promises.
fn shards(dir: &Path, manifest: Option<&SetManifest>) -> Result<Vec<ShardNumber>> {
    let mut shards: BTreeSet<ShardNumber> =
        manifest.iter().flat_map(|manifest| &manifest.children).map(|child| child.shard).collect();
    for entry in std::fs::read_dir(dir).map_err(Error::io("list", dir))? {
        let entry = entry.map_err(Error::io("list", dir))?;
        let shard = entry.file_name().to_str().and_then(shard_of);
        shards.extend(shard.filter(|_| entry.path().is_dir()));
    }
    if shards.is_empty() {
        let dir = dir.display();
        return Err(Error::Usage(format!("{dir} holds no children: no subdirectory is named by a shard number")));
    }
    Ok(shards.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_are_the_directories_with_plain_numbers() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["0", "10", "007", "x", "-1", "2.old"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        std::fs::write(dir.path().join("3"), "a file").unwrap();
        assert_eq!(shards(dir.path(), None).unwrap(), [0, 10]);
    }

    #[test]
    fn a_directory_without_children_is_wrong_usage() {
        let dir = tempfile::tempdir().unwrap();
        let error = shards(dir.path(), None).unwrap_err();
        assert_eq!(Exit::of(&error), Exit::Usage);
        assert!(matches!(shards(&dir.path().join("no"), None), Err(Error::Io { operation: "list", .. })));
    }
}
