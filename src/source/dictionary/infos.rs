//! The table of term infos: document frequency and byte ranges by ordinal.
//!
//! Format (tantivy 0.27 `term_info_store.rs`): u64 LE length of the block headers, u64 LE number of terms, headers,
//! packed infos. A block covers 256 terms. Its header is u64 LE offset of its packed infos, the first term's info (u32
//! document frequency, u64 and u32 start and length of its postings, the same of its positions), and three bytes of bit
//! widths. Packed, per further term: starts of postings and positions relative to the first term's, and document
//! frequency; behind the last one the two ends.

use tantivy::postings::TermInfo;

/// Terms per block.
pub(crate) const INFOS_BLOCK: usize = 256;

/// Reads term infos, fastest in the order of ordinals.
pub(super) struct InfosReader<'a> {
    headers: &'a [u8],
    packed: &'a [u8],
    num_terms: u64,
    /// Number of the block that `block` is the header of.
    number: u64,
    block: Option<Block<'a>>,
}

struct Block<'a> {
    first: TermInfo,
    /// Bits of document frequency, start of postings, start of positions.
    widths: [u8; 3],
    packed: &'a [u8],
}

/// Bytes of a header.
const HEADER: usize = 39;

impl<'a> InfosReader<'a> {
    /// `None` if the parts do not fit.
    pub(super) fn open(table: &'a [u8]) -> Option<InfosReader<'a>> {
        let (headers_len, rest) = table.split_first_chunk::<8>()?;
        let (num_terms, rest) = rest.split_first_chunk::<8>()?;
        let num_terms = u64::from_le_bytes(*num_terms);
        let headers_len = usize::try_from(u64::from_le_bytes(*headers_len)).ok()?;
        let (headers, packed) = rest.split_at_checked(headers_len)?;
        let blocks = num_terms.div_ceil(INFOS_BLOCK as u64);
        (blocks.checked_mul(HEADER as u64)? == headers.len() as u64).then_some(InfosReader {
            headers,
            packed,
            num_terms,
            number: 0,
            block: None,
        })
    }

    pub(super) fn num_terms(&self) -> u64 {
        self.num_terms
    }

    /// Info of the term with this ordinal; `None` if there is none, or if it lies outside the table.
    #[inline]
    pub(super) fn get(&mut self, ordinal: u64) -> Option<TermInfo> {
        if ordinal >= self.num_terms {
            return None;
        }
        let (number, within) = (ordinal / INFOS_BLOCK as u64, ordinal % INFOS_BLOCK as u64);
        if self.block.is_none() || self.number != number {
            self.block = Some(self.open_block(number)?);
            self.number = number;
        }
        let block = self.block.as_ref()?;
        let Some(within) = within.checked_sub(1) else { return Some(block.first.clone()) };
        let [doc_freq_bits, postings_bits, positions_bits] = block.widths.map(u64::from);
        let width = postings_bits + positions_bits + doc_freq_bits;
        let start = within * width;
        let postings = |at| block.first.postings_range.start.checked_add(bits(block.packed, at, postings_bits)?);
        let positions = |at| block.first.positions_range.start.checked_add(bits(block.packed, at, positions_bits)?);
        Some(TermInfo {
            doc_freq: u32::try_from(bits(block.packed, start + postings_bits + positions_bits, doc_freq_bits)?).ok()?,
            postings_range: postings(start)?..postings(start + width)?,
            positions_range: positions(start + postings_bits)?..positions(start + width + postings_bits)?,
        })
    }

    fn open_block(&self, number: u64) -> Option<Block<'a>> {
        let start = usize::try_from(number).ok()?.checked_mul(HEADER)?;
        let header = self.headers.get(start..)?.first_chunk::<HEADER>()?;
        let long = |at: usize| {
            let word = header.get(at..)?.first_chunk::<8>()?;
            usize::try_from(u64::from_le_bytes(*word)).ok()
        };
        let short = |at: usize| Some(u32::from_le_bytes(*header.get(at..)?.first_chunk::<4>()?));
        let range = |start: usize, len: u32| Some(start..start.checked_add(len as usize)?);
        let &[.., doc_freq_bits, postings_bits, positions_bits] = header;
        if [doc_freq_bits, postings_bits, positions_bits].iter().any(|&width| width > 56) {
            return None;
        }
        Some(Block {
            first: TermInfo {
                doc_freq: short(8)?,
                postings_range: range(long(12)?, short(20)?)?,
                positions_range: range(long(24)?, short(32)?)?,
            },
            widths: [doc_freq_bits, postings_bits, positions_bits],
            packed: self.packed.get(long(0)?..)?,
        })
    }
}

/// `width` bits from bit `at` on.
#[inline]
fn bits(packed: &[u8], at: u64, width: u64) -> Option<usize> {
    let rest = packed.get(usize::try_from(at / 8).ok()?..)?;
    let word = match rest.first_chunk::<8>() {
        Some(word) => u64::from_le_bytes(*word),
        None => rest.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)),
    };
    let mask = (1u64 << width).wrapping_sub(1);
    usize::try_from((word >> (at % 8)) & mask).ok()
}
