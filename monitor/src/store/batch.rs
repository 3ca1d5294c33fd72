//! Changes that are written together, in one piece of memory.

use super::Table;

#[derive(Clone, Debug, Default)]
pub struct Batch {
    changes: Vec<Written>,
    /// Keys and values behind each other.
    bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Written {
    table: Table,
    /// In the batch's bytes; the key begins where the change before ends.
    key_end: usize,
    /// `None` for a key that is deleted.
    value_end: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<'b> {
    Put { table: Table, key: &'b [u8], value: &'b [u8] },
    Delete { table: Table, key: &'b [u8] },
}

impl Batch {
    pub fn put(&mut self, table: Table, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) {
        self.bytes.extend_from_slice(key.as_ref());
        let key_end = self.bytes.len();
        self.bytes.extend_from_slice(value.as_ref());
        self.changes.push(Written { table, key_end, value_end: Some(self.bytes.len()) });
    }

    pub fn delete(&mut self, table: Table, key: impl AsRef<[u8]>) {
        self.bytes.extend_from_slice(key.as_ref());
        self.changes.push(Written { table, key_end: self.bytes.len(), value_end: None });
    }

    pub fn changes(&self) -> impl Iterator<Item = Change<'_>> {
        let mut start = 0;
        self.changes.iter().map(move |&Written { table, key_end, value_end }| {
            let key = &self.bytes[start..key_end];
            start = value_end.unwrap_or(key_end);
            match value_end {
                Some(end) => Change::Put { table, key, value: &self.bytes[key_end..end] },
                None => Change::Delete { table, key },
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_come_back_as_they_were_given() {
        let mut batch = Batch::default();
        batch.put(Table::Seen, b"a", b"1");
        batch.delete(Table::Queue, b"bc");
        batch.put(Table::Seen, b"", b"");
        batch.put(Table::Meta, b"d", b"");
        let expected = [
            Change::Put { table: Table::Seen, key: b"a", value: b"1" },
            Change::Delete { table: Table::Queue, key: b"bc" },
            Change::Put { table: Table::Seen, key: b"", value: b"" },
            Change::Put { table: Table::Meta, key: b"d", value: b"" },
        ];
        assert_eq!(batch.changes().collect::<Vec<_>>(), expected);
    }
}
