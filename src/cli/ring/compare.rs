//! Two tables, rings mostly: what each node has before and after, who gives what to whom, and what that is beside the least possible and
//! beside plain modulo.

mod text;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use shardsplit::error::{Error, Result};
use shardsplit::moved::MovedReport;
use shardsplit::route::movement::{Measured, Movement};
use shardsplit::route::{ElasticsearchModulo, Node, ShardNumber, Share};

use super::table::Side;

pub(super) use text::text;

/// A comparison as a typed line.
#[derive(Serialize)]
pub(super) struct Comparison {
    nodes: Vec<ComparedNode>,
    flows: Vec<ComparedFlow>,
    /// Part of all keys that moves, from 0 to 1.
    pub(super) moved: f64,
    /// The least that any table with the new shares would move.
    pub(super) optimum: f64,
    /// The least that a table whose shares are exactly by weight would move.
    optimum_by_weight: f64,
    /// What plain modulo would move between the same numbers of nodes.
    modulo: f64,
    /// Arcs that move; `null` where a table is not made of arcs.
    arcs: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    documents: Option<ComparedDocs>,
    /// Every arc that moves, if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    moved_arcs: Option<Vec<ComparedArc>>,
    /// What an operator should know.
    pub(super) warnings: Vec<String>,
}

#[derive(Serialize)]
struct ComparedNode {
    name: String,
    shard: ShardNumber,
    /// `null` where there is no such node.
    weight_before: Option<u32>,
    weight_after: Option<u32>,
    before: f64,
    after: f64,
    wanted: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    documents: Option<NodeDocs>,
    #[serde(skip)]
    shares: [Share; 3],
}

#[derive(Clone, Copy, Serialize)]
struct NodeDocs {
    before: u64,
    after: u64,
    leaving: u64,
    arriving: u64,
    bytes_before: u64,
    bytes_after: u64,
}

#[derive(Serialize)]
struct ComparedFlow {
    from: String,
    to: String,
    share: f64,
    arcs: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    documents: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip)]
    exact: Share,
}

#[derive(Serialize)]
struct ComparedDocs {
    total: u64,
    moved: u64,
    bytes: u64,
    moved_bytes: u64,
    modulo_moved: u64,
    without_key: u64,
    keys_hashed: u64,
}

/// The hashes `start..=end`, read as unsigned.
#[derive(Serialize)]
struct ComparedArc {
    start: u32,
    end: u32,
    from: String,
    to: String,
}

/// Compares two tables. `measured`: documents between them, and under plain modulo.
pub(super) fn compare(
    before: &Side,
    after: &Side,
    measured: Option<&MovedReport>,
    list_arcs: bool,
) -> Result<Comparison> {
    let movement = between(before, after)?;
    let [from, to] = modulos(before, after)?;
    let modulo = Movement::between(&from, &to).map_err(|error| Error::Usage(error.to_string()))?;
    let wanted: Vec<(ShardNumber, Share)> =
        after.nodes.iter().map(|node| node.shard).zip(after.wanted.iter().copied()).collect();
    let (arcs, by_arcs) = (movement.arcs().unwrap_or_default(), movement.arcs().is_some());
    let counted = measured.and_then(|report| report.measured.first());
    let name = |shard: ShardNumber| name(before, after, shard);
    let of =
        |shares: &BTreeMap<ShardNumber, Share>, shard: ShardNumber| shares.get(&shard).copied().unwrap_or_default();
    let (had, has): (BTreeMap<_, _>, BTreeMap<_, _>) = (movement.before().collect(), movement.after().collect());
    let wants: BTreeMap<ShardNumber, Share> = wanted.iter().copied().collect();
    let shards: BTreeSet<ShardNumber> = had.keys().chain(has.keys()).copied().collect();
    let node = |shard: ShardNumber| {
        let shares = [of(&had, shard), of(&has, shard), of(&wants, shard)];
        let [before_share, after_share, wanted_share] = shares.map(Share::ratio);
        ComparedNode {
            name: name(shard),
            shard,
            weight_before: before.node(shard).map(|node| node.weight),
            weight_after: after.node(shard).map(|node| node.weight),
            before: before_share,
            after: after_share,
            wanted: wanted_share,
            documents: counted.map(|counted| node_docs(counted, shard)),
            shares,
        }
    };
    let flow = |flow: &shardsplit::route::movement::Flow| {
        let load = counted.map(|counted| {
            let same = counted.flows().find(|load| (load.from, load.to) == (flow.from, flow.to));
            same.map(|load| load.load).unwrap_or_default()
        });
        ComparedFlow {
            from: name(flow.from),
            to: name(flow.to),
            share: flow.share.ratio(),
            arcs: by_arcs.then(|| arcs.iter().filter(|arc| (arc.from, arc.to) == (flow.from, flow.to)).count()),
            documents: load.map(|load| load.docs),
            bytes: load.map(|load| load.bytes),
            exact: flow.share,
        }
    };
    let listed = |arc: &shardsplit::route::movement::MovedArc| ComparedArc {
        start: arc.start,
        end: arc.end,
        from: name(arc.from),
        to: name(arc.to),
    };
    Ok(Comparison {
        nodes: shards.into_iter().map(node).collect(),
        flows: movement.flows().iter().map(flow).collect(),
        moved: movement.moved().ratio(),
        optimum: movement.optimum().ratio(),
        optimum_by_weight: movement.optimum_for(&wanted).ratio(),
        modulo: modulo.moved().ratio(),
        arcs: by_arcs.then_some(arcs.len()),
        documents: measured.and_then(documents),
        moved_arcs: (list_arcs && by_arcs).then(|| arcs.iter().map(listed).collect()),
        warnings: renumbered(before, after),
    })
}

fn between(before: &Side, after: &Side) -> Result<Movement> {
    Movement::between(&before.table, &after.table).map_err(|error| Error::Usage(error.to_string()))
}

/// Plain modulo over as many shards as there are nodes, before and after.
pub(super) fn modulos(before: &Side, after: &Side) -> Result<[ElasticsearchModulo; 2]> {
    let of = |side: &Side| ElasticsearchModulo::new(u32::try_from(side.nodes.len()).unwrap_or(u32::MAX));
    Ok([of(before)?, of(after)?])
}

/// A node is known by its name, its documents stand under its shard number.
fn name(before: &Side, after: &Side, shard: ShardNumber) -> String {
    let named = |node: &Node| node.name.clone();
    match (before.node(shard).map(named), after.node(shard).map(named)) {
        (Some(old), Some(new)) if old != new && before.ring && after.ring => format!("{old} -> {new}"),
        (_, Some(name)) | (Some(name), None) => name,
        (None, None) => format!("shard {shard}"),
    }
}

/// Nodes whose shard has another number, and shards that another node has.
fn renumbered(before: &Side, after: &Side) -> Vec<String> {
    let mut warnings = Vec::new();
    if !(before.ring && after.ring) {
        return warnings;
    }
    for node in &after.nodes {
        if let Some(old) = before.nodes.iter().find(|old| old.name == node.name && old.shard != node.shard) {
            warnings.push(format!(
                "node {} has shard {} before and {} after: all its documents are counted as moved; keep its number",
                node.name, old.shard, node.shard
            ));
        }
        if let Some(old) = before.node(node.shard).filter(|old| old.name != node.name) {
            warnings.push(format!(
                "shard {} is {}'s before and {}'s after: what stays in it has to be carried from one machine to the other",
                node.shard, old.name, node.name
            ));
        }
    }
    warnings
}

fn node_docs(counted: &Measured, shard: ShardNumber) -> NodeDocs {
    let load = counted.nodes().find(|(other, _)| *other == shard).map(|(_, load)| load).unwrap_or_default();
    NodeDocs {
        before: load.before.docs,
        after: load.after.docs,
        leaving: load.leaving.docs,
        arriving: load.arriving.docs,
        bytes_before: load.before.bytes,
        bytes_after: load.after.bytes,
    }
}

fn documents(report: &MovedReport) -> Option<ComparedDocs> {
    let [counted, modulo, ..] = report.measured.as_slice() else { return None };
    Some(ComparedDocs {
        total: counted.total().docs,
        moved: counted.moved().docs,
        bytes: counted.total().bytes,
        moved_bytes: counted.moved().bytes,
        modulo_moved: modulo.moved().docs,
        without_key: report.without_key,
        keys_hashed: report.keys_hashed,
    })
}
