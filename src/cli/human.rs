//! Text for people: aligned tables, counts, sizes, times. Plain ASCII, no colour.

use indicatif::{DecimalBytes, HumanCount};

/// `1,234,567`.
pub(crate) fn count(number: impl TryInto<u64>) -> String {
    HumanCount(number.try_into().unwrap_or(u64::MAX)).to_string()
}

/// `1 document`, `1,234 documents`.
pub(crate) fn documents(number: u64) -> String {
    counted(number, "document", "documents")
}

/// `number` with the word for one or for many.
pub(crate) fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// `1.50 MB`: powers of 1000, as disks are sold and `df -H` counts.
pub(crate) fn bytes(number: u64) -> String {
    DecimalBytes(number).to_string()
}

/// `12.5 %`; `-` where there is nothing to have a share of.
#[expect(clippy::cast_precision_loss, reason = "a share is shown with three digits")]
pub(crate) fn share(part: u64, whole: u64) -> String {
    if whole == 0 { "-".to_owned() } else { format!("{:.1} %", 100.0 * part as f64 / whole as f64) }
}

/// `0.012 s`, `12.3 s`, `1 h 02 min 03 s`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "negative and NaN become 0, seconds fit")]
pub(crate) fn seconds(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        0..10 => format!("{seconds:.3} s"),
        10..60 => format!("{seconds:.1} s"),
        60..3600 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min {:02} s", whole / 3600, whole / 60 % 60, whole % 60),
    }
}

/// How a column of a table is aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// Rows under headings, columns as wide as their widest cell and two spaces apart.
#[derive(Debug)]
pub(crate) struct Table {
    aligns: Vec<Align>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these headings; an empty heading row (all `""`) is left out.
    pub(crate) fn new<const N: usize>(columns: [(&str, Align); N]) -> Table {
        let headings: Vec<String> = columns.iter().map(|(name, _)| (*name).to_owned()).collect();
        let rows = if headings.iter().all(String::is_empty) { Vec::new() } else { vec![headings] };
        Table { aligns: columns.iter().map(|&(_, align)| align).collect(), rows }
    }

    /// Adds a row. Cells beyond the headings are dropped.
    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.into_iter().take(self.aligns.len()).map(|cell| printable(&cell)).collect());
    }

    /// The text, with a line break after every row.
    pub(crate) fn render(&self) -> String {
        let width = |column: usize| {
            self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.aligns.len()).map(width).collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for ((cell, &width), align) in row.iter().zip(&widths).zip(&self.aligns) {
                if !line.is_empty() || width == 0 {
                    line.push_str("  ");
                }
                match align {
                    Align::Left => line.push_str(&format!("{cell:<width$}")),
                    Align::Right => line.push_str(&format!("{cell:>width$}")),
                }
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// `text` with control characters escaped: field names and paths come from disk and must not drive the terminal.
pub(crate) fn printable(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut out, char| {
        if char.is_control() {
            out.extend(char.escape_default())
        } else {
            out.push(char)
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_rows_have_no_trailing_blanks() {
        let mut table = Table::new([("shard", Align::Right), ("path", Align::Left)]);
        table.row(["7".into(), "out/7".into()]);
        table.row(["12345678".into(), "x".into()]);
        assert_eq!(table.render(), "   shard  path\n       7  out/7\n12345678  x\n");
    }

    #[test]
    fn bytes_from_disk_cannot_drive_the_terminal() {
        let mut table = Table::new([("", Align::Left)]);
        table.row(["a\u{1b}[2Jb\n".into()]);
        assert_eq!(table.render(), "a\\u{1b}[2Jb\\n\n");
    }

    #[test]
    fn times_keep_the_digits_that_matter() {
        let shown = [0.0123, 9.4, 42.26, 61.0, 3723.4].map(seconds);
        assert_eq!(shown, ["0.012 s", "9.400 s", "42.3 s", "1 min 01 s", "1 h 02 min 03 s"]);
    }

    #[test]
    fn one_is_not_many() {
        assert_eq!([0, 1, 1234].map(documents), ["0 documents", "1 document", "1,234 documents"]);
    }

    #[test]
    fn shares_of_nothing_are_not_a_number_but_a_dash() {
        assert_eq!(share(0, 0), "-");
        assert_eq!(share(1, 8), "12.5 %");
    }
}
