//! Words by Zipf's law, sentences of them, and the random numbers behind both.

use std::fmt::Write;

/// Words, the most frequent first.
pub(super) struct Vocabulary {
    words: Vec<String>,
    /// Running sum of the weights of the words.
    weights: Vec<u64>,
}

impl Vocabulary {
    /// So many different words.
    pub(super) fn new(size: u64) -> Vocabulary {
        let mut sum = 0;
        let weights = (1..=size).map(|rank| {
            sum += (1 << 32) / rank;
            sum
        });
        Vocabulary { weights: weights.collect(), words: (0..size).map(word).collect() }
    }

    /// A word.
    pub(super) fn word(&self, random: &mut Random) -> &str {
        let at = random.below(*self.weights.last().unwrap());
        &self.words[self.weights.partition_point(|&sum| sum <= at)]
    }

    /// Sentences of `least` words and up to `more` on top.
    pub(super) fn sentences(&self, (least, more): (u64, u64), random: &mut Random) -> String {
        let mut text = String::new();
        let mut left = least + random.below(more + 1);
        while left > 0 {
            let length = left.min(5 + random.below(9));
            for nth in 0..length {
                let word = self.word(random);
                match nth {
                    0 => text.push_str(&capitalised(word)),
                    _ => write!(text, " {word}").unwrap(),
                }
            }
            left -= length;
            text.push_str(if left > 0 { ". " } else { "." });
        }
        text
    }
}

/// The words of English that come first, then invented ones, shorter the more frequent they are.
pub(super) fn word(rank: u64) -> String {
    const FIRST: [&str; 32] = [
        "the", "of", "and", "a", "to", "in", "was", "it", "by", "with", "on", "that", "from", "at", "her", "his",
        "water", "stone", "light", "river", "house", "wind", "road", "winter", "night", "old", "far", "under", "salt",
        "bread", "voice", "garden",
    ];
    if let Some(word) = FIRST.get(rank as usize) {
        return (*word).to_owned();
    }
    const ONSETS: [&str; 16] = ["b", "br", "c", "d", "f", "g", "gl", "h", "k", "l", "m", "n", "p", "r", "st", "v"];
    const RHYMES: [&str; 16] =
        ["a", "an", "ar", "e", "el", "en", "er", "i", "il", "in", "o", "on", "or", "u", "un", "é"];
    // Digits to the base of 256 syllables, the least significant first, so that neighbours look different.
    let mut left = rank;
    let mut text = String::new();
    loop {
        let syllable = left % 256;
        text.push_str(ONSETS[(syllable / 16) as usize]);
        text.push_str(RHYMES[(syllable % 16) as usize]);
        left /= 256;
        if left == 0 {
            return text;
        }
    }
}

pub(super) fn author(number: u64) -> String {
    format!("{} {}", capitalised(&word(7 * number + 300)), capitalised(&word(number + 4_000)))
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// SplitMix64.
pub(super) struct Random(u64);

impl Random {
    /// The numbers of one document.
    pub(super) fn of(seed: u64, number: u64) -> Random {
        Random(seed.wrapping_mul(0x1000_0000_01B3) ^ number)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// A bijection of 64 bits: different numbers stay different.
pub(super) fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}
