//! Promises of every [`Store`]: each is a function over the trait and runs on all that there are.

use futures::executor::block_on;

use super::{Batch, COUNTERS, Counted, Slot, Store, Table, Wanted};
use crate::tests_support::on_each_kind;

const HERE: Slot = Slot(7);
const THERE: Slot = Slot(9_000);

/// Keys of tables whose groups have twelve bytes.
fn key(group: u8, rest: &[u8]) -> Vec<u8> {
    [&[group; 12][..], rest].concat()
}

/// Of the queue: sixteen bytes behind the group.
fn place(number: u8) -> [u8; 16] {
    let mut place = [0; 16];
    place[0] = number;
    place
}

fn put(store: &mut dyn Store, slot: Slot, table: Table, entries: &[(Vec<u8>, &str)]) {
    let mut batch = Batch::at(slot);
    entries.iter().for_each(|(key, value)| batch.put(table, key, value));
    store.write(batch).unwrap();
}

/// The last bytes that differ of the keys that are found.
fn places(store: &dyn Store, slot: Slot, group: u8, from: &[u8], limit: usize) -> Vec<u8> {
    let prefix = [group; 12];
    let entries = store.scan(slot, Table::Queue, &prefix, &[&prefix, from].concat(), limit).unwrap();
    entries.iter().map(|(key, _)| key[12]).collect()
}

/// As it is, and again when nothing is remembered and everything has arrived.
fn twice(open: &dyn Fn() -> Box<dyn Store>, write: impl Fn(&mut dyn Store), promise: impl Fn(&mut dyn Store)) {
    let mut store = open();
    write(store.as_mut());
    promise(store.as_mut());
    block_on(store.syncer().sync()).unwrap();
    drop(store);
    promise(open().as_mut());
}

#[test]
fn what_was_written_is_read_from_its_own_table() {
    on_each_kind(|open| {
        twice(
            open,
            |store| put(store, HERE, Table::Seen, &[(key(1, b"a"), "1"), (key(1, b"b"), "")]),
            |store| {
                assert_eq!(store.get(HERE, Table::Seen, &key(1, b"a")).unwrap(), Some(b"1".to_vec()));
                assert_eq!(store.get(HERE, Table::Seen, &key(1, b"b")).unwrap(), Some(Vec::new()));
                assert_eq!(store.get(HERE, Table::Heads, &key(1, b"a")).unwrap(), None);
                assert!(store.has(HERE, Table::Seen, &key(1, b"b")).unwrap());
                assert!(!store.has(HERE, Table::Seen, &key(2, b"b")).unwrap());
            },
        );
    });
}

#[test]
fn many_keys_are_answered_in_their_order() {
    on_each_kind(|open| {
        let write = |store: &mut dyn Store| {
            put(store, HERE, Table::Seen, &[(key(1, b"a"), "1"), (key(1, b"c"), "3")]);
            put(store, THERE, Table::Seen, &[(key(2, b"a"), "2")]);
        };
        twice(open, write, |store| {
            let keys = [key(1, b"a"), key(1, b"a"), key(1, b"b"), key(1, b"c"), key(2, b"a")];
            let slots = [HERE, HERE, HERE, HERE, THERE];
            let wanted: Vec<(Slot, &[u8])> = slots.into_iter().zip(keys.iter().map(Vec::as_slice)).collect();
            let found = store.get_sorted(Table::Seen, &wanted).unwrap();
            let values = [Some("1"), Some("1"), None, Some("3"), Some("2")];
            assert_eq!(found, values.map(|value| value.map(|value| value.as_bytes().to_vec())));
            assert!(store.get_sorted(Table::Seen, &[]).unwrap().is_empty());
        });
    });
}

#[test]
fn what_is_loaded_is_read_as_it_is() {
    on_each_kind(|open| {
        let write = |store: &mut dyn Store| {
            put(store, HERE, Table::Seen, &[(key(1, b"a"), "1")]);
            put(store, HERE, Table::Queue, &[(key(1, &place(5)), "5")]);
            put(store, THERE, Table::Hosts, &[(b"a.test".to_vec(), "host")]);
        };
        twice(open, write, |store| {
            let want = |slot, table, key: Vec<u8>| Wanted { slot, table, key };
            let wanted = [
                want(HERE, Table::Seen, key(1, b"a")),
                want(HERE, Table::Seen, key(1, b"b")),
                want(HERE, Table::Seen, key(1, b"b")),
                want(HERE, Table::Queue, key(1, b"")),
                want(HERE, Table::Queue, key(2, b"")),
                want(HERE, Table::Queue, key(1, &place(5))),
                want(THERE, Table::Hosts, b"a.test".to_vec()),
                want(THERE, Table::Hosts, b"b.test".to_vec()),
            ];
            block_on(store.load(&wanted)).unwrap();
            assert_eq!(store.get(HERE, Table::Seen, &key(1, b"a")).unwrap(), Some(b"1".to_vec()));
            assert_eq!(store.get(HERE, Table::Seen, &key(1, b"b")).unwrap(), None);
            assert_eq!(places(store, HERE, 1, &[], 9), [5]);
            assert!(places(store, HERE, 2, &[], 9).is_empty());
            assert_eq!(store.get(THERE, Table::Hosts, b"a.test").unwrap(), Some(b"host".to_vec()));
            assert_eq!(store.get(THERE, Table::Hosts, b"b.test").unwrap(), None);
        });
    });
}

#[test]
fn the_last_change_of_a_key_in_a_batch_counts() {
    on_each_kind(|open| {
        let write = |store: &mut dyn Store| {
            let mut batch = Batch::at_home();
            batch.put(Table::Meta, "kept", "1");
            batch.delete(Table::Meta, "kept");
            batch.put(Table::Meta, "kept", "2");
            batch.put(Table::Meta, "xgone", "1");
            batch.delete(Table::Meta, "xgone");
            store.write(batch).unwrap();
        };
        twice(open, write, |store| {
            assert_eq!(store.get(Slot::HOME, Table::Meta, b"kept").unwrap(), Some(b"2".to_vec()));
            assert_eq!(store.get(Slot::HOME, Table::Meta, b"xgone").unwrap(), None);
        });
    });
}

#[test]
fn a_list_is_read_in_the_order_of_its_keys_from_any_of_them() {
    on_each_kind(|open| {
        let write = |store: &mut dyn Store| {
            let entries: Vec<_> = [9, 3, 200, 5].map(|number| (key(1, &place(number)), "x")).into();
            put(store, HERE, Table::Queue, &entries);
            put(store, HERE, Table::Queue, &[(key(2, &place(4)), "x")]);
        };
        twice(open, write, |store| {
            assert_eq!(places(store, HERE, 1, &[], 9), [3, 5, 9, 200]);
            assert_eq!(places(store, HERE, 1, &[], 2), [3, 5]);
            assert_eq!(places(store, HERE, 1, &place(5), 9), [5, 9, 200]);
            // The next possible key behind one.
            assert_eq!(places(store, HERE, 1, &[&place(5)[..], &[0]].concat(), 1), [9]);
            assert_eq!(places(store, HERE, 2, &[], 9), [4]);
            assert!(places(store, HERE, 3, &[], 9).is_empty());
        });
    });
}

#[test]
fn a_list_that_changes_while_it_is_read_in_pieces_is_as_it_was_written() {
    on_each_kind(|open| {
        let mut store = open();
        let store = store.as_mut();
        let all: Vec<u8> = (0..200).collect();
        let entries: Vec<_> = all.iter().map(|number| (key(1, &place(*number)), "x")).collect();
        put(store, HERE, Table::Queue, &entries);
        assert_eq!(places(store, HERE, 1, &[], 3), [0, 1, 2]);
        let mut batch = Batch::at(HERE);
        (0..150).for_each(|number| batch.delete(Table::Queue, key(1, &place(number))));
        batch.put(Table::Queue, key(1, &place(7)), "back");
        batch.put(Table::Queue, key(1, &place(180)), "changed");
        batch.delete(Table::Queue, key(1, &place(255)));
        store.write(batch).unwrap();
        assert_eq!(places(store, HERE, 1, &[], 3), [7, 150, 151]);
        block_on(store.syncer().sync()).unwrap();
        assert_eq!(places(store, HERE, 1, &[], 1_000), [&[7], &all[150..]].concat());
        assert_eq!(store.get(HERE, Table::Queue, &key(1, &place(180))).unwrap(), Some(b"changed".to_vec()));
    });
}

#[test]
fn a_list_over_all_slots_is_one_list() {
    on_each_kind(|open| {
        let ready = |number: u8, host: u8| [&[0, 0, 0, 1][..], &[0, 0, 0, 0, 0, 0, 0, number], &[host; 8]].concat();
        let write = |store: &mut dyn Store| {
            put(store, HERE, Table::Ready, &[(ready(1, 1), "a"), (ready(5, 1), "b")]);
            put(store, THERE, Table::Ready, &[(ready(3, 2), "c"), (ready(7, 2), "d")]);
            put(store, THERE, Table::Ready, &[([&[0, 0, 0, 2][..], &[0; 16]].concat(), "another")]);
        };
        let names = |store: &dyn Store, from: Vec<u8>, limit| {
            let found = store.scan_all(Table::Ready, &[0, 0, 0, 1], &from, limit).unwrap();
            found.into_iter().map(|(_, (_, value))| String::from_utf8(value.into_vec()).unwrap()).collect::<String>()
        };
        twice(open, write, |store| {
            assert_eq!(names(store, ready(0, 0), 9), "acbd");
            assert_eq!(names(store, ready(0, 0), 2), "ac");
            assert_eq!(names(store, ready(5, 1), 9), "bd");
        });
        let mut store = open();
        assert_eq!(names(store.as_ref(), ready(0, 0), 9), "acbd");
        let mut batch = Batch::at(HERE);
        batch.delete(Table::Ready, ready(1, 1));
        batch.turn_to(THERE);
        batch.put(Table::Ready, ready(4, 2), "e");
        store.write(batch).unwrap();
        assert_eq!(names(store.as_ref(), ready(0, 0), 9), "cebd");
    });
}

#[test]
fn a_prefix_of_the_highest_bytes_has_an_end() {
    on_each_kind(|open| {
        let highest = [&[0xff; 12][..], &[0xff; 16]].concat();
        let lower = [&[0xfe; 12][..], &[0xff; 16]].concat();
        let write =
            |store: &mut dyn Store| put(store, HERE, Table::Queue, &[(highest.clone(), "x"), (lower.clone(), "x")]);
        twice(open, write, |store| {
            assert_eq!(store.scan(HERE, Table::Queue, &[0xff; 12], &[0xff; 12], 9).unwrap().len(), 1);
            assert!(store.get(HERE, Table::Queue, &highest).unwrap().is_some());
        });
    });
}

#[test]
fn a_key_that_is_the_beginning_of_another_is_a_key_of_its_own() {
    on_each_kind(|open| {
        let at = |host: &str| [b"10.0.0.1\0", host.as_bytes()].concat();
        let write = |store: &mut dyn Store| {
            put(store, HERE, Table::Addresses, &[(at("a.test"), ""), (at("a.test:8080"), ""), (at("b.test:81"), "")]);
            block_on(store.syncer().sync()).unwrap();
            let mut batch = Batch::at(HERE);
            batch.delete(Table::Addresses, at("a.test"));
            store.write(batch).unwrap();
        };
        twice(open, write, |store| {
            let has = |host| store.has(HERE, Table::Addresses, &at(host)).unwrap();
            assert_eq!(
                [has("a.test"), has("a.test:8080"), has("b.test"), has("b.test:81")],
                [false, true, false, true]
            );
            assert_eq!(store.scan(HERE, Table::Addresses, &at(""), &at(""), 9).unwrap().len(), 2);
        });
    });
}

#[test]
fn a_deleted_key_is_not_found() {
    on_each_kind(|open| {
        let write = |store: &mut dyn Store| {
            put(store, HERE, Table::Queue, &[1, 2, 3].map(|number| (key(1, &place(number)), "x")));
            let mut batch = Batch::at(HERE);
            batch.delete(Table::Queue, key(1, &place(2)));
            batch.delete(Table::Queue, key(1, &place(77)));
            store.write(batch).unwrap();
        };
        twice(open, write, |store| {
            assert_eq!(places(store, HERE, 1, &[], 9), [1, 3]);
            assert!(!store.has(HERE, Table::Queue, &key(1, &place(2))).unwrap());
        });
    });
}

#[test]
fn a_walk_meets_every_entry_of_a_table_once_however_it_is_cut() {
    on_each_kind(|open| {
        let write = |store: &mut dyn Store| {
            put(store, HERE, Table::Records, &[1, 2, 3].map(|number| (key(number, &[number; 8]), "here")));
            put(store, THERE, Table::Records, &[1, 2].map(|number| (key(4, &[number; 8]), "there")));
            put(store, THERE, Table::Seen, &[(key(4, b"other"), "x")]);
            put(store, Slot::HOME, Table::Crawls, &[(b"c1".to_vec(), "crawl")]);
            put(store, Slot::HOME, Table::Meta, &[(b"p".to_vec(), "polynomial")]);
        };
        twice(open, write, |store| {
            for limit in [1, 2, 100] {
                let (mut keys, mut cursor) = (Vec::new(), Vec::new());
                loop {
                    let walked = store.walk(Table::Records, &cursor, limit).unwrap();
                    keys.extend(walked.entries.iter().map(|(_, (key, _))| (key[0], key[12])));
                    cursor = walked.next;
                    if cursor.is_empty() {
                        break;
                    }
                }
                keys.sort_unstable();
                assert_eq!(keys, [(1, 1), (2, 2), (3, 3), (4, 1), (4, 2)], "{limit} at a time");
            }
            let crawls = store.walk(Table::Crawls, &[], 9).unwrap().entries;
            assert_eq!(crawls.len(), 1);
        });
    });
}

#[test]
fn counters_add_up_over_all_slots() {
    on_each_kind(|open| {
        let counted = |first: i64| {
            let mut added = [0; COUNTERS];
            (added[0], added[16]) = (first, 2);
            added
        };
        let key = [b'g', 0, 0, 0, 1];
        let write = |store: &mut dyn Store| {
            let mut batch = Batch::at(HERE);
            batch.count(&key, counted(5), b"5".to_vec());
            batch.turn_to(THERE);
            batch.count(&key, counted(-2), b"3".to_vec());
            store.write(batch).unwrap();
        };
        twice(open, write, |store| match store.counted(&key).unwrap() {
            Counted::Total(total) => assert_eq!(total, Some(b"3".to_vec())),
            Counted::Sum(sum) => assert_eq!((sum[0], sum[1], sum[16]), (3, 0, 4)),
        });
        assert!(matches!(
            open().counted(b"g\0\0\0\x02").unwrap(),
            Counted::Total(None) | Counted::Sum([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
        ));
    });
}
