//! stdout, stderr, JSON, signals.

use std::process::Stdio;

use super::place::{Place, Ran};

#[test]
fn errors_are_typed_lines_on_stdout_with_json() {
    let place = Place::new();
    std::fs::create_dir(place.path("taken")).unwrap();
    for (line, code, kind) in [
        ("split -i source --into 2 --key id --nonsense --out out", 2, "usage"),
        ("split -i source --into 2 --key nonsense --out out", 2, "usage"),
        ("split -i nowhere --into 2 --key id --out out", 4, "source"),
        ("split -i source --into 2 --key id --out taken", 5, "target"),
    ] {
        let lines = place.run(&format!("--json {line}")).expect(code).lines();
        let [error] = lines.as_slice() else { panic!("{lines:?}") };
        assert_eq!((&error["type"], &error["kind"]), (&"error".into(), &kind.into()), "{line}");
        assert_eq!(error["exit_code"], code);
        assert!(!error["message"].as_str().unwrap().is_empty());
    }
}

#[test]
fn the_log_goes_to_stderr() {
    let place = Place::new();
    let mut command = place.command("plan -i source --into 2 --key id --out out --json");
    let ran = Ran::new(command.env("RUST_LOG", "info").output().unwrap()).expect(0);
    assert!(ran.stderr.contains("stage begins"), "{ran:?}");
    assert_eq!(ran.lines().len(), 1);
}

#[test]
fn a_reader_that_closes_stdout_early_is_no_failure() {
    let place = Place::new();
    let mut command = place.command("--help");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let ran = Ran::new(child.wait_with_output().unwrap()).expect(0);
    assert_eq!(ran.stderr, "");

    let mut command = place.command("plan -i source --into 2 --key id --out out");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let ran = Ran::new(child.wait_with_output().unwrap()).expect(0);
    assert_eq!(ran.stderr, "");
}

#[test]
#[cfg(unix)]
fn a_signal_stops_the_job_with_130_and_leaves_nothing() {
    use rustix::process::{Pid, Signal, kill_process};

    let place = Place::new();
    for attempt in 0..50 {
        let mut command = place.command("split -i source --into 2 --key id --out out");
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let pid = Pid::from_child(&child);
        // Its staging directory says that the job is at work. It is held there, so that both signals find it.
        while place.names().len() == 1 && child.try_wait().unwrap().is_none() {}
        for signal in [Signal::STOP, Signal::INT, Signal::TERM, Signal::CONT] {
            let _ = kill_process(pid, signal);
        }
        let ran = Ran::new(child.wait_with_output().unwrap());
        if ran.code == 0 {
            // It had gone beyond the last moment at which it can stop.
            std::fs::remove_dir_all(place.path("out")).unwrap();
            continue;
        }
        assert!(
            ran.stderr.starts_with("stopping; what was staged is being removed"),
            "attempt {attempt}: {}",
            ran.stderr
        );
        assert!(ran.stderr.lines().last().unwrap().contains("interrupted"), "attempt {attempt}: {}", ran.stderr);
        ran.expect(130);
        assert_eq!(place.names(), ["source"]);
        return;
    }
    panic!("the job was never stopped while it was at work");
}
