//! The README's matrix and its comparison with others: no blank cell, and every test they name is there.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const CARRIED: &str = "## What a split carries";
const COMPARED: &str = "## Compared";

/// Rows of the tables in a section, as cells; headings and rules left out.
fn rows(section: &str) -> Vec<Vec<String>> {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let section = readme.split(section).nth(1).expect("the section is there").split("\n## ").next().unwrap();
    let lines =
        section.lines().filter(|line| line.starts_with('|') && !line.starts_with("| |") && !line.contains("---"));
    lines.map(|line| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()).collect()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Paths of tests in a cell: `module::test`, in backticks.
fn tests(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2).filter(|name| name.contains("::"))
}

/// Where the code of a module of tests stands.
fn source(modules: &[&str]) -> PathBuf {
    let path = root().join("tests").join(modules.join("/"));
    if path.is_dir() { path.join("mod.rs") } else { path.with_extension("rs") }
}

#[test]
fn every_cell_of_the_matrix_says_something_and_every_row_names_its_tests() {
    let rows = rows(CARRIED);
    assert!(rows.len() > 30, "{} rows", rows.len());
    let columns = rows[0].len();
    for row in &rows {
        assert_eq!(row.len(), columns, "{row:?}");
        assert!(row.iter().all(|cell| !cell.is_empty()), "a blank cell: {row:?}");
        let verdicts = &row[1..columns - 1];
        let known = ["carried", "converted", "refused", "left out", "hidden"];
        assert!(verdicts.iter().all(|cell| known.iter().any(|word| cell.starts_with(word))), "{row:?}");
        assert!(tests(&row[columns - 1]).next().is_some(), "no test: {row:?}");
    }
}

#[test]
fn every_cell_of_the_comparison_says_something_and_every_one_of_ours_ends_with_its_tests() {
    let rows = rows(COMPARED);
    assert!(rows.len() > 20, "{} rows", rows.len());
    let columns = rows[0].len();
    for row in &rows {
        assert_eq!(row.len(), columns, "{row:?}");
        assert!(row.iter().all(|cell| !cell.is_empty()), "a blank cell: {row:?}");
        let (ours, others) = row.split_last().unwrap();
        assert!(others.iter().all(|cell| tests(cell).next().is_none()), "a test of others: {row:?}");
        let named: Vec<String> = tests(ours).map(|name| format!("`{name}`")).collect();
        let (first, last) = (named.first().expect("a test"), named.last().expect("a test"));
        assert!(ours.ends_with(last), "something stands after the tests: {ours}");
        let (said, _) = ours.split_once(first).unwrap();
        assert!(!said.trim().is_empty(), "nothing is said: {ours}");
        let listed = ours.strip_prefix(said).unwrap();
        assert_eq!(listed, named.join(", "), "the tests are not a list");
    }
}

#[test]
fn every_test_that_the_matrix_names_exists() {
    for row in [CARRIED, COMPARED].into_iter().flat_map(rows) {
        for name in tests(row.last().unwrap()) {
            let (modules, test) = name.rsplit_once("::").unwrap();
            let path = source(&modules.split("::").collect::<Vec<_>>());
            let code =
                std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {}: {error}", path.display()));
            assert!(code.contains(&format!("#[test]\nfn {test}()")), "{name} is not in {}", path.display());
        }
    }
}

#[test]
fn every_test_of_what_is_carried_is_named_by_the_matrix() {
    let named: BTreeSet<String> =
        rows(CARRIED).iter().flat_map(|row| tests(row.last().unwrap())).map(str::to_owned).collect();
    for module in ["columns", "dictionaries", "postings", "refused", "segments", "shape", "store", "types"] {
        let code = std::fs::read_to_string(source(&["carried", module])).unwrap();
        for test in code.split("#[test]\nfn ").skip(1).filter_map(|rest| rest.split('(').next()) {
            let name = format!("carried::{module}::{test}");
            assert!(named.contains(&name), "the matrix does not name {name}");
        }
    }
}
