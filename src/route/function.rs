//! Names of routing functions: part of options, manifests and routing files.

use serde::{Deserialize, Serialize};

use super::HashFunction;

/// Name of a routing function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RoutingFunction {
    /// Scaled modulo.
    #[default]
    Elasticsearch,
    /// Plain modulo (indices created by Elasticsearch 9.4 and later).
    ElasticsearchModulo,
    /// Ranges of Solr's compositeId hashes.
    Solr,
    /// Ranges of Solr's plain hashes.
    SolrPlain,
    /// A table over scaled modulo's slots.
    Slots,
    /// Arcs of a ring.
    Ring,
}

impl RoutingFunction {
    /// All of them.
    pub const ALL: [RoutingFunction; 6] = [
        RoutingFunction::Elasticsearch,
        RoutingFunction::ElasticsearchModulo,
        RoutingFunction::Solr,
        RoutingFunction::SolrPlain,
        RoutingFunction::Slots,
        RoutingFunction::Ring,
    ];

    /// The hash that it takes.
    #[must_use]
    pub fn hash_function(self) -> HashFunction {
        match self {
            RoutingFunction::Elasticsearch
            | RoutingFunction::ElasticsearchModulo
            | RoutingFunction::Slots
            | RoutingFunction::Ring => HashFunction::Murmur3Utf16,
            RoutingFunction::Solr => HashFunction::SolrCompositeId,
            RoutingFunction::SolrPlain => HashFunction::SolrPlainId,
        }
    }

    /// Name of the hash that it takes: part of the format of hash sidecars, bound to the vectors in `data/vectors`.
    #[must_use]
    pub fn hash_name(self) -> &'static str {
        self.hash_function().name()
    }

    /// Whether a table says which shard has which hashes.
    #[must_use]
    pub fn has_table(self) -> bool {
        !matches!(self, RoutingFunction::Elasticsearch | RoutingFunction::ElasticsearchModulo)
    }

    /// Its name, as in options and JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            RoutingFunction::Elasticsearch => "elasticsearch",
            RoutingFunction::ElasticsearchModulo => "elasticsearch-modulo",
            RoutingFunction::Solr => "solr",
            RoutingFunction::SolrPlain => "solr-plain",
            RoutingFunction::Slots => "slots",
            RoutingFunction::Ring => "ring",
        }
    }
}
