//! Decisions about pages and analysers, with a clock that the tests move.

use std::collections::BTreeMap;

use super::*;
use crate::deliver::analyser::PAGES_PER_STREAM;

struct Bench {
    dispatch: Dispatch,
    now: Instant,
    actions: Vec<Action>,
}

/// With the streams to these open.
fn bench(analysers: &[AnalyserId]) -> Bench {
    let mut bench = Bench { dispatch: Dispatch::default(), now: Instant::now(), actions: Vec::new() };
    for id in analysers {
        bench.joins(*id);
    }
    bench
}

impl Bench {
    fn joins(&mut self, id: AnalyserId) {
        self.dispatch.stands(id, Standing::Wanted);
        self.dispatch.opened(id, self.now);
    }

    fn stands(&mut self, id: AnalyserId, standing: Standing) -> Vec<Action> {
        self.dispatch.stands(id, standing);
        self.go_on()
    }

    fn go_on(&mut self) -> Vec<Action> {
        self.dispatch.advance(self.now, &mut self.actions);
        std::mem::take(&mut self.actions)
    }

    /// Where each of the pages goes, by their numbers.
    fn sent(actions: &[Action]) -> BTreeMap<PageNumber, AnalyserId> {
        let send = |action: &Action| match action {
            Action::Send { to, page } => Some((*page, *to)),
            _ => None,
        };
        actions.iter().filter_map(send).collect()
    }

    /// A page comes: its number, and where it goes.
    fn page(&mut self, bytes: usize) -> (PageNumber, Option<AnalyserId>) {
        let page = self.dispatch.take(bytes);
        let actions = self.go_on();
        (page, Self::sent(&actions).get(&page).copied())
    }

    fn pages(&mut self, count: usize) -> BTreeMap<PageNumber, AnalyserId> {
        (0..count)
            .filter_map(|_| {
                let (page, to) = self.page(1_000);
                Some((page, to?))
            })
            .collect()
    }

    fn saved(&mut self, from: AnalyserId, page: PageNumber) -> Vec<Action> {
        assert!(self.dispatch.saved(from, page), "page {page} is on {from}");
        self.go_on()
    }

    fn refused(&mut self, from: AnalyserId, page: PageNumber, refusal: Refusal) -> Vec<Action> {
        self.dispatch.refused(from, page, refusal, "no room".to_owned(), self.now, &mut self.actions);
        self.go_on()
    }

    fn broke(&mut self, id: AnalyserId) -> Vec<Action> {
        self.dispatch.broke(id, self.now, &mut self.actions);
        self.go_on()
    }

    fn unreachable(&mut self, id: AnalyserId) -> Option<String> {
        self.dispatch.unreachable(id, "connection refused");
        self.go_on();
        self.outage()
    }

    fn outage(&self) -> Option<String> {
        self.dispatch.outage().map(str::to_owned)
    }

    fn wake(&mut self) -> Vec<Action> {
        self.now = self.dispatch.wake_at(self.now).expect("something is to be done later");
        self.go_on()
    }
}

fn share(sent: &BTreeMap<PageNumber, AnalyserId>, id: AnalyserId) -> usize {
    sent.values().filter(|to| **to == id).count()
}

fn failures(actions: &[Action]) -> Vec<PageNumber> {
    let failure = |action: &Action| match action {
        Action::Fail { page, .. } => Some(*page),
        _ => None,
    };
    actions.iter().filter_map(failure).collect()
}

#[test]
fn pages_are_spread_over_all_by_their_bytes_and_idle_ones_take_turns() {
    let mut bench = bench(&[1, 2]);
    let sent = bench.pages(10);
    assert_eq!((share(&sent, 1), share(&sent, 2)), (5, 5));
    for (page, to) in sent {
        bench.saved(to, page);
    }
    let (large, to_large) = bench.page(10 << 20);
    let small = bench.pages(20);
    assert_eq!(share(&small, to_large.unwrap()), 0, "who has much under way gets nothing more");
    bench.saved(to_large.unwrap(), large);
    // One at a time, with nothing under way: both are used.
    for (page, to) in small {
        bench.saved(to, page);
    }
    let mut turns = Vec::new();
    for _ in 0..4 {
        let (page, to) = bench.page(1_000);
        turns.push(to.unwrap());
        bench.saved(to.unwrap(), page);
    }
    turns.sort_unstable();
    assert_eq!(turns, [1, 1, 2, 2]);
}

#[test]
fn a_slow_analyser_gets_less() {
    let mut bench = bench(&[1, 2]);
    let (mut to_slow, mut to_fast) = (0, 0);
    for _ in 0..100 {
        let (page, to) = bench.page(1_000);
        match to.unwrap() {
            1 => to_slow += 1,
            fast => {
                to_fast += 1;
                bench.saved(fast, page);
            }
        }
    }
    assert!(to_slow <= 2 && to_fast >= 98, "{to_slow} and {to_fast}");
}

#[test]
fn no_stream_has_more_under_way_than_its_bound_and_what_is_beyond_waits() {
    let mut bench = bench(&[1, 2]);
    let sent = bench.pages(3 * PAGES_PER_STREAM);
    assert_eq!((share(&sent, 1), share(&sent, 2)), (PAGES_PER_STREAM, PAGES_PER_STREAM));
    assert!(!bench.dispatch.has_room());
    let (page, from) = sent.into_iter().next().unwrap();
    let actions = bench.saved(from, page);
    assert_eq!(Bench::sent(&actions).into_values().collect::<Vec<_>>(), [from], "the first that waits takes its place");
}

#[test]
fn pages_of_a_broken_stream_go_to_another_at_once_and_answers_of_the_old_one_count_no_more() {
    let mut bench = bench(&[1, 2]);
    let sent = bench.pages(6);
    assert!(sent.iter().all(|(page, from)| bench.dispatch.parsed(*from, *page)));
    let actions = bench.broke(1);
    let again = Bench::sent(&actions);
    assert_eq!((again.len(), share(&again, 2)), (3, 3));
    assert_eq!(bench.outage(), None);
    for (page, _) in again {
        assert!(
            !bench.dispatch.saved(1, page) && !bench.dispatch.failed(1, page, bench.now),
            "it is not there any more"
        );
        assert!(!bench.dispatch.parsed(2, page), "its links are known");
        bench.saved(2, page);
    }
}

#[test]
fn a_page_that_breaks_two_streams_has_failed_with_few_others() {
    let mut bench = bench(&[1, 2, 3]);
    let sent = bench.pages(90);
    let on_first = share(&sent, 1);
    let actions = bench.broke(1);
    assert_eq!(
        (failures(&actions), Bench::sent(&actions).len()),
        (vec![], 8),
        "of {on_first} a few at each of the others"
    );
    let suspects = Bench::sent(&actions);
    let actions = bench.broke(2);
    let failed = failures(&actions);
    assert_eq!(failed.len(), 4);
    assert!(failed.iter().all(|page| suspects[page] == 2));
    // The others are saved one after the other.
    let mut left: Vec<PageNumber> = sent.keys().copied().filter(|page| !failed.contains(page)).collect();
    while let Some(page) = left.iter().copied().find(|page| bench.dispatch.saved(3, *page)) {
        left.retain(|other| *other != page);
        bench.go_on();
    }
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_page_that_was_not_saved_where_it_was_goes_to_another_and_nothing_rests() {
    let mut bench = bench(&[1, 2]);
    let (page, from) = bench.page(1_000);
    let actions = bench.refused(from.unwrap(), page, Refusal::Here);
    assert_eq!(Bench::sent(&actions)[&page], 3 - from.unwrap());
    let mut alone = self::bench(&[1]);
    let (page, _) = alone.page(1_000);
    let actions = alone.refused(1, page, Refusal::Here);
    assert_eq!(Bench::sent(&actions)[&page], 1, "or there again where there is no other");
    assert_eq!((alone.outage(), bench.outage()), (None, None));
}

#[test]
fn one_that_cannot_save_rests_while_others_do_and_is_tried_with_one_page_later() {
    let mut bench = bench(&[1, 2]);
    let sent = bench.pages(2);
    let page = *sent.iter().find(|(_, to)| **to == 1).unwrap().0;
    let actions = bench.refused(1, page, Refusal::Nothing);
    assert_eq!((Bench::sent(&actions)[&page], bench.outage()), (2, None));
    let meanwhile = bench.pages(10);
    assert_eq!(share(&meanwhile, 1), 0);
    assert_eq!(bench.wake(), [], "nothing waits");
    let sent = bench.pages(10);
    assert_eq!(share(&sent, 1), 1, "one page");
    let page = *sent.iter().find(|(_, to)| **to == 1).unwrap().0;
    bench.saved(1, page);
    assert!(share(&bench.pages(10), 1) > 1, "then as many as the other");
}

#[test]
fn it_is_an_outage_when_none_can_save_and_pages_wait_until_one_is_saved() {
    let mut bench = bench(&[1, 2]);
    let sent = bench.pages(4);
    for (page, from) in sent {
        bench.refused(from, page, Refusal::Nothing);
    }
    assert_eq!(bench.outage().as_deref(), Some("no room"));
    assert_eq!(bench.page(1_000).1, None);
    let tried = Bench::sent(&bench.wake());
    assert_eq!(tried.len(), 2, "one page at each");
    assert!(bench.outage().is_some(), "until it is known");
    let (page, from) = tried.into_iter().next().unwrap();
    let actions = bench.saved(from, page);
    assert_eq!((bench.outage(), Bench::sent(&actions).len()), (None, 2));
}

#[test]
fn it_is_an_outage_only_when_no_stream_is_open_and_none_is_being_opened() {
    let mut bench = bench(&[]);
    assert_eq!(bench.go_on(), []);
    assert_eq!(bench.outage(), None, "a collector that starts waits for the first to appear");
    bench.wake();
    assert_eq!(bench.outage().as_deref(), Some("no analyser runs"));
    bench.joins(1);
    bench.go_on();
    assert_eq!(bench.outage(), None);
    bench.dispatch.stands(2, Standing::Wanted);
    assert_eq!(bench.unreachable(2), None, "the other is open");
    let (page, _) = bench.page(1_000);
    assert_eq!((bench.broke(1), bench.outage()), (vec![], None), "it may be back in a moment");
    assert_eq!(bench.unreachable(1).as_deref(), Some("the analyser cannot be reached: connection refused"));
    bench.dispatch.opened(2, bench.now);
    assert_eq!(Bench::sent(&bench.go_on()), BTreeMap::from([(page, 2)]), "without any pause");
    bench.saved(2, page);
    assert_eq!(bench.outage(), None);
}

#[test]
fn one_that_drains_or_is_gone_gets_nothing_new_and_answers_what_it_has() {
    let mut bench = bench(&[1, 2]);
    let sent = bench.pages(4);
    assert_eq!(bench.stands(1, Standing::Draining), []);
    assert_eq!(share(&bench.pages(10), 1), 0);
    bench.stands(1, Standing::Gone);
    assert_eq!(share(&bench.pages(10), 1), 0);
    let of_first: Vec<PageNumber> = sent.into_iter().filter(|(_, to)| *to == 1).map(|(page, _)| page).collect();
    assert_eq!(bench.saved(1, of_first[0]), []);
    assert_eq!(bench.saved(1, of_first[1]), [Action::Close(1)], "when it has answered all");
    bench.stands(2, Standing::Draining);
    assert_eq!(bench.page(1_000).1, Some(2), "where there is no other, it is used");
    bench.joins(3);
    assert_eq!(bench.page(1_000).1, Some(3), "whoever joins is used at once");
}

#[test]
fn one_that_goes_with_pages_under_way_and_breaks_is_closed_and_its_pages_go_elsewhere() {
    let mut bench = bench(&[1, 2]);
    let (page, from) = bench.page(1_000);
    let from = from.unwrap();
    assert_eq!(bench.stands(from, Standing::Gone), []);
    let actions = bench.broke(from);
    assert_eq!(actions, [Action::Send { to: 3 - from, page }, Action::Close(from)]);
}

#[test]
fn a_page_that_is_refused_everywhere_while_others_are_saved_fails_at_last() {
    let mut bench = bench(&[1]);
    let (large, _) = bench.page(1_000);
    let mut actions = bench.refused(1, large, Refusal::Nothing);
    for _ in 1..REFUSALS {
        assert!(failures(&actions).is_empty());
        let (small, _) = bench.page(1_000);
        let mut on: Vec<PageNumber> = Vec::new();
        while !on.contains(&large) {
            let sent = Bench::sent(&bench.wake());
            if sent.contains_key(&small) {
                on.extend(Bench::sent(&bench.saved(1, small)).keys());
            }
            on.extend(sent.keys());
        }
        actions = bench.refused(1, large, Refusal::Nothing);
    }
    assert_eq!(failures(&actions), [large]);
}
