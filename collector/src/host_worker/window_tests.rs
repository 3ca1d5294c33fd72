//! The window against a model of the Monitor that answers late, in order, as the real one does.

use std::collections::{BTreeSet, VecDeque};

use bytes::Bytes;
use proptest::prelude::*;

use super::*;

fn queued(place: u16) -> QueuedUrl {
    let place = Place::from(Bytes::copy_from_slice(&place.to_be_bytes()));
    QueuedUrl {
        url: format!("http://a/{place:?}").into(),
        place,
        depth: 0,
        redirect_hops: 0,
        revisit: None,
        is_sitemap: false,
    }
}

fn places(urls: &[u16]) -> Vec<QueuedUrl> {
    urls.iter().copied().map(queued).collect()
}

fn take_all(window: &mut Window) -> Vec<QueuedUrl> {
    std::iter::from_fn(|| window.take_first()).collect()
}

#[test]
fn discoveries_join_up_to_the_horizon_and_wait_behind_it() {
    let mut window = Window::default();
    window.answer(places(&[10, 20]), false);
    window.discovered(places(&[5, 15, 25]));
    assert_eq!(take_all(&mut window), places(&[5, 10, 15, 20]));
    assert!(!window.is_exhausted());
    assert_eq!(window.question(), Some(queued(20).place));
    assert_eq!(window.question(), None, "one question at a time");
    window.answer(places(&[25]), true);
    assert_eq!(take_all(&mut window), places(&[25]));
    assert!(window.is_exhausted());
}

#[test]
fn a_url_that_is_under_way_is_not_handed_out_at_the_place_where_the_next_monitor_found_it_anew() {
    let mut window = Window::default();
    window.answer(places(&[10]), true);
    let under_way = window.take_first().unwrap();
    window.ask_anew();
    let anew = QueuedUrl { place: queued(30).place, ..under_way.clone() };
    window.discovered([anew.clone()]);
    window.question();
    window.answer([queued(20), anew.clone()], true);
    assert_eq!(take_all(&mut window), places(&[20]));
    window.settled(&under_way.place);
    window.discovered([anew.clone()]);
    assert_eq!(take_all(&mut window), [anew], "the Monitor would not send it if it were settled");
}

#[test]
fn overflow_lowers_the_horizon_and_asks_again() {
    let mut window = Window::with_capacity(3);
    window.answer(places(&[40, 50, 60]), true);
    window.discovered(places(&[10, 20]));
    assert_eq!(take_all(&mut window), places(&[10, 20, 40]));
    assert_eq!(window.question(), Some(queued(40).place));
    window.answer(places(&[50, 60]), true);
    assert_eq!(take_all(&mut window), places(&[50, 60]));
}

#[test]
fn an_answer_across_a_gap_is_thrown_away() {
    let mut window = Window::with_capacity(2);
    window.answer(places(&[50]), false);
    assert_eq!(window.question(), Some(queued(50).place));
    window.discovered(places(&[10, 20, 30]));
    window.answer(places(&[60]), true);
    assert_eq!(take_all(&mut window), places(&[10, 20]), "30 and 50 come before 60");
    assert_eq!(window.question(), Some(queued(20).place));
}

#[test]
fn an_empty_answer_is_the_end() {
    let mut window = Window::default();
    window.answer([], false);
    assert!(window.is_exhausted());
}

/// What the Monitor has queued for the host, and its answers on their way.
#[derive(Default)]
struct Monitor {
    queue: BTreeSet<u16>,
    answers: VecDeque<Answer>,
    /// Numbers that a rule excludes, by what they leave when divided by [`RULES`].
    rules: BTreeSet<u16>,
    excluded: BTreeSet<u16>,
}

const RULES: u16 = 5;

enum Answer {
    Urls(Vec<u16>, bool),
    Discovered(Vec<u16>),
    Settled(u16),
    /// The rules have changed; now these exclude.
    Judged(BTreeSet<u16>),
}

impl Monitor {
    fn excludes(&self, place: u16) -> bool {
        self.rules.contains(&(place % RULES))
    }

    /// What is excluded and not being fetched is settled when it would be handed out.
    fn hand_out(&mut self, place: &Place, under_way: &BTreeSet<Place>, limit: usize) -> (Vec<u16>, bool) {
        let is_judged = |p: &u16| queued(*p).place > *place && !under_way.contains(&queued(*p).place);
        let gone: Vec<u16> = self.queue.iter().copied().filter(|p| self.excludes(*p) && is_judged(p)).collect();
        self.queue.retain(|place| !gone.contains(place));
        self.excluded.extend(gone);
        self.urls_behind(place, limit)
    }

    fn urls_behind(&self, place: &Place, limit: usize) -> (Vec<u16>, bool) {
        let behind: Vec<u16> = self.queue.iter().copied().filter(|&p| queued(p).place > *place).collect();
        (behind[..behind.len().min(limit)].to_vec(), behind.len() <= limit)
    }
}

#[derive(Clone, Debug)]
enum Step {
    Take,
    Discover(Vec<u16>),
    SettleOldest,
    Deliver,
    Ask,
    ChangeRules(u16),
}

fn step() -> impl proptest::strategy::Strategy<Value = Step> {
    prop_oneof![
        3 => Just(Step::Take),
        2 => prop::collection::vec(any::<u16>(), 0..6).prop_map(Step::Discover),
        2 => Just(Step::SettleOldest),
        4 => Just(Step::Deliver),
        2 => Just(Step::Ask),
        1 => (0..RULES).prop_map(Step::ChangeRules),
    ]
}

struct Run {
    window: Window,
    monitor: Monitor,
    ever_queued: BTreeSet<u16>,
    /// Fetched, not yet settled, oldest first.
    in_flight: VecDeque<u16>,
    taken: Vec<u16>,
    /// The rules that the window has heard of.
    known_rules: BTreeSet<u16>,
}

impl Run {
    fn new(seeds: BTreeSet<u16>, capacity: usize) -> Self {
        let monitor = Monitor { queue: seeds.clone(), ..Monitor::default() };
        let mut window = Window::with_capacity(capacity);
        let (urls, exhausted) = monitor.urls_behind(&Place::start(), 3);
        window.answer(places(&urls), exhausted);
        let (in_flight, taken, known_rules) = (VecDeque::new(), Vec::new(), BTreeSet::new());
        Self { window, monitor, ever_queued: seeds, in_flight, taken, known_rules }
    }

    fn perform(&mut self, step: &Step) {
        match step {
            Step::Take => self.take(),
            Step::Discover(found) => self.discover(found),
            Step::SettleOldest => self.settle(),
            Step::Deliver => self.deliver(),
            Step::Ask => self.ask(),
            Step::ChangeRules(rule) => {
                self.monitor.rules.insert(*rule);
                self.monitor.answers.push_back(Answer::Judged(self.monitor.rules.clone()));
            }
        }
    }

    fn deliver(&mut self) {
        match self.monitor.answers.pop_front() {
            Some(Answer::Urls(urls, exhausted)) => self.window.answer(places(&urls), exhausted),
            Some(Answer::Discovered(urls)) => self.window.discovered(places(&urls)),
            Some(Answer::Settled(place)) => self.window.settled(&queued(place).place),
            Some(Answer::Judged(rules)) => {
                self.window.give_back();
                self.known_rules = rules;
            }
            None => {}
        }
    }

    fn ask(&mut self) {
        if let Some(place) = self.window.question() {
            let under_way = self.window.under_way().cloned().collect();
            let (urls, exhausted) = self.monitor.hand_out(&place, &under_way, 3);
            self.monitor.answers.push_back(Answer::Urls(urls, exhausted));
        }
    }

    fn take(&mut self) {
        let first = self.window.first().cloned();
        let taken = self.window.take_first();
        assert_eq!(first, taken);
        if let Some(queued_url) = taken {
            let bytes = queued_url.place.to_bytes();
            let place = u16::from_be_bytes([bytes[0], bytes[1]]);
            assert!(!self.known_rules.contains(&(place % RULES)), "{place} is excluded");
            self.taken.push(place);
            self.in_flight.push_back(place);
        }
    }

    fn settle(&mut self) {
        if let Some(place) = self.in_flight.pop_front() {
            self.monitor.queue.remove(&place);
            self.monitor.answers.push_back(Answer::Settled(place));
        }
    }

    fn discover(&mut self, found: &[u16]) {
        let admitted = found.iter().copied().filter(|&place| !self.monitor.excludes(place));
        let new: Vec<u16> = admitted.filter(|&place| self.ever_queued.insert(place)).collect();
        self.monitor.queue.extend(&new);
        self.monitor.answers.push_back(Answer::Discovered(new));
    }
}

proptest! {
    #[test]
    fn every_queued_url_is_handed_out_once_unless_changed_rules_exclude_it(
        seeds in prop::collection::btree_set(any::<u16>(), 0..12),
        steps in prop::collection::vec(step(), 0..120),
        capacity in 1usize..6,
    ) {
        let mut run = Run::new(seeds, capacity);
        for step in steps {
            run.perform(&step);
        }
        // No more links are found: the rest must come, smallest first.
        while !run.monitor.answers.is_empty() {
            run.deliver();
        }
        let orderly_from = run.taken.len();
        while !run.window.is_exhausted() {
            run.ask();
            run.deliver();
            run.take();
        }
        let rest = &run.taken[orderly_from..];
        prop_assert!(rest.is_sorted(), "{rest:?}");
        let mut taken = run.taken.clone();
        taken.extend(&run.monitor.excluded);
        taken.sort_unstable();
        prop_assert_eq!(taken, run.ever_queued.into_iter().collect::<Vec<_>>());
    }
}
