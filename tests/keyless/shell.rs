//! The same from the shell.

use std::process::{Command, Output, Stdio};

use serde_json::Value as Json;

use super::{Place, assert_children, content, team, year};

fn shell(place: &Place, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shardsplit"));
    command.args(args).current_dir(place.dir.path()).env_remove("RUST_LOG").stdin(Stdio::null()).output().unwrap()
}

#[track_caller]
fn exit(output: &Output, code: i32) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{text}");
    text
}

const BY: [&str; 2] = ["--by", "value:team=red,blue"];

#[test]
fn a_split_by_value_is_planned_made_verified_and_not_split_by_routing_again() {
    let place = Place::new();
    let with = |command: &str, more: &[&'static str]| {
        let mut args: Vec<&str> = command.split(' ').collect();
        args.extend(BY);
        args.extend(more);
        shell(&place, &args)
    };
    let plan = exit(&with("plan -i source --out out", &["--missing-key", "child:2"]), 0);
    assert!(plan.contains("by value of team: red, blue, anything else"), "{plan}");
    assert!(plan.contains("team = blue") && !plan.contains("elasticsearch"), "{plan}");
    let refused = exit(&with("split -i source --out out", &[]), 1);
    assert!(refused.contains("no value in \"team\""), "{refused}");
    exit(&with("split -i source --out out --key serial", &[]), 2);
    exit(&with("split -i source --out out --into 4", &[]), 2);

    let made = with("split -i source --out out --json", &["--missing-key", "child:2"]);
    exit(&made, 0);
    let report: Json = serde_json::from_slice(&made.stdout).unwrap();
    assert_eq!(report["plan"]["placement"]["by"], "value");
    assert_eq!(report["plan"].get("key"), None);
    assert_children(&content(&place.source()), &place.out("out"), 3, &|number| match team(number) {
        Some("red") => 0,
        Some("blue") => 1,
        _ => 2,
    });

    // The manifest says how; flags may say it too, or something else.
    exit(&shell(&place, &["verify", "-i", "source", "--children", "out"]), 0);
    exit(&with("verify -i source --children out", &[]), 0);
    let other = ["verify", "-i", "source", "--children", "out", "--by", "value:team=blue,red"];
    assert!(exit(&shell(&place, &other), 3).contains("belong to other children"));

    let whole = exit(&shell(&place, &["split", "-i", "out", "--into", "2", "--out", "next"]), 4);
    assert!(whole.contains("no routing says where one is"), "{whole}");
    exit(&shell(&place, &["split", "-i", "out/0", "--into", "2", "--key", "serial", "--out", "next"]), 0);
    exit(&shell(&place, &["split", "-i", "out/1", "--into", "2", "--by", "sequence", "--out", "runs"]), 0);
}

#[test]
fn a_plan_is_saved_shown_and_run() {
    let place = Place::new();
    let save = ["plan", "-i", "source", "--out", "out", "--by", "range:year=0", "--save", "plan.json"];
    exit(&shell(&place, &save), 0);
    assert!(exit(&shell(&place, &save), 2).contains("replaces nothing"));
    exit(&shell(&place, &["plan", "--plan", "plan.json"]), 0);
    exit(&shell(&place, &["split", "--plan", "plan.json", "--dry-run"]), 0);
    for more in [["--out", "x"], ["--into", "2"], ["--threads", "1"], ["--method", "link"]] {
        exit(&shell(&place, &[&["split", "--plan", "plan.json"], more.as_slice()].concat()), 2);
    }
    exit(&shell(&place, &["split"]), 2);
    assert!(!place.out("out").exists());
    exit(&shell(&place, &["split", "--plan", "plan.json"]), 0);
    assert_children(&content(&place.source()), &place.out("out"), 2, &|number| usize::from(year(number) >= 0));
    exit(&shell(&place, &["split", "--plan", "plan.json"]), 5);
}

#[test]
fn a_plan_of_a_whole_index_is_saved_and_run_until_a_shard_changes() {
    let place = Place::new();
    let run = |line: &str, code: i32| exit(&shell(&place, &line.split(' ').collect::<Vec<_>>()), code);
    run("split -i source --into 2 --key serial --out index", 0);
    run("plan -i index --into 2 --out split --save split.json", 0);
    run("plan -i index --operation merge --into 1 --out merged --save merge.json", 0);
    run("split --plan split.json", 0);
    run("verify -i index --children split", 0);
    run("split --plan merge.json", 0);
    run("verify -i index --children merged", 0);

    run("plan -i index --into 2 --out again --save again.json", 0);
    let meta = place.out("index/1/meta.json");
    let text = std::fs::read_to_string(&meta).unwrap();
    std::fs::write(&meta, format!("{text} ")).unwrap();
    let refused = run("split --plan again.json", 4);
    assert!(refused.contains("its meta.json was rewritten"), "{refused}");
    assert!(!place.out("again").exists());
}
