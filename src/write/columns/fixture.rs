//! Indexes with every type of column, children's files in memory, and tantivy's own merge to compare with.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

use tantivy::columnar::{ColumnType, ColumnarReader, MergeRowOrder, RowAddr, ShuffleMergeOrder, merge_columnar};
use tantivy::directory::FileSlice;
use tantivy::directory::footer::Footer;
use tantivy::indexer::NoMergePolicy;
use tantivy::schema::{
    BytesOptions, DateOptions, DateTimePrecision, FacetOptions, IpAddrOptions, JsonObjectOptions, NumericOptions,
    Schema, TextOptions,
};
use tantivy::{Index, IndexSettings, IndexSortByField, Order, TantivyDocument, Term};
use tantivy_common::{BitSet, ReadOnlyBitSet};
use tempfile::TempDir;

use crate::error::Result;
use crate::partition::{Assignment, DocMap, Group, NO_CHILD, SegmentMode};
use crate::source::{LockMode, Source};
use crate::write::output::{ChildFiles, OutputFile, WrittenFile};

type Files = BTreeMap<(usize, String), Arc<Mutex<Vec<u8>>>>;

/// Children's files in memory.
#[derive(Default)]
pub(in crate::write) struct MemoryFiles(Mutex<Files>);

struct MemoryFile(Arc<Mutex<Vec<u8>>>);

impl Write for MemoryFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Short writes, as a real sink may make them.
        let taken = bytes.len().min(1 << 14);
        self.0.lock().unwrap().extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl OutputFile for MemoryFile {
    fn patch(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.lock().unwrap()[offset as usize..][..bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn close(self: Box<Self>) -> io::Result<()> {
        Ok(())
    }
}

impl ChildFiles for MemoryFiles {
    fn create(&self, child: usize, name: &str) -> Result<Box<dyn OutputFile>> {
        let file = Arc::new(Mutex::new(Vec::new()));
        let before = self.0.lock().unwrap().insert((child, name.to_owned()), Arc::clone(&file));
        assert!(before.is_none(), "{name} was created twice in child {child}");
        Ok(Box::new(MemoryFile(file)))
    }
}

impl MemoryFiles {
    /// A whole file.
    pub(in crate::write) fn bytes(&self, child: usize, written: &WrittenFile) -> Vec<u8> {
        self.0.lock().unwrap()[&(child, written.name.clone())].lock().unwrap().clone()
    }

    /// The body of a file, its length and checksums checked against `written`.
    pub(in crate::write) fn body(&self, child: usize, written: &WrittenFile) -> Vec<u8> {
        let bytes = self.bytes(child, written);
        assert_eq!(bytes.len() as u64, written.len);
        assert_eq!(crc32fast::hash(&bytes), written.crc32);
        let (footer, body) = Footer::extract_footer(FileSlice::from(bytes)).unwrap();
        let body = body.read_bytes().unwrap().to_vec();
        assert_eq!(crc32fast::hash(&body), footer.crc);
        body
    }
}

/// A schema with a fast field of every type, and text with and without norms.
pub(in crate::write) fn schema() -> Schema {
    let mut schema = Schema::builder();
    let number = || NumericOptions::default().set_fast();
    schema.add_text_field("id", tantivy::schema::STRING | TextOptions::default().set_fast("raw"));
    schema.add_u64_field("u", number());
    schema.add_i64_field("i", number());
    schema.add_f64_field("f", number());
    schema.add_bool_field("b", number());
    schema.add_date_field("d", DateOptions::default().set_fast().set_precision(DateTimePrecision::Seconds));
    schema.add_ip_addr_field("ip", IpAddrOptions::default().set_fast());
    schema.add_bytes_field("bytes", BytesOptions::default().set_fast());
    schema.add_text_field("s", TextOptions::default().set_fast("raw"));
    schema.add_facet_field("facet", FacetOptions::default());
    schema.add_json_field("j", JsonObjectOptions::default().set_fast("raw"));
    schema.add_text_field("title", tantivy::schema::TEXT);
    schema.add_text_field("body", tantivy::schema::TEXT | tantivy::schema::STORED);
    schema.add_u64_field("n", NumericOptions::default().set_indexed().set_fieldnorm());
    schema.build()
}

/// An index on disk, opened as a source.
pub(in crate::write) struct Fixture {
    pub(in crate::write) dir: TempDir,
    pub(in crate::write) source: Source,
}

/// Builds an index: per segment its documents as JSON; `deleted` names ids to delete afterwards.
pub(in crate::write) fn index(
    schema: Schema,
    segments: &[Vec<String>],
    deleted: &[&str],
    sort: Option<&str>,
) -> Fixture {
    let dir = tempfile::tempdir().unwrap();
    let sort_by_field = sort.map(|field| IndexSortByField { field: field.to_owned(), order: Order::Desc });
    let settings = IndexSettings { sort_by_field, ..IndexSettings::default() };
    let index = Index::builder().schema(schema.clone()).settings(settings).create_in_dir(dir.path()).unwrap();
    let mut writer = index.writer_with_num_threads::<TantivyDocument>(1, 15_000_000).unwrap();
    writer.set_merge_policy(Box::new(NoMergePolicy));
    for docs in segments {
        for doc in docs {
            writer.add_document(TantivyDocument::parse_json(&schema, doc).unwrap()).unwrap();
        }
        writer.commit().unwrap();
    }
    if !deleted.is_empty() {
        let id = schema.get_field("id").unwrap();
        for value in deleted {
            writer.delete_term(Term::from_field_text(id, value));
        }
        writer.commit().unwrap();
    }
    writer.wait_merging_threads().unwrap();
    let source = open(dir.path());
    Fixture { dir, source }
}

pub(in crate::write) fn open(dir: &Path) -> Source {
    Source::open(dir, LockMode::None).unwrap()
}

/// Deals the live documents of `source` to children by `child`, called with running number of the document.
pub(in crate::write) fn deal(source: &Source, children: u16, mode: SegmentMode, child: impl Fn(u32) -> u16) -> DocMap {
    let mut number = 0;
    let segments = source.segments().iter().map(|segment| {
        (0..segment.max_doc())
            .map(|doc| {
                number += 1;
                if segment.is_alive(doc) { child(number) % children } else { NO_CHILD }
            })
            .collect()
    });
    let assignment = Assignment::new(usize::from(children), segments.collect());
    DocMap::build(source, &assignment, mode, u32::MAX).unwrap()
}

/// Deals all documents by their id, as given: the order of segments in `meta.json` is not that of commits.
pub(in crate::write) fn deal_ids(source: &Source, children: u16, mode: SegmentMode, ids: &[(&str, u16)]) -> DocMap {
    let segments = source.segments().iter().map(|segment| {
        let column = segment.reader().fast_fields().str("id").unwrap().unwrap();
        let child = |doc| {
            let mut id = String::new();
            column.ord_to_str(column.term_ords(doc).next().unwrap(), &mut id).unwrap();
            ids.iter().find(|(known, _)| *known == id).unwrap().1
        };
        (0..segment.max_doc()).map(child).collect()
    });
    let assignment = Assignment::new(usize::from(children), segments.collect());
    DocMap::build(source, &assignment, mode, u32::MAX).unwrap()
}

/// Segment ids for the outputs of a group: any will do.
pub(in crate::write) fn ids(group: &Group) -> Vec<String> {
    (0..group.outputs.len()).map(|output| format!("{:016x}{output:016x}", group.segments[0])).collect()
}

/// What tantivy's merge writes for an output.
pub(in crate::write) fn merged_by_tantivy(source: &Source, group: &Group, output: usize) -> Vec<u8> {
    let readers: Vec<&ColumnarReader> =
        group.segments.iter().map(|&segment| source.segments()[segment].columns()).collect();
    let mut alive: Vec<BitSet> = readers.iter().map(|reader| BitSet::with_max_value(reader.num_docs())).collect();
    let mut rows = Vec::new();
    for row in group.rows(output) {
        alive[row.segment].insert(row.doc);
        rows.push(RowAddr { segment_ord: row.segment as u32, row_id: row.doc });
    }
    let order = ShuffleMergeOrder {
        new_row_id_to_old_row_id: rows,
        alive_bitsets: alive.iter().map(|alive| Some(ReadOnlyBitSet::from(alive))).collect(),
    };
    let schema = source.schema();
    // Spelled out by name, so that a wrong rule for required columns cannot agree with itself.
    let required: Vec<(String, ColumnType)> = [
        ("id", ColumnType::Str),
        ("u", ColumnType::U64),
        ("i", ColumnType::I64),
        ("f", ColumnType::F64),
        ("b", ColumnType::Bool),
        ("d", ColumnType::DateTime),
        ("ip", ColumnType::IpAddr),
        ("bytes", ColumnType::Bytes),
        ("s", ColumnType::Str),
        ("facet", ColumnType::Str),
    ]
    .into_iter()
    .filter(|(name, _)| schema.get_field(name).is_ok_and(|field| schema.get_field_entry(field).is_fast()))
    .map(|(name, kind)| (name.to_owned(), kind))
    .collect();
    let mut out = Vec::new();
    merge_columnar(&readers, &required, MergeRowOrder::Shuffled(order), &mut out).unwrap();
    out
}

/// `count` documents with an id of their own and, by number, more or fewer values of every type.
pub(in crate::write) fn documents(first: u32, count: u32) -> Vec<String> {
    (first..first + count).map(document).collect()
}

fn document(n: u32) -> String {
    let mut fields = vec![format!(r#""id":"id-{:08x}""#, n.wrapping_mul(0x9e37_79b9))];
    // Full.
    fields.push(format!(r#""u":{}"#, u64::from(n) * 1_000 + 17));
    // Optional.
    if !n.is_multiple_of(3) {
        fields.push(format!(r#""i":{}"#, i64::from(n % 50) - 25));
        fields.push(format!(r#""d":"2024-0{}-0{}T0{}:00:00Z""#, 1 + n % 9, 1 + n % 7, n % 10));
        fields.push(format!(r#""b":{}"#, n.is_multiple_of(2)));
    }
    if n.is_multiple_of(5) {
        fields.push(format!(r#""f":{}.25"#, n));
        fields.push(format!(r#""ip":"10.0.{}.{}""#, n / 256 % 256, n % 256));
    }
    // Multivalued, some rows empty.
    if n % 4 != 3 {
        let words: Vec<String> = (0..n % 4 + 1).map(|k| format!(r#""w{}""#, (n * 7 + k * 3) % 41)).collect();
        fields.push(format!(r#""s":[{}]"#, words.join(",")));
        fields.push(format!(r#""facet":["/z/{}","/a/{}","/a/{}/x"]"#, n % 5, n % 9, n % 3));
        fields.push(format!(r#""title":"{}""#, "word ".repeat(n as usize % 60 + 1)));
    }
    if n % 7 == 1 {
        fields.push(format!(r#""bytes":["aGVsbG8{}","AAE="]"#, ["=", "h"][n as usize % 2]));
    }
    fields.push(format!(r#""body":"{}""#, "text ".repeat(n as usize % 11)));
    fields.push(format!(r#""n":{n}"#));
    fields.push(format!(r#""j":{}"#, json(n)));
    format!("{{{}}}", fields.join(","))
}

fn json(n: u32) -> String {
    match n % 6 {
        0 => format!(r#"{{"kind":"k{}","size":{n}}}"#, n % 4),
        1 => format!(r#"{{"kind":{n},"size":-{n},"deep":{{"flag":true,"many":[1,2,{n}]}}}}"#),
        2 => format!(r#"{{"kind":{n}.5,"tags":["a","b{}","a"]}}"#, n % 13),
        3 => r#"{"when":"2024-05-06T07:08:09Z"}"#.to_owned(),
        4 if n % 100 == 4 => format!(r#"{{"rare{}":"once"}}"#, n % 1_000),
        _ => "{}".to_owned(),
    }
}
