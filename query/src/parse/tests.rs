use proptest::prelude::*;

use super::*;

fn item(form: ItemForm, text: &str) -> Item {
    Item { place: Place::Anywhere, form, text: text.to_owned() }
}

fn word(text: &str) -> Clause {
    Clause(vec![item(ItemForm::Words, text)])
}

fn phrase(text: &str) -> Clause {
    Clause(vec![item(ItemForm::Phrase, text)])
}

fn clauses(query: &str) -> Vec<Clause> {
    let asked = parse(query);
    assert_eq!((asked.excluded, asked.filters), (vec![], vec![]), "{query}");
    asked.clauses
}

#[test]
fn words_are_what_stands_between_spaces() {
    assert_eq!(clauses("The  river, řeka!"), [word("The"), word("river,"), word("řeka!")]);
    assert_eq!(clauses("AND or - : a:b -: x* don't"), {
        let mut expected: Vec<Clause> = ["AND", "or", "-", ":", "a:b", "-:", "x*", "don't"].map(word).to_vec();
        expected.truncate(MAX_ITEMS);
        expected
    });
}

#[test]
fn quoted_words_stand_together_and_a_lone_mark_is_nothing() {
    assert_eq!(clauses("\"River bank\" loan"), [phrase("River bank"), word("loan")]);
    assert_eq!(clauses("loan „river bank“"), [word("loan"), phrase("river bank")]);
    assert_eq!(clauses("river \"bank loan"), [word("river"), word("bank"), word("loan")]);
    assert_eq!(clauses("a\"b c\"d"), [word("a"), phrase("b c"), word("d")]);
}

#[test]
fn a_minus_before_a_word_excludes_it() {
    let asked = parse("river -bank -\"big boat\" -title:x semi-final");
    assert_eq!(asked.clauses, [word("river"), word("semi-final")]);
    let title = Item { place: Place::Title, form: ItemForm::Words, text: "x".to_owned() };
    assert_eq!(asked.excluded, [item(ItemForm::Words, "bank"), item(ItemForm::Phrase, "big boat"), title]);
}

#[test]
fn or_joins_its_neighbours_and_alone_it_is_nothing() {
    let either = Clause(vec![item(ItemForm::Words, "river"), item(ItemForm::Phrase, "big stream")]);
    assert_eq!(clauses("old river OR \"big stream\" here"), [word("old"), either.clone(), word("here")]);
    assert_eq!(clauses("river | \"big stream\""), [either]);
    assert_eq!(clauses("OR river OR"), [word("river")]);
    assert_eq!(clauses("river OR OR bank").len(), 1);
}

#[test]
fn operators_narrow_and_what_they_cannot_take_is_words() {
    let asked = parse("site:Example.org lang:CS -type:pdf after:2024-05 before:2025 title:river url:docs/guide hydro*");
    let kinds: Vec<(bool, FilterKind)> =
        asked.filters.into_iter().map(|filter| (filter.excluded, filter.kind)).collect();
    assert_eq!(
        kinds,
        [
            (false, FilterKind::Site("example.org".to_owned())),
            (false, FilterKind::Lang("cs".to_owned())),
            (true, FilterKind::Type("pdf".to_owned())),
            (false, FilterKind::After(1_714_521_600_000)),
            (false, FilterKind::Before(1_735_689_600_000)),
        ]
    );
    let places: Vec<(Place, ItemForm, &str)> =
        asked.clauses.iter().map(|clause| (clause.0[0].place, clause.0[0].form, clause.0[0].text.as_str())).collect();
    assert_eq!(
        places,
        [
            (Place::Title, ItemForm::Words, "river"),
            (Place::Address, ItemForm::Words, "docs/guide"),
            (Place::Anywhere, ItemForm::Prefix, "hydro"),
        ]
    );
    assert_eq!(clauses("after:soon site: lang:english"), [word("after:soon"), word("site:"), word("lang:english")]);
}

#[test]
fn a_period_is_a_year_a_month_or_a_day() {
    const DAY: i64 = 86_400_000;
    assert_eq!(period("1970"), Some((0, 365 * DAY)));
    assert_eq!(period("1970-12"), Some((334 * DAY, 365 * DAY)));
    assert_eq!(period("1970-01-02"), Some((DAY, 2 * DAY)));
    for wrong in ["", "70", "2024-13", "2024-02-30", "2024-1-1-1", "year", "0000", "9999"] {
        assert_eq!(period(wrong), None, "{wrong}");
    }
}

proptest! {
    #[test]
    fn nothing_typed_is_an_error_and_the_number_of_items_is_bounded(
        query in prop_oneof![
            any::<String>(),
            "([a-z]{1,3}[\" ]){0,200}",
            "((OR|\\||-|site:|title:|after:|lang:|\"|\\*| |a|2024|é|中)){0,80}",
        ],
    ) {
        let asked = parse(&query);
        let items = asked.clauses.iter().map(|clause| clause.0.len()).sum::<usize>();
        prop_assert!(items + asked.excluded.len() + asked.filters.len() <= MAX_ITEMS);
        prop_assert!(asked.clauses.iter().all(|clause| !clause.0.is_empty()));
        prop_assert!(items <= query.len());
    }

    #[test]
    fn plain_words_are_all_taken(words in prop::collection::vec("[a-zA-Z0-9éř中]{1,8}", 0..MAX_ITEMS)) {
        prop_assume!(words.iter().all(|word| word != "OR"));
        let asked = parse(&words.join(" "));
        prop_assert_eq!(asked.clauses, words.iter().map(|text| word(text)).collect::<Vec<_>>());
    }
}
