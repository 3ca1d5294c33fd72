//! Promises of every [`Store`]: each is a function over the trait and runs on all that there are.

use super::{Batch, DEFAULT_MEMORY_BYTES, MemoryStore, RocksStore, Store, Table};
use crate::Result;

/// Runs a promise on an empty store of each kind.
fn on_each_store(promise: impl Fn(&mut dyn Store)) {
    promise(&mut MemoryStore::default());
    let dir = tempfile::tempdir().unwrap();
    promise(&mut RocksStore::open(dir.path(), DEFAULT_MEMORY_BYTES).unwrap());
}

fn put(store: &mut dyn Store, table: Table, entries: &[(&str, &str)]) {
    let mut batch = Batch::default();
    entries.iter().for_each(|(key, value)| batch.put(table, key, value));
    store.write(&batch).unwrap();
}

fn keys(store: &dyn Store, table: Table, prefix: &str, from: &str) -> Vec<String> {
    let entries: Result<Vec<_>> = store.scan(table, prefix.as_bytes(), from.as_bytes()).collect();
    entries.unwrap().into_iter().map(|(key, _)| String::from_utf8(key.into_vec()).unwrap()).collect()
}

#[test]
fn what_was_written_is_read_from_its_own_table() {
    on_each_store(|store| {
        put(store, Table::Seen, &[("a", "1"), ("b", "")]);
        assert_eq!(store.get(Table::Seen, b"a").unwrap(), Some(b"1".to_vec()));
        assert_eq!(store.get(Table::Seen, b"b").unwrap(), Some(Vec::new()));
        assert_eq!(store.get(Table::Queue, b"a").unwrap(), None);
        assert!(store.has(Table::Seen, b"b").unwrap() && !store.has(Table::Queue, b"b").unwrap());
    });
}

#[test]
fn many_keys_are_answered_in_their_order() {
    on_each_store(|store| {
        put(store, Table::Seen, &[("a", "1"), ("c", "3")]);
        let found = store.get_sorted(Table::Seen, &[b"a", b"a", b"b", b"c"]).unwrap();
        let one = Some(b"1".to_vec());
        assert_eq!(found, [one.clone(), one, None, Some(b"3".to_vec())]);
        assert!(store.get_sorted(Table::Seen, &[]).unwrap().is_empty());
    });
}

#[test]
fn the_last_change_of_a_key_in_a_batch_counts() {
    on_each_store(|store| {
        let mut batch = Batch::default();
        batch.put(Table::Meta, "kept", "1");
        batch.delete(Table::Meta, "kept");
        batch.put(Table::Meta, "kept", "2");
        batch.put(Table::Meta, "gone", "1");
        batch.delete(Table::Meta, "gone");
        store.write(&batch).unwrap();
        assert_eq!(store.get(Table::Meta, b"kept").unwrap(), Some(b"2".to_vec()));
        assert_eq!(store.get(Table::Meta, b"gone").unwrap(), None);
    });
}

#[test]
fn a_scan_gives_what_has_the_prefix_in_the_order_of_bytes() {
    on_each_store(|store| {
        let entries = ["b", "ba", "a\u{ff}", "b\0", "c", "b\u{7f}"].map(|key| (key, "x"));
        put(store, Table::Ready, &entries);
        assert_eq!(keys(store, Table::Ready, "b", "b"), ["b", "b\0", "ba", "b\u{7f}"]);
        assert_eq!(keys(store, Table::Ready, "b", "b\u{1}"), ["ba", "b\u{7f}"]);
        assert_eq!(keys(store, Table::Ready, "", ""), ["a\u{ff}", "b", "b\0", "ba", "b\u{7f}", "c"]);
        assert!(keys(store, Table::Ready, "bb", "bb").is_empty() && keys(store, Table::Seen, "", "").is_empty());
    });
}

#[test]
fn a_prefix_of_the_highest_bytes_has_an_end() {
    on_each_store(|store| {
        let mut batch = Batch::default();
        for key in [&[0xff, 0xff][..], &[0xff, 0xff, 1], &[0xff, 0xfe]] {
            batch.put(Table::Ready, key, "x");
        }
        store.write(&batch).unwrap();
        assert_eq!(store.scan(Table::Ready, &[0xff, 0xff], &[0xff, 0xff]).count(), 2);
    });
}

#[test]
fn a_deleted_key_is_not_scanned() {
    on_each_store(|store| {
        put(store, Table::Queue, &[("a", "1"), ("b", "2"), ("c", "3")]);
        let mut batch = Batch::default();
        batch.delete(Table::Queue, "b");
        batch.delete(Table::Queue, "never there");
        store.write(&batch).unwrap();
        assert_eq!(keys(store, Table::Queue, "", ""), ["a", "c"]);
    });
}
