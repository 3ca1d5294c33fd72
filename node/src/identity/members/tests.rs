use super::*;
use crate::identity::name::ClusterId;

const NOW: i64 = 1_700_000_000_000;
const DAY: i64 = 24 * 3600 * 1000;
const LIFE: i64 = 30 * DAY;

/// A node with a key, whose certificate the book knows.
struct Node {
    id: NodeId,
    key: KeyDigest,
    serial: Serial,
    generation: u64,
}

impl Node {
    fn peer(&self) -> Peer {
        Peer { node_id: self.id.clone(), serial: self.serial.clone(), cluster: ClusterId::draw() }
    }
}

fn key(number: u8) -> KeyDigest {
    KeyDigest::of(&[number])
}

fn roles() -> BTreeSet<String> {
    BTreeSet::from(["collector".to_owned()])
}

fn issue(book: &mut MemberBook, id: &NodeId, key: KeyDigest, now_ms: i64) -> Serial {
    let (serial, _) = Serial::draw();
    let certificate = SignedCertificate {
        chain: Vec::new(),
        serial: serial.clone(),
        key,
        not_before_ms: now_ms,
        not_after_ms: now_ms + LIFE,
        root: 1,
    };
    book.issued(id, &certificate).unwrap();
    serial
}

fn join(book: &mut MemberBook, number: u8, now_ms: i64) -> Node {
    let key = key(number);
    let id = book.join(&roles(), key, now_ms).unwrap();
    let serial = issue(book, &id, key, now_ms);
    let generation = book.get(&id).unwrap().generation;
    Node { id, key, serial, generation }
}

fn renew(book: &mut MemberBook, node: &Node, number: u8, now_ms: i64) -> Result<Node, RenewRefusal> {
    let key = key(number);
    let generation = book.renew(&node.peer(), node.generation, key, now_ms)?;
    let serial = issue(book, &node.id, key, now_ms);
    Ok(Node { id: node.id.clone(), key, serial, generation })
}

#[test]
fn names_last_and_belong_to_one_key() {
    let mut book = MemberBook::default();
    let node = join(&mut book, 1, NOW);
    assert_eq!(join(&mut book, 1, NOW + 1).id, node.id, "its answer was lost, it asked again");
    assert_ne!(join(&mut book, 2, NOW).id, node.id);
    let member = book.check(&node.peer()).unwrap();
    assert_eq!((&member.roles, member.generation, member.joined_ms), (&roles(), 1, NOW));
}

#[test]
fn each_renewal_is_a_generation_and_a_lost_answer_is_not() {
    let mut book = MemberBook::default();
    let first = join(&mut book, 1, NOW);
    let second = renew(&mut book, &first, 2, NOW + DAY).unwrap();
    let again = renew(&mut book, &first, 2, NOW + DAY + 1).unwrap();
    assert_eq!((second.generation, again.generation), (2, 2));
    let third = renew(&mut book, &again, 3, NOW + 2 * DAY).unwrap();
    assert_eq!((third.generation, third.key), (3, key(3)));
    for node in [first, second, again, third] {
        assert!(book.check(&node.peer()).is_ok(), "what was replaced holds until it ends");
    }
}

#[test]
fn an_older_generation_that_renews_locks_the_node_and_says_so() {
    let mut book = MemberBook::default();
    let honest = join(&mut book, 1, NOW);
    let thief = renew(&mut book, &honest, 66, NOW + DAY).unwrap();
    let refusal = renew(&mut book, &honest, 2, NOW + 2 * DAY).err().unwrap();
    assert_eq!(refusal, RenewRefusal::Stolen { node: honest.id.clone(), shown: 1, newest: 2 });
    for node in [&honest, &thief] {
        let refusal = book.check(&node.peer()).unwrap_err();
        assert!(matches!(&refusal, PeerRefusal::Locked { reason, .. } if reason.contains("copy of its key")));
        assert!(book.deny_list(NOW + 2 * DAY).denies(&node.peer()));
        assert!(matches!(renew(&mut book, node, 9, NOW + 2 * DAY), Err(RenewRefusal::Peer(_))));
    }
    let other = join(&mut book, 5, NOW);
    assert!(!book.deny_list(NOW + 2 * DAY).denies(&other.peer()));
}

#[test]
fn what_a_node_claims_cannot_make_an_old_certificate_newer() {
    let mut book = MemberBook::default();
    let honest = join(&mut book, 1, NOW);
    renew(&mut book, &honest, 2, NOW + DAY).unwrap();
    let liar = Node { generation: 2, ..honest };
    let refusal = renew(&mut book, &liar, 66, NOW + DAY).err().unwrap();
    assert_eq!(refusal, RenewRefusal::Generation { node: liar.id.clone(), claimed: 2, known: 1 });
    let unknown = Node { serial: Serial::draw().0, ..liar };
    let refusal = renew(&mut book, &unknown, 66, NOW + DAY).err().unwrap();
    assert_eq!(refusal, PeerRefusal::NotGivenOut(unknown.id.clone()).into());
}

#[test]
fn a_locked_node_that_joins_again_keeps_its_name_and_nothing_else() {
    let mut book = MemberBook::default();
    let before = join(&mut book, 1, NOW);
    book.lock(&before.id, "somebody said so", NOW).unwrap();
    book.join_again(&before.id, &BTreeSet::new(), key(2), NOW + DAY).unwrap();
    let serial = issue(&mut book, &before.id, key(2), NOW + DAY);
    let now = Node { id: before.id.clone(), key: key(2), serial, generation: 2 };
    assert_eq!(book.check(&now.peer()).unwrap().roles, roles());
    assert_eq!(book.check(&before.peer()), Err(PeerRefusal::Replaced(before.id.clone())));
    let denied = book.deny_list(NOW + DAY);
    assert!(denied.denies(&before.peer()) && !denied.denies(&now.peer()));
    assert_eq!(renew(&mut book, &now, 3, NOW + 2 * DAY).unwrap().generation, 3);
    let again = book.join_again(&before.id, &BTreeSet::new(), key(2), NOW + 3 * DAY);
    assert_eq!(again, Err(MemberError::JoinedBefore(before.id)), "the token's key was renewed since");
}

#[test]
fn a_removed_node_is_denied_until_its_last_certificate_ends_and_its_name_is_not_given_again() {
    let mut book = MemberBook::default();
    let node = join(&mut book, 1, NOW);
    let newer = renew(&mut book, &node, 2, NOW + DAY).unwrap();
    book.remove(&node.id, NOW + DAY).unwrap();
    assert_eq!(book.check(&newer.peer()), Err(PeerRefusal::Removed(node.id.clone())));
    assert_eq!(book.remove(&node.id, NOW), Err(MemberError::Removed(node.id.clone())));
    assert_eq!(book.join(&roles(), key(1), NOW + DAY), Err(MemberError::JoinedBefore(node.id.clone())));
    let until = NOW + DAY + LIFE;
    assert_eq!(book.deny_list(until - 1).nodes, BTreeMap::from([(node.id.clone(), until)]));
    assert_eq!(book.deny_list(until), DenyList::default());
    join(&mut book, 9, until + LIFE);
    assert!(book.get(&node.id).is_some_and(Member::is_removed), "it is remembered, so nobody else gets the name");
}

#[test]
fn the_book_is_bounded() {
    let mut book = MemberBook::default();
    let node = join(&mut book, 1, NOW);
    for _ in 0..MAX_CERTIFICATES {
        issue(&mut book, &node.id, node.key, NOW);
    }
    assert_eq!(book.check(&node.peer()), Err(PeerRefusal::Replaced(node.id.clone())), "its oldest certificate");
    assert_eq!(book.get(&node.id).unwrap().certificates.len(), MAX_CERTIFICATES);
    let labels = |count: usize, length: usize| (0..count).map(|n| (format!("{n}"), "x".repeat(length))).collect();
    assert_eq!(book.set_labels(&node.id, &labels(17, 1)), Err(MemberError::Labels));
    assert_eq!(book.set_labels(&node.id, &labels(1, 64)), Err(MemberError::Labels));
    book.set_labels(&node.id, &labels(16, 63)).unwrap();
    let unknown = NodeId::draw();
    assert_eq!(book.set_labels(&unknown, &BTreeMap::new()), Err(MemberError::Missing(unknown)));
}

#[test]
fn a_stored_book_is_the_same_book() {
    let mut book = MemberBook::default();
    let node = join(&mut book, 1, NOW);
    join(&mut book, 2, NOW);
    book.remove(&node.id, NOW).unwrap();
    let text = serde_json::to_string(&book).unwrap();
    assert_eq!(serde_json::from_str::<MemberBook>(&text).unwrap(), book);
}
