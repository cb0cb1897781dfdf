//! Large arrays that are read and written at random, in huge pages where the system has them.
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

#[cfg(test)]
mod tests {
    use super::*;

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
