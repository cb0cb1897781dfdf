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
    use std::io::{BufRead, BufReader, Write};

    use rustix::fs::{FileType, Mode, OFlags};
    use rustix::process::{Pid, Signal, kill_process};

    let place = Place::new();
    // A pipe in place of meta.json holds the job where its handler stands and its work has not begun.
    let meta = place.path("source/meta.json");
    let bytes = std::fs::read(&meta).unwrap();
    std::fs::remove_file(&meta).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &meta, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();

    let mut command = place.command("split -i source --into 2 --key id --out out");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = Pid::from_child(&child);
    // Opening the writing end succeeds once the job reads; a job that ended instead must fail the test, not hang it.
    let mut pipe = loop {
        match rustix::fs::open(&meta, OFlags::WRONLY | OFlags::NONBLOCK, Mode::empty()) {
            Ok(pipe) => break std::fs::File::from(pipe),
            Err(_) => assert_eq!(child.try_wait().unwrap(), None, "the job never read meta.json"),
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    };
    let mut stderr = BufReader::new(child.stderr.take().unwrap()).lines();
    kill_process(pid, Signal::INT).unwrap();
    assert!(stderr.next().unwrap().unwrap().starts_with("stopping"));
    kill_process(pid, Signal::TERM).unwrap();
    assert!(stderr.next().unwrap().unwrap().starts_with("still stopping"));
    pipe.write_all(&bytes).unwrap();
    drop(pipe);

    let last = stderr.map(Result::unwrap).last().unwrap();
    assert!(last.contains("interrupted"), "{last}");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(place.names(), ["source"]);
}
