//! Our dictionaries against tantivy's: every term and info reads back, in order, and they are no larger.

use proptest::prelude::*;
use tantivy::directory::FileSlice;
use tantivy::postings::TermInfo;
use tantivy::termdict::{TermDictionary, TermDictionaryBuilder};

use super::DictionaryBuilder;
use crate::source::dictionary::TermReader;

fn infos(len: usize) -> Vec<TermInfo> {
    let (mut postings, mut positions) = (0, 0);
    let mut state = 7u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    (0..len)
        .map(|_| {
            let (next, next_positions) =
                (postings + random(900) as usize, positions + random(5) as usize * random(90) as usize);
            let bits = 1 + random(20);
            let doc_freq = random(1 << bits) as u32;
            let info =
                TermInfo { doc_freq, postings_range: postings..next, positions_range: positions..next_positions };
            (postings, positions) = (next, next_positions);
            info
        })
        .collect()
}

/// Sizes of ours and tantivy's.
fn check(terms: &[Vec<u8>]) -> (usize, usize) {
    let infos = infos(terms.len());
    let mut ours = DictionaryBuilder::new(Vec::new());
    let mut theirs = TermDictionaryBuilder::create(Vec::new()).unwrap();
    for (term, info) in terms.iter().zip(&infos) {
        ours.insert(term, info).unwrap();
        theirs.insert(term, info).unwrap();
    }
    let (ours, theirs) = (ours.finish().unwrap(), theirs.finish().unwrap());
    let sizes = (ours.len(), theirs.len());
    for bytes in [&ours, &theirs] {
        read_back(bytes, terms, &infos);
    }
    let dictionary = TermDictionary::open(FileSlice::from(ours)).unwrap();
    assert_eq!(dictionary.num_terms(), terms.len());
    let mut stream = dictionary.stream().unwrap();
    for (ord, (term, info)) in terms.iter().zip(&infos).enumerate() {
        assert!(stream.advance());
        assert_eq!((stream.key(), stream.term_ord(), stream.value()), (term.as_slice(), ord as u64, info));
    }
    assert!(!stream.advance());
    for (ord, (term, info)) in terms.iter().zip(&infos).enumerate().step_by(1 + terms.len() / 500) {
        assert_eq!(dictionary.get(term).unwrap().as_ref(), Some(info));
        assert_eq!(dictionary.term_ord(term).unwrap(), Some(ord as u64));
        let mut absent = term.clone();
        absent.push(b'~');
        if terms.binary_search(&absent).is_err() {
            assert_eq!(dictionary.get(&absent).unwrap(), None);
        }
    }
    sizes
}

/// Our reader gives the same terms and infos, from the start and from bounds on and between terms.
fn read_back(bytes: &[u8], terms: &[Vec<u8>], infos: &[TermInfo]) {
    let step = 1 + terms.len() / 200;
    let between = terms.iter().step_by(step).flat_map(|term| {
        let shorter = term[..term.len() / 2].to_vec();
        let longer = [term.as_slice(), &[0]].concat();
        let other = term.iter().map(|byte| byte ^ 1).collect();
        [term.clone(), shorter, longer, other]
    });
    for bound in std::iter::once(None).chain(between.map(Some)) {
        let mut reader = TermReader::open(bytes, bound.as_deref()).unwrap();
        let first = bound.as_ref().map_or(0, |bound| terms.partition_point(|term| term < bound));
        let most = if bound.is_none() { terms.len() } else { 40 };
        for (term, info) in terms.iter().zip(infos).skip(first).take(most) {
            assert!(reader.advance().unwrap());
            assert_eq!((reader.key(), reader.info()), (term.as_slice(), info), "from {bound:?}");
        }
        if first + most >= terms.len() {
            assert!(!reader.advance().unwrap(), "from {bound:?}");
        }
    }
}

fn sorted(terms: impl Iterator<Item = String>) -> Vec<Vec<u8>> {
    let mut terms: Vec<Vec<u8>> = terms.map(String::into_bytes).collect();
    terms.sort();
    terms.dedup();
    terms
}

/// A cheap pseudo-random sequence.
fn mixed(seed: u64) -> u64 {
    let mut word = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    word ^= word >> 29;
    word = word.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word ^ (word >> 32)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_terms_read_back(terms in prop::collection::btree_set(prop::collection::vec(prop_oneof![4 => b'a'..b'd', 1 => any::<u8>()], 0..40), 0..600)) {
        check(&terms.into_iter().collect::<Vec<_>>());
    }
}

proptest! {
    #[test]
    fn damaged_dictionaries_end_in_an_error_or_with_no_more_terms_than_they_have(
        terms in prop::collection::btree_set(prop::collection::vec(b'a'..b'f', 0..24), 1..200),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        bound in prop::option::of(prop::collection::vec(b'a'..b'f', 0..5)),
    ) {
        let infos = infos(terms.len());
        let mut builder = DictionaryBuilder::new(Vec::new());
        for (term, info) in terms.iter().zip(&infos) {
            builder.insert(term, info).unwrap();
        }
        let mut bytes = builder.finish().unwrap();
        for (at, byte) in damage {
            let index = at.index(bytes.len());
            bytes[index] = byte;
        }
        if let Ok(mut reader) = TermReader::open(&bytes, bound.as_deref()) {
            let mut read = 0;
            let mut previous: Option<Vec<u8>> = None;
            while let Ok(true) = reader.advance() {
                read += 1;
                prop_assert!(previous.is_none_or(|previous| previous.as_slice() < reader.key()), "terms must ascend");
                previous = Some(reader.key().to_vec());
                prop_assert!(read <= bytes.len() * 256);
            }
        }
    }
}

#[test]
fn nodes_with_every_number_of_transitions_read_back() {
    for fan in [1, 2, 31, 32, 33, 62, 63, 64, 65, 255, 256] {
        let terms: Vec<Vec<u8>> =
            (0..fan).flat_map(|byte| [vec![b'x', byte as u8], vec![b'x', byte as u8, b'e', b's']]).collect();
        check(&terms);
    }
    check(&[]);
    check(&[vec![]]);
    check(&[vec![], vec![0]]);
    check(&[vec![b'a'; 40_000], vec![b'b'; 65_000]]);
}

#[test]
fn dictionaries_are_no_larger_than_tantivys() {
    let syllables =
        ["an", "ber", "con", "dis", "ed", "for", "ing", "ious", "ment", "ness", "or", "per", "s", "tion", "un", "wer"];
    let word = |number: u64| -> String {
        let mut bits = mixed(number % 40_000);
        (0..2 + bits % 4)
            .map(|_| {
                bits /= 7;
                syllables[(bits % 16) as usize]
            })
            .collect()
    };
    let cases: [(&str, Vec<Vec<u8>>); 5] = [
        ("words", sorted((0..100_000).map(word))),
        (
            "random ids",
            sorted((0..60_000).map(|number| format!("{:016x}{:016x}", mixed(number), mixed(number + 1_000_000)))),
        ),
        ("counted ids", sorted((0..60_000).map(|number| format!("doc-{number:09}")))),
        (
            "paths with a long common ending",
            sorted((0..30_000).map(|number| format!("{:012x}/articles/of/the/library/index.html", mixed(number)))),
        ),
        ("numbers", (0..60_000u64).map(|number| (number * number).to_be_bytes().to_vec()).collect()),
    ];
    for (name, terms) in cases {
        let (ours, theirs) = check(&terms);
        println!("{name}: {ours} bytes, tantivy {theirs}, {:.4}", ours as f64 / theirs as f64);
        assert!(ours as f64 <= 1.01 * theirs as f64, "{name}: {ours} bytes, tantivy {theirs}");
    }
}

/// Chains are read eight nodes at a time where every input has a code.
#[test]
fn inputs_without_a_code_read_back_at_every_place_of_a_long_term() {
    let mut terms = Vec::new();
    for (first, byte) in [0, b'Q', 0x7f, 0xc0, 0xc5, 0xff].into_iter().enumerate() {
        for len in 1..40 {
            for at in 0..len {
                let mut term = vec![b'a'; len + 2];
                term[0] = first as u8;
                term[1] = at as u8;
                term[at + 2] = byte;
                terms.push(term);
            }
        }
    }
    terms.sort();
    terms.dedup();
    check(&terms);
    // Alone, each is a chain from its end to the beginning of the bytes.
    for term in &terms {
        check(std::slice::from_ref(term));
    }
}

#[test]
fn terms_out_of_order_are_refused() {
    let info = TermInfo::default();
    for (first, second) in [("b", "a"), ("a", "a"), ("ab", "a")] {
        let mut builder = DictionaryBuilder::new(Vec::new());
        builder.insert(first.as_bytes(), &info).unwrap();
        assert!(builder.insert(second.as_bytes(), &info).is_err(), "{first} then {second}");
    }
}
