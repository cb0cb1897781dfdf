//! Posting lists too short for a block.
//!
//! Most terms have few documents. Their list is the document deltas, then, with frequencies, as many frequencies, all
//! VInts (seven bits a byte, low ones first, the top bit set on the last byte). tantivy's cursor costs more than such a
//! list, so it is decoded here; every so often the cursor reads one all the same, and must find the same.

use super::maxima::BLOCK;

/// Lists of fewer documents are short.
pub(super) const SHORT: usize = BLOCK;

/// One list, to be filled again.
pub(super) struct ShortList {
    docs: [u32; SHORT],
    freqs: [u32; SHORT],
    len: usize,
    has_freqs: bool,
}

impl ShortList {
    pub(super) fn new() -> ShortList {
        ShortList { docs: [0; SHORT], freqs: [0; SHORT], len: 0, has_freqs: false }
    }

    /// Reads a list of `len` documents. In JSON fields, terms with and without frequencies stand side by side: those
    /// without end behind their documents. `false` if the bytes are not such a list.
    pub(super) fn read(&mut self, mut bytes: &[u8], len: u32, with_freqs: bool) -> bool {
        self.len = 0;
        let Ok(len) = usize::try_from(len) else { return false };
        let (Some(docs), Some(freqs)) = (self.docs.get_mut(..len), self.freqs.get_mut(..len)) else { return false };
        let mut doc = 0u32;
        for slot in docs {
            let Some(next) = vint(&mut bytes).and_then(|delta| doc.checked_add(delta)) else { return false };
            doc = next;
            *slot = doc;
        }
        self.has_freqs = with_freqs && !bytes.is_empty();
        if self.has_freqs && bytes.len() == len && bytes.iter().all(|byte| byte & 0x80 != 0) {
            // A byte each, to the end: what most are.
            freqs.iter_mut().zip(bytes).for_each(|(slot, byte)| *slot = u32::from(byte & 0x7f));
        } else if self.has_freqs {
            for slot in freqs {
                let Some(freq) = vint(&mut bytes) else { return false };
                *slot = freq;
            }
        }
        self.len = len;
        true
    }

    pub(super) fn docs(&self) -> &[u32] {
        self.docs.get(..self.len).unwrap_or(&[])
    }

    /// Empty where the term has none.
    pub(super) fn freqs(&self) -> &[u32] {
        let len = if self.has_freqs { self.len } else { 0 };
        self.freqs.get(..len).unwrap_or(&[])
    }

    pub(super) fn has_freqs(&self) -> bool {
        self.has_freqs
    }
}

#[inline]
fn vint(bytes: &mut &[u8]) -> Option<u32> {
    let (&first, rest) = bytes.split_first()?;
    if first & 0x80 != 0 {
        *bytes = rest;
        return Some(u32::from(first & 0x7f));
    }
    let mut value = u64::from(first);
    for at in 1..5 {
        let byte = *bytes.get(at)?;
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 != 0 {
            *bytes = bytes.get(at + 1..)?;
            return u32::try_from(value).ok();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vints(values: &[u32]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for &value in values {
            let mut rest = value;
            while rest >= 0x80 {
                bytes.push((rest & 0x7f) as u8);
                rest >>= 7;
            }
            bytes.push(rest as u8 | 0x80);
        }
        bytes
    }

    #[test]
    fn documents_are_sums_of_deltas_and_frequencies_may_be_absent() {
        let deltas = [0, 1, 127, 128, 300_000, 1 << 30];
        let docs = [0, 1, 128, 256, 300_256, 300_256 + (1 << 30)];
        let mut list = ShortList::new();
        assert!(list.read(&vints(&deltas), 6, true));
        assert_eq!((list.docs(), list.freqs(), list.has_freqs()), (&docs[..], &[][..], false));
        let both = vints(&[&deltas[..], &[1, 2, 3, 4, 5, u32::MAX]].concat());
        assert!(list.read(&both, 6, true));
        assert_eq!((list.docs(), list.freqs()), (&docs[..], &[1, 2, 3, 4, 5, u32::MAX][..]));
        // Those who do not want frequencies do not read them.
        let small = vints(&[&deltas[..], &[1, 2, 3, 127, 5, 0]].concat());
        assert!(list.read(&small, 6, true));
        assert_eq!((list.docs(), list.freqs()), (&docs[..], &[1, 2, 3, 127, 5, 0][..]));
        assert!(list.read(&both, 6, false));
        assert_eq!((list.docs(), list.has_freqs()), (&docs[..], false));
    }

    #[test]
    fn what_is_no_list_is_refused() {
        let mut list = ShortList::new();
        let whole = vints(&[5, 200, 7, 1, 1, 300]);
        for end in 0..whole.len() {
            // Exactly the documents is a list without frequencies.
            assert_eq!(list.read(&whole[..end], 3, true), end == 4, "{end}");
            assert_eq!(list.docs().len(), if end == 4 { 3 } else { 0 });
        }
        assert!(list.read(&whole, 3, true));
        assert!(!list.read(&vints(&[u32::MAX, 1]), 2, false), "beyond 32 bits");
        assert!(!list.read(&[0x7f, 0x7f, 0x7f, 0x7f, 0xff], 1, false), "beyond 32 bits");
        assert!(!list.read(&[0; 9], 1, false), "without an end");
        assert!(!list.read(&[0x80; 129], 129, false), "not short");
    }
}
