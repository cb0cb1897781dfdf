//! Encoding FST nodes (tantivy-fst 0.5, version 2 of its format).
//!
//! `source/dictionary/mod.rs` has their layout.

use crate::source::dictionary::{EMPTY_FINAL, FREQUENT, INDEX_THRESHOLD};

/// Per input byte: 1 + its place in [`FREQUENT`], or 0.
#[expect(clippy::indexing_slicing, reason = "evaluated when compiled: an index out of bounds would not compile")]
const FREQUENT_INDEX: [u8; 256] = {
    let mut table = [0u8; 256];
    let (mut index, mut code) = (0, 1);
    while index < FREQUENT.len() {
        table[FREQUENT[index] as usize] = code;
        (index, code) = (index + 1, code + 1);
    }
    table
};

/// One transition of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Transition {
    pub(super) input: u8,
    pub(super) output: u64,
    pub(super) target: u64,
}

/// Writes a node that will begin at address `start`; `previous`: address of the node written before it.
pub(super) fn encode(is_final: bool, transitions: &[Transition], start: u64, previous: u64, out: &mut Vec<u8>) {
    match transitions {
        [only] if !is_final && only.output == 0 && only.target == previous => encode_next(only.input, out),
        [only] if !is_final => encode_one(only, start, out),
        _ => encode_any(is_final, transitions, start, out),
    }
}

/// Writes a node with one transition, without output, to the node written just before.
#[inline]
pub(super) fn encode_next(input: u8, out: &mut Vec<u8>) {
    encode_state(0b1100_0000, input, out);
}

fn encode_one(transition: &Transition, start: u64, out: &mut Vec<u8>) {
    let output_size = if transition.output == 0 { 0 } else { size_of(transition.output) };
    let distance = distance(transition, start);
    let distance_size = size_of(distance);
    push_uint(transition.output, output_size, out);
    push_uint(distance, distance_size, out);
    out.push(distance_size << 4 | output_size);
    encode_state(0b1000_0000, transition.input, out);
}

#[inline]
fn encode_state(state: u8, input: u8, out: &mut Vec<u8>) {
    let frequent = FREQUENT_INDEX.get(usize::from(input)).copied().unwrap_or(0);
    if frequent == 0 {
        out.push(input);
    }
    out.push(state | frequent);
}

fn encode_any(is_final: bool, transitions: &[Transition], start: u64, out: &mut Vec<u8>) {
    let has_outputs = transitions.iter().any(|transition| transition.output != 0);
    let largest = |value: fn(&Transition, u64) -> u64| transitions.iter().map(|t| size_of(value(t, start))).max();
    let output_size = if has_outputs { largest(|transition, _| transition.output).unwrap_or(0) } else { 0 };
    let distance_size = largest(distance).unwrap_or(0);
    if is_final {
        // Final outputs are always 0 here.
        push_uint(0, output_size, out);
    }
    if has_outputs {
        transitions.iter().rev().for_each(|transition| push_uint(transition.output, output_size, out));
    }
    transitions.iter().rev().for_each(|transition| push_uint(distance(transition, start), distance_size, out));
    out.extend(transitions.iter().rev().map(|transition| transition.input));
    if transitions.len() > INDEX_THRESHOLD {
        let mut index = [u8::MAX; 256];
        for (number, transition) in (0..=u8::MAX).zip(transitions) {
            if let Some(slot) = index.get_mut(usize::from(transition.input)) {
                *slot = number;
            }
        }
        out.extend_from_slice(&index);
    }
    out.push(distance_size << 4 | output_size);
    let state = if is_final { 0b0100_0000 } else { 0 };
    match u8::try_from(transitions.len()) {
        Ok(len @ 1..=63) => out.push(state | len),
        // 256 does not fit a byte; 1 is free to stand for it.
        other => out.extend_from_slice(&[other.unwrap_or(1), state]),
    }
}

fn distance(transition: &Transition, start: u64) -> u64 {
    if transition.target == EMPTY_FINAL { 0 } else { start - transition.target }
}

/// Bytes that hold `value`, at least 1.
fn size_of(value: u64) -> u8 {
    let bits = u64::BITS - value.leading_zeros();
    u8::try_from(bits.div_ceil(8).max(1)).unwrap_or(8)
}

fn push_uint(value: u64, size: u8, out: &mut Vec<u8>) {
    out.extend(value.to_le_bytes().iter().take(usize::from(size)));
}
