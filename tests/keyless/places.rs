//! Where documents go.

use shardsplit::partition::{Placement, Policy};

use super::{Place, by_query, by_range, by_value, content, hours, number, price, team, year};

#[test]
fn each_listed_text_has_a_child_and_all_others_share_the_last() {
    // `yellow` is nowhere: its child is empty.
    let values = ["blue", "yellow", "red"];
    let report =
        Place::new().split_every_way(&by_value("team", &values), Policy::Child(1), |number| match team(number) {
            Some(team) => values.iter().position(|&value| value == team).unwrap_or(3),
            None => 1,
        });
    assert!(report.plan.census.missing_placed > 0);
    assert_eq!(report.plan.census.missing_placed, report.plan.children[1].docs);
}

#[test]
fn numbers_booleans_and_dates_have_values_too() {
    let place = Place::new();
    place.split_every_way(&by_value("year", &["-10", "03"]), Policy::Refuse, |number| match year(number) {
        -10 => 0,
        3 => 1,
        _ => 2,
    });
    place.split_every_way(&by_value("open", &["true"]), Policy::Refuse, |number| usize::from(number % 3 != 0));
    // Both zeros are zero.
    place.split_every_way(&by_value("price", &["0"]), Policy::Refuse, |number| usize::from(price(number) != 0.0));
    place.split_every_way(&by_value("seen", &["2024-01-01", "2024-01-01T08:00:00+01:00"]), Policy::Refuse, |number| {
        match hours(number) {
            0 => 0,
            7 => 1,
            _ => 2,
        }
    });
}

#[test]
fn ranges_begin_at_their_cut() {
    let place = Place::new();
    place.split_every_way(&by_range("year", &["-9", "0", "19"]), Policy::Refuse, |number| match year(number) {
        ..-9 => 0,
        -9..0 => 1,
        0..19 => 2,
        _ => 3,
    });
    place.split_every_way(&by_range("price", &["-0", "2.25"]), Policy::Refuse, |number| match price(number) {
        price if price < 0.0 => 0,
        price if price < 2.25 => 1,
        _ => 2,
    });
    place.split_every_way(&by_range("serial", &["75"]), Policy::Refuse, |number| usize::from(number >= 75));
    place.split_every_way(&by_range("seen", &["2024-01-02", "2024-01-03T12:00:00Z"]), Policy::Refuse, |number| {
        match hours(number) {
            ..24 => 0,
            24..60 => 1,
            _ => 2,
        }
    });
}

#[test]
fn the_first_query_that_matches_decides_and_overlaps_are_counted() {
    let place = Place::new();
    let queries = ["body:word3 OR body:word4", "team:red", "seen:[2024-01-01T00:00:00Z TO 2024-01-02T00:00:00Z}"];
    let matches = |number: u64| [matches!(number % 7, 3 | 4), team(number) == Some("red"), hours(number) < 24];
    let report = place.split_every_way(&by_query(&queries), Policy::Refuse, |number| {
        matches(number).iter().position(|&matched| matched).unwrap_or(3)
    });
    let several = |number: &u64| matches(*number).iter().filter(|&&matched| matched).count() > 1;
    let numbers: Vec<u64> = content(&place.source()).docs.iter().map(number).collect();
    let overlaps = numbers.iter().filter(|number| several(number)).count() as u64;
    assert!(overlaps > 0);
    assert_eq!(report.plan.census.overlaps, overlaps);
}

#[test]
fn phrases_and_negations_place_documents() {
    let query = "body:\"word1 common\" -team:green";
    Place::new().split_every_way(&by_query(&[query]), Policy::Refuse, |number| {
        usize::from(!(number % 7 == 1 && team(number) != Some("green")))
    });
}

#[test]
fn children_take_turns_over_the_live_documents_of_all_segments() {
    let place = Place::new();
    let numbers: Vec<u64> = content(&place.source()).docs.iter().map(number).collect();
    let rank = |number: u64| numbers.iter().position(|&other| other == number).unwrap();
    for children in [1, 3, 8] {
        let placement = Placement::RoundRobin { children };
        place.split_every_way(&placement, Policy::Refuse, |number| rank(number) % children as usize);
    }
}

#[test]
fn runs_follow_the_source_and_differ_by_one_document_at_most() {
    let place = Place::new();
    let numbers: Vec<u64> = content(&place.source()).docs.iter().map(number).collect();
    for children in [1usize, 4, 7] {
        // Lengths by subtraction, longer ones first.
        let (mut left, mut bounds) = (numbers.len(), vec![0]);
        for after in (1..=children).rev() {
            let run = left.div_ceil(after);
            left -= run;
            bounds.push(bounds.last().unwrap() + run);
        }
        let child = |number: u64| {
            let rank = numbers.iter().position(|&other| other == number).unwrap();
            (0..children).find(|&child| (bounds[child]..bounds[child + 1]).contains(&rank)).unwrap()
        };
        let placement = Placement::Sequence { children: u32::try_from(children).unwrap() };
        let report = place.split_every_way(&placement, Policy::Refuse, child);
        let docs: Vec<u64> = report.children.iter().map(|child| child.docs).collect();
        assert!(docs.iter().max().unwrap() - docs.iter().min().unwrap() <= 1, "{docs:?}");
    }
}
