use proptest::prelude::*;

use super::freshness::freshness;
use super::policy::{class_factor, groups_and_classes};
use super::population::{MAX_WEIGHT, MIN_WEIGHT};
use super::*;

const BUDGETED: [Policy; 3] = [Policy::Uniform, Policy::GroupsAndClasses, Policy::Freshest];

fn population(pages: &[(f64, f64)]) -> Population {
    let mut population = Population::default();
    pages.iter().for_each(|(rate, weight)| population.add(Cell::of(*rate, *weight)));
    population
}

fn pages() -> impl Strategy<Value = Vec<(f64, f64)>> {
    // Exponents, so that every size of rate is as likely.
    let page =
        (-16f64..12.0, prop_oneof![Just(0.0), -4f64..4.0]).prop_map(|(rate, weight)| (rate.exp2(), weight.exp2()));
    prop::collection::vec(page, 1..40)
}

fn planned_visits(plan: &Plan, population: &Population) -> f64 {
    population.cells().map(|(cell, count)| plan.visits_per_day(cell) * count as f64).sum()
}

/// What the plan achieves if the estimates are true.
fn expected_freshness(plan: &Plan, population: &Population) -> f64 {
    let one = |cell: Cell| cell.weight() * freshness(cell.changes_per_day(), plan.visits_per_day(cell));
    population.cells().map(|(cell, count)| one(cell) * count as f64).sum()
}

fn intervals(base_days: f64) -> Intervals {
    Intervals {
        base_ms: (base_days * DAY_MS as f64) as u64,
        min_ms: DAY_MS / 24,
        max_ms: 100 * DAY_MS,
        gone_after_ms: DAY_MS,
    }
}

/// Uniform numbers above 0 and at most 1, the same in every run.
fn numbers(seed: u64) -> impl Iterator<Item = f64> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 11) + 1) as f64 / (1u64 << 53) as f64
    })
}

/// Watches a page of this rate at irregular intervals. `dated` pages tell when they last changed.
fn watched(changes_per_day: f64, mean_days: f64, visits: u32, dated: bool, seed: u64) -> History {
    let mut numbers = numbers(seed).skip(8);
    let mut history = History::default();
    let mut now = 1e12;
    history.visited(now as u64, Seen::Unchanged);
    for _ in 0..visits {
        let interval = mean_days * DAY_MS as f64 * (0.5 + numbers.next().unwrap());
        let (mut change, mut last) = (0.0, None);
        loop {
            change -= numbers.next().unwrap().ln() / changes_per_day * DAY_MS as f64;
            if change >= interval {
                break;
            }
            last = Some(change);
        }
        history.last_modified_ms = last.filter(|_| dated).map(|last| (now + last) as u64);
        now += interval;
        history.visited(now as u64, if last.is_some() { Seen::Changed } else { Seen::Unchanged });
    }
    history
}

fn mean_estimate(changes_per_day: f64, mean_days: f64, dated: bool) -> f64 {
    let one = |seed| changes_per_day_of(&watched(changes_per_day, mean_days, 100, dated, seed));
    (0..60).map(one).sum::<f64>() / 60.0
}

fn changes_per_day_of(history: &History) -> f64 {
    super::changes_per_day(history, Prior::default())
}

#[test]
fn the_estimate_comes_to_the_true_rate_though_changes_between_visits_are_not_seen() {
    for (rate, days) in [(0.05, 10.0), (0.2, 5.0), (1.0, 1.0), (2.0, 1.0), (30.0, 0.05)] {
        let estimate = mean_estimate(rate, days, false);
        assert!((0.85..1.18).contains(&(estimate / rate)), "{rate} estimated as {estimate}");
    }
}

#[test]
fn dates_of_changes_show_rates_that_visits_alone_cannot() {
    for (rate, days) in [(0.05, 10.0), (2.0, 1.0), (10.0, 3.0)] {
        let estimate = mean_estimate(rate, days, true);
        assert!((0.85..1.18).contains(&(estimate / rate)), "{rate} estimated as {estimate}");
    }
}

#[test]
fn a_page_never_seen_has_the_rate_of_the_prior() {
    let prior = Prior { changes_per_day: 0.3, spread: 2.0 };
    assert!((super::changes_per_day(&History::default(), prior) - 0.3).abs() < 1e-6);
}

#[test]
fn a_page_made_on_request_is_not_taken_for_a_dated_change() {
    let mut history = History { last_modified_ms: Some(10 * DAY_MS), ..History::default() };
    history.visited(10 * DAY_MS, Seen::Unchanged);
    history.last_modified_ms = Some(11 * DAY_MS);
    history.visited(11 * DAY_MS, Seen::Changed);
    assert_eq!((history.dated_changes, history.changed_intervals, history.changes), (0, 1, 1));
}

#[test]
fn gone_takes_two_answers_a_day_apart_and_no_success_between() {
    let mut history = History::default();
    history.gone(0);
    history.gone(DAY_MS - 1);
    assert!(!history.is_gone(DAY_MS));
    history.gone(DAY_MS);
    assert!(history.is_gone(DAY_MS));
    history.visited(DAY_MS + 1, Seen::Unchanged);
    history.gone(5 * DAY_MS);
    assert!(!history.is_gone(DAY_MS));
}

#[test]
fn a_page_that_may_be_gone_is_asked_again_when_that_can_confirm_it() {
    let plan = Plan::new(Policy::Freshest, &Population::default(), Ledger::default(), Intervals::around(30 * DAY_MS));
    let mut history = History::default();
    history.visited(DAY_MS, Seen::Unchanged);
    history.gone(10 * DAY_MS);
    let cell = plan.cell(&history, 1.0);
    assert_eq!(plan.next_visit(&history, cell, 10 * DAY_MS, 0), 11 * DAY_MS);
}

#[test]
fn classes_are_visited_as_zipf_says() {
    let factors: Vec<f64> =
        (0..5).map(|class| class_factor((f64::from(class) / 5.0, f64::from(class + 1) / 5.0))).collect();
    for (factor, stated) in factors.iter().zip([2.2, 1.1, 0.7, 0.5, 0.4]) {
        assert!((factor - stated).abs() < 0.06, "{factors:?}");
    }
    assert!((factors.iter().sum::<f64>() / 5.0 - 1.0).abs() < 1e-9);
}

#[test]
fn important_pages_take_the_higher_of_two_rates_and_others_the_lower() {
    // Two pages in each class; only those of the first are above the average frequency.
    let rates = [8.0, 8.0, 0.8, 0.8, 0.4, 0.4, 0.2, 0.2, 0.1, 0.1];
    let population = population(&rates.map(|rate| (rate, 1.0)));
    let averages = population.averages();
    assert!(averages.above > 7.0 && averages.above < 9.0 && averages.below > 0.3 && averages.below < 0.45);
    let by_group = [5.0 * averages.above, averages.below, averages.below, averages.below, averages.below];
    let to_budget = 5.0 / by_group.iter().sum::<f64>();
    let mut found = groups_and_classes(&population, 1.0);
    found.sort_by(|a, b| b.2.total_cmp(&a.2));
    for (class, (_, count, rate)) in found.iter().enumerate() {
        let (group, zipf) = (by_group[class] * to_budget, class_factor((class as f64 / 5.0, (class + 1) as f64 / 5.0)));
        let expected = if class < 2 { group.max(zipf) } else { group.min(zipf) };
        assert!(*count == 2 && (rate - expected).abs() < 1e-9, "class {class}: {rate} instead of {expected}");
    }
}

#[test]
fn pages_that_change_too_fast_get_fewer_visits_than_those_that_can_be_kept_fresh() {
    let population = population(&[(0.01, 1.0), (0.2, 1.0), (50.0, 1.0), (500.0, 1.0)]);
    let plan = Plan::new(Policy::Freshest, &population, Ledger::default(), intervals(5.0));
    let visits = |rate| plan.visits_per_day(Cell::of(rate, 1.0));
    assert!(visits(0.2) > visits(0.01) && visits(0.2) > visits(50.0) && visits(50.0) >= visits(500.0));
}

#[test]
fn expires_postpones_and_sitemaps_bring_forward_within_limits() {
    let plan =
        Plan::new(Policy::FixedInterval { days: 10.0 }, &population(&[(1.0, 1.0)]), Ledger::default(), intervals(10.0));
    let mut history = History::default();
    history.visited(100 * DAY_MS, Seen::Unchanged);
    let cell = plan.cell(&history, 1.0);
    let due = |history: &History| plan.next_visit(history, cell, 100 * DAY_MS, 7);
    let planned = due(&history);
    assert!(planned.abs_diff(110 * DAY_MS) <= DAY_MS / 2);
    history.expires_ms = Some(112 * DAY_MS);
    assert_eq!(due(&history), 112 * DAY_MS);
    history.expires_ms = Some(9999 * DAY_MS);
    assert_eq!(due(&history), 100 * DAY_MS + 2 * (planned - 100 * DAY_MS));
    history.sitemap_lastmod_ms = Some(101 * DAY_MS);
    assert_eq!(due(&history), 100 * DAY_MS + (planned - 100 * DAY_MS) / 4);
    history.sitemap_lastmod_ms = Some(99 * DAY_MS);
    assert!(due(&history) > planned);
}

#[test]
fn visits_that_are_owed_are_planned_besides_the_budget() {
    let population = population(&[(0.1, 1.0), (1.0, 1.0), (3.0, 1.0), (9.0, 1.0)]);
    let mut ledger = Ledger::default();
    ledger.settle(DAY_MS, 4, 10 * DAY_MS);
    ledger.settle(3 * DAY_MS, 4, 10 * DAY_MS);
    assert!((ledger.owed_visits - 0.8).abs() < 1e-9);
    for policy in BUDGETED {
        let with = |ledger| planned_visits(&Plan::new(policy, &population, ledger, intervals(10.0)), &population);
        assert!((with(Ledger::default()) - 0.4).abs() < 1e-3);
        assert!((with(ledger) - 0.4 * 1.1).abs() < 1e-3);
        assert!(with(Ledger { owed_visits: f64::NAN, settled_ms: 0 }).is_finite());
    }
    ledger.visited();
    assert!((ledger.owed_visits + 0.2).abs() < 1e-9);
    ledger.settle(u64::MAX, 4, 0);
    assert!(ledger.owed_visits <= 1.0);
}

proptest! {
    #[test]
    fn adding_and_removing_a_page_restores_the_population(before in pages(), rate: f64, weight: f64) {
        let before = population(&before);
        let (mut after, cell) = (before.clone(), Cell::of(rate, weight));
        after.add(cell);
        prop_assert_eq!(after.pages(), before.pages() + 1);
        prop_assert!(after.remove(cell));
        prop_assert_eq!(&after, &before);
        prop_assert_eq!(Population::from_words(&before.to_words()), Some(before));
        prop_assert_eq!(Cell::from_number(cell.number()), Some(cell));
    }

    #[test]
    fn no_words_make_reading_a_population_panic(words: Vec<u64>) {
        if let Some(population) = Population::from_words(&words) {
            let _ = Plan::new(Policy::GroupsAndClasses, &population, Ledger::default(), intervals(7.0));
        }
    }

    #[test]
    fn a_cell_keeps_rate_and_weight_within_its_step(rate in -13.9f64..10.9, weight in -4f64..4.0) {
        let cell = Cell::of(rate.exp2(), weight.exp2());
        prop_assert!((cell.changes_per_day().log2() - rate).abs() <= 1.0 / 16.0 + 1e-9);
        prop_assert!((cell.weight().log2() - weight).abs() <= 0.25 + 1e-9);
        prop_assert!((MIN_WEIGHT..=MAX_WEIGHT).contains(&cell.weight()));
        prop_assert_eq!(Cell::of(cell.changes_per_day(), cell.weight()), cell);
    }

    #[test]
    fn every_policy_keeps_the_budget(pages in pages(), base in 0.1f64..60.0) {
        let population = population(&pages);
        for policy in BUDGETED {
            let visits = planned_visits(&Plan::new(policy, &population, Ledger::default(), intervals(base)), &population);
            let budget = population.pages() as f64 / base;
            prop_assert!((visits / budget - 1.0).abs() < 0.001, "{:?}: {} of {}", policy, visits, budget);
        }
    }

    #[test]
    fn more_visits_never_lower_the_freshness(pages in pages(), base in 0.1f64..40.0, fewer in 1f64..2.0) {
        let population = population(&pages);
        let at = |base| expected_freshness(&Plan::new(Policy::Freshest, &population, Ledger::default(), intervals(base)), &population);
        prop_assert!(at(base) >= at(base * fewer) - 1e-6);
    }

    #[test]
    fn no_policy_is_expected_to_be_fresher_than_the_default(pages in pages(), base in 0.1f64..60.0) {
        let population = population(&pages);
        let of = |policy| expected_freshness(&Plan::new(policy, &population, Ledger::default(), intervals(base)), &population);
        for policy in BUDGETED {
            prop_assert!(of(policy) <= of(Policy::default()) * (1.0 + 1e-6), "{:?}", policy);
        }
    }

    #[test]
    fn ranks_of_importance_cover_everything_in_order(pages in pages()) {
        let population = population(&pages);
        let ranks = population.importance_ranks();
        for ((a, x), (b, y)) in ranks.iter().zip(ranks.iter().skip(1)) {
            prop_assert!(x == y || (a.importance() > b.importance()) == (x.0 < y.0));
        }
        let mean = population.cells().map(|(cell, count)| class_factor(ranks[&cell]) * count as f64).sum::<f64>();
        prop_assert!((mean / population.pages() as f64 - 1.0).abs() < 1e-6);
    }

    #[test]
    fn more_changes_never_lower_the_estimate(visits in 1u32..100, changes in 0u32..99, days in 0.01f64..100.0) {
        let with = |changes: u32| {
            let mut history = History::default();
            let interval = (days * DAY_MS as f64) as u64;
            history.visited(DAY_MS, Seen::Unchanged);
            for visit in 1..=visits {
                let seen = if visit <= changes { Seen::Changed } else { Seen::Unchanged };
                history.visited(DAY_MS + u64::from(visit) * interval, seen);
            }
            changes_per_day_of(&history)
        };
        prop_assert!(with(changes + 1) >= with(changes) * (1.0 - 1e-6));
    }

    #[test]
    fn gone_is_confirmed_by_distance_alone_and_undone_by_any_success(times in prop::collection::vec((any::<bool>(), 0u64..10 * DAY_MS), 0..12)) {
        let mut history = History::default();
        let mut gone: Vec<u64> = Vec::new();
        let mut now = 0;
        for (success, wait) in times {
            now += wait;
            if success {
                history.visited(now, Seen::Unchanged);
                gone.clear();
            } else {
                history.gone(now);
                gone.push(now);
            }
            let apart = gone.last().zip(gone.first()).map_or(0, |(last, first)| last - first);
            prop_assert_eq!(history.is_gone(DAY_MS), gone.len() >= 2 && apart >= DAY_MS);
        }
    }

    #[test]
    fn no_times_overflow_and_the_next_visit_lies_within_the_limits(
        times in prop::collection::vec((any::<u64>(), 0u8..3, any::<Option<u64>>()), 0..200),
        hints: (Option<u64>, Option<u64>), limits: (u64, u64, u64), now: u64, seed: u64, weight: f64,
    ) {
        let mut history = History { expires_ms: hints.0, sitemap_lastmod_ms: hints.1, ..History::default() };
        for (at, what, modified) in times {
            history.last_modified_ms = modified;
            match what {
                0 => history.gone(at),
                1 => history.visited(at, Seen::Changed),
                _ => history.visited(at, Seen::Unchanged),
            }
        }
        let rate = changes_per_day_of(&history);
        prop_assert!((estimate::MIN_RATE..=estimate::MAX_RATE).contains(&rate));
        let limits = Intervals { base_ms: limits.0, min_ms: limits.1, max_ms: limits.2, gone_after_ms: DAY_MS };
        for policy in BUDGETED {
            let plan = Plan::new(policy, &population(&[(rate, weight)]), Ledger::default(), limits);
            let due = plan.next_visit(&history, plan.cell(&history, weight), now, seed);
            prop_assert!(due >= now);
            if history.gone_visits == 0 {
                let from = if history.visits == 0 { now } else { history.last_visit_ms.min(now) };
                prop_assert!(due <= now.max(from.saturating_add(limits.max_ms.max(limits.min_ms))));
                prop_assert!(due >= from.saturating_add(limits.min_ms));
            }
        }
    }

    #[test]
    fn pages_alike_are_spread_and_each_always_the_same_way(seed: u64) {
        let plan = Plan::new(Policy::Uniform, &population(&[(1.0, 1.0)]), Ledger::default(), intervals(10.0));
        let mut history = History::default();
        history.visited(DAY_MS, Seen::Unchanged);
        let due = |seed| plan.next_visit(&history, plan.cell(&history, 1.0), DAY_MS, seed);
        prop_assert_eq!(due(seed), due(seed));
        prop_assert_ne!(due(seed), due(seed ^ 1));
        prop_assert!(due(seed).abs_diff(11 * DAY_MS) <= DAY_MS / 2 + 1);
    }
}
