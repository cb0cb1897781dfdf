//! Flags, help, wrong usage.

use std::collections::BTreeSet;

use tempfile::TempDir;

use super::place::Place;

const JOB_FLAGS: &str = "-i --index --into --out --key --routing-field --routing-partition-size --routing \
    --number-of-routing-shards --source-shards --source-shard --missing-key --stray --method --segments \
    --max-docs-per-segment --verify --by --plan -t --threads --no-lock --json -q --quiet";

#[test]
fn help_of_every_command_mentions_every_flag() {
    let place = Place { dir: TempDir::new().unwrap() };
    let plan_flags = format!("{JOB_FLAGS} --save --explain");
    let commands = [
        ("plan", plan_flags.as_str()),
        ("split", &format!("{JOB_FLAGS} --dry-run")),
        (
            "verify",
            "-i --index --children --level --into --key --routing-field --routing --source-shards --missing-key --stray --by -t --threads --json",
        ),
        ("recover", "--out --json --quiet"),
        ("inspect", "-i --index --no-lock --json"),
    ];
    let overview = place.run("--help").expect(0).stdout;
    for (command, flags) in commands {
        assert!(overview.contains(command), "{overview}");
        let help = place.run(&format!("{command} --help")).expect(0);
        assert_eq!(help.stderr, "");
        let words: BTreeSet<&str> = help.stdout.split([' ', ',', '\n', '=']).collect();
        for flag in flags.split_whitespace() {
            assert!(words.contains(flag), "{command} --help lacks {flag}:\n{}", help.stdout);
        }
    }
    for code in ["0  done", "1  failed", "2  wrong usage", "3  verification", "4  the source", "5  the target", "130  "]
    {
        assert!(overview.contains(code), "{overview}");
    }
}

#[test]
fn version_names_program_and_index_format() {
    let place = Place { dir: TempDir::new().unwrap() };
    let version = place.run("--version").expect(0).stdout;
    assert!(version.starts_with(concat!("shardsplit ", env!("CARGO_PKG_VERSION"))), "{version}");
    assert!(version.contains("v0.27.0") && version.contains("index_format v7"), "{version}");
}

#[test]
fn wrong_usage_exits_2_and_says_so_on_stderr_only() {
    let place = Place { dir: TempDir::new().unwrap() };
    let required = "split -i source --into 2 --key id --out out";
    for line in [
        "",
        "reshard",
        "split -i source --into 2 --key id",
        "split -i source --into two --key id --out out",
        "split -i source --key id --out out",
        &format!("{required} --nonsense"),
        &format!("{required} --missing-key drop"),
        &format!("{required} --stray child:x"),
        &format!("{required} --method copy"),
        &format!("{required} --max-docs-per-segment 0"),
        &format!("{required} --max-docs-per-segment 2147483648"),
        &format!("{required} --verify some"),
        "verify -i source --children out --level none",
        "recover",
    ] {
        let ran = place.run(line).expect(2);
        assert_eq!(ran.stdout, "", "{line}");
        assert!(!ran.stderr.is_empty(), "{line}");
    }
    assert!(place.names().is_empty());
}
