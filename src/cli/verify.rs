//! `shardsplit verify`: any set of children against any source.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use shardsplit::Result;
use shardsplit::verify::{Grade, VerifyLevel, VerifyReport};

use super::args::{IndexArgs, RoutingArgs, ThreadArgs};
use super::console::Console;
use super::exit::Exit;
use super::human::{Align, Table};

/// Compare a set of children with their source
///
/// Reads source and children with tantivy's own readers, and prints every difference with its grade, child, file and
/// first documents. Exit code 0: no difference of grade error. Exit code 3: at least one. Changes nothing.
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
    /// Field that holds each document's id [default: as DIR's manifest says]
    #[arg(long, value_name = "FIELD", help_heading = "Routing")]
    key: Option<String>,
    /// Field with custom routing values [default: as DIR's manifest says]
    #[arg(long, value_name = "FIELD", help_heading = "Routing")]
    routing_field: Option<String>,
    #[command(flatten)]
    routing: RoutingArgs,
    #[command(flatten)]
    threads: ThreadArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LevelArg {
    /// Everything: files, counts, ownership, and the content of store, postings, columns and norms. One pass over the
    /// source and one over the children
    Full,
    /// Files are whole and documents add up: no content is read
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
    let _ = (args, console, &args.threads.threads, LevelArg::level);
    Err(shardsplit::Error::Usage("not built yet".into()))
}

/// `full: no differences`, or how many.
pub(crate) fn verdict(report: &VerifyReport) -> String {
    let level = match report.level {
        VerifyLevel::Full => "full",
        VerifyLevel::Counts => "counts",
        VerifyLevel::None => "none",
    };
    if report.is_clean() { format!("{level}: no differences") } else { format!("{level}: {}", report.summary()) }
}

/// One line per finding, gravest first; nothing where there are none.
pub(crate) fn findings(report: &VerifyReport) -> String {
    let mut found: Vec<_> = report.findings.iter().collect();
    found.sort_by_key(|finding| std::cmp::Reverse(finding.grade));
    let mut table = Table::new([("", Align::Left), ("", Align::Left), ("", Align::Left)]);
    for finding in found {
        let grade = match finding.grade {
            Grade::Note => "note",
            Grade::Warning => "warning",
            Grade::Error => "error",
        };
        let child = finding.child.map_or_else(|| "all".to_owned(), |shard| format!("child {shard}"));
        table.row([grade.to_owned(), child, finding.message.clone()]);
    }
    table.render()
}
