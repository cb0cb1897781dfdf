//! `routing.json`: how the documents of an index are routed, for whoever looks for one, and for the next split or merge.
//!
//! A directory with this file and, for every shard number, a directory with an index is an *index directory*. Pretty JSON
//! of one object:
//!
//! | key | value |
//! |---|---|
//! | `format` | 1 |
//! | `routing` | `elasticsearch` (scaled modulo), `elasticsearch-modulo`, `solr`, `solr-plain`, `slots` or `ring` |
//! | `number_of_shards` | shards of the index |
//! | `number_of_routing_shards` | parts of the hash space, slots; null where there are none |
//! | `routing_partition_size` | over how many shards one routing value spreads; 1 unless partitioned |
//! | `key` | the field that holds ids |
//! | `routing_field` | the field that holds custom routing values, or null |
//! | `table` | of the last four routings only: which shard has which hashes, in the form of [`SlotTable`](crate::route::SlotTable), [`HashRanges`](crate::route::solr::HashRanges) or [`RingTable`](crate::route::RingTable) |
//!
//! Without a table shards are numbered from 0 on; with one they have the numbers that it says. What is read is distrusted:
//! its size is bounded, unknown keys are refused, numbers and table must fit together.

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::fs::{FileSystem, Kind};
use super::layout::ROUTING;
use super::unrouted_file::UnroutedFile;
use crate::error::{Error, Result};
use crate::partition::KeySpec;
use crate::route::{IndexRouting, Router, RoutingFunction, RoutingTable, ShardNumber, TableSplit};

/// Version of the format.
const FORMAT: u32 = 1;
/// Largest file that is read, in bytes.
const MAX_LEN: u64 = 256 << 20;

/// A routing file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RoutingFile {
    format: u32,
    routing: RoutingFunction,
    number_of_shards: u32,
    number_of_routing_shards: Option<u32>,
    routing_partition_size: u32,
    key: String,
    routing_field: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "in_its_own_form")]
    table: Option<Arc<RoutingTable>>,
}

/// What is read, before the table is looked at.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    format: u32,
    routing: RoutingFunction,
    number_of_shards: u32,
    number_of_routing_shards: Option<u32>,
    routing_partition_size: u32,
    key: String,
    routing_field: Option<String>,
    #[serde(default)]
    table: Option<Value>,
}

/// Without the name of the routing function, which the file says already.
fn in_its_own_form<S: Serializer>(table: &Option<Arc<RoutingTable>>, serializer: S) -> Result<S::Ok, S::Error> {
    match table.as_deref() {
        None => serializer.serialize_none(),
        Some(RoutingTable::Solr(table) | RoutingTable::SolrPlain(table)) => table.serialize(serializer),
        Some(RoutingTable::Slots(table)) => table.serialize(serializer),
        Some(RoutingTable::Ring(table)) => table.serialize(serializer),
    }
}

/// The table of `function` that `value` is.
fn read_table(function: RoutingFunction, value: Value) -> Result<Option<RoutingTable>, String> {
    let table = match function {
        RoutingFunction::Elasticsearch | RoutingFunction::ElasticsearchModulo => {
            return Err(format!("{} routing has no table", function.name()));
        }
        RoutingFunction::Solr => serde_json::from_value(value).map(RoutingTable::Solr),
        RoutingFunction::SolrPlain => serde_json::from_value(value).map(RoutingTable::SolrPlain),
        RoutingFunction::Slots => serde_json::from_value(value).map(RoutingTable::Slots),
        RoutingFunction::Ring => serde_json::from_value(value).map(RoutingTable::Ring),
    };
    table.map(Some).map_err(|error| format!("its table cannot be used: {error}"))
}

impl RoutingFile {
    /// The file of an index that is routed like this.
    #[must_use]
    pub fn new(routing: &IndexRouting, keys: &KeySpec) -> RoutingFile {
        RoutingFile {
            format: FORMAT,
            routing: routing.function,
            number_of_shards: routing.number_of_shards,
            number_of_routing_shards: routing.number_of_routing_shards,
            routing_partition_size: routing.routing_partition_size,
            key: keys.key.clone(),
            routing_field: keys.routing_field.clone(),
            table: None,
        }
    }

    /// The file of an index that is routed by `table`.
    #[must_use]
    pub fn of_table(table: &Arc<RoutingTable>, routing_partition_size: u32, keys: &KeySpec) -> RoutingFile {
        let routing = IndexRouting::of_table(table, routing_partition_size);
        RoutingFile { table: Some(Arc::clone(table)), ..RoutingFile::new(&routing, keys) }
    }

    /// The table, if the index is routed by one.
    #[must_use]
    pub fn table(&self) -> Option<&Arc<RoutingTable>> {
        self.table.as_ref()
    }

    /// Shards of the index, ascending.
    #[must_use]
    pub fn shards(&self) -> Vec<ShardNumber> {
        self.table.as_ref().map_or_else(|| (0..self.number_of_shards).collect(), |table| table.shards())
    }

    /// From hash to shard.
    ///
    /// # Errors
    /// None for a file that was read: its numbers were checked.
    pub fn router(&self) -> Result<Router> {
        match &self.table {
            Some(table) => Ok(Router::Table(Arc::clone(table))),
            None => Ok(self.routing().router()?),
        }
    }

    /// Routing function and numbers.
    #[must_use]
    pub fn routing(&self) -> IndexRouting {
        IndexRouting {
            function: self.routing,
            number_of_shards: self.number_of_shards,
            number_of_routing_shards: self.number_of_routing_shards,
            routing_partition_size: self.routing_partition_size,
        }
    }

    /// Fields that decide where documents go.
    #[must_use]
    pub fn keys(&self) -> KeySpec {
        KeySpec { key: self.key.clone(), routing_field: self.routing_field.clone() }
    }

    /// The bytes of the file at `path`.
    pub(super) fn to_bytes(&self, path: &Path) -> Result<Vec<u8>> {
        super::manifest_file::to_bytes(path, self)
    }

    pub(super) fn parse(bytes: &[u8]) -> Result<RoutingFile, String> {
        #[derive(Deserialize)]
        struct Kind {
            format: u32,
            routing: String,
        }
        // Version and kind first: another one may not parse as this, and the message should say why.
        let unparsed = |error: serde_json::Error| format!("it does not parse: {error}");
        let Kind { format, routing } = serde_json::from_slice(bytes).map_err(unparsed)?;
        if format != FORMAT {
            return Err(format!("format {format} is not known here, format {FORMAT} is"));
        }
        let known = RoutingFunction::ALL.map(RoutingFunction::name);
        if !known.contains(&routing.as_str()) {
            return Err(format!("routing {routing:?} is not known here; known: {}", known.join(", ")));
        }
        let form: Form = serde_json::from_slice(bytes).map_err(unparsed)?;
        let table = form.table.map_or(Ok(None), |table| read_table(form.routing, table))?;
        let file = RoutingFile {
            format: form.format,
            routing: form.routing,
            number_of_shards: form.number_of_shards,
            number_of_routing_shards: form.number_of_routing_shards,
            routing_partition_size: form.routing_partition_size,
            key: form.key,
            routing_field: form.routing_field,
            table: table.map(Arc::new),
        };
        file.check()?;
        Ok(file)
    }

    fn check(&self) -> Result<(), String> {
        match (self.routing, self.number_of_routing_shards) {
            (RoutingFunction::Elasticsearch, None) => {
                return Err("elasticsearch routing needs number_of_routing_shards".to_owned());
            }
            (RoutingFunction::ElasticsearchModulo, Some(_)) => {
                return Err("elasticsearch-modulo routing has no number_of_routing_shards: it must be null".to_owned());
            }
            _ => {}
        }
        if self.key.is_empty() || self.routing_field.as_deref() == Some("") {
            return Err("key and routing_field cannot be empty".to_owned());
        }
        let Some(table) = &self.table else {
            if self.routing.has_table() {
                return Err(format!("{} routing needs a table", self.routing.name()));
            }
            return self.routing().check().map_err(|error| error.to_string());
        };
        let says = IndexRouting::of_table(table, self.routing_partition_size);
        if says != self.routing() {
            let count = |slots: Option<u32>| slots.map_or("no".to_owned(), |slots| slots.to_string());
            return Err(format!(
                "its table has {} shards and {} slots, it says {} and {}",
                says.number_of_shards,
                count(says.number_of_routing_shards),
                self.number_of_shards,
                count(self.number_of_routing_shards)
            ));
        }
        // What keeps a table from being split keeps it from being used.
        TableSplit::new(
            Arc::clone(table),
            Arc::clone(table),
            table.shards().into_iter().take(1).collect(),
            self.routing_partition_size,
        )
        .map(drop)
        .map_err(|error| error.to_string())
    }
}

/// Reads the routing file of the index directory `dir`; `None` if it has none.
///
/// # Errors
/// [`Error::IndexDirectory`] if it is too large, of another format or contradicts itself; [`Error::Unreadable`].
pub fn read_routing(fs: &dyn FileSystem, dir: &Path) -> Result<Option<RoutingFile>> {
    let Some(bytes) = read_bytes(fs, dir)? else { return Ok(None) };
    let problem = match UnroutedFile::parse(&bytes) {
        Some(unrouted) => unrouted.problem(),
        None => match RoutingFile::parse(&bytes) {
            Ok(file) => return Ok(Some(file)),
            Err(problem) => problem,
        },
    };
    let problem = format!("its routing file cannot be used: {problem}");
    Err(Error::IndexDirectory { path: dir.join(ROUTING), problem })
}

/// Whether `dir` is a set that says of itself that it has no routing.
///
/// # Errors
/// As [`read_routing`], but for what the file says.
pub(super) fn is_unrouted(fs: &dyn FileSystem, dir: &Path) -> Result<bool> {
    Ok(read_bytes(fs, dir)?.is_some_and(|bytes| UnroutedFile::parse(&bytes).is_some()))
}

fn read_bytes(fs: &dyn FileSystem, dir: &Path) -> Result<Option<Vec<u8>>> {
    use std::io::Read;

    let path = dir.join(ROUTING);
    let refuse = |problem: String| Error::IndexDirectory { path: path.clone(), problem };
    let unreadable = |source| Error::Unreadable { operation: "read", path: path.clone(), source };
    match fs.kind(&path) {
        Ok(None) => return Ok(None),
        Ok(Some(Kind::File { .. })) => {}
        Ok(Some(_)) => return Err(refuse("its routing file is not a regular file".to_owned())),
        // Not a directory, or below what is none.
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    }
    let mut bytes = Vec::new();
    let file = fs.open(&path).map_err(unreadable)?;
    let len = file.take(MAX_LEN + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if len as u64 > MAX_LEN {
        return Err(refuse(format!("its routing file is larger than {MAX_LEN} bytes")));
    }
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::publish::RealFs;

    fn file(function: RoutingFunction, routing_shards: Option<u32>) -> RoutingFile {
        let routing = IndexRouting {
            function,
            number_of_shards: 4,
            number_of_routing_shards: routing_shards,
            routing_partition_size: 1,
        };
        RoutingFile::new(&routing, &KeySpec { key: "id".to_owned(), routing_field: None })
    }

    #[test]
    fn the_file_has_the_documented_keys_and_is_read_back() {
        let written = file(RoutingFunction::Elasticsearch, Some(1024));
        let bytes = written.to_bytes(Path::new("routing.json")).unwrap();
        let text = String::from_utf8(bytes.clone()).unwrap();
        let line: String = text.split_whitespace().collect();
        let expected = r#"{"format":1,"routing":"elasticsearch","number_of_shards":4,"number_of_routing_shards":1024,"routing_partition_size":1,"key":"id","routing_field":null}"#;
        assert_eq!(line, expected);
        assert!(text.ends_with("}\n"));
        assert_eq!(RoutingFile::parse(&bytes).unwrap(), written);
        let modulo = file(RoutingFunction::ElasticsearchModulo, None);
        assert_eq!(RoutingFile::parse(&modulo.to_bytes(Path::new("x")).unwrap()).unwrap(), modulo);
    }

    #[test]
    fn what_does_not_fit_together_is_refused_by_name() {
        let good = r#"{"format":1,"routing":"elasticsearch","number_of_shards":4,"number_of_routing_shards":1024,"routing_partition_size":1,"key":"id","routing_field":null}"#;
        assert!(RoutingFile::parse(good.as_bytes()).is_ok());
        for (from, to, words) in [
            ("\"format\":1", "\"format\":2", "format 2 is not known"),
            ("\"elasticsearch\"", "\"stars\"", "routing \"stars\" is not known"),
            ("\"elasticsearch\"", "\"slots\"", "slots routing needs a table"),
            ("null}", "null,\"table\":{}}", "has no table"),
            ("\"elasticsearch\"", "\"elasticsearch-modulo\"", "must be null"),
            ("1024", "null", "needs number_of_routing_shards"),
            ("1024", "1023", "not a multiple"),
            (":4,", ":0,", "0 shards"),
            (":4,", ":2147483647,", "cannot be handled"),
            ("size\":1", "size\":1024", "routing_partition_size 1024"),
            ("\"id\"", "\"\"", "cannot be empty"),
            ("null}", "null,\"more\":1}", "unknown field"),
            ("\"key\"", "\"kei\"", "unknown field"),
            ("{\"format\"", "[\"format\"", "does not parse"),
        ] {
            let changed = good.replace(from, to);
            assert_ne!(changed, good, "{from}");
            let problem = RoutingFile::parse(changed.as_bytes()).unwrap_err();
            assert!(problem.contains(words), "{changed}: {problem}");
        }
    }

    #[test]
    fn no_file_is_no_index_directory_and_an_odd_one_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        assert!(read_routing(&RealFs, dir.path()).unwrap().is_none());
        assert!(read_routing(&RealFs, &dir.path().join("nowhere")).unwrap().is_none());
        let path = dir.path().join(ROUTING);
        std::fs::create_dir(&path).unwrap();
        assert!(matches!(read_routing(&RealFs, dir.path()), Err(Error::IndexDirectory { .. })));
        std::fs::remove_dir(&path).unwrap();
        // Sparse: takes no space, and must not be read whole.
        std::fs::File::create(&path).unwrap().set_len(1 << 40).unwrap();
        let error = read_routing(&RealFs, dir.path()).unwrap_err();
        assert!(error.to_string().contains("larger than"), "{error}");
    }
}
