//! The table at the end of `.term`, `.idx`, `.pos` and `.fieldnorm`: which bytes belong to which field.
//!
//! The body of such a file is `parts ‖ VInt n ‖ n × (VInt Δoffset, u32 LE field, VInt index) ‖ u32 LE length of the
//! table`. A part ends where the next begins, the last one at the table. tantivy slices by this table unchecked, so it
//! is read here first. Facts from tantivy 0.27, `src/directory/composite_file.rs`.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use tantivy::schema::{Field, Schema};

use crate::error::{Error, Result};
use crate::source::bytes::{Bytes, tail};

/// Which bytes of a body belong to which field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::source) struct Parts(BTreeMap<u32, Range<usize>>);

impl Parts {
    /// Reads the table of `body`, the file at `path` without its footer.
    pub(super) fn read(path: &Path, body: &[u8], schema: &Schema) -> Result<Parts> {
        parse(body, schema).map_err(|problem| Error::corrupt(path, format!("its table of fields {problem}")))
    }

    /// Fields that have a part, ascending.
    pub(super) fn fields(&self) -> impl Iterator<Item = Field> + '_ {
        self.0.keys().map(|&id| Field::from_field_id(id))
    }

    /// Bytes of the part of `field`; 0 where it has none.
    pub(in crate::source) fn len(&self, field: Field) -> usize {
        self.0.get(&field.field_id()).map_or(0, Range::len)
    }

    /// The part of `field` in the body that this table was read from.
    pub(super) fn get<'a>(&self, field: Field, body: &'a [u8]) -> Option<&'a [u8]> {
        body.get(self.0.get(&field.field_id())?.clone())
    }
}

fn parse(body: &[u8], schema: &Schema) -> Result<Parts, String> {
    let table_len = tail(body, 4).and_then(|bytes| Bytes::new(bytes).u32());
    let Some(table_len) = table_len else { return Err(format!("is missing: there are {} bytes", body.len())) };
    let table_len = usize::try_from(table_len).unwrap_or(usize::MAX);
    let Some(end) = body.len().checked_sub(4).and_then(|end| end.checked_sub(table_len)) else {
        return Err(format!("claims {table_len} bytes of {}", body.len()));
    };
    let mut table = Bytes::new(body.get(end..body.len() - 4).unwrap_or_default());
    let cut_off = || format!("at byte {end} is cut off");
    let count = table.vint().ok_or_else(cut_off)?;
    let mut starts: Vec<(u32, usize)> = Vec::new();
    let mut offset = 0u64;
    // An entry has six bytes or more, so a false count runs out of table before it costs memory.
    for _ in 0..count {
        let entry = (table.vint(), table.u32(), table.vint());
        let (Some(delta), Some(id), Some(index)) = entry else { return Err(cut_off()) };
        offset = offset.checked_add(delta).ok_or_else(cut_off)?;
        let start = usize::try_from(offset).ok().filter(|start| *start <= end);
        let Some(start) = start else { return Err(format!("puts field {id} at byte {offset}, beyond {end}")) };
        if usize::try_from(id).map_or(true, |id| id >= schema.num_fields()) {
            return Err(format!("names field {id}, the schema has {} fields", schema.num_fields()));
        }
        if index != 0 {
            return Err(format!("gives field {id} a part {index}; there is only part 0"));
        }
        starts.push((id, start));
    }
    if table.len() != 0 {
        return Err(format!("has {} bytes after its {count} entries", table.len()));
    }
    let ends = starts.iter().skip(1).map(|(_, start)| *start).chain([end]);
    let mut parts = BTreeMap::new();
    for (&(id, start), end) in starts.iter().zip(ends) {
        if parts.insert(id, start..end).is_some() {
            return Err(format!("names field {id} twice"));
        }
    }
    Ok(Parts(parts))
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "lengths in these tests are small")]
mod tests {
    use super::*;
    use tantivy::directory::CompositeWrite;
    use tantivy::schema::{Schema, TEXT};

    fn schema() -> Schema {
        let mut builder = Schema::builder();
        for name in ["a", "b", "c"] {
            builder.add_text_field(name, TEXT);
        }
        builder.build()
    }

    /// A body by hand: parts of the given entries (delta, field, index), then a table that claims `count`.
    fn body(parts_len: usize, count: u8, entries: &[(u8, u32, u8)]) -> Vec<u8> {
        let mut table = vec![count | 0x80];
        for (delta, field, index) in entries {
            table.push(delta | 0x80);
            table.extend(field.to_le_bytes());
            table.push(index | 0x80);
        }
        let len = table.len() as u32;
        [vec![9; parts_len], table, len.to_le_bytes().to_vec()].concat()
    }

    #[test]
    fn parts_are_those_that_tantivy_writes() {
        use std::io::Write;
        let dir = tempfile::tempdir().unwrap();
        let directory = tantivy::directory::MmapDirectory::open(dir.path()).unwrap();
        let sink = tantivy::Directory::open_write(&directory, Path::new("file")).unwrap();
        let mut file = CompositeWrite::wrap(sink);
        file.for_field(Field::from_field_id(0)).write_all(b"first").unwrap();
        file.for_field(Field::from_field_id(2)).write_all(b"third!").unwrap();
        file.close().unwrap();
        let written = std::fs::read(dir.path().join("file")).unwrap();
        let parts = parse(&written, &schema()).unwrap();
        let part = |id| parts.get(Field::from_field_id(id), &written);
        assert_eq!((part(0), part(1), part(2)), (Some(&b"first"[..]), None, Some(&b"third!"[..])));
        assert_eq!(parts.len(Field::from_field_id(1)), 0);
    }

    #[test]
    fn tables_that_lie_are_refused() {
        for (what, bytes, expected) in [
            ("no table", vec![1, 2], "is missing"),
            ("length beyond the body", vec![0x80, 200, 0, 0, 0], "claims 200 bytes"),
            ("more entries than bytes", body(4, 2, &[(0, 0, 0)]), "cut off"),
            ("fewer entries than bytes", body(4, 0, &[(0, 0, 0)]), "after its 0 entries"),
            ("offset beyond the parts", body(4, 2, &[(0, 0, 0), (5, 1, 0)]), "beyond 4"),
            ("unknown field", body(4, 1, &[(0, 3, 0)]), "names field 3"),
            ("second part", body(4, 1, &[(0, 0, 1)]), "part 1"),
            ("field twice", body(4, 2, &[(0, 1, 0), (2, 1, 0)]), "field 1 twice"),
        ] {
            let problem = parse(&bytes, &schema()).unwrap_err();
            assert!(problem.contains(expected), "{what}: {problem}");
        }
        assert!(parse(&body(4, 2, &[(0, 0, 0), (4, 1, 0)]), &schema()).is_ok());
    }
}
