//! The footer at the end of every segment file.
//!
//! A file is `body ‖ JSON {"version":{major,minor,patch,index_format_version},"crc"} ‖ u32 LE length of the JSON ‖
//! u32 LE 1337`; the checksum is CRC-32 (IEEE) of the body. Footers have had this form since tantivy 0.15; older files
//! have another or none. Facts from tantivy 0.27, `src/directory/footer.rs`.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::source::bytes::{Bytes, tail};

/// Ends every file.
pub(crate) const FOOTER_MAGIC: u32 = 1337;
/// Length and magic.
const TRAILER: usize = 8;
/// Longest JSON tantivy accepts.
const MAX_JSON: usize = 50_000;
/// Bytes of the longest footer tantivy accepts; usual ones have about 100.
pub(crate) const MAX_FOOTER: u64 = (MAX_JSON + TRAILER) as u64;
/// Index formats whose every plane can be read: tantivy 0.20 to 0.27.
const FORMATS: std::ops::RangeInclusive<u32> = 5..=7;

/// Which tantivy wrote a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct WrittenBy {
    /// First part of the version.
    pub major: u32,
    /// Second part of the version.
    pub minor: u32,
    /// Third part of the version.
    pub patch: u32,
    /// tantivy's index format number.
    pub index_format: u32,
}

impl std::fmt::Display for WrittenBy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "tantivy {}.{}.{} (index format {})", self.major, self.minor, self.patch, self.index_format)
    }
}

/// A footer that was read and found sound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::source) struct FileFooter {
    pub(in crate::source) written_by: WrittenBy,
    pub(in crate::source) crc32: u32,
    /// Bytes before the footer.
    pub(in crate::source) body_len: usize,
}

#[derive(Deserialize)]
struct RawFooter {
    version: RawVersion,
    crc: u32,
}

#[derive(Deserialize)]
struct RawVersion {
    major: u32,
    minor: u32,
    patch: u32,
    index_format_version: u32,
}

/// Why a file's end is no footer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoFooter {
    /// The file has no bytes.
    Empty,
    /// The file does not end in the magic number, as none did before tantivy 0.15.
    NoMagic { found: Option<u32> },
    /// It does, but what stands before is no footer.
    Damaged(String),
}

impl NoFooter {
    fn problem(self) -> String {
        match self {
            NoFooter::Empty => "it is empty".to_owned(),
            NoFooter::NoMagic { found: None } => "it is shorter than a footer".to_owned(),
            NoFooter::NoMagic { found: Some(found) } => {
                format!(
                    "it has no footer: it ends in {found}, not in the magic number {FOOTER_MAGIC}; it may be cut off"
                )
            }
            NoFooter::Damaged(problem) => problem,
        }
    }
}

pub(super) fn parse(file: &[u8]) -> Result<FileFooter, NoFooter> {
    if file.is_empty() {
        return Err(NoFooter::Empty);
    }
    let Some(mut trailer) = tail(file, TRAILER).map(Bytes::new) else {
        return Err(NoFooter::NoMagic { found: None });
    };
    let (len, magic) = (trailer.u32().unwrap_or_default(), trailer.u32().unwrap_or_default());
    if magic != FOOTER_MAGIC {
        return Err(NoFooter::NoMagic { found: Some(magic) });
    }
    let len = usize::try_from(len).unwrap_or(usize::MAX);
    let body_len = file.len().checked_sub(TRAILER).and_then(|end| end.checked_sub(len));
    let (Some(body_len), true) = (body_len, len <= MAX_JSON) else {
        return Err(NoFooter::Damaged(format!("its footer claims {len} bytes of {}", file.len())));
    };
    let json = file.get(body_len..file.len() - TRAILER).unwrap_or_default();
    let raw: RawFooter = serde_json::from_slice(json)
        .map_err(|error| NoFooter::Damaged(format!("its footer at byte {body_len} does not parse: {error}")))?;
    let RawVersion { major, minor, patch, index_format_version } = raw.version;
    let written_by = WrittenBy { major, minor, patch, index_format: index_format_version };
    Ok(FileFooter { written_by, crc32: raw.crc, body_len })
}

/// Reads the footers of all files of an index, given with their paths.
///
/// Where not a single file has a footer, an old tantivy is the cause; where only some lack it, damage is.
pub(super) fn parse_all<'a>(files: impl Iterator<Item = (&'a Path, &'a [u8])> + Clone) -> Result<Vec<FileFooter>> {
    let old = |end: &Result<FileFooter, NoFooter>| matches!(end, Err(NoFooter::NoMagic { .. }));
    let mut ends = files.clone().map(|(_, bytes)| parse(bytes)).peekable();
    if ends.peek().is_some() && ends.all(|end| old(&end)) {
        let path = files.clone().next().map_or(Path::new(""), |(path, _)| path);
        return Err(Error::Unsupported {
            path: path.to_path_buf(),
            what: "the file format",
            found:
                "one without footers (no segment file has one), as tantivy 0.10 and older wrote, or with footers of \
                    the form used until 0.14"
                    .to_owned(),
            expected: "files of tantivy 0.20 to 0.27".to_owned(),
            hint: "re-index the documents with a current tantivy".to_owned(),
        });
    }
    files
        .map(|(path, bytes)| {
            let footer = parse(bytes).map_err(|no_footer| Error::corrupt(path, no_footer.problem()))?;
            check_format(path, footer.written_by)?;
            Ok(footer)
        })
        .collect()
}

fn check_format(path: &Path, written_by: WrittenBy) -> Result<()> {
    if FORMATS.contains(&written_by.index_format) {
        return Ok(());
    }
    let hint = if written_by.index_format < *FORMATS.start() {
        "re-index the documents with a current tantivy".to_owned()
    } else {
        format!("this build reads what tantivy {} reads; use one for the newer release", tantivy::version_string())
    };
    Err(Error::Unsupported {
        path: path.to_path_buf(),
        what: "the index format",
        found: format!("{}, written by {written_by}", written_by.index_format),
        expected: format!("{} to {} (tantivy 0.20 to 0.27)", FORMATS.start(), FORMATS.end()),
        hint,
    })
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "lengths in these tests are small")]
mod tests {
    use super::*;

    fn file(body: &[u8], json: &str, len: u32, magic: u32) -> Vec<u8> {
        [body, json.as_bytes(), &len.to_le_bytes(), &magic.to_le_bytes()].concat()
    }

    const JSON: &str = r#"{"version":{"major":0,"minor":25,"patch":1,"index_format_version":7},"crc":5}"#;

    #[test]
    fn a_footer_gives_version_checksum_and_length_of_the_body() {
        let footer = parse(&file(b"body", JSON, JSON.len() as u32, FOOTER_MAGIC)).unwrap();
        assert_eq!(footer.written_by.to_string(), "tantivy 0.25.1 (index format 7)");
        assert_eq!((footer.crc32, footer.body_len), (5, 4));
    }

    #[test]
    fn lengths_beyond_the_file_or_the_limit_are_refused_before_anything_is_sliced() {
        for len in [JSON.len() as u32 + 1, 50_001, u32::MAX] {
            let problem = parse(&file(b"", JSON, len, FOOTER_MAGIC)).unwrap_err().problem();
            assert!(problem.contains(&len.to_string()), "{problem}");
        }
        let long = file(&[b' '; 60_000], "", 50_001, FOOTER_MAGIC);
        assert!(parse(&long).unwrap_err().problem().contains("50001"));
    }

    #[test]
    fn short_files_have_no_footer() {
        assert_eq!(parse(&[]), Err(NoFooter::Empty));
        for len in 1..TRAILER {
            assert_eq!(parse(&vec![0; len]), Err(NoFooter::NoMagic { found: None }));
        }
        assert_eq!(parse(&[0; 8]), Err(NoFooter::NoMagic { found: Some(0) }));
    }

    #[test]
    fn one_file_without_a_footer_is_damage_and_all_without_are_an_old_version() {
        let (good, bad) = (file(b"body", JSON, JSON.len() as u32, FOOTER_MAGIC), vec![7u8; 20]);
        let (a, b) = (Path::new("a.term"), Path::new("b.idx"));
        let mixed = parse_all([(a, good.as_slice()), (b, bad.as_slice())].into_iter()).unwrap_err();
        assert!(matches!(&mixed, Error::Corrupt { path, .. } if path == b), "{mixed:?}");
        let old = parse_all([(a, bad.as_slice()), (b, &bad[..5])].into_iter()).unwrap_err();
        assert!(matches!(&old, Error::Unsupported { path, .. } if path == a), "{old:?}");
        assert!(parse_all(std::iter::empty()).unwrap().is_empty());
        assert_eq!(parse_all([(a, good.as_slice())].into_iter()).unwrap().len(), 1);
    }

    #[test]
    fn formats_outside_5_to_7_are_refused_with_the_version_that_wrote_them() {
        for (format, accepted) in [(4, false), (5, true), (7, true), (8, false)] {
            let by = WrittenBy { major: 0, minor: 99, patch: 3, index_format: format };
            let result = check_format(Path::new("a.term"), by);
            assert_eq!(result.is_ok(), accepted, "{format}");
            if let Err(error) = result {
                assert!(error.to_string().contains("tantivy 0.99.3"), "{error}");
            }
        }
    }
}
