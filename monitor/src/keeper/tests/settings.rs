//! Settings that change while a crawl runs: who is told, and what becomes of what waits.

use seine_proto::monitor::v1::{Admission, Terms, Urls};

use super::*;

fn set(bench: &mut Bench, name: &str, settings: Crawl, fields: &[&str]) -> SetCrawlResponse {
    let fields = fields.iter().map(|field| (*field).to_owned()).collect();
    let request = SetCrawlRequest { name: name.to_owned(), settings: Some(settings), fields };
    let answer = bench.keeper.set_crawl(request).unwrap();
    bench.keeper.grant_ready().unwrap();
    answer
}

fn delay(ms: u32) -> Crawl {
    Crawl { delay_ms: Some(ms), ..Crawl::default() }
}

fn deny_url(pattern: &str) -> Crawl {
    let admission = Admission { deny_urls: vec![pattern.to_owned()], ..Admission::default() };
    Crawl { admission: Some(admission), ..Crawl::default() }
}

fn hear_terms(bench: &mut Bench) -> Terms {
    match bench.hear() {
        monitor_message::Message::Terms(terms) => terms,
        other => panic!("expected terms, heard {other:?}"),
    }
}

fn want(bench: &mut Bench, token: u64, under_way: &[&QueuedUrl]) -> Urls {
    let under_way = under_way.iter().map(|url| url.place.clone()).collect();
    bench.say(collector_message::Message::WantUrls(WantUrls { token, limit: 512, under_way, ..WantUrls::default() }));
    match bench.hear() {
        monitor_message::Message::Urls(urls) => urls,
        other => panic!("expected URLs, heard {other:?}"),
    }
}

#[test]
fn only_what_is_named_changes_and_it_is_told_with_its_old_value() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    bench.add(crawl("c", &["http://a.test/"]));
    let asked = Crawl { max_pages: Some(3), ..delay(2_000) };
    let changes = set(&mut bench, "c", asked, &["delay_ms"]).changes;
    let told: Vec<_> = changes.iter().map(|c| (c.setting.as_str(), c.before.as_str(), c.now.as_str())).collect();
    assert_eq!(told, [("delay", "1 s", "2 s")]);
    let settings = bench.keeper.crawls[&CrawlId(1)].record.settings.clone();
    assert_eq!((settings.delay_ms(), settings.max_pages), (2_000, None));
    assert_eq!(set(&mut bench, "c", delay(2_000), &["delay_ms"]).changes, []);
    let back = set(&mut bench, "c", Crawl::default(), &["delay_ms"]).changes;
    assert_eq!((back.len(), back[0].now.as_str()), (1, "1 s"), "what is named and not given is the default again");
}

#[test]
fn what_cannot_be_set_is_refused_by_name_and_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    bench.add(crawl("c", &["http://a.test/"]));
    for (field, settings) in [
        ("seeds", Crawl { seeds: vec!["http://b.test/".into()], ..Crawl::default() }),
        ("colour", Crawl::default()),
        ("delay_ms", delay(1_000_000)),
        ("scope", Crawl { scope: 42, ..Crawl::default() }),
        ("admission.deny_urls", deny_url("re:(")),
    ] {
        let before = bench.keeper.crawls[&CrawlId(1)].record.clone();
        let request = SetCrawlRequest { name: "c".into(), settings: Some(settings), fields: vec![field.to_owned()] };
        let refusal = bench.keeper.set_crawl(request).unwrap_err().to_string();
        assert!(refusal.starts_with(&format!("{field}: ")), "{refusal}");
        assert_eq!(bench.keeper.crawls[&CrawlId(1)].record, before);
    }
}

#[test]
fn the_holder_of_a_host_is_told_a_new_delay_and_a_lost_one_rests_for_it() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::manual(1_000_000);
    let mut bench = Bench::new(dir.path(), clock.clone(), true);
    bench.add(crawl("c", &["http://a.test/"]));
    let lease = bench.hear_lease();
    set(&mut bench, "c", delay(5_000), &["delay_ms"]);
    let terms = hear_terms(&mut bench);
    assert_eq!((terms.token, terms.pace.unwrap().delay_ms, terms.judge_again), (lease.token, 5_000, false));
    assert_eq!(terms.crawl.unwrap().delay_ms(), 5_000);
    drop(bench);
    let mut bench = Bench::new(dir.path(), clock, true);
    bench.advance(4_800);
    assert!(bench.silent(), "the delay holds over a restart");
    bench.advance(200);
    assert_eq!(bench.hear_lease().pace.unwrap().delay_ms, 5_000);
}

#[test]
fn the_same_crawl_asked_for_with_other_settings_is_told_to_holders_too() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    bench.add(crawl("c", &["http://a.test/"]));
    bench.hear_lease();
    bench.add(Crawl { delay_ms: Some(9_000), ..crawl("c", &["http://a.test/"]) });
    assert_eq!(hear_terms(&mut bench).pace.unwrap().delay_ms, 9_000);
    bench.add(Crawl { delay_ms: Some(9_000), ..crawl("c", &["http://a.test/"]) });
    assert!(bench.silent(), "nothing has changed");
}

#[test]
fn what_was_settled_when_a_lease_began_takes_the_lease_back() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    bench.add(crawl("c", &["http://a.test/"]));
    let lease = bench.hear_lease();
    set(&mut bench, "c", Crawl { max_pages: Some(7), ..Crawl::default() }, &["max_pages"]);
    assert!(matches!(bench.hear(), monitor_message::Message::Revoke(revoke) if revoke.token == lease.token));
    bench.give_back(lease.token, None);
    assert_eq!(bench.hear_lease().page_allowance, 7);
}

#[test]
fn what_waits_is_judged_by_changed_rules_and_what_is_being_fetched_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    bench.add(crawl("c", &["http://a.test/1", "http://a.test/x/2", "http://a.test/x/3", "http://a.test/4"]));
    let lease = bench.hear_lease();
    let sent = urls(&lease);
    set(&mut bench, "c", deny_url("*/x/*"), &["admission.deny_urls"]);
    assert!(hear_terms(&mut bench).judge_again);
    let again = want(&mut bench, lease.token, &[&sent[1]]);
    let names: Vec<_> = again.urls.iter().map(|url| url.url.as_str()).collect();
    assert_eq!((names, again.exhausted), (vec!["http://a.test/1", "http://a.test/4"], true));
    let rule = "deny-urls \"*/x/*\"";
    let verdict = bench.keeper.explain("http://a.test/x/3").unwrap().crawls.remove(0);
    assert_eq!((verdict.state.as_str(), verdict.reason.as_str()), ("excluded", rule));
    let status = bench.keeper.status(CrawlId(1)).unwrap();
    let counted: Vec<_> = status.exclusions.iter().map(|e| (e.rule.as_str(), e.links)).collect();
    assert_eq!((counted, status.queued, status.failed), (vec![(rule, 1)], 3, 0));
    bench.settle(lease.token, &sent[1], saved());
    assert!(!bench.hear_settled().stale);
    assert_eq!(bench.keeper.status(CrawlId(1)).unwrap().pages, 1, "it was under way and came in");
    assert_eq!(
        bench.discover(lease.token, &sent[0], &["http://a.test/x/9"], false),
        [],
        "links are judged by them too"
    );
}

#[test]
fn a_host_whose_urls_are_all_excluded_is_done_without_a_lease_and_the_crawl_ends() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    let seeds: Vec<String> = (0..5_000).map(|number| format!("http://a.test/x/{number}")).collect();
    bench.add(crawl("c", &seeds.iter().map(String::as_str).collect::<Vec<_>>()));
    let lease = bench.hear_lease();
    bench.give_back(lease.token, Some(0));
    set(&mut bench, "c", deny_url("*/x/*"), &["admission.deny_urls"]);
    for _ in 0..10 {
        bench.advance(1_000);
    }
    assert!(bench.silent());
    assert_eq!(bench.state("c"), CrawlState::Finished);
    let status = bench.keeper.status(CrawlId(1)).unwrap();
    assert_eq!((status.queued, status.exclusions[0].links), (0, 5_000));
    // A round later the rule is gone.
    let request = AddCrawlRequest { crawl: Some(crawl("c", &["http://a.test/x/0"])), again: true };
    bench.keeper.add_crawl(request).unwrap();
    bench.advance(1_000);
    assert!(!urls(&bench.hear_lease()).is_empty(), "they come back by a round");
}

#[test]
fn a_denied_host_is_emptied_even_while_it_rests_for_long() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    bench.add(crawl("c", &["http://a.test/", "http://b.test/1", "http://b.test/2"]));
    let leases = [bench.hear_lease(), bench.hear_lease()];
    let on = |host: &str| leases.iter().find(|lease| lease.host == host).unwrap();
    bench.settle(on("a.test").token, &urls(on("a.test"))[0], saved());
    bench.hear_settled();
    let patience = Outcome { status: 429, retry_after_s: 80_000, ..outcome(OutcomeKind::SlowDown) };
    bench.settle(on("b.test").token, &urls(on("b.test"))[0], patience);
    bench.hear_settled();
    bench.give_back(on("a.test").token, Some(0));
    bench.give_back(on("b.test").token, Some(0));
    assert_eq!(bench.state("c"), CrawlState::Running);
    let admission = Admission { deny_hosts: vec!["b.test".into()], ..Admission::default() };
    let settings = Crawl { admission: Some(admission), ..Crawl::default() };
    set(&mut bench, "c", settings, &["admission.deny_hosts"]);
    bench.keeper.sweep_hosts().unwrap();
    bench.keeper.empty_some().unwrap();
    assert_eq!(bench.state("c"), CrawlState::Finished);
    let verdict = bench.keeper.explain("http://b.test/2").unwrap().crawls.remove(0);
    assert_eq!((verdict.state.as_str(), verdict.reason.as_str()), ("excluded", "deny-hosts \"b.test\""));
}

#[test]
fn a_known_page_that_waits_for_its_visit_is_withdrawn_when_a_rule_excludes_it_meanwhile() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    bench.add(crawl("c", &["http://a.test/", "http://a.test/x/1"]));
    let lease = bench.hear_lease();
    for url in urls(&lease) {
        bench.settle(lease.token, &url, saved());
        bench.hear_settled();
    }
    bench.give_back(lease.token, None);
    bench.keeper.refresh_now("c").unwrap();
    bench.keeper.grant_ready().unwrap();
    let lease = bench.hear_lease();
    assert!(urls(&lease).iter().all(|url| url.revisit.as_ref().unwrap().withdraw.is_empty()));
    set(&mut bench, "c", deny_url("*/x/*"), &["admission.deny_urls"]);
    hear_terms(&mut bench);
    let again = want(&mut bench, lease.token, &[]).urls;
    let withdrawn: Vec<_> = again.iter().filter(|url| !url.revisit.as_ref().unwrap().withdraw.is_empty()).collect();
    assert_eq!((again.len(), withdrawn.len(), withdrawn[0].url.as_str()), (2, 1, "http://a.test/x/1"));
}

#[test]
fn a_host_that_two_crawls_want_is_asked_at_the_longer_delay_of_both() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    bench.add(crawl("fast", &["http://a.test/1", "http://a.test/2"]));
    let lease = bench.hear_lease();
    assert_eq!(lease.pace.unwrap().delay_ms, 1_000);
    bench.add(Crawl { delay_ms: Some(4_000), ..crawl("slow", &["http://a.test/3"]) });
    assert_eq!(hear_terms(&mut bench).pace.unwrap().delay_ms, 4_000, "from when the other wants it");
    bench.give_back(lease.token, Some(0));
    bench.advance(3_800);
    assert!(bench.silent());
    bench.advance(200);
    let lease = bench.hear_lease();
    assert_eq!(lease.pace.unwrap().delay_ms, 4_000, "whichever crawl it is");
    let change = SetCrawlStateRequest { name: "slow".to_owned(), state: CrawlState::Paused.into() };
    bench.keeper.set_state(&change).unwrap();
    let paused = match bench.hear() {
        // The slow one had it, or it was told that it is alone.
        monitor_message::Message::Revoke(_) => true,
        monitor_message::Message::Terms(terms) => terms.pace.unwrap().delay_ms == 1_000,
        other => panic!("{other:?}"),
    };
    assert!(paused);
}

#[test]
fn a_crawl_that_had_all_its_pages_goes_on_when_more_are_wanted() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    bench.add(Crawl { max_pages: Some(1), ..crawl("c", &["http://a.test/1", "http://a.test/2"]) });
    let lease = bench.hear_lease();
    bench.settle(lease.token, &urls(&lease)[0], saved());
    bench.hear_settled();
    bench.give_back(lease.token, Some(0));
    assert_eq!(bench.state("c"), CrawlState::Finished);
    set(&mut bench, "c", Crawl { max_pages: Some(2), ..Crawl::default() }, &["max_pages"]);
    assert_eq!(bench.state("c"), CrawlState::Running);
    bench.advance(100_000);
    assert_eq!(urls(&bench.hear_lease())[0].url, "http://a.test/2");
}
