//! A cursor over untrusted bytes: every read is bounded and says `None` past the end.
//!
//! Posting lists have readers of their own where a term is decoded, in `write` for speed, in `verify` because a judge
//! shares no code with the author.

/// What is left to read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Bytes<'a> {
        Bytes(bytes)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// All that is left, without taking it.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.0
    }

    #[inline]
    pub(crate) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(len)?;
        self.0 = tail;
        Some(head)
    }

    #[inline]
    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, tail) = self.0.split_first_chunk()?;
        self.0 = tail;
        Some(*head)
    }

    #[inline]
    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// tantivy's VInt: seven bits a byte, low ones first, the top bit set on the last byte. `None` also where the
    /// number does not fit 64 bits.
    pub(crate) fn vint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return None;
            }
            value |= bits << shift;
            if byte & 0x80 != 0 {
                return Some(value);
            }
        }
        None
    }

    /// The same, of at most 32 bits.
    #[inline]
    pub(crate) fn vint32(&mut self) -> Option<u32> {
        let mut value = 0u64;
        for shift in [0, 7, 14, 21, 28] {
            let byte = self.u8()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 != 0 {
                return u32::try_from(value).ok();
            }
        }
        None
    }
}

/// The last `len` bytes of `bytes`.
pub(crate) fn tail(bytes: &[u8], len: usize) -> Option<&[u8]> {
    bytes.get(bytes.len().checked_sub(len)?..)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tantivy_common::{BinarySerializable, VInt};

    #[test]
    fn vints_read_as_tantivy_writes_them() {
        for value in [0, 1, 127, 128, 16_383, 16_384, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            let mut written = Vec::new();
            VInt(value).serialize(&mut written).unwrap();
            let mut bytes = Bytes::new(&written);
            assert_eq!((bytes.vint(), bytes.len()), (Some(value), 0));
            assert_eq!(Bytes::new(&written[..written.len() - 1]).vint(), None, "cut off {value}");
        }
    }

    #[test]
    fn vints_beyond_64_bits_are_no_numbers() {
        assert_eq!(Bytes::new(&[0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x82]).vint(), None);
        assert_eq!(Bytes::new(&[0; 20]).vint(), None);
    }

    #[test]
    fn vints_that_do_not_end_or_do_not_fit_32_bits_are_refused() {
        let decode = |bytes: &[u8]| Bytes::new(bytes).vint32();
        assert_eq!(decode(&[0x80]), Some(0));
        assert_eq!(decode(&[0x00, 0x81]), Some(128));
        assert_eq!(decode(&[0x7f, 0x7f, 0x7f, 0x7f, 0x8f]), Some(u32::MAX));
        assert_eq!(decode(&[0x7f, 0x7f, 0x7f, 0x7f, 0x9f]), None);
        assert_eq!(decode(&[0x01, 0x01]), None);
        assert_eq!(decode(&[0, 0, 0, 0, 0, 0x80]), None);
    }

    #[test]
    fn reads_past_the_end_give_nothing_and_take_nothing() {
        let mut bytes = Bytes::new(&[1, 0, 0]);
        assert_eq!(bytes.u32(), None);
        assert_eq!(bytes.take(4), None);
        assert_eq!((bytes.u8(), bytes.len()), (Some(1), 2));
        assert_eq!(tail(&[1, 2], 3), None);
        assert_eq!(tail(&[1, 2], 1), Some(&[2][..]));
    }
}
