//! `shardsplit recover`: finish or remove what a killed run left.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use shardsplit::Result;
use shardsplit::publish::{RealFs, RecoverAction, RecoverReport, recover};

use super::console::Console;
use super::exit::Exit;
use super::human;

/// Finish or remove what a killed or crashed split left beside --out
///
/// A set that was complete and verified is published, after its files were read and checked again; anything else is
/// removed, by its manifest. (To go on with it instead, give the command again that did not finish.) Names that no run makes are reported and left alone, and so is the staging of a run that is
/// still alive. Exit code 0: --out is whole or absent, and nothing is left beside it. Exit code 1: something is left
/// for a person to look at.
#[derive(Args, Debug)]
pub(crate) struct RecoverArgs {
    /// The --out directory of the split that did not finish
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// Runs the command. Signals keep their default effect: a recovery that is killed is recovered from like a split.
pub(crate) fn run(args: &RecoverArgs, console: &Console) -> Result<Exit> {
    let report = recover(&RealFs, &args.out)?;
    console.result("recover", &report, || text(&report))?;
    Ok(exit(&report))
}

fn exit(report: &RecoverReport) -> Exit {
    if report.action == RecoverAction::LeftUnknown { Exit::Failed } else { Exit::Done }
}

fn text(report: &RecoverReport) -> String {
    let out = human::printable(&report.out.display().to_string());
    let mut text = match report.action {
        RecoverAction::NothingToDo => format!("nothing to do: no unfinished run beside {out}\n"),
        RecoverAction::Published => format!("published {out}: the set was complete\n"),
        RecoverAction::RemovedLeftovers => format!("{out} is published; what was left beside it is removed\n"),
        RecoverAction::RemovedUnfinished => format!("removed an unfinished run; {out} is absent\n"),
        RecoverAction::LeftUnknown => {
            "left names that no run makes; look at them and remove them by hand:\n".to_owned()
        }
        _ => format!("{:?}\n", report.action),
    };
    for path in &report.unknown {
        let _ = writeln!(text, "  {}", human::printable(&path.display().to_string()));
    }
    if report.removed_files > 0 {
        let files = human::counted(report.removed_files, "file", "files");
        let bytes = human::bytes(report.removed_bytes);
        let _ = writeln!(text, "removed {files}, {bytes} (linked files free nothing)");
    }
    for problem in &report.problems {
        let _ = writeln!(text, "not published because: {}", human::printable(problem));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(action: RecoverAction) -> RecoverReport {
        let (unknown, problems) = (Vec::new(), Vec::new());
        RecoverReport { out: "out".into(), action, removed_files: 0, removed_bytes: 0, unknown, problems }
    }

    #[test]
    fn what_is_left_for_a_person_is_named_and_not_called_done() {
        let left = RecoverReport { unknown: vec!["stage/mine".into()], ..report(RecoverAction::LeftUnknown) };
        assert_eq!(exit(&left), Exit::Failed);
        assert!(text(&left).contains("\n  stage/mine\n"), "{}", text(&left));
    }

    #[test]
    fn a_removed_set_says_why_it_was_not_published_and_what_it_freed() {
        let removed = RecoverReport {
            removed_files: 1200,
            removed_bytes: 5_000_000,
            problems: vec!["1/x.idx is torn".into()],
            ..report(RecoverAction::RemovedUnfinished)
        };
        assert_eq!(exit(&removed), Exit::Done);
        let text = text(&removed);
        assert!(text.contains("out is absent") && text.contains("1,200 files, 5.00 MB"), "{text}");
        assert!(text.contains("because: 1/x.idx is torn"), "{text}");
    }
}
