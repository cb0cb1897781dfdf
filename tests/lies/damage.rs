//! What can befall a file: where, how, and whether its checksum still fits.

use crate::small_index::{seal, split};

/// Where a file is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Region {
    Start,
    Header,
    Middle,
    /// Where tables and footers of the format itself stand.
    Footer,
    End,
}

impl Region {
    pub const ALL: [Region; 5] = [Region::Start, Region::Header, Region::Middle, Region::Footer, Region::End];

    pub fn name(self) -> &'static str {
        match self {
            Region::Start => "start",
            Region::Header => "header",
            Region::Middle => "middle",
            Region::Footer => "footer",
            Region::End => "end",
        }
    }

    fn offset(self, len: usize) -> usize {
        let at = match self {
            Region::Start => 0,
            Region::Header => 12,
            Region::Middle => len / 2,
            Region::Footer => len.saturating_sub(20),
            Region::End => len,
        };
        at.min(len.saturating_sub(1))
    }
}

/// What happens there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    Flip,
    Truncate,
    Extend,
    Zero,
}

impl Damage {
    pub const ALL: [Damage; 4] = [Damage::Flip, Damage::Truncate, Damage::Extend, Damage::Zero];

    pub fn name(self) -> &'static str {
        match self {
            Damage::Flip => "flip a bit",
            Damage::Truncate => "cut off",
            Damage::Extend => "insert 7 bytes",
            Damage::Zero => "zero 16 bytes",
        }
    }

    pub fn apply(self, bytes: &mut Vec<u8>, region: Region) {
        let at = region.offset(bytes.len());
        match self {
            Damage::Flip => bytes[at] ^= 0x10,
            Damage::Truncate => bytes.truncate(at),
            Damage::Extend if region == Region::End => bytes.extend_from_slice(&[0x81; 7]),
            Damage::Extend => drop(bytes.splice(at..at, [0x81; 7])),
            Damage::Zero => {
                let end = (at + 16).min(bytes.len());
                bytes[at..end].fill(0);
            }
        }
    }
}

/// How a file says that its bytes are those that were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksum {
    /// It does not.
    None,
    /// tantivy's footer.
    Footer,
    /// CRC-32 of all before, in the last four bytes.
    Trailer,
}

/// `file` with `damage` in `region`, under its old checksum, or with one that fits.
pub fn damaged(file: &[u8], damage: Damage, region: Region, checksum: Checksum, refit: bool) -> Vec<u8> {
    match checksum {
        Checksum::Footer if refit => {
            let (mut body, footer) = split(file);
            damage.apply(&mut body, region);
            seal(&body, &footer)
        }
        Checksum::Trailer if refit => {
            let mut body = file[..file.len() - 4].to_vec();
            damage.apply(&mut body, region);
            let crc = crc32fast::hash(&body);
            body.extend_from_slice(&crc.to_le_bytes());
            body
        }
        _ => {
            let mut bytes = file.to_vec();
            damage.apply(&mut bytes, region);
            bytes
        }
    }
}
