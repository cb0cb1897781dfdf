//! What errors say, and of which kind they are.

use super::*;

#[cfg(unix)]
#[test]
fn a_process_that_ran_out_of_descriptors_blames_no_file() {
    let error = |code: i32| Error::Unreadable {
        operation: "open",
        path: PathBuf::from("a.term"),
        source: io::Error::from_raw_os_error(code),
    };
    let (too_many_open, no_such_file) = (24, 2);
    assert!(error(too_many_open).is_shortage());
    assert_eq!(error(too_many_open).kind(), ErrorKind::Failed);
    assert!(!error(no_such_file).is_shortage());
    assert_eq!(error(no_such_file).kind(), ErrorKind::Source);
}

#[test]
fn the_line_ends_in_the_cause() {
    let error = Error::io("open", "a/b")(io::Error::other("disk on\nfire"));
    assert_eq!(error.one_line(), "cannot open a/b: disk on fire");
}

#[test]
fn a_cause_that_is_spelled_out_already_is_said_once() {
    let cause = tantivy::TantivyError::from(io::Error::other("torn"));
    let error = Error::Tantivy { path: "x.idx".into(), what: "the postings".into(), source: cause };
    assert_eq!(error.one_line().matches("torn").count(), 1, "{}", error.one_line());
}
