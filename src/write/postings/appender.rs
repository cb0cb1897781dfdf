//! Stitching the pieces of one output into its `.term`, `.idx` and `.pos` files.

use tantivy::postings::TermInfo;
use tantivy::schema::Field;

use super::piece::Piece;
use crate::error::{Error, Result};
use crate::source::Component;
use crate::write::dictionary::DictionaryBuilder;
use crate::write::file::{CompositeWriter, FileWriter, Hole, PartTable};
use crate::write::output::{ChildFiles, WrittenFile};

/// The three files of the inverted index of one output.
pub(super) struct Appender {
    terms: Terms,
    terms_parts: PartTable,
    postings: CompositeWriter,
    positions: CompositeWriter,
    field: Option<OpenField>,
}

enum Terms {
    Between(FileWriter),
    InField(Box<DictionaryBuilder<FileWriter>>),
    /// Only while a builder is being made or finished, and after that failed.
    Gone,
}

struct OpenField {
    total: Hole,
    postings_len: usize,
    positions_len: usize,
    tokens: u64,
}

impl Appender {
    pub(super) fn create(files: &dyn ChildFiles, child: usize, id: &str) -> Result<Appender> {
        Ok(Appender {
            terms: Terms::Between(FileWriter::create(files, child, Component::Terms.file_name(id))?),
            terms_parts: PartTable::default(),
            postings: CompositeWriter::create(files, child, Component::Postings.file_name(id))?,
            positions: CompositeWriter::create(files, child, Component::Positions.file_name(id))?,
            field: None,
        })
    }

    /// Begins a field. Fields ascend.
    pub(super) fn begin(&mut self, field: Field) -> Result<()> {
        let postings = self.postings.begin(field);
        let total = postings.hole().map_err(Error::io("write", "postings"))?;
        self.positions.begin(field);
        let Terms::Between(file) = std::mem::replace(&mut self.terms, Terms::Gone) else {
            return Err(unfinished());
        };
        self.terms_parts.begin(field, file.len());
        self.terms = Terms::InField(Box::new(DictionaryBuilder::new(file)));
        self.field = Some(OpenField { total, postings_len: 0, positions_len: 0, tokens: 0 });
        Ok(())
    }

    /// Appends a piece of the open field.
    pub(super) fn append(&mut self, piece: &Piece) -> Result<()> {
        let write = || Error::io("write", "a term dictionary");
        let (Some(field), Terms::InField(terms)) = (&mut self.field, &mut self.terms) else { return Err(unfinished()) };
        terms.announce(piece.terms.len());
        for (key, term) in piece.terms.iter() {
            let advance = |start: &mut usize, len: u64| {
                let end = *start + usize::try_from(len).unwrap_or(usize::MAX);
                std::mem::replace(start, end)..end
            };
            let info = TermInfo {
                doc_freq: term.doc_freq,
                postings_range: advance(&mut field.postings_len, term.postings_len),
                positions_range: advance(&mut field.positions_len, term.positions_len),
            };
            terms.insert(key, &info).map_err(write())?;
        }
        field.tokens += piece.tokens;
        piece.postings.write_to(self.postings.file()).map_err(Error::io("write", "postings"))?;
        piece.positions.write_to(self.positions.file()).map_err(Error::io("write", "positions"))?;
        Ok(())
    }

    /// Ends the open field. `total`: from the tokens counted in its postings to its total number of tokens.
    pub(super) fn end(&mut self, total: impl FnOnce(u64) -> u64) -> Result<()> {
        let (Some(field), Terms::InField(terms)) = (self.field.take(), std::mem::replace(&mut self.terms, Terms::Gone))
        else {
            return Err(unfinished());
        };
        self.postings.file().fill(field.total, total(field.tokens).to_le_bytes());
        self.terms = Terms::Between(terms.finish().map_err(Error::io("write", "a term dictionary"))?);
        Ok(())
    }

    /// Closes the three files.
    pub(super) fn finish(self) -> Result<Vec<WrittenFile>> {
        let Terms::Between(terms) = self.terms else { return Err(unfinished()) };
        Ok(vec![self.terms_parts.finish(terms)?, self.postings.finish()?, self.positions.finish()?])
    }
}

fn unfinished() -> Error {
    Error::defect("an inverted index was written out of order")
}
