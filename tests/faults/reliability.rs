//! `RELIABILITY.md`: the tests that it names are there.

use std::path::{Path, PathBuf};

pub fn path_of_document() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("RELIABILITY.md")
}

pub fn document() -> String {
    std::fs::read_to_string(path_of_document()).unwrap()
}

/// Where the code of a module of tests stands.
fn code(modules: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(modules.replace("::", "/"));
    if path.is_dir() { path.join("mod.rs") } else { path.with_extension("rs") }
}

#[test]
fn every_promise_names_tests_and_every_test_that_is_named_exists() {
    let text = document();
    let mut named = 0;
    for name in text.split('`').skip(1).step_by(2).filter(|name| name.contains("::") && !name.contains(' ')) {
        let (modules, test) = name.rsplit_once("::").unwrap();
        let path = code(modules);
        let code = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {}: {error}", path.display()));
        assert!(code.contains(&format!("fn {test}()")), "{name} is not in {}", path.display());
        named += 1;
    }
    assert!(named > 20, "{named} tests are named");
    let section = text.split("## What is promised").nth(1).expect("the promises").split("\n## ").next().unwrap();
    let rows: Vec<&str> =
        section.lines().filter(|line| line.starts_with("| ") && !line.contains("---")).skip(1).collect();
    assert!(rows.len() >= 8, "{rows:?}");
    for row in rows {
        assert!(row.contains("::"), "a promise without a test: {row}");
    }
}
