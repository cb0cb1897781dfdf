//! Everything that would make a later stage fail, checked before anything is written.
//!
//! Input: an index directory and its `meta.json`. Output: [`check::Checked`], every file mapped, its footer read, its tables
//! and counts found to agree; or the first refusal, which names file, found, expected and what to do. Order: settings,
//! then all files there, then all footers, then schema, then segment by segment.
//!
//! | file | checked |
//! |---|---|
//! | `meta.json` | [`settings`]: extensions, custom fields, store codec, sort field, schema |
//! | all | [`footer`]: magic, length, version that wrote it |
//! | `.term` `.idx` `.pos` | [`composite`], [`terms`]: tables of fields, kinds of dictionary, ranges of term infos |
//! | `.fieldnorm` `.fast` `.del` | [`planes`]: documents they speak of, names of columns, every column opens |
//! | `.store` | [`store`]: version, codec, skip index, no more documents than fit |
//!
//! Bodies are not compared with their checksums here, since that reads every byte: see
//! [`Source::check_checksums`](super::Source::check_checksums).

mod check;
mod composite;
mod footer;
#[cfg(feature = "fuzzing")]
pub(in crate::source) mod fuzz;
mod orphans;
mod planes;
mod settings;
mod store;
mod terms;

pub(super) use check::{CheckedFile, CheckedSegment, map_and_check};
pub(super) use composite::Parts;
pub(super) use footer::FileFooter;
pub use footer::WrittenBy;
pub(crate) use footer::{FOOTER_MAGIC, MAX_FOOTER};
pub(crate) use planes::COLUMNAR_MAGIC;
pub(crate) use store::STORE_FOOTER;
pub use store::{StoreCodec, StoreInfo};
