//! Our encoder and decoder against tantivy's own serialiser: equal bytes, equal documents.

use std::collections::BTreeMap;

use bitpacking::{BitPacker, BitPacker4x};
use proptest::prelude::*;
use tantivy::directory::FileSlice;
use tantivy::fieldnorm::FieldNormReader;
use tantivy::postings::FieldSerializer;
use tantivy::schema::IndexRecordOption;
use tantivy::termdict::TermDictionary;
use tantivy_common::CountingWriter;

use super::decode::{BLOCK, Damage, PositionBuffer, Positions, Postings, Room};
use super::encode::{Encoder, Field};
use super::lists::{Lists, SpareChunks};
use super::piece::{Piece, TermEntry};
use super::scores::LengthFactors;

/// Per term: whether it has frequencies, and per document its position deltas.
type Terms = BTreeMap<Vec<u8>, (bool, BTreeMap<u32, Vec<u32>>)>;

/// Room for one block.
struct Block {
    docs: [u32; BLOCK],
    freqs: [u32; BLOCK],
}

impl Block {
    fn new() -> Block {
        Block { docs: [0; BLOCK], freqs: [0; BLOCK] }
    }

    fn room(&mut self) -> Room<'_> {
        Room { packer: BitPacker4x::new(), docs: &mut self.docs, freqs: &mut self.freqs }
    }
}

struct Written {
    dictionary: TermDictionary,
    postings: Vec<u8>,
    positions: Vec<u8>,
}

fn with_tantivy(terms: &Terms, record: IndexRecordOption, norms: Option<&[u8]>, total: u64) -> Written {
    let mut outs = [(); 3].map(|()| CountingWriter::wrap(Vec::new()));
    let [dictionary, postings, positions] = &mut outs;
    let norms = norms.map(|norms| FieldNormReader::open(FileSlice::from(norms.to_vec())).unwrap());
    let mut field = FieldSerializer::create(record, total, dictionary, postings, positions, norms).unwrap();
    for (term, (has_freqs, docs)) in terms {
        field.new_term(term, 0, *has_freqs).unwrap();
        for (&doc, deltas) in docs {
            let (freq, deltas) = if *has_freqs { (deltas.len() as u32, deltas.as_slice()) } else { (0, &[][..]) };
            field.write_doc(doc, freq, deltas);
        }
        field.close_term().unwrap();
    }
    field.close().unwrap();
    let [dictionary, postings, positions] = outs.map(CountingWriter::finish);
    Written {
        dictionary: TermDictionary::open(FileSlice::from(dictionary)).unwrap(),
        postings: postings[8..].to_vec(),
        positions,
    }
}

struct Ours {
    terms: Vec<(Vec<u8>, TermEntry)>,
    postings: Vec<u8>,
    positions: Vec<u8>,
}

fn with_ours(terms: &Terms, field: &Field<'_>, norms: Option<&[u8]>) -> Ours {
    let mut encoder = Encoder::new(&SpareChunks::default());
    for (term, (has_freqs, docs)) in terms {
        let has_freqs = *has_freqs && field.record.has_freq();
        for (&doc, deltas) in docs {
            let freq = if has_freqs { deltas.len() as u32 } else { 0 };
            let norm = norms.map_or(0, |norms| norms[doc as usize]);
            if encoder.push(doc, freq, norm) {
                encoder.write_block(field, has_freqs);
            }
            if has_freqs && field.record.has_positions() {
                encoder.push_positions(deltas);
            }
        }
        encoder.close(term, field, has_freqs);
    }
    let Piece { terms, postings, positions, .. } = encoder.piece;
    let bytes = |lists: Lists| {
        let mut bytes = Vec::new();
        lists.write_to(&mut bytes).unwrap();
        bytes
    };
    let terms = terms.iter().map(|(term, entry)| (term.to_vec(), entry)).collect();
    Ours { terms, postings: bytes(postings), positions: bytes(positions) }
}

fn check(terms: &Terms, record: IndexRecordOption, norms: Option<&[u8]>, max_doc: u32) {
    let total: u64 =
        norms.map_or(0, |norms| norms.iter().map(|&id| u64::from(FieldNormReader::id_to_fieldnorm(id))).sum());
    let tantivy = with_tantivy(terms, record, norms, total);
    let factors =
        norms.map(|norms| LengthFactors::new(total as f32 / norms.len() as f32, total as f32 / norms.len() as f32));
    let ours = with_ours(terms, &Field { record, factors: factors.as_ref() }, norms);
    assert_eq!(ours.postings, tantivy.postings, "postings");
    if record.has_positions() {
        assert_eq!(ours.positions, tantivy.positions, "positions");
    }

    let mut infos = tantivy.dictionary.stream().unwrap();
    let mut entries = ours.terms.iter();
    assert_eq!(ours.terms.len(), terms.len());
    for (term, (has_freqs, docs)) in terms {
        assert!(infos.advance());
        let (info, (our_term, entry)) = (infos.value(), entries.next().unwrap());
        assert_eq!((infos.key(), info.doc_freq), (term.as_slice(), entry.doc_freq));
        assert_eq!(our_term, term);
        assert_eq!(info.postings_range.len() as u64, entry.postings_len);
        assert_eq!(info.positions_range.len() as u64, entry.positions_len);

        let data = &tantivy.postings[info.postings_range.clone()];
        let mut postings = Postings::open(data, info.doc_freq, record, max_doc).unwrap();
        let mut positions =
            record.has_positions().then(|| Positions::open(&tantivy.positions[info.positions_range.clone()]).unwrap());
        let (mut block, mut buffer) = (Block::new(), PositionBuffer::new());
        let mut expected = docs.iter();
        loop {
            let (len, freqs) = postings.next(&mut block.room()).unwrap();
            if len == 0 {
                break;
            }
            assert_eq!(freqs, *has_freqs && record.has_freq());
            for (&doc, &freq) in block.docs[..len].iter().zip(&block.freqs) {
                let (&expected_doc, deltas) = expected.next().unwrap();
                assert_eq!(doc, expected_doc);
                if freqs {
                    assert_eq!(freq as usize, deltas.len());
                    if let Some(positions) = &mut positions {
                        positions.claim(deltas.len(), &mut buffer).unwrap();
                        assert_eq!(buffer.take(deltas.len()), deltas);
                    }
                }
            }
        }
        assert!(expected.next().is_none());
    }
}

const MAX_DOC: u32 = 3000;

fn terms() -> impl Strategy<Value = Terms> {
    let deltas = prop::collection::vec(prop_oneof![4 => 0u32..300, 1 => any::<u32>()], 1..5);
    let long = prop::collection::vec(0u32..9, 1..700);
    let docs = prop_oneof![
        6 => prop::collection::btree_map(0..MAX_DOC, deltas.clone(), 1..20),
        2 => prop::collection::btree_map(0..MAX_DOC, deltas, 100..900),
        1 => prop::collection::btree_map(0..MAX_DOC, long, 1..4),
    ];
    prop::collection::btree_map(prop::collection::vec(any::<u8>(), 0..6), (any::<bool>(), docs), 1..8)
}

fn records() -> impl Strategy<Value = IndexRecordOption> {
    prop::sample::select(vec![
        IndexRecordOption::Basic,
        IndexRecordOption::WithFreqs,
        IndexRecordOption::WithFreqsAndPositions,
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn our_bytes_are_tantivys_and_read_back(
        terms in terms(),
        record in records(),
        norms in prop::option::of(prop::collection::vec(any::<u8>(), MAX_DOC as usize)),
    ) {
        check(&terms, record, norms.as_deref(), MAX_DOC);
    }

    #[test]
    fn damaged_lists_give_errors_or_documents_in_order_but_never_a_panic(
        terms in terms(),
        record in records(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let piece = with_ours(&terms, &Field { record, factors: None }, None);
        for (bytes, doc_freq) in [(&piece.postings, piece.terms[0].1.doc_freq), (&piece.postings, u32::MAX)] {
            let mut bytes = bytes.clone();
            let index = at.index(bytes.len());
            bytes[index] = byte;
            bytes.truncate(cut.index(bytes.len()) + 1);
            if let Ok(mut postings) = Postings::open(&bytes, doc_freq, record, MAX_DOC) {
                let (mut block, mut last) = (Block::new(), None);
                while let Ok((len @ 1.., _)) = postings.next(&mut block.room()) {
                    for &doc in &block.docs[..len] {
                        prop_assert!(doc < MAX_DOC && last < Some(doc));
                        last = Some(doc);
                    }
                }
            }
        }
        let mut bytes = piece.positions;
        if !bytes.is_empty() {
            let index = at.index(bytes.len());
            bytes[index] = byte;
            if let Ok(mut positions) = Positions::open(&bytes) {
                let mut buffer = PositionBuffer::new();
                while positions.claim(50, &mut buffer).is_ok() {
                    prop_assert_eq!(buffer.take(50).len(), 50);
                    buffer.compact();
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn a_block_is_bounded_whatever_the_mean_length_is_in_its_range(
        block in prop::collection::vec((any::<u8>(), 1u32..400), 128),
        least in 1u32..3000,
        widths in 0u32..3000,
        at in 0.0f32..=1.0,
    ) {
        let (norms, freqs): (Vec<u8>, Vec<u32>) = block.into_iter().unzip();
        let (least, most) = (least as f32, (least + widths) as f32);
        let (norm, freq) = LengthFactors::new(least, most).bound(&norms, &freqs);
        let mean = least + at * (most - least);
        let score = |norm: u8, freq: u32| {
            let length = FieldNormReader::id_to_fieldnorm(norm) as f32;
            freq as f32 / (freq as f32 + 1.2 * (0.25 + 0.75 * length / mean))
        };
        for (&other_norm, &other_freq) in norms.iter().zip(&freqs) {
            prop_assert!(score(other_norm, other_freq) <= score(norm, freq) * 1.000_001);
        }
    }
}

#[test]
fn block_boundaries_and_document_zero_are_written_as_tantivy_writes_them() {
    for len in [1, 127, 128, 129, 255, 256, 257, 384] {
        for first in [0, 1, 5] {
            let docs = (first..first + len).map(|doc| (doc, vec![doc; 1 + (doc % 3) as usize])).collect();
            let terms = Terms::from([(b"t".to_vec(), (true, docs))]);
            let norms: Vec<u8> = (0..1000).map(|doc| (doc % 256) as u8).collect();
            for record in
                [IndexRecordOption::Basic, IndexRecordOption::WithFreqs, IndexRecordOption::WithFreqsAndPositions]
            {
                check(&terms, record, Some(&norms), 1000);
                check(&terms, record, None, 1000);
            }
        }
    }
}

#[test]
fn a_document_beyond_the_segment_is_damage_and_not_dropped() {
    let docs = (0..200u32).map(|doc| (doc, vec![1])).collect();
    let terms = Terms::from([(b"t".to_vec(), (true, docs))]);
    let piece = with_ours(&terms, &Field { record: IndexRecordOption::WithFreqs, factors: None }, None);
    let mut postings = Postings::open(&piece.postings, 200, IndexRecordOption::WithFreqs, 150).unwrap();
    let mut block = Block::new();
    postings.next(&mut block.room()).unwrap();
    assert_eq!(postings.next(&mut block.room()), Err(Damage::Order { doc: 150, previous: 149, max_doc: 150 }));
}

#[test]
fn numbers_beyond_32_bits_are_damage_wherever_they_stand_and_lose_no_bits() {
    // 2^32 + 3 in five bytes, and the greatest number that fits.
    let (beyond, most) = ([0x03, 0, 0, 0, 0x90], [0x7f, 0x7f, 0x7f, 0x7f, 0x8f]);
    let read = |bytes: &[u8], doc_freq| {
        let mut block = Block::new();
        let mut postings = Postings::open(bytes, doc_freq, IndexRecordOption::WithFreqs, u32::MAX)?;
        let (len, _) = postings.next(&mut block.room())?;
        Ok::<_, Damage>((block.docs[..len].to_vec(), block.freqs[..len].to_vec()))
    };
    assert_eq!(read(&[&[0x85][..], &most].concat(), 1), Ok((vec![5], vec![u32::MAX])));
    for bytes in [&beyond[..], &[&[0x85][..], &beyond].concat()] {
        assert_eq!(read(bytes, 1), Err(Damage::Number((1 << 32) + 3)), "{bytes:?}");
    }
    let take = |bytes: &[u8]| {
        let mut buffer = PositionBuffer::new();
        Positions::open(bytes)?.claim(1, &mut buffer)?;
        Ok::<_, Damage>(buffer.take(1).to_vec())
    };
    assert_eq!(take(&[&[0x80][..], &most].concat()), Ok(vec![u32::MAX]));
    assert_eq!(take(&[&[0x80][..], &beyond].concat()), Err(Damage::Positions));
}
