//! Typed JSON lines: one object per line, each with a `type`.

use serde::Serialize;
use shardsplit::error::Error;
use shardsplit::partition::KeyProblems;

use super::exit::Exit;

/// A value with its `type` beside its own fields.
#[derive(Serialize)]
struct Typed<'a, T: Serialize> {
    r#type: &'static str,
    #[serde(flatten)]
    value: &'a T,
}

/// `{"type": …, fields of value…}` without a line break. `value` must serialise as an object.
pub(crate) fn line<T: Serialize>(kind: &'static str, value: &T) -> serde_json::Result<String> {
    serde_json::to_string(&Typed { r#type: kind, value })
}

/// An error, as programs read it.
#[derive(Serialize)]
struct Failure<'a> {
    /// The class of failure: a word per exit code.
    kind: &'static str,
    exit_code: u8,
    message: &'a str,
    /// Counts and first addresses of documents that could not be placed.
    #[serde(skip_serializing_if = "Option::is_none")]
    key_problems: Option<&'a KeyProblems>,
}

/// `{"type":"error","kind":…,"exit_code":…,"message":…}`, with counts and addresses where documents stopped the run.
pub(crate) fn error(error: &Error) -> serde_json::Result<String> {
    let exit = Exit::of(error);
    let message = error.one_line();
    let key_problems = match error {
        Error::Keys(problems) => Some(problems.as_ref()),
        _ => None,
    };
    line("error", &Failure { kind: exit.name(), exit_code: exit.code(), message: &message, key_problems })
}

/// An error that has no [`Error`]: wrong arguments, a defect.
pub(crate) fn plain_error(exit: Exit, message: &str) -> serde_json::Result<String> {
    line("error", &Failure { kind: exit.name(), exit_code: exit.code(), message, key_problems: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_line_has_type_kind_code_and_message_on_one_line() {
        let text = error(&Error::Usage("two\nlines".into())).unwrap();
        assert_eq!(text, r#"{"type":"error","kind":"usage","exit_code":2,"message":"two lines"}"#);
    }

    #[test]
    fn unplaced_documents_are_counted_in_the_error_line() {
        let problems = KeyProblems { missing: 3, ..KeyProblems::default() };
        let value: serde_json::Value = serde_json::from_str(&error(&Error::Keys(Box::new(problems))).unwrap()).unwrap();
        assert_eq!(value["key_problems"]["missing"], 3);
    }
}
