//! What a plan rests on, for people.

use std::fmt::Write;

use shardsplit::plan::Plan;
use shardsplit::plan::explain::{Explanation, KeyCounts, KeyHistogram};
use shardsplit::route::Choices;

use super::human::{self, Align, Table};

/// Widest bar of the histogram, in characters.
const BAR: u64 = 40;

/// Everything but the plan itself.
pub(super) fn text(explanation: &Explanation, plan: &Plan) -> String {
    let mut text = String::new();
    if let Some(choices) = &explanation.choices {
        let _ = write!(text, "\nnumbers of children\n{}", choices_text(choices));
    }
    if let Some(histogram) = &explanation.histogram {
        let _ = write!(text, "\nkeys by routing shard\n{}", histogram_text(histogram));
    }
    if let Some(keys) = &explanation.keys {
        let _ = write!(text, "\nheaviest keys\n{}", keys_text(keys));
    }
    let mut facts = Table::new([("", Align::Left), ("", Align::Left)]);
    let mut fact = |name: &str, value: String| facts.row([name.to_owned(), value]);
    fact("largest child", format!("{:.2} times the mean", explanation.imbalance));
    for disk in &explanation.disk {
        let chosen = if disk.method == plan.method { "" } else { " (not chosen)" };
        fact(&format!("disk, {}", disk.method.name()), format!("{}{chosen}", human::bytes(disk.peak_bytes)));
    }
    if let Some(free) = explanation.place.free_bytes {
        fact("free at target", human::bytes(free));
    }
    fact(
        "links",
        match explanation.place.same_file_system {
            Some(true) => "source and target are on one file system",
            Some(false) => "impossible: source and target are on different file systems",
            None => "unknown",
        }
        .to_owned(),
    );
    let most = human::count(u64::from(explanation.most_docs_per_segment));
    fact(
        "segments",
        format!("at most {most} documents each; the largest child has {}", human::count(explanation.largest_child)),
    );
    let _ = write!(text, "\n{}", facts.render());
    for warning in &explanation.warnings {
        let _ = writeln!(text, "warning: {}", human::printable(warning));
    }
    text
}

/// Legal numbers, and why others are not.
pub(super) fn choices_text(choices: &Choices) -> String {
    if choices.any {
        return "any: a lone shard may have any number of children\n".to_owned();
    }
    let legal: Vec<String> = choices.legal.iter().map(ToString::to_string).collect();
    let mut text = format!("legal: {}\n", legal.join(", "));
    for refused in &choices.refused {
        let _ = writeln!(text, "not {}: {}", refused.into, refused.why);
    }
    text
}

fn histogram_text(histogram: &KeyHistogram) -> String {
    let most = histogram.buckets.iter().copied().max().unwrap_or(0).max(1);
    let mut table = Table::new([("routing shards", Align::Right), ("documents", Align::Right), ("", Align::Left)]);
    for (first, &documents) in
        (0..histogram.parts).step_by(histogram.parts_per_bucket.max(1) as usize).zip(&histogram.buckets)
    {
        let last = histogram.parts.min(first.saturating_add(histogram.parts_per_bucket)).saturating_sub(1);
        let name = if first == last { first.to_string() } else { format!("{first} - {last}") };
        // At most as many as the widest bar has.
        let width = usize::try_from(documents.saturating_mul(BAR).div_ceil(most)).unwrap_or(0);
        table.row([name, human::count(documents), "#".repeat(width)]);
    }
    table.render()
}

fn keys_text(keys: &KeyCounts) -> String {
    let mut text = format!(
        "{} with {} different hashes; no way of routing makes the largest child less than {:.2} times the mean\n",
        human::documents(keys.documents),
        human::count(keys.distinct_hashes),
        keys.least_imbalance
    );
    if keys.heaviest.is_empty() {
        text.push_str("no two documents share a hash\n");
        return text;
    }
    let mut table = Table::new([
        ("documents", Align::Right),
        ("share", Align::Right),
        ("hash", Align::Right),
        ("value", Align::Left),
    ]);
    for heavy in &keys.heaviest {
        let first = || heavy.first.as_ref().map_or_else(String::new, |address| format!("({address})"));
        let value = heavy.value.as_deref().map_or_else(first, human::printable);
        let share = human::share(heavy.documents, keys.documents);
        table.row([human::count(heavy.documents), share, heavy.hash.to_string(), value]);
    }
    text.push_str(&table.render());
    text
}
