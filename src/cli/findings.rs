//! What verification found, for people and for programs.

use std::fmt::Write;
use std::path::Path;

use serde::Serialize;
use shardsplit::verify::{Check, Digest, Finding, Grade, VerifiedChild, VerifyLevel, VerifyReport};

use super::human::{self, Align, Table};

/// A report without its findings, which stand in lines of their own before it.
#[derive(Serialize)]
pub(crate) struct Summary<'a> {
    clean: bool,
    level: VerifyLevel,
    errors: usize,
    warnings: usize,
    notes: usize,
    source: &'a Path,
    docs: u64,
    checks: &'a [Check],
    source_digest: &'a Option<Digest>,
    children_digest: &'a Option<Digest>,
    children: &'a [VerifiedChild],
    keys_hashed: u64,
    seconds: f64,
}

impl<'a> Summary<'a> {
    pub(crate) fn of(report: &'a VerifyReport) -> Summary<'a> {
        Summary {
            clean: report.is_clean(),
            level: report.level,
            errors: report.count(Grade::Error),
            warnings: report.count(Grade::Warning),
            notes: report.count(Grade::Note),
            source: &report.source,
            docs: report.docs,
            checks: &report.checks,
            source_digest: &report.source_digest,
            children_digest: &report.children_digest,
            children: &report.children,
            keys_hashed: report.keys_hashed,
            seconds: report.seconds,
        }
    }
}

/// The whole report: children, verdict, findings.
pub(crate) fn text(report: &VerifyReport) -> String {
    let mut table = Table::new([("shard", Align::Right), ("documents", Align::Right), ("path", Align::Left)]);
    for child in &report.children {
        let docs = child.docs.map_or_else(|| "unreadable".to_owned(), human::count);
        table.row([child.shard.to_string(), docs, child.path.display().to_string()]);
    }
    let total: u64 = report.children.iter().filter_map(|child| child.docs).sum();
    table.row(["total".to_owned(), human::count(total), String::new()]);
    table.row(["source".to_owned(), human::count(report.docs), report.source.display().to_string()]);
    let mut text = format!("{}\n", table.render());

    let mut facts = Table::new([("", Align::Left), ("", Align::Left)]);
    let checks: Vec<&str> = report.checks.iter().map(|&check| check_name(check)).collect();
    facts.row(["verified".to_owned(), verdict(report)]);
    facts.row(["checked".to_owned(), checks.join(", ")]);
    if let (Some(source), Some(children)) = (&report.source_digest, &report.children_digest) {
        facts.row(["source digest".to_owned(), source.to_string()]);
        facts.row(["children digest".to_owned(), children.to_string()]);
    }
    facts.row(["time".to_owned(), human::seconds(report.seconds)]);
    text.push_str(&facts.render());
    text.push_str(&list(report));
    text
}

/// `no differences (full)`, or how many there are.
pub(crate) fn verdict(report: &VerifyReport) -> String {
    let level = match report.level {
        VerifyLevel::Full => "full",
        VerifyLevel::Counts => "counts",
        VerifyLevel::None => "none",
    };
    let mut text = match report.count(Grade::Error) as u64 {
        0 => format!("no differences ({level})"),
        errors => format!("{} ({level})", human::counted(errors, "difference", "differences")),
    };
    for (grade, one, many) in [(Grade::Warning, "warning", "warnings"), (Grade::Note, "note", "notes")] {
        let count = report.count(grade) as u64;
        if count > 0 {
            text.push_str(", ");
            text.push_str(&human::counted(count, one, many));
        }
    }
    text
}

/// A line per finding, worst first, with the documents it names below it; nothing where there are none.
pub(crate) fn list(report: &VerifyReport) -> String {
    let mut text = String::new();
    for finding in &report.findings {
        line(finding, &mut text);
    }
    text
}

fn line(finding: &Finding, text: &mut String) {
    let grade = match finding.grade {
        Grade::Note => "note",
        Grade::Warning => "warning",
        Grade::Error => "error",
    };
    let child = finding.child.map_or_else(String::new, |shard| format!("child {shard}: "));
    let file = finding.file.as_ref().map_or_else(String::new, |file| format!(" [{}]", file.display()));
    let _ = writeln!(text, "{grade}: {}", human::printable(&format!("{child}{}{file}", finding.message)));
    for document in &finding.documents {
        let _ = writeln!(text, "    {}", human::printable(&document.to_string()));
    }
    let named = finding.documents.len() as u64;
    if named > 0 && finding.count > named {
        let _ = writeln!(text, "    and {} more", human::count(finding.count - named));
    }
}

fn check_name(check: Check) -> &'static str {
    match check {
        Check::Files => "files",
        Check::Census => "census",
        Check::Ownership => "ownership",
        Check::Content => "content",
        Check::ContentPerChild => "content per child",
        Check::Order => "order",
        Check::TokenTotals => "token totals",
    }
}

#[cfg(test)]
mod tests {
    use shardsplit::partition::DocAddress;
    use shardsplit::verify::{FindingKind, Sighting};

    use super::*;

    fn report(findings: Vec<Finding>) -> VerifyReport {
        VerifyReport {
            level: VerifyLevel::Full,
            source: "shard".into(),
            docs: 3000,
            source_digest: None,
            children_digest: None,
            children: vec![VerifiedChild {
                shard: 4,
                path: "out/4".into(),
                docs: Some(2999),
                deleted: Some(0),
                digest: None,
                fields: Vec::new(),
            }],
            keys_hashed: 0,
            checks: vec![Check::Files, Check::Content],
            findings,
            seconds: 0.5,
        }
    }

    fn lost() -> Finding {
        let address = DocAddress { dir: None, segment: "aa".into(), doc: 7 };
        Finding {
            grade: Grade::Error,
            kind: FindingKind::DocumentLost,
            child: Some(4),
            file: Some("out/4/x.store".into()),
            count: 12,
            documents: vec![Sighting { source: Some(address), child: None }],
            message: "12 documents are in no child".into(),
        }
    }

    #[test]
    fn a_finding_shows_grade_child_file_and_documents() {
        let shown = list(&report(vec![lost()]));
        let expected = "error: child 4: 12 documents are in no child [out/4/x.store]\n    \
                        source segment aa doc 7\n    and 11 more\n";
        assert_eq!(shown, expected);
    }

    #[test]
    fn the_verdict_counts_grades_apart() {
        let warning = Finding { grade: Grade::Warning, ..lost() };
        assert_eq!(verdict(&report(vec![])), "no differences (full)");
        assert_eq!(verdict(&report(vec![warning.clone()])), "no differences (full), 1 warning");
        assert_eq!(verdict(&report(vec![lost(), lost(), warning])), "2 differences (full), 1 warning");
    }

    #[test]
    fn the_text_sets_the_children_against_the_source() {
        let text = text(&report(vec![lost()]));
        assert!(text.contains("total      2,999\n") && text.contains("source      3,000  shard\n"), "{text}");
        assert!(text.contains("files, content"), "{text}");
    }
}
