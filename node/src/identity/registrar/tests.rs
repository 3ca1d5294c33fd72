use std::fs;
use std::path::PathBuf;

use super::*;
use crate::identity::certificate::peer;
use crate::identity::members::{PeerRefusal, Standing};

const NOW: i64 = 1_800_000_000_000;
const DAY: i64 = 24 * 3600 * 1000;

/// A Monitor's directory, and machines that want to join, each with a directory of its own.
struct Scene {
    directory: tempfile::TempDir,
    registrar: Registrar,
}

struct Machine {
    directory: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let registrar = Registrar::open_or_create(&directory.path().join("authority"), NOW).unwrap();
        Self { registrar, directory }
    }

    fn books(&self) -> PathBuf {
        self.directory.path().join("authority")
    }

    fn reopen(&mut self) {
        self.registrar = Registrar::open_or_create(&self.books(), NOW).unwrap();
    }

    fn token(&mut self, uses: u32) -> JoinToken {
        self.registrar.create_token(&TokenTerms { uses, ..TokenTerms::default() }, NOW).unwrap()
    }

    fn join(&mut self, token: &JoinToken, machine: &Machine) -> Result<Admitted, AdmissionRefusal> {
        let secret = token.secret.reveal();
        self.registrar.admit(token.id.as_str(), &secret, &roles(), &machine.request(), NOW)
    }

    fn renew(&mut self, own: &OwnIdentity, machine: &Machine) -> Result<Admitted, AdmissionRefusal> {
        self.registrar.renew(&peer(&own.chain[0]).unwrap(), own.generation, &machine.request(), NOW)
    }
}

impl Machine {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn request(&self) -> Vec<u8> {
        PendingRequest::open_or_draw(self.path()).unwrap().request_der().unwrap()
    }

    /// Takes an answer over, as a node does that got it.
    fn keep(&self, answer: Admitted) -> OwnIdentity {
        let own = PendingRequest::open_or_draw(self.path()).unwrap().complete(answer, "monitor:7071").unwrap();
        own.save(self.path()).unwrap();
        OwnIdentity::load(self.path()).unwrap().unwrap()
    }
}

fn roles() -> BTreeSet<String> {
    BTreeSet::from(["collector".to_owned()])
}

fn used_up(refusal: &Result<Admitted, AdmissionRefusal>) -> bool {
    matches!(refusal, Err(AdmissionRefusal::Token(TokenRefusal::UsedUp(_))))
}

#[test]
fn a_token_lets_in_as_many_machines_as_it_says_also_after_reopening() {
    let mut scene = Scene::new();
    let token = scene.token(2);
    let machines = [Machine::new(), Machine::new(), Machine::new()];
    let first = scene.join(&token, &machines[0]).unwrap();
    scene.reopen();
    let second = scene.join(&token, &machines[1]).unwrap();
    scene.reopen();
    assert!(used_up(&scene.join(&token, &machines[2])));
    assert_ne!(first.node, second.node);
    let own = machines[0].keep(first.clone());
    assert_eq!((&own.node, &own.cluster, own.generation), (&first.node, scene.registrar.cluster(), 1));
    assert_eq!(own.joined_at, "monitor:7071");
    assert_eq!(scene.registrar.members().get(&first.node).unwrap().roles, roles());
}

/// Joining writes two files. Whatever of them a killed Monitor had written, the same machine can go on and no other can.
#[test]
fn a_crash_between_the_steps_of_joining_loses_nothing_and_gives_nothing_twice() {
    let mut scene = Scene::new();
    let token = scene.token(1);
    let (machine, other) = (Machine::new(), Machine::new());
    let before = |name: &str| (scene.books().join(name), fs::read(scene.books().join(name)).unwrap());
    let (members, empty) = before("members.jsonl");
    let lost = scene.join(&token, &machine).unwrap();

    // Killed after the token was spent and before the member was entered.
    let entered = fs::read(&members).unwrap();
    fs::write(&members, &empty).unwrap();
    scene.reopen();
    assert!(used_up(&scene.join(&token, &other)));
    let again = scene.join(&token, &machine).unwrap();
    assert_eq!(scene.registrar.members().list().count(), 1);
    assert_ne!(again.node, lost.node, "nobody ever heard of the name that was lost");

    // Killed after both and before the answer.
    fs::write(&members, &entered).unwrap();
    scene.reopen();
    assert!(used_up(&scene.join(&token, &other)));
    assert_eq!(scene.join(&token, &machine).unwrap().node, lost.node);
    assert_eq!(scene.registrar.members().list().count(), 1);
}

#[test]
fn who_renewed_cannot_use_the_token_of_its_first_key_again() {
    let mut scene = Scene::new();
    let token = scene.token(1);
    let machine = Machine::new();
    let first_request = machine.request();
    let own = machine.keep(scene.join(&token, &machine).unwrap());
    machine.keep(scene.renew(&own, &machine).unwrap());
    let secret = token.secret.reveal();
    let replay = scene.registrar.admit(token.id.as_str(), &secret, &roles(), &first_request, NOW);
    assert!(matches!(replay, Err(AdmissionRefusal::Member(MemberError::JoinedBefore(_)))), "{replay:?}");
    assert_eq!(scene.registrar.members().list().count(), 1);
}

#[test]
fn roles_that_a_token_does_not_allow_are_refused_and_cost_nothing() {
    let mut scene = Scene::new();
    let terms = TokenTerms { roles: BTreeSet::from(["indexer".to_owned()]), ..TokenTerms::default() };
    let token = scene.registrar.create_token(&terms, NOW).unwrap();
    let machine = Machine::new();
    let refusal = scene.join(&token, &machine).unwrap_err();
    assert!(refusal.to_string().contains("not for the role collector, only for indexer"), "{refusal}");
    assert_eq!(scene.registrar.tokens()[0].uses_left, 1);
    let secret = token.secret.reveal();
    let joined = scene.registrar.admit(token.id.as_str(), &secret, &BTreeSet::new(), &machine.request(), NOW).unwrap();
    assert_eq!(scene.registrar.members().get(&joined.node).unwrap().roles, terms.roles);
}

#[test]
fn a_wrong_request_costs_no_use() {
    let mut scene = Scene::new();
    let token = scene.token(1);
    let refusal = scene.registrar.admit(token.id.as_str(), &token.secret.reveal(), &roles(), b"\x30\x80", NOW);
    assert!(matches!(refusal, Err(AdmissionRefusal::Request(_))));
    assert_eq!(scene.registrar.tokens()[0].uses_left, 1);
}

#[test]
fn a_lost_answer_to_a_renewal_is_asked_for_again_and_an_old_copy_locks_the_node() {
    let mut scene = Scene::new();
    let token = scene.token(1);
    let (machine, thief) = (Machine::new(), Machine::new());
    let own = machine.keep(scene.join(&token, &machine).unwrap());
    scene.renew(&own, &machine).unwrap();
    scene.reopen();
    let renewed = machine.keep(scene.renew(&own, &machine).unwrap());
    assert_eq!(renewed.generation, 2);
    assert_ne!(renewed.chain[0], own.chain[0]);

    let refusal = scene.renew(&own, &thief).unwrap_err();
    assert!(matches!(refusal, AdmissionRefusal::Renew(RenewRefusal::Stolen { shown: 1, newest: 2, .. })), "{refusal}");
    scene.reopen();
    let node = renewed.node.clone();
    let standing = &scene.registrar.members().get(&node).unwrap().standing;
    assert!(matches!(standing, Standing::Locked { .. }), "also after reopening");
    assert!(scene.renew(&renewed, &machine).is_err());

    let terms = TokenTerms { node: Some(node.clone()), ..TokenTerms::default() };
    let token = scene.registrar.create_token(&terms, NOW).unwrap();
    let back = machine.keep(scene.join(&token, &machine).unwrap());
    assert_eq!((&back.node, back.generation), (&node, 3));
    let who = |own: &OwnIdentity| peer(&own.chain[0]).unwrap();
    let denied = scene.registrar.deny_list(NOW);
    assert!(denied.denies(&who(&own)) && denied.denies(&who(&renewed)) && !denied.denies(&who(&back)));
}

#[test]
fn removal_revocation_and_labels_are_there_after_reopening() {
    let mut scene = Scene::new();
    let (token, revoked) = (scene.token(1), scene.token(1));
    let machine = Machine::new();
    let own = machine.keep(scene.join(&token, &machine).unwrap());
    let labels = BTreeMap::from([("rack".to_owned(), "7".to_owned())]);
    scene.registrar.set_labels(&own.node, &labels).unwrap();
    scene.registrar.remove(&own.node, NOW).unwrap();
    assert!(scene.registrar.revoke_token(&revoked.id).unwrap());
    scene.reopen();
    let who = peer(&own.chain[0]).unwrap();
    assert_eq!(scene.registrar.members().check(&who).unwrap_err(), PeerRefusal::Removed(own.node.clone()));
    assert!(scene.registrar.deny_list(NOW).denies(&who));
    assert_eq!(scene.registrar.members().get(&own.node).unwrap().labels, labels);
    assert!(matches!(scene.join(&revoked, &Machine::new()), Err(AdmissionRefusal::Token(TokenRefusal::Revoked(_)))));
    let terms = TokenTerms { node: Some(own.node), ..TokenTerms::default() };
    assert!(scene.registrar.create_token(&terms, NOW).is_err(), "for a removed node");
}

#[test]
fn the_monitors_own_identity_lasts_and_is_renewed_before_it_ends() {
    let mut scene = Scene::new();
    let home = Machine::new();
    let monitor = BTreeSet::from(["monitor".to_owned()]);
    let own = scene.registrar.own_identity(home.path(), &monitor, NOW).unwrap();
    let again = scene.registrar.own_identity(home.path(), &monitor, NOW + DAY).unwrap();
    assert_eq!(again.chain, own.chain);
    let later = scene.registrar.own_identity(home.path(), &monitor, NOW + 20 * DAY).unwrap();
    assert_eq!((&later.node, later.generation), (&own.node, 2));
    assert!(later.validity().not_after_ms > NOW + 49 * DAY);
    let old = peer(&own.chain[0]).unwrap();
    assert!(!scene.registrar.deny_list(NOW).denies(&old), "open connections go on");
    scene.registrar.rotate(NOW + 21 * DAY).unwrap();
    let rotated = scene.registrar.own_identity(home.path(), &monitor, NOW + 21 * DAY).unwrap();
    assert_eq!((&rotated.node, rotated.roots.len()), (&own.node, 2));
    assert_eq!(scene.registrar.members().list().count(), 1);

    let mut other = Scene::new();
    let refusal = other.registrar.own_identity(home.path(), &monitor, NOW).unwrap_err();
    assert!(matches!(refusal, RegistrarError::OtherCluster { .. }), "{refusal}");
}

#[test]
fn a_missing_book_is_damage_and_a_beginning_that_was_cut_short_is_not() {
    for (lost, begun) in [("tokens", true), ("members", true), ("authority", true), ("authority", false)] {
        let mut scene = Scene::new();
        if begun {
            let token = scene.token(1);
            scene.join(&token, &Machine::new()).unwrap();
        }
        let path = scene.books().join(format!("{lost}.jsonl"));
        fs::remove_file(&path).unwrap();
        match Registrar::open_or_create(&scene.books(), NOW) {
            Ok(_) => assert!(!begun, "{lost}"),
            Err(error) => {
                assert!(begun, "{lost}: {error}");
                assert!(error.to_string().contains(&format!("{lost}.jsonl is damaged: it is missing")), "{error}");
            }
        }
    }
}

/// What a Monitor that cannot write says, and that it gives nothing out.
#[test]
fn what_could_not_be_stored_did_not_happen() {
    let mut scene = Scene::new();
    let token = scene.token(1);
    let machine = Machine::new();
    let away = scene.directory.path().join("away");
    fs::rename(scene.books(), &away).unwrap();
    let refusal = scene.join(&token, &machine).unwrap_err();
    assert!(refusal.to_string().contains("cannot admit anybody now"), "{refusal}");
    assert_eq!(scene.registrar.members().list().count(), 0);
    assert_eq!(scene.registrar.tokens()[0].uses_left, 1);
    fs::rename(&away, scene.books()).unwrap();
    scene.join(&token, &machine).unwrap();
}
