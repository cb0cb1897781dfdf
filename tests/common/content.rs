//! An index as readable lines: per live document every stored value, posting, norm and column value.
//!
//! Read through tantivy's `SegmentReader`s, so nothing is written to the directory. Two documents are equal if and
//! only if their lines are; what differs can be printed. Meant for test-sized indexes: everything is held in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use tantivy::postings::Postings;
use tantivy::schema::{Field, FieldEntry, IndexRecordOption, OwnedValue, Schema, TantivyDocument, Value};
use tantivy::{DocId, DocSet, Index, SegmentReader, TERMINATED};

use super::columns::{self, ColumnFacts};
use super::values::{key_string, render, render_value};

/// One live document.
#[derive(Clone, Debug)]
pub struct Doc {
    /// Segment (by its place in `meta.json`) and DocId.
    pub address: (usize, DocId),
    /// What the document consists of; see [`Content::read`].
    pub lines: Vec<String>,
    /// Values of the key fields that were asked for.
    pub keys: BTreeMap<String, Vec<String>>,
    /// Place in the index sort; [`SortKey::Missing`] where there is none.
    pub sort: SortKey,
}

/// A value to sort by; documents without one are smallest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SortKey {
    /// No value.
    Missing,
    /// Numbers and dates, mapped to u64 in their order.
    Number(u64),
    /// Strings and bytes.
    Bytes(Vec<u8>),
}

/// What the inverted index of one field and segment says about itself, deleted documents included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldFacts {
    /// Terms in the dictionary.
    pub terms: usize,
    /// Tokens as recorded.
    pub total_tokens: u64,
    /// Tokens as counted over the postings; a document counts once where frequencies are not recorded.
    pub counted_tokens: u64,
}

/// What the norms of one field and segment say, deleted documents included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NormFacts {
    /// The largest id.
    pub most: u8,
    /// Sum of the lengths that the ids stand for.
    pub tokens: u64,
}

/// One segment.
#[derive(Clone)]
pub struct Segment {
    /// Open reader, for searches.
    pub reader: SegmentReader,
    /// Per indexed field.
    pub fields: BTreeMap<String, FieldFacts>,
    /// Per column name and type.
    pub columns: BTreeMap<(String, String), ColumnFacts>,
    /// Per field that has norms.
    pub norms: BTreeMap<String, NormFacts>,
}

/// A term to search for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SampleTerm {
    /// Field.
    pub field: Field,
    /// Key in the term dictionary.
    pub bytes: Vec<u8>,
}

/// An index that was read.
pub struct Content {
    /// Where it stands.
    pub dir: PathBuf,
    /// tantivy's view of it.
    pub index: Index,
    /// In the order of `meta.json`.
    pub segments: Vec<Segment>,
    /// Live documents by segment and DocId.
    pub docs: Vec<Doc>,
    /// Some terms of every field: the most frequent ones, and others at equal distances.
    pub sample_terms: BTreeSet<SampleTerm>,
    /// Some terms that follow each other in some document.
    pub sample_phrases: BTreeSet<(SampleTerm, SampleTerm)>,
}

impl Content {
    /// Reads the index in `dir`.
    ///
    /// A document's lines are, in this order: `stored <n> <field> <value>` as stored, `norm <field> <id>`,
    /// `term <field> <term> tf=<n> pos=<positions>` (`tf=-` where frequencies are not recorded) by field and term,
    /// `column <name> <type> <values>` by name and type. `key_fields` are also collected as strings: from the stored
    /// values, else from the column, else from the terms.
    pub fn read(dir: &Path, key_fields: &[&str]) -> Content {
        Content::read_planes(dir, key_fields, true)
    }

    /// The same without `stored` lines: for doc stores that tantivy 0.27 cannot read.
    pub fn read_without_store(dir: &Path, key_fields: &[&str]) -> Content {
        Content::read_planes(dir, key_fields, false)
    }

    fn read_planes(dir: &Path, key_fields: &[&str], stored: bool) -> Content {
        let index = Index::open_in_dir(dir).unwrap_or_else(|error| panic!("{} does not open: {error}", dir.display()));
        Content::read_index(&index, dir, key_fields, stored)
    }

    /// Reads `index`, which stands in `dir`.
    pub fn of_index(index: &Index, dir: impl AsRef<Path>, key_fields: &[&str]) -> Content {
        Content::read_index(index, dir.as_ref(), key_fields, true)
    }

    fn read_index(index: &Index, dir: &Path, key_fields: &[&str], stored: bool) -> Content {
        let mut content = Content {
            dir: dir.to_path_buf(),
            index: index.clone(),
            segments: Vec::new(),
            docs: Vec::new(),
            sample_terms: BTreeSet::new(),
            sample_phrases: BTreeSet::new(),
        };
        for (ord, segment) in index.searchable_segments().unwrap().iter().enumerate() {
            let reader = SegmentReader::open(segment)
                .unwrap_or_else(|error| panic!("{}: segment {ord} does not open: {error}", dir.display()));
            content.read_segment(ord, reader, key_fields, stored);
        }
        content
    }

    /// Several indexes, read one after the other, as one: what is merged.
    #[must_use]
    pub fn together(contents: Vec<Content>) -> Content {
        let mut contents = contents.into_iter();
        let mut all = contents.next().unwrap();
        for next in contents {
            let first = all.segments.len();
            all.segments.extend(next.segments);
            all.docs.extend(
                next.docs.into_iter().map(|doc| Doc { address: (first + doc.address.0, doc.address.1), ..doc }),
            );
            all.sample_terms.extend(next.sample_terms);
            all.sample_phrases.extend(next.sample_phrases);
        }
        all
    }

    /// One segment of it, without samples.
    #[must_use]
    pub fn segment(&self, ord: usize) -> Content {
        Content {
            dir: self.dir.clone(),
            index: self.index.clone(),
            segments: vec![self.segments[ord].clone()],
            docs: self.docs.iter().filter(|doc| doc.address.0 == ord).cloned().collect(),
            sample_terms: BTreeSet::new(),
            sample_phrases: BTreeSet::new(),
        }
    }

    /// The schema.
    pub fn schema(&self) -> Schema {
        self.index.schema()
    }

    /// Whether some segment has deleted documents.
    pub fn has_deletes(&self) -> bool {
        self.segments.iter().any(|segment| segment.reader.has_deletes())
    }

    /// Recorded tokens of a field over all segments.
    pub fn total_tokens(&self, field: &str) -> u64 {
        self.segments.iter().filter_map(|segment| segment.fields.get(field)).map(|facts| facts.total_tokens).sum()
    }

    fn read_segment(&mut self, ord: usize, reader: SegmentReader, key_fields: &[&str], stored: bool) {
        let schema = self.schema();
        let mut docs: Vec<Option<Doc>> = (0..reader.max_doc())
            .map(|doc| {
                (!reader.is_deleted(doc)).then(|| Doc {
                    address: (ord, doc),
                    lines: Vec::new(),
                    keys: BTreeMap::new(),
                    sort: SortKey::Missing,
                })
            })
            .collect();
        assert_eq!(docs.iter().flatten().count(), reader.num_docs() as usize, "num_docs of segment {ord}");

        if stored {
            read_stored(&reader, &schema, key_fields, &mut docs);
        }
        let mut norms = BTreeMap::new();
        for (field, entry) in schema.fields().filter(|(_, entry)| entry.is_indexed() && entry.has_fieldnorms()) {
            let norm = reader.get_fieldnorms_reader(field).unwrap();
            assert_eq!(norm.num_docs(), reader.max_doc(), "norms of {:?} in segment {ord}", entry.name());
            let most = (0..reader.max_doc()).map(|doc| norm.fieldnorm_id(doc)).max().unwrap_or(0);
            let tokens = (0..reader.max_doc()).map(|doc| u64::from(norm.fieldnorm(doc))).sum();
            norms.insert(entry.name().to_owned(), NormFacts { most, tokens });
            for doc in docs.iter_mut().flatten() {
                doc.lines.push(format!("norm {} {}", entry.name(), norm.fieldnorm_id(doc.address.1)));
            }
        }
        let mut fields = BTreeMap::new();
        for (field, entry) in schema.fields().filter(|(_, entry)| entry.is_indexed()) {
            fields.insert(entry.name().to_owned(), self.read_postings(&reader, field, entry, key_fields, &mut docs));
        }
        let sort = self.index.settings().sort_by_field.as_ref().map(|sort| sort.field.as_str());
        let columns = columns::read(&reader, &schema, key_fields, sort, &mut docs);
        self.docs.extend(docs.into_iter().flatten());
        self.segments.push(Segment { reader, fields, columns, norms });
    }

    fn read_postings(
        &mut self,
        reader: &SegmentReader,
        field: Field,
        entry: &FieldEntry,
        key_fields: &[&str],
        docs: &mut [Option<Doc>],
    ) -> FieldFacts {
        let inverted = reader.inverted_index(field).unwrap();
        let num_terms = inverted.terms().num_terms();
        let with_positions =
            entry.field_type().get_index_record_option() == Some(IndexRecordOption::WithFreqsAndPositions);
        let is_key = key_fields.contains(&entry.name());
        let distance = num_terms / 8 + 1;
        let mut facts = FieldFacts { terms: 0, total_tokens: inverted.total_num_tokens(), counted_tokens: 0 };
        let mut frequent: Vec<(u32, Vec<u8>)> = Vec::new();
        // Terms by position of a few documents, for phrases.
        let mut texts: BTreeMap<DocId, BTreeMap<u32, Vec<u8>>> = BTreeMap::new();
        let sampled = |doc: DocId| doc.is_multiple_of(reader.max_doc() / 4 + 1);
        let mut positions = Vec::new();

        let mut stream = inverted.terms().stream().unwrap();
        while stream.advance() {
            let info = stream.value().clone();
            let term = stream.key();
            let text = render(term);
            // A cursor that was not used for another term: only such a one tells whether this term has frequencies.
            let block = inverted.read_block_postings_from_terminfo(&info, IndexRecordOption::WithFreqs).unwrap();
            let with_freqs = !block.freqs().is_empty();
            let option = if with_freqs && with_positions {
                IndexRecordOption::WithFreqsAndPositions
            } else if with_freqs {
                IndexRecordOption::WithFreqs
            } else {
                IndexRecordOption::Basic
            };
            let mut postings = inverted.read_postings_from_terminfo(&info, option).unwrap();
            let mut count = 0;
            let mut previous = None;
            while postings.doc() != TERMINATED {
                let id = postings.doc();
                assert!(previous < Some(id), "postings of {}:{text} do not ascend at {id}", entry.name());
                previous = Some(id);
                count += 1;
                let tf = postings.term_freq();
                facts.counted_tokens += u64::from(tf);
                if let Some(doc) = docs[id as usize].as_mut() {
                    let mut line = format!("term {} {text} tf=", entry.name());
                    line += &if with_freqs { tf.to_string() } else { "-".to_owned() };
                    if with_freqs && with_positions {
                        postings.positions(&mut positions);
                        line += &format!(" pos={positions:?}");
                        if sampled(id) {
                            let by_position = texts.entry(id).or_default();
                            by_position.extend(positions.iter().map(|&position| (position, term.to_vec())));
                        }
                    }
                    doc.lines.push(line);
                    if is_key && doc.keys.get(entry.name()).is_none_or(Vec::is_empty) && !entry.is_fast() {
                        let key = String::from_utf8(term.to_vec()).expect("a key that is not UTF-8");
                        doc.keys.insert(entry.name().to_owned(), vec![key]);
                    }
                }
                postings.advance();
            }
            assert_eq!(count, info.doc_freq, "doc_freq of {}:{text}", entry.name());
            assert!(count > 0, "{}:{text} has no documents", entry.name());
            if facts.terms.is_multiple_of(distance) {
                self.sample_terms.insert(SampleTerm { field, bytes: term.to_vec() });
            }
            facts.terms += 1;
            frequent.push((info.doc_freq, term.to_vec()));
            if frequent.len() > 64 {
                keep_most_frequent(&mut frequent);
            }
        }
        assert_eq!(facts.terms, num_terms, "terms of {}", entry.name());
        keep_most_frequent(&mut frequent);
        self.sample_terms.extend(frequent.into_iter().map(|(_, bytes)| SampleTerm { field, bytes }));
        for text in texts.values() {
            let pairs = text.iter().filter_map(|(position, term)| Some((term, text.get(&(position + 1))?)));
            let pairs = pairs.map(|(left, right)| (left.clone(), right.clone()));
            self.sample_phrases.extend(
                pairs
                    .take(3)
                    .map(|(left, right)| (SampleTerm { field, bytes: left }, SampleTerm { field, bytes: right })),
            );
        }
        facts
    }
}

fn keep_most_frequent(terms: &mut Vec<(u32, Vec<u8>)>) {
    terms.sort_by(|left, right| right.0.cmp(&left.0).then_with(|| left.1.cmp(&right.1)));
    terms.truncate(4);
}

fn read_stored(reader: &SegmentReader, schema: &Schema, key_fields: &[&str], docs: &mut [Option<Doc>]) {
    let store = reader.get_store_reader(4).unwrap();
    for doc in docs.iter_mut().flatten() {
        let stored: TantivyDocument = store.get(doc.address.1).unwrap();
        for (ord, (field, value)) in stored.field_values().enumerate() {
            let name = schema.get_field_name(field);
            let value = OwnedValue::from(value.as_value());
            if key_fields.contains(&name) {
                doc.keys.entry(name.to_owned()).or_default().push(key_string(&value));
            }
            doc.lines.push(format!("stored {ord} {name} {}", render_value(&value)));
        }
    }
}
