//! The file: its name, its layout, its sizes.
//!
//! Name: `<segment id>.<tag>.hashes`, the tag being eight hexadecimal digits made of the way of hashing. Numbers are
//! little endian.
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 8 | magic `SHARDHSH` |
//! | 8 | 4 | version, 1 |
//! | 12 | 4 | flags: 1 = there are states |
//! | 16 | 16 | segment id |
//! | 32 | 4 | max_doc |
//! | 36 | 12 | CRC-32 of the segment's `.term`, `.fast` and `.store`, whole files, as their footers make it |
//! | 48 | 4 | routing_partition_size; 1: none |
//! | 52 | 12 | lengths of the three names below; `0xffffffff` for no routing field |
//! | 64 | | names, UTF-8: hash function, key field, routing field; zeros up to a multiple of four |
//! | | 4 × max_doc | per document its routing hash, partition offset added as routing adds it; 0 where there is none |
//! | | 4 × ⌈max_doc / 16⌉ | if there are states: two bits per document, low ones first: hashed, missing, several, unread |
//! | | 4 | CRC-32 (IEEE) of all bytes before |
//!
//! The partition offset can be in the sum because an index never changes its routing_partition_size. Deletes may come
//! later: they change neither document numbers nor the three files. A merge makes another segment, which has no sidecar.

use crate::error::{Error, Result};
use crate::source::Bytes;

use super::states::HashStates;

/// Version of the format.
pub const SIDECAR_VERSION: u32 = 1;

const MAGIC: [u8; 8] = *b"SHARDHSH";
/// Bytes before the names.
const FIXED: usize = 64;
/// Where the bound checksums stand.
const HAS_STATES: u32 = 1;
/// Length of a routing field that there is not.
const NO_NAME: u32 = u32::MAX;
/// Checksum at the end.
pub(super) const TRAILER: usize = 4;

const EXTENSION: &str = ".hashes";
/// Behind the name of a sidecar that is being written beside an index.
pub(crate) const PARTIAL_SIDECAR: &str = ".partial";

/// How keys became hashes.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct HashedBy {
    /// [`RoutingFunction::hash_name`](crate::route::RoutingFunction::hash_name).
    pub hash: String,
    /// The id field.
    pub key: String,
    /// The field of custom routing values.
    pub routing_field: Option<String>,
    /// routing_partition_size whose offset is in the hashes; 1: none.
    pub routing_partition_size: u32,
}

impl HashedBy {
    /// Name of the sidecar of a segment.
    #[must_use]
    pub fn file_name(&self, segment: &str) -> String {
        let mut tag = crc32fast::Hasher::new();
        for name in [Some(&self.hash), Some(&self.key), self.routing_field.as_ref()].into_iter().flatten() {
            // With its length: where one name ends and the next begins must tell.
            tag.update(&(name.len() as u64).to_le_bytes());
            tag.update(name.as_bytes());
        }
        tag.update(&self.routing_partition_size.to_le_bytes());
        format!("{segment}.{:08x}{EXTENSION}", tag.finalize())
    }
}

/// The segment id in the name of a sidecar; `None` if `name` is no such name.
#[must_use]
pub fn sidecar_segment(name: &str) -> Option<&str> {
    let (id, tag) = name.strip_suffix(EXTENSION)?.split_once('.')?;
    let hexadecimal = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    (id.len() == 32 && tag.len() == 8 && hexadecimal(id) && hexadecimal(tag)).then_some(id)
}

/// The bytes that a sidecar belongs to: checksums of three files of the segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bound {
    /// Of `.term`.
    pub terms: u32,
    /// Of `.fast`.
    pub columns: u32,
    /// Of `.store`.
    pub store: u32,
}

/// All that stands before the hashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Segment id, 32 hexadecimal digits.
    pub segment: String,
    /// Documents, deleted ones included.
    pub max_doc: u32,
    /// Whether some documents have no hash.
    pub has_states: bool,
    /// What it belongs to.
    pub bound: Bound,
    /// How keys became hashes.
    pub by: HashedBy,
}

impl Header {
    /// Its bytes. Their number does not depend on [`Header::bound`] and [`Header::has_states`].
    ///
    /// # Errors
    /// [`Error::Defect`] if the segment id is none.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let id = uuid::Uuid::try_parse(&self.segment)
            .map_err(|_| Error::defect(format!("{:?} is not the id of a segment", self.segment)))?;
        let flags = if self.has_states { HAS_STATES } else { 0 };
        let Bound { terms, columns, store } = self.bound;
        let len = |name: &str| u32::try_from(name.len()).unwrap_or(NO_NAME - 1);
        let HashedBy { hash, key, routing_field, routing_partition_size } = &self.by;
        let lens = [len(hash), len(key), routing_field.as_deref().map_or(NO_NAME, len)];
        let mut bytes = MAGIC.to_vec();
        [SIDECAR_VERSION, flags].iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
        bytes.extend_from_slice(id.as_bytes());
        for word in [self.max_doc, terms, columns, store, *routing_partition_size].iter().chain(&lens) {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        for name in [Some(hash), Some(key), routing_field.as_ref()].into_iter().flatten() {
            bytes.extend_from_slice(name.as_bytes());
        }
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        Ok(bytes)
    }

    /// Reads a whole file, whose checksum is compared first; gives the offset of the hashes too. `Err` says what is wrong.
    ///
    /// # Errors
    /// The bytes are no sidecar, or a damaged one.
    pub fn parse(file: &[u8]) -> Result<(Header, usize), String> {
        let mut bytes = Bytes::new(file);
        if bytes.take(MAGIC.len()) != Some(&MAGIC) {
            return Err("it does not begin as a hash sidecar does".to_owned());
        }
        match bytes.u32() {
            Some(SIDECAR_VERSION) => {}
            Some(other) => return Err(format!("it is of version {other}, this build reads {SIDECAR_VERSION}")),
            None => return Err("it is cut off".to_owned()),
        }
        let (body, crc) = file.split_last_chunk::<TRAILER>().ok_or("it is cut off")?;
        let (found, expected) = (crc32fast::hash(body), u32::from_le_bytes(*crc));
        if found != expected {
            return Err(format!("its bytes have checksum {found:08x}, it says {expected:08x}"));
        }
        Header::parse_sound(bytes, file.len()).unwrap_or_else(|| Err("its header is cut off".to_owned()))
    }

    /// `None`: cut off.
    fn parse_sound(mut bytes: Bytes<'_>, file_len: usize) -> Option<Result<(Header, usize), String>> {
        let flags = bytes.u32()?;
        let segment = uuid::Uuid::from_bytes(bytes.array()?).simple().to_string();
        let mut word = || bytes.u32();
        let (max_doc, terms, columns, store) = (word()?, word()?, word()?, word()?);
        let routing_partition_size = word()?;
        let (hash, key, routing) = (word()?, word()?, word()?);
        if flags & !HAS_STATES != 0 {
            return Some(Err(format!("it has flags {flags:#x}, this build knows {HAS_STATES:#x}")));
        }
        let mut names_len = 0usize;
        let mut name = |len: u32| {
            names_len = names_len.checked_add(len as usize)?;
            String::from_utf8(bytes.take(len as usize)?.to_vec()).ok()
        };
        let (hash, key) = (name(hash)?, name(key)?);
        let routing_field = if routing == NO_NAME { None } else { Some(name(routing)?) };
        let start = (FIXED + names_len).next_multiple_of(4);
        let by = HashedBy { hash, key, routing_field, routing_partition_size };
        let bound = Bound { terms, columns, store };
        let header = Header { segment, max_doc, has_states: flags & HAS_STATES != 0, bound, by };
        let expected = start as u64 + header.body_bytes();
        Some(if expected == file_len as u64 {
            Ok((header, start))
        } else {
            Err(format!("it has {file_len} bytes, {max_doc} documents make {expected}"))
        })
    }

    /// Bytes behind the header.
    fn body_bytes(&self) -> u64 {
        let states = if self.has_states { HashStates::words(self.max_doc) as u64 } else { 0 };
        4 * (u64::from(self.max_doc) + states) + TRAILER as u64
    }
}

/// About how many bytes the sidecar of `docs` documents has: exactly, but for the names and states.
#[must_use]
pub fn sidecar_bytes(docs: u32) -> u64 {
    (FIXED + 32 + TRAILER) as u64 + 4 * u64::from(docs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::HashState;

    const ID: &str = "0123456789abcdef0123456789abcdef";

    fn by() -> HashedBy {
        let (hash, key, routing_field) = ("murmur".to_owned(), "id".to_owned(), Some("owner".to_owned()));
        HashedBy { hash, key, routing_field, routing_partition_size: 3 }
    }

    fn header(max_doc: u32, has_states: bool) -> Header {
        let bound = Bound { terms: 7, columns: 8, store: 9 };
        Header { segment: ID.to_owned(), max_doc, has_states, bound, by: by() }
    }

    fn file(header: &Header) -> Vec<u8> {
        let mut bytes = header.encode().unwrap();
        (0..header.max_doc).for_each(|doc| bytes.extend_from_slice(&(doc * 3).to_le_bytes()));
        if header.has_states {
            let mut states = HashStates::default();
            states.set(2, HashState::Missing);
            states.words_of(header.max_doc).for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
        }
        let crc = crc32fast::hash(&bytes);
        bytes.extend_from_slice(&crc.to_le_bytes());
        bytes
    }

    #[test]
    fn sizes_are_those_that_the_table_says() {
        // 64 fixed bytes, names of 6 + 2 + 5, three zeros.
        assert_eq!(header(0, false).encode().unwrap().len(), 80);
        assert_eq!(file(&header(17, false)).len(), 80 + 4 * 17 + 4);
        assert_eq!(file(&header(17, true)).len(), 80 + 4 * 17 + 4 * 2 + 4);
        let fixed = &header(17, true).encode().unwrap()[..52];
        let words: Vec<u32> = fixed.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
        assert_eq!(&fixed[..8], b"SHARDHSH");
        assert_eq!(words[2..4], [1, 1]);
        assert_eq!(fixed[16..20], [0x01, 0x23, 0x45, 0x67]);
        assert_eq!(words[8..], [17, 7, 8, 9, 3]);
    }

    #[test]
    fn what_was_written_is_read_again() {
        for (max_doc, states) in [(0, false), (1, true), (33, true), (100, false)] {
            let header = header(max_doc, states);
            assert_eq!(Header::parse(&file(&header)), Ok((header, 80)), "{max_doc}");
        }
        let plain = Header { by: HashedBy { routing_field: None, ..by() }, ..header(5, false) };
        assert_eq!(Header::parse(&file(&plain)), Ok((plain, 72)));
    }

    #[test]
    fn every_flipped_byte_every_length_and_appended_bytes_are_refused() {
        let whole = file(&header(20, true));
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (at % 8);
            assert!(Header::parse(&bytes).is_err(), "byte {at}");
            assert!(Header::parse(&whole[..at]).is_err(), "cut to {at}");
        }
        let longer = [whole.as_slice(), &[0]].concat();
        assert!(Header::parse(&longer).is_err());
    }

    #[test]
    fn a_right_checksum_over_wrong_sizes_is_refused_before_anything_is_allocated() {
        let reseal = |mut bytes: Vec<u8>, at: usize, value: u32| {
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
            let end = bytes.len() - 4;
            let crc = crc32fast::hash(&bytes[..end]);
            bytes[end..].copy_from_slice(&crc.to_le_bytes());
            bytes
        };
        let whole = file(&header(20, false));
        for (at, value) in
            [(12, 1), (12, 2), (32, 19), (32, u32::MAX), (52, u32::MAX - 1), (56, 1 << 30), (60, 1 << 31)]
        {
            assert!(Header::parse(&reseal(whole.clone(), at, value)).is_err(), "{value} at {at}");
        }
        // The control: the same value again is fine.
        assert!(Header::parse(&reseal(whole, 32, 20)).is_ok());
    }

    #[test]
    fn every_way_of_hashing_has_a_name_of_its_own() {
        let name = by().file_name(ID);
        assert_eq!(sidecar_segment(&name), Some(ID), "{name}");
        let others = [
            HashedBy { hash: "other".to_owned(), ..by() },
            HashedBy { key: "author".to_owned(), ..by() },
            HashedBy { routing_field: None, ..by() },
            HashedBy { routing_partition_size: 1, ..by() },
            HashedBy { key: "ido".to_owned(), routing_field: Some("wner".to_owned()), ..by() },
        ];
        let names: std::collections::BTreeSet<String> =
            others.iter().chain([&by()]).map(|by| by.file_name(ID)).collect();
        assert_eq!(names.len(), 6);
        // Computed once; another name would leave the sidecars of old children unread.
        let plain = HashedBy { hash: "murmur3-x86-32 utf-16le".to_owned(), routing_field: None, ..by() };
        let plain = HashedBy { routing_partition_size: 1, ..plain };
        assert_eq!(plain.file_name(ID), format!("{ID}.bc6a7e7b.hashes"));
        let partial = format!("{name}{PARTIAL_SIDECAR}");
        for wrong in
            [partial.as_str(), "x.hashes", &name[1..], &format!("{ID}.hashes"), &format!("{ID}.0123456G.hashes")]
        {
            assert_eq!(sidecar_segment(wrong), None, "{wrong}");
        }
    }
}
