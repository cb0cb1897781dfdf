//! The examples of the README, as they are written there.

use crate::cli::place::Place;

fn place() -> Place {
    Place { dir: tempfile::TempDir::new().unwrap() }
}

/// Node of each key, as `route` prints it.
fn nodes_of(place: &Place, ring: &str, keys: &str) -> Vec<String> {
    let ran = place.run(&format!("route --json --routing ring --ring {ring} {keys}")).expect(0);
    ran.lines().iter().map(|line| line["node"].as_str().unwrap().to_owned()).collect()
}

const NINE: &str = "1 2 3 4 5 6 7 8 9";

#[test]
fn three_nodes_have_nine_keys_and_a_fourth_joins() {
    let place = place();
    place.run("ring new --kind classic --node a=4,b=4,c=4 -o three.json").expect(0);
    place.run("ring add three.json --node d -o four.json").expect(0);
    let (before, after) = (nodes_of(&place, "three.json", NINE), nodes_of(&place, "four.json", NINE));
    assert_eq!(before, ["c", "c", "c", "c", "a", "b", "c", "a", "b"]);
    assert_eq!(after, ["c", "c", "d", "d", "a", "b", "d", "a", "d"]);
    assert!(before.iter().zip(&after).all(|(before, after)| before == after || after == "d"));
}

#[test]
fn under_plain_modulo_one_of_nine_keys_stays_where_two_nodes_become_three() {
    let place = place();
    let shards = |count: u32| {
        let line = format!("route --json --routing elasticsearch-modulo --source-shards {count}");
        let ids: Vec<String> = (1..=9).map(|id| id.to_string()).collect();
        let ran = place.run(&format!("{line} {}", ids.join(" "))).expect(0);
        ran.lines().iter().map(|line| line["shard"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    let stay = shards(2).iter().zip(&shards(3)).filter(|(two, three)| two == three).count();
    assert_eq!(stay, 1);
}

#[test]
fn weights_of_200_200_and_50_are_kept_by_planned_tokens() {
    let place = place();
    place.run("ring new --node new-1=200,new-2=200,old-1=50 -o ring.json").expect(0);
    let ran = place.run("ring show ring.json --json").expect(0);
    let ring = &ran.lines()[0];
    let shares: Vec<f64> =
        ring["nodes"].as_array().unwrap().iter().map(|node| node["share"].as_f64().unwrap()).collect();
    for (share, weight) in shares.iter().zip([200.0, 200.0, 50.0]) {
        assert!((share - weight / 450.0).abs() < 1e-9, "{shares:?}");
    }
    let text = place.run("ring show ring.json").expect(0).stdout;
    let bars: Vec<usize> = text.lines().map(|line| line.matches('#').count()).filter(|&bar| bar > 0).collect();
    assert_eq!(bars, [40, 40, 10], "{text}");
}

#[test]
fn a_node_leaves_and_the_others_share_what_it_had() {
    let place = place();
    place.run("ring new --node new-1=200,new-2=200,old-1=50 -o before.json").expect(0);
    place.run("ring remove before.json --node old-1 -o after.json").expect(0);
    let ran = place.run("ring plan before.json after.json --json").expect(0);
    let plan = &ran.lines()[0];
    assert!((plan["moved"].as_f64().unwrap() - 50.0 / 450.0).abs() < 1e-9);
    assert_eq!(plan["moved"], plan["optimum"]);
    for flow in plan["flows"].as_array().unwrap() {
        assert_eq!(flow["from"], "old-1");
        assert!((flow["share"].as_f64().unwrap() - 25.0 / 450.0).abs() < 1e-9);
    }
}
