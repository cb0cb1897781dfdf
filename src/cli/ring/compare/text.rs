//! A comparison for people: nodes, flows, arcs, and what moves.

use super::{ComparedFlow, Comparison};
use crate::cli::human::{self, Align, Table};
use crate::cli::ring::show::deviation;

/// Flows that text shows at most.
const SHOWN_FLOWS: usize = 40;

/// The comparison for people.
pub(in crate::cli::ring) fn text(comparison: &Comparison) -> String {
    let mut text = nodes(comparison);
    if !comparison.flows.is_empty() {
        text.push('\n');
        text.push_str(&flows(comparison));
    }
    if let Some(arcs) = &comparison.moved_arcs {
        let mut table = Table::new([
            ("first hash", Align::Right),
            ("last hash", Align::Right),
            ("hashes", Align::Right),
            ("from", Align::Left),
            ("to", Align::Left),
        ]);
        for arc in arcs {
            let hashes = u64::from(arc.end - arc.start) + 1;
            let [start, end] = [arc.start, arc.end].map(|hash| hash.to_string());
            table.row([start, end, human::count(hashes), arc.from.clone(), arc.to.clone()]);
        }
        text.push('\n');
        text.push_str(&table.render());
    }
    text.push('\n');
    text.push_str(&summary(comparison));
    text
}

fn nodes(comparison: &Comparison) -> String {
    let counted = comparison.documents.is_some();
    let weight = |weight: Option<u32>| weight.map_or_else(|| "-".to_owned(), human::count);
    let mut table = Table::new([
        ("node", Align::Left),
        ("shard", Align::Right),
        ("weight", Align::Right),
        ("before", Align::Right),
        ("after", Align::Right),
        ("off by", Align::Right),
        (if counted { "documents" } else { "" }, Align::Right),
        (if counted { "leave" } else { "" }, Align::Right),
        (if counted { "arrive" } else { "" }, Align::Right),
        (if counted { "then" } else { "" }, Align::Right),
        (if counted { "bytes then" } else { "" }, Align::Right),
    ]);
    for node in &comparison.nodes {
        let weights = match (node.weight_before, node.weight_after) {
            (before, after) if before == after => weight(after),
            (before, after) => format!("{} -> {}", weight(before), weight(after)),
        };
        let [before, after, wanted] = node.shares;
        let docs = match node.documents {
            None => Default::default(),
            Some(docs) => [
                human::count(docs.before),
                human::count(docs.leaving),
                human::count(docs.arriving),
                human::count(docs.after),
                human::bytes(docs.bytes_after),
            ],
        };
        let [has, leave, arrive, then, bytes] = docs;
        table.row([
            node.name.clone(),
            node.shard.to_string(),
            weights,
            before.to_string(),
            after.to_string(),
            deviation(after, wanted),
            has,
            leave,
            arrive,
            then,
            bytes,
        ]);
    }
    table.render()
}

fn flows(comparison: &Comparison) -> String {
    let counted = comparison.documents.is_some();
    let mut table = Table::new([
        ("from", Align::Left),
        ("to", Align::Left),
        ("share", Align::Right),
        ("arcs", Align::Right),
        (if counted { "documents" } else { "" }, Align::Right),
        (if counted { "bytes" } else { "" }, Align::Right),
    ]);
    let mut largest: Vec<&ComparedFlow> = comparison.flows.iter().collect();
    if largest.len() > SHOWN_FLOWS {
        largest.sort_by_key(|flow| std::cmp::Reverse(flow.exact));
    }
    for flow in largest.iter().take(SHOWN_FLOWS) {
        table.row([
            flow.from.clone(),
            flow.to.clone(),
            flow.exact.to_string(),
            flow.arcs.map_or_else(|| "-".to_owned(), |arcs| human::count(arcs as u64)),
            flow.documents.map_or_else(String::new, human::count),
            flow.bytes.map_or_else(String::new, human::bytes),
        ]);
    }
    let mut text = table.render();
    if largest.len() > SHOWN_FLOWS {
        text.push_str(&format!("and {} smaller ones\n", largest.len() - SHOWN_FLOWS));
    }
    text
}

/// What moves, beside the least possible and plain modulo.
fn summary(comparison: &Comparison) -> String {
    let percent = |ratio: f64| format!("{:.3} %", ratio * 100.0);
    let docs = comparison.documents.as_ref();
    let mut facts = Table::new([("", Align::Left), ("", Align::Left)]);
    let mut fact = |name: &str, value: String| facts.row([name.to_owned(), value]);
    let arcs =
        comparison.arcs.map_or_else(String::new, |arcs| format!(", in {}", human::counted(arcs as u64, "arc", "arcs")));
    fact("moves", format!("{} of the keys{arcs}", percent(comparison.moved)));
    fact("at least", format!("{}, for these shares", percent(comparison.optimum)));
    if percent(comparison.optimum) != percent(comparison.optimum_by_weight) {
        fact("by weight", format!("{}, to have shares exactly by weight", percent(comparison.optimum_by_weight)));
    }
    let by_modulo = docs.map_or_else(String::new, |docs| {
        format!(", {} ({})", human::documents(docs.modulo_moved), human::share(docs.modulo_moved, docs.total))
    });
    fact("modulo", format!("{} would move under plain modulo{by_modulo}", percent(comparison.modulo)));
    if let Some(docs) = docs {
        let (moved, total) = (human::count(docs.moved), human::count(docs.total));
        let (share, bytes) = (human::share(docs.moved, docs.total), human::bytes(docs.moved_bytes));
        fact("documents", format!("{moved} of {total} move ({share}), {bytes}"));
        if docs.without_key > 0 {
            fact("without key", format!("{}, in no count", human::documents(docs.without_key)));
        }
        fact("hashed", human::counted(docs.keys_hashed, "key", "keys"));
    }
    let mut text = facts.render();
    for warning in &comparison.warnings {
        text.push_str(&format!("warning: {}\n", human::printable(warning)));
    }
    text
}
