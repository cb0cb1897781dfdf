use super::super::docmap::build_group;
use super::super::{Assignment, Group, NO_CHILD, RowAddr};

/// Documents of a group by output, as the way forward has them.
fn forward(group: &Group, lens: &[usize]) -> Vec<Vec<(u32, RowAddr)>> {
    let mut outputs = vec![Vec::new(); group.outputs.len()];
    for (segment, &len) in lens.iter().enumerate() {
        for doc in 0..u32::try_from(len).unwrap() {
            if let Some((output, new_doc)) = group.lookup(segment, doc) {
                outputs[output].push((new_doc, RowAddr { segment, doc }));
            }
        }
    }
    outputs
}

#[test]
fn every_document_has_its_place_in_its_child_and_the_way_back_leads_to_it() {
    // Few children and many; segments that are never full, and that are cut many times.
    for (children, max_docs) in [(1, 1 << 20), (5, 1 << 20), (5, 700), (127, 1 << 20), (128, 1 << 20), (200, 40)] {
        let lens = [9_000, 1, 0, 30_000, 2_500];
        let child = |segment: usize, doc: usize| {
            let mixed = ((segment * 50_000 + doc) as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
            if mixed.is_multiple_of(11) { NO_CHILD } else { u16::try_from(mixed % children).unwrap() }
        };
        let segments: Vec<Vec<u16>> =
            lens.iter().enumerate().map(|(segment, &len)| (0..len).map(|doc| child(segment, doc)).collect()).collect();
        let assignment = Assignment::new(usize::try_from(children).unwrap(), segments.clone());
        let group = build_group(&assignment, (0..lens.len()).collect(), max_docs, None);

        let mut of_children = vec![Vec::new(); usize::try_from(children).unwrap()];
        for (output, docs) in forward(&group, &lens).into_iter().enumerate() {
            let case = format!("{children} children, {max_docs}: output {output}");
            // In source order, without gaps, and no more than may be.
            assert!(docs.iter().map(|(new_doc, _)| *new_doc).eq(0..group.outputs[output].num_docs), "{case}");
            assert!(!docs.is_empty() && docs.len() <= max_docs as usize, "{case}");
            assert!(group.rows(output).eq(docs.iter().map(|(_, row)| *row)), "{case}");
            of_children[group.outputs[output].child].extend(docs.into_iter().map(|(_, row)| row));
        }
        for (number, docs) in (0u16..).zip(of_children) {
            let all = segments.iter().enumerate().flat_map(|(segment, docs)| {
                docs.iter().zip(0..).map(move |(child, doc)| (*child, RowAddr { segment, doc }))
            });
            let expected = all.filter(|(child, _)| *child == number).map(|(_, row)| row);
            assert!(docs.into_iter().eq(expected), "{children} children, {max_docs}: child {number}");
        }
    }
}
