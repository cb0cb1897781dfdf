//! The command, and the flags that several commands share.
//!
//! Help is written for who pays: a flag says what it costs in time, disk or safety. Flags that tantivy-cli has keep its
//! letters (`-i/--index`, `-t`).

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::LazyLock;

use clap::{Args, Parser, Subcommand, ValueEnum};
use shardsplit::partition::{KeyPolicies, KeySpec, Policy};
use shardsplit::route::{RoutingFunction, SplitSpec};
use shardsplit::source::LockMode;

use super::{check_routing, index, index_hashes, inspect, plan, recover, ring, route, split, verify};

/// Split one on-disk tantivy index into k child indexes, or all shards of an index together, offline, in one pass, and
/// prove that nothing was lost.
///
/// Documents are routed as Elasticsearch routes them, as Solr does, or by a table of slots or a ring. The source is never changed; the children become visible all at
/// once, after they were verified, or not at all.
#[derive(Debug, Parser)]
#[command(name = "shardsplit", version = VERSION.as_str(), arg_required_else_help = true, after_help = EXITS, max_term_width = 110)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Version of this program, and what it writes: a reader must know the index format.
static VERSION: LazyLock<String> =
    LazyLock::new(|| format!("{} (writes {})", env!("CARGO_PKG_VERSION"), tantivy::version()));

const EXITS: &str = "\
Exit codes:
    0  done, and verified as far as was asked
    1  failed on the way (I/O, disk space, documents without a place)
    2  wrong usage, or a request that does not fit the index
    3  verification found a difference, check-routing a document out of place
    4  the source is unreadable or was refused
    5  the target is taken
  130  interrupted (SIGINT, SIGTERM, SIGHUP): nothing was published

Results go to stdout, everything else to stderr. RUST_LOG=info logs stages, RUST_LOG=debug more.";

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Plan(plan::PlanArgs),
    Split(split::SplitArgs),
    Merge(index::MergeArgs),
    Clone(index::CloneArgs),
    Verify(verify::VerifyArgs),
    Recover(recover::RecoverArgs),
    Inspect(inspect::InspectArgs),
    IndexHashes(index_hashes::IndexHashesArgs),
    CheckRouting(check_routing::CheckRoutingArgs),
    Route(route::RouteArgs),
    Ring(ring::RingArgs),
}

/// How results are shown.
#[derive(Args, Debug)]
pub(crate) struct OutputArgs {
    /// Print results, findings and errors as JSON: one object per line on stdout, each with a "type"
    #[arg(long, global = true, display_order = 900)]
    pub(crate) json: bool,
    /// No progress bars, no notes; errors are still printed
    #[arg(short, long, global = true, display_order = 901)]
    pub(crate) quiet: bool,
}

/// The index that is read.
#[derive(Args, Debug)]
pub(crate) struct IndexArgs {
    /// Index directory to read; it is never changed (`index-hashes` adds files, on request)
    #[arg(short, long, value_name = "DIR")]
    pub(crate) index: PathBuf,
    /// Do not take tantivy's writer lock on the index
    ///
    /// For file systems that cannot lock. Then it is up to you that nothing writes to the index meanwhile: a merge that
    /// removes a file under the reader fails the run, and a commit in its midst is not seen.
    #[arg(long)]
    pub(crate) no_lock: bool,
}

impl IndexArgs {
    pub(crate) fn lock(&self) -> LockMode {
        if self.no_lock { LockMode::None } else { LockMode::Writer }
    }
}

/// How many threads work.
#[derive(Args, Debug)]
pub(crate) struct ThreadArgs {
    /// Worker threads; 0 means one per core. The bytes written do not depend on it, memory grows with it
    #[arg(short, long, value_name = "N", default_value_t = 0)]
    pub(crate) threads: usize,
}

/// The index that the source is a shard of, and its routing function.
#[derive(Args, Debug)]
pub(crate) struct RoutingArgs {
    /// Routing function of the index; all but the first two split a shard without the others [default: elasticsearch]
    #[arg(long, value_name = "FUNCTION", help_heading = "Routing")]
    pub(crate) routing: Option<Routing>,
    /// number_of_routing_shards of the index; the number of children after this and all later splits must divide it
    /// [default: Elasticsearch's]
    #[arg(long, value_name = "R", help_heading = "Routing")]
    pub(crate) number_of_routing_shards: Option<u32>,
    /// routing_partition_size of the index: over how many shards one routing value spreads [default: 1]
    #[arg(long, value_name = "P", help_heading = "Routing")]
    pub(crate) routing_partition_size: Option<u32>,
    /// Shards of the index that the source is a shard of (number_of_shards) [default: 1]
    #[arg(long, value_name = "N", help_heading = "Routing")]
    pub(crate) source_shards: Option<u32>,
    /// Which of them the source is, from 0; documents of other shards are strays [default: 0]
    #[arg(long, value_name = "S", help_heading = "Routing")]
    pub(crate) source_shard: Option<u32>,
}

impl RoutingArgs {
    /// Whether any flag was given.
    pub(crate) fn given(&self) -> bool {
        self.routing.is_some()
            || [self.number_of_routing_shards, self.routing_partition_size, self.source_shards, self.source_shard]
                .iter()
                .any(Option::is_some)
    }

    /// `base` with what was given in its place.
    pub(crate) fn over(&self, base: SplitSpec) -> SplitSpec {
        SplitSpec {
            function: self.routing.map_or(base.function, Routing::function),
            from: base.from,
            into: base.into,
            source_shards: self.source_shards.unwrap_or(base.source_shards),
            source_shard: self.source_shard.unwrap_or(base.source_shard),
            number_of_routing_shards: self.number_of_routing_shards.or(base.number_of_routing_shards),
            routing_partition_size: self.routing_partition_size.unwrap_or(base.routing_partition_size),
        }
    }
}

/// The fields that decide where documents go.
#[derive(Args, Debug)]
pub(crate) struct PolicyArgs {
    /// Documents without a key: stop before anything is written, or give them to a child [default: refuse]
    #[arg(long, value_name = "refuse|child:SHARD", help_heading = "Routing", value_parser = policy)]
    pub(crate) missing_key: Option<Policy>,
    /// Documents whose key belongs to another shard of the index: stop, or give them to a child
    /// [default: refuse]
    ///
    /// Such documents were put here by other means than routing. A child keeps them, but a search by routing looks
    /// elsewhere.
    #[arg(long, value_name = "refuse|child:SHARD", help_heading = "Routing", value_parser = policy)]
    pub(crate) stray: Option<Policy>,
}

impl PolicyArgs {
    /// `base` with what was given in its place.
    pub(crate) fn over(&self, base: KeyPolicies) -> KeyPolicies {
        KeyPolicies { missing: self.missing_key.unwrap_or(base.missing), stray: self.stray.unwrap_or(base.stray) }
    }
}

/// Routing functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Routing {
    /// floorMod(hash, number_of_routing_shards) / routing_factor: indices created before 9.4
    Elasticsearch,
    /// floorMod(hash, number_of_shards): indices created by 9.4 and later
    ElasticsearchModulo,
    /// Ranges of Solr's compositeId hashes; one shard is split alone
    Solr,
    /// Ranges of hashes of whole ids (Solr's plain hash over UTF-8); one shard is split alone
    SolrPlain,
    /// A table of slots, floorMod(hash, number_of_routing_shards), over Elasticsearch's hash; one shard is split alone
    Slots,
    /// A ring over Elasticsearch's hash, before and after
    Ring,
}

impl Routing {
    pub(crate) fn function(self) -> RoutingFunction {
        match self {
            Routing::Elasticsearch => RoutingFunction::Elasticsearch,
            Routing::ElasticsearchModulo => RoutingFunction::ElasticsearchModulo,
            Routing::Solr => RoutingFunction::Solr,
            Routing::SolrPlain => RoutingFunction::SolrPlain,
            Routing::Slots => RoutingFunction::Slots,
            Routing::Ring => RoutingFunction::Ring,
        }
    }
}

/// Key fields as the library takes them.
pub(crate) fn key_spec(key: &str, routing_field: Option<&str>) -> KeySpec {
    KeySpec { key: key.to_owned(), routing_field: routing_field.map(str::to_owned) }
}

fn policy(text: &str) -> Result<Policy, String> {
    match text.split_once(':') {
        None if text == "refuse" => Ok(Policy::Refuse),
        Some(("child", shard)) => match shard.parse() {
            Ok(shard) => Ok(Policy::Child(shard)),
            Err(_) => Err(format!("{shard:?} is not a shard number")),
        },
        _ => Err("expected `refuse` or `child:SHARD`".to_owned()),
    }
}

/// Reads the arguments, the program's name first.
pub(crate) fn parse(args: &[OsString]) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(args)
}

/// Whether `--json` stands among arguments that could not be parsed.
pub(crate) fn wants_json(args: &[OsString]) -> bool {
    args.iter().skip(1).take_while(|arg| *arg != "--").any(|arg| arg == "--json")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn of(line: &str) -> Result<Cli, clap::Error> {
        parse(&line.split(' ').map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn the_flags_do_not_contradict_each_other() {
        Cli::command().debug_assert();
    }

    #[test]
    fn policies_name_a_shard_or_refuse() {
        assert_eq!(policy("refuse"), Ok(Policy::Refuse));
        assert_eq!(policy("child:7"), Ok(Policy::Child(7)));
        for wrong in ["", "child", "child:", "child:-1", "child:x", "refuse:1", "drop"] {
            assert!(policy(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn routing_flags_override_only_what_they_name() {
        let line = "shardsplit plan -i a --into 4 --key id --out b --source-shards 2 --source-shard 1";
        let Ok(Cli { command: Command::Plan(args), .. }) = of(line) else { panic!("{line}") };
        let base = SplitSpec { routing_partition_size: 3, number_of_routing_shards: Some(64), ..SplitSpec::new(4) };
        let expected = SplitSpec { source_shards: 2, source_shard: 1, ..base };
        assert_eq!(args.job.routing.over(base), expected);
    }

    #[test]
    fn json_is_looked_for_before_a_double_dash_only() {
        let wants = |line: &str| wants_json(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert!(wants("shardsplit split --json --nonsense"));
        assert!(!wants("shardsplit split -- --json"));
        assert!(!wants("--json split"));
    }

    #[test]
    fn version_names_the_index_format_that_is_written() {
        let version = of("shardsplit --version").unwrap_err().to_string();
        assert!(version.contains(env!("CARGO_PKG_VERSION")) && version.contains("index_format v7"), "{version}");
    }
}
