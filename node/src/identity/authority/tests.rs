use std::fs;

use super::*;
use crate::identity::certificate::{names_issuer, peer, validity};
use crate::identity::own::PendingRequest;

const NOW: i64 = 1_800_000_000_000;

fn authority() -> (tempfile::TempDir, Authority) {
    let directory = tempfile::tempdir().unwrap();
    let authority = Authority::open_or_create(&Books::open(directory.path()).unwrap(), NOW).unwrap();
    (directory, authority)
}

fn request() -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    PendingRequest::open_or_draw(directory.path()).unwrap().request_der().unwrap()
}

#[test]
fn an_authority_is_the_same_after_it_was_reopened() {
    let (directory, first) = authority();
    let again = Authority::open_or_create(&Books::open(directory.path()).unwrap(), NOW + 5).unwrap();
    assert_eq!((again.pin(), again.cluster()), (first.pin(), first.cluster()));
    assert_eq!(again.root_der(), first.root_der());
    let (_other, other) = authority();
    assert!(other.pin() != first.pin() && other.cluster() != first.cluster());
    assert!(!format!("{first:?}").contains("MI"), "no key in {first:?}");
}

#[test]
fn a_certificate_says_what_the_authority_decided() {
    let (_directory, authority) = authority();
    let node: NodeId = "bado-kire".parse().unwrap();
    let signed = authority.sign(&request(), &Subject::node(node.clone()), NOW).unwrap();
    let who = peer(&signed.chain[0]).unwrap();
    assert_eq!((who.node_id, who.serial, &who.cluster), (node, signed.serial.clone(), authority.cluster()));
    let holds = validity(&signed.chain[0]).unwrap();
    assert_eq!((holds.not_before_ms, holds.not_after_ms), (NOW - BACKDATED_MS, NOW + LIFE_MS));
    assert_eq!(signed.chain[1..], [authority.root_der().clone()], "the server must send its root");
    let root = validity(authority.root_der()).unwrap();
    assert!(root.not_before_ms < NOW - BACKDATED_MS && root.not_after_ms > NOW + 19 * 365 * 24 * HOUR_MS);
    assert!(matches!(
        authority.sign(b"nothing", &Subject::monitor(NodeId::draw()), NOW),
        Err(AuthorityError::Request(_))
    ));
    assert!(matches!(
        authority.sign(&request(), &Subject::node(NodeId::draw()), i64::MAX),
        Err(AuthorityError::Time(_))
    ));
}

#[test]
fn a_new_root_signs_at_once_and_the_one_before_is_trusted_until_its_certificates_have_ended() {
    let (directory, mut authority) = authority();
    let (cluster, before, pin) = (authority.cluster().clone(), authority.root_der().clone(), authority.pin());
    let new_pin = authority.rotate(NOW).unwrap();
    let mut authority = Authority::open_or_create(&Books::open(directory.path()).unwrap(), NOW).unwrap();
    assert_eq!((authority.pin(), authority.cluster()), (new_pin, &cluster));
    assert_ne!(new_pin, pin);
    let new = authority.root_der().clone();
    assert_eq!(authority.trusted_roots(NOW), [new.clone(), before.clone()]);
    assert_eq!(authority.trusted_roots(NOW + OVERLAP_MS), std::slice::from_ref(&new));
    let signed = authority.sign(&request(), &Subject::node(NodeId::draw()), NOW).unwrap();
    let [leaf, cross, roots @ ..] = &signed.chain[..] else { panic!("leaf, cross certificate, roots") };
    assert!(names_issuer(leaf, &new) && names_issuer(cross, &before) && roots == [new, before]);
    assert!(matches!(authority.rotate(NOW + 1), Err(AuthorityError::Rotating(_))));
    authority.rotate(NOW + OVERLAP_MS).unwrap();
    authority.finish_rotation().unwrap();
    assert_eq!(authority.trusted_roots(NOW), [authority.root_der().clone()]);
    assert_eq!(authority.sign(&request(), &Subject::node(NodeId::draw()), NOW).unwrap().chain.len(), 2);
}

#[test]
fn a_damaged_authority_is_refused_by_its_files_name_and_shows_no_key() {
    let (directory, authority) = authority();
    let path = directory.path().join("authority.jsonl");
    let whole = fs::read_to_string(&path).unwrap();
    for damaged in
        [String::new(), whole[..whole.len() / 2].to_owned(), whole.replace(authority.cluster().as_str(), "other")]
    {
        fs::write(&path, &damaged).unwrap();
        let error = Authority::open_or_create(&Books::open(directory.path()).unwrap(), NOW).unwrap_err().to_string();
        assert!(error.contains("authority.jsonl is damaged") && !error.contains("MI"), "{error}");
    }
}

#[test]
fn a_root_beside_a_key_of_another_is_damage_although_the_checksum_is_right() {
    let (directory, mut authority) = authority();
    authority.rotate(NOW).unwrap();
    let books = Books::open(directory.path()).unwrap();
    let mut state: serde_json::Value = books.load(BOOK).unwrap().unwrap();
    state["roots"][0]["key"] = state["roots"][1]["key"].clone();
    books.store(BOOK, &state).unwrap();
    let error = Authority::open_or_create(&books, NOW).unwrap_err().to_string();
    assert!(error.contains("does not belong to its key"), "{error}");
}
