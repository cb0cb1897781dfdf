//! Memory in maps of its own: large arrays that are read and written at random, in huge pages where the system has them
//! ([`Entries`]), and room for long lists ([`Chunk`]).
//!
//! With small pages, finding the page takes as long as the memory itself: 10 instead of 5 ns for an addition to one of
//! 500,000 entries of 16 bytes. Entries are byte arrays, which an anonymous map has; what they hold is up to the owner.

use memmap2::MmapMut;

/// Bytes of a huge page.
pub(crate) const HUGE_PAGE: usize = 2 << 20;

/// Entries of `N` bytes.
#[derive(Debug)]
pub(crate) enum Entries<const N: usize> {
    Small(Vec<[u8; N]>),
    /// Whole huge pages, of which the first `len` entries count.
    Huge {
        map: MmapMut,
        len: usize,
    },
}

impl<const N: usize> Entries<N> {
    /// `len` entries, all bytes of them `byte`. Less than half a huge page is not worth one.
    pub(crate) fn filled(len: usize, byte: u8) -> Entries<N> {
        #[cfg(target_os = "linux")]
        if let Some(bytes) = len.checked_mul(N).filter(|&bytes| bytes >= HUGE_PAGE / 2)
            && let Ok(mut map) = MmapMut::map_anon(bytes.next_multiple_of(HUGE_PAGE))
            && map.advise(memmap2::Advice::HugePage).is_ok()
        {
            if byte != 0 {
                map.fill(byte);
            }
            return Entries::Huge { map, len };
        }
        Entries::Small(vec![[byte; N]; len])
    }

    #[inline]
    pub(crate) fn as_slice(&self) -> &[[u8; N]] {
        match self {
            Entries::Small(entries) => entries,
            Entries::Huge { map, len } => map.as_chunks().0.get(..*len).unwrap_or_default(),
        }
    }

    #[inline]
    pub(crate) fn as_mut_slice(&mut self) -> &mut [[u8; N]] {
        match self {
            Entries::Small(entries) => entries,
            Entries::Huge { map, len } => map.as_chunks_mut().0.get_mut(..*len).unwrap_or_default(),
        }
    }
}

/// Room for bytes that are appended, in a map of its own where the system gives one: dropped, it is the system's again at
/// once, wherever other memory was allocated meanwhile.
#[derive(Debug)]
pub(crate) enum Chunk {
    Heap(Vec<u8>),
    Map {
        map: MmapMut,
        /// Bytes that were appended.
        len: usize,
    },
}

impl Chunk {
    pub(crate) fn new(capacity: usize) -> Chunk {
        match MmapMut::map_anon(capacity) {
            Ok(map) => Chunk::Map { map, len: 0 },
            Err(_) => Chunk::Heap(Vec::with_capacity(capacity)),
        }
    }

    /// Appends all of `bytes`, or says that there is no room for them.
    #[inline]
    pub(crate) fn append(&mut self, bytes: &[u8]) -> bool {
        match self {
            Chunk::Heap(room) => {
                let fits = room.capacity() - room.len() >= bytes.len();
                if fits {
                    room.extend_from_slice(bytes);
                }
                fits
            }
            Chunk::Map { map, len } => {
                let room = map.get_mut(*len..).and_then(|rest| rest.get_mut(..bytes.len()));
                let Some(room) = room else { return false };
                room.copy_from_slice(bytes);
                *len += bytes.len();
                true
            }
        }
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        match self {
            Chunk::Heap(room) => room,
            Chunk::Map { map, len } => map.get(..*len).unwrap_or_default(),
        }
    }

    pub(crate) fn clear(&mut self) {
        match self {
            Chunk::Heap(room) => room.clear(),
            Chunk::Map { len, .. } => *len = 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_take_what_fits_and_nothing_else_and_are_empty_when_cleared() {
        for mut chunk in [Chunk::new(10), Chunk::Heap(Vec::with_capacity(10))] {
            for _ in 0..2 {
                assert!(chunk.append(b"") && chunk.append(b"abc") && chunk.append(b"defghij"));
                assert!(!chunk.append(b"k"));
                assert_eq!(chunk.as_slice(), b"abcdefghij");
                chunk.clear();
                assert!(!chunk.append(b"more than ten"));
                assert_eq!(chunk.as_slice(), b"");
            }
        }
    }

    #[test]
    fn entries_are_as_many_as_asked_for_and_filled_whatever_their_pages() {
        for len in [0, 1, HUGE_PAGE / 8 - 1, HUGE_PAGE / 8, HUGE_PAGE / 4, HUGE_PAGE / 4 + 1] {
            for byte in [0, 0xff] {
                let mut entries = Entries::<4>::filled(len, byte);
                assert_eq!(entries.as_slice().len(), len);
                assert!(entries.as_slice().iter().all(|entry| *entry == [byte; 4]));
                for (number, entry) in (0u32..).zip(entries.as_mut_slice()) {
                    *entry = number.to_le_bytes();
                }
                let numbers = entries.as_slice().iter().map(|entry| u32::from_le_bytes(*entry));
                assert!(numbers.eq(0..u32::try_from(len).unwrap()));
            }
        }
    }
}
