//! Tables: which hold figures and words, which only lay a page out, and the lines of the first kind.

use super::element::Role;
use super::tree::{Id, Tree};

/// How many columns one cell may take: a page may say any number.
const WIDEST: usize = 20;

/// A table's cells, row by row.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn open_row(&mut self) {
        self.rows.push(Vec::new());
    }

    /// Adds a cell that takes so many columns.
    pub(super) fn add(&mut self, cell: &str, span: Option<&str>) {
        let span = span.and_then(|span| span.trim().parse().ok()).unwrap_or(1).clamp(1, WIDEST);
        if self.rows.is_empty() {
            self.open_row();
        }
        if let Some(row) = self.rows.last_mut() {
            row.push(cell.trim().replace('|', "\\|"));
            row.extend(std::iter::repeat_n(String::new(), span - 1));
        }
    }

    /// Its lines: the first row stands above the rule, since Markdown knows no table without a head.
    pub(super) fn lines(self) -> Vec<String> {
        let mut rows = self.rows;
        rows.retain(|row| row.iter().any(|cell| !cell.is_empty()));
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut lines = Vec::with_capacity(rows.len() + 1);
        for (at, mut row) in rows.into_iter().enumerate() {
            if at == 0 {
                row.resize(columns, String::new());
            }
            lines.push(format!("| {} |", row.join(" | ")));
            if at == 0 {
                lines.push(format!("|{}", " --- |".repeat(columns)));
            }
        }
        lines
    }
}

/// Whether a table holds figures and words in rows and columns; another one only lays a page out, and is read like
/// any other text.
pub(super) fn has_rows_and_columns(tree: &Tree, table: Id) -> bool {
    if tree.element(table).is_none_or(|element| element.role() == Some(Role::Layout)) {
        return false;
    }
    let mut columns = 0;
    let mut widest = 0;
    for element in tree.below(table, |_| true).filter_map(|id| tree.element(id)) {
        match element.name() {
            "tr" => columns = 0,
            "td" | "th" => {
                columns += 1;
                widest = widest.max(columns);
            }
            "table" | "pre" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => return false,
            _ => {}
        }
    }
    widest > 1
}
