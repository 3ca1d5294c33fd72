//! The pages in Czech.

use super::{Texts, grouped};
use crate::error::QueryError;
use crate::request::MAX_QUERY_CHARACTERS;

/// Thousands are told apart by a space that does not break.
fn number(number: u64) -> String {
    grouped(number, '\u{a0}')
}

/// One, two to four, five and more (and none).
fn counted(count: u64, one: &str, few: &str, many: &str) -> String {
    let noun = match count {
        1 => one,
        2..=4 => few,
        _ => many,
    };
    format!("{} {noun}", number(count))
}

fn results(count: u64) -> String {
    counted(count, "výsledek", "výsledky", "výsledků")
}

pub static TEXTS: Texts = Texts {
    code: "cs",
    tag: "cs",
    name: "Čeština",

    search: "Hledat",
    search_label: "Hledaná slova",
    first_page: "Seine, úvodní stránka",
    skip_to_content: "Přejít k obsahu",
    language_of_the_page: "Jazyk stránky",
    key_search: "hledat",
    key_results: "vybrat výsledek",
    key_open: "otevřít",
    suggestions: "Návrhy",

    pages_in_the_index: |count| counted(count, "stránka v indexu", "stránky v indexu", "stránek v indexu"),
    index_cannot_be_read: "Index teď nelze přečíst",
    nothing_indexed: "Zatím není nic zaindexováno",
    crawl_a_site: "Projděte nějaký web a pak v něm tady hledejte:",
    found_while_crawling: "Stránky lze najít už během procházení.",

    results,
    on_page: |page| format!("strana {page}"),
    took: |milliseconds| match milliseconds {
        ..1.0 => "za méně než 1 ms".to_owned(),
        ..1_000.0 => format!("za {milliseconds:.0} ms"),
        _ => format!("za {} s", format!("{:.1}", milliseconds / 1_000.0).replace('.', ",")),
    },
    sort_by: "Řadit podle",
    by_relevance: "Relevance",
    by_date: "Data",
    showing_results_for: "Zobrazují se výsledky pro",
    search_only_for: "Hledat jen",
    did_you_mean: "Mysleli jste",

    filters: "Filtry",
    site: "Web",
    language: "Jazyk",
    content_type: "Typ",
    year: "Rok",
    show_more: "Zobrazit další",
    active_filters: "Použité filtry",
    remove_filter: |filter| format!("Zrušit filtr {filter}"),
    remove_all_filters: "Zrušit všechny filtry",
    since: |date| format!("od {date}"),
    before: |date| format!("před {date}"),

    cached_copy: "Uložená kopie",
    more_from: |host| format!("Další z {host}"),
    date: |date| format!("{}.\u{a0}{}.\u{a0}{}", date.day(), u8::from(date.month()), date.year()),
    language_name,
    web_page: "Webová stránka",
    plain_text: "Prostý text",
    feed: "Kanál",

    pages_of_results: "Strany výsledků",
    previous: "Předchozí",
    next: "Další",
    page_number: |page| format!("Strana {page}"),
    page_of: |page, pages| format!("Strana {page} z {pages}"),
    left_out: |count| match count {
        1 => "Jeden další výsledek ze stejných webů je vynechán.".to_owned(),
        2..=4 => format!("{count} další výsledky ze stejných webů jsou vynechány."),
        _ => format!("{} dalších výsledků ze stejných webů je vynecháno.", number(count)),
    },
    show_all: "Zobrazit všechny výsledky",
    no_more_results: "Další výsledky už nejsou",
    all_on_earlier_pages: |count| format!("Hledání má {}, všechny na předchozích stranách.", results(count)),
    no_page_has_this_word: "Toto slovo není na žádné stránce",
    no_page_has_these_words: "Žádné z těchto slov není na žádné stránce",
    check_the_spelling: "Zkontrolujte pravopis nebo zkuste jiné slovo.",
    use_fewer_words: "Použijte méně slov nebo slova obecnější.",
    search_everywhere: "Hledat všude, bez filtrů",

    copy_of: "Toto je kopie stránky",
    copy_taken: "uložená",
    copy_notice: "Stránka se od té doby mohla změnit. Skripty, formuláře a obrázky jsou vynechány.",
    no_such_copy: "Taková kopie tu není",
    copy_not_in_index: "Stránka v indexu není, nebo už není.",
    copy_not_kept: "Kopie této stránky se neukazuje: stránka si archivaci nepřeje, nebo se žádná nezachovala.",
    copy_lost: "Archiv už tuto kopii nemá.",
    copy_unreadable: "Kopii teď nelze přečíst",
    archive_is_silent: "Archiv právě neodpovídá. Zkuste to znovu, nebo otevřete originál.",
    filesaver_is_away: "Filesaver, který tuto kopii má, právě neběží. Zkuste to později, nebo otevřete originál.",

    no_such_page: "Taková stránka tu není",
    address_may_be_mistyped: "V adrese je možná překlep.",
    cannot_be_searched: "Toto hledání nelze provést",
    index_is_not_ready: "Index není připraven",
    too_many_searches: "Příliš mnoho hledání najednou",
    try_again_in_a_moment: "Zkuste to za chvíli znovu.",
    took_too_long: "Hledání trvalo příliš dlouho",
    ask_more_precisely: "Zkuste to znovu nebo použijte méně či přesnějších slov.",
    go_to_first_page: "Přejít na úvodní stránku",
    explain,
};

fn explain(error: &QueryError) -> String {
    match error.code() {
        "query_too_long" => format!("Dotaz je příliš dlouhý; smí mít nejvýše {MAX_QUERY_CHARACTERS} znaků."),
        "invalid_page" => "Taková strana výsledků není; začněte první.".to_owned(),
        "not_ready" => {
            "Index teď nelze přečíst; zkuste to znovu, a pokud to potrvá, spusťte seine index rebuild.".to_owned()
        }
        "busy" => "Zkuste to za chvíli znovu.".to_owned(),
        _ => format!("V adrese je chybná hodnota ({error})."),
    }
}

fn language_name(code: &str) -> Option<&'static str> {
    Some(match code {
        "ar" => "arabština",
        "bg" => "bulharština",
        "cs" => "čeština",
        "da" => "dánština",
        "de" => "němčina",
        "el" => "řečtina",
        "en" => "angličtina",
        "es" => "španělština",
        "fi" => "finština",
        "fr" => "francouzština",
        "he" => "hebrejština",
        "hi" => "hindština",
        "hr" => "chorvatština",
        "hu" => "maďarština",
        "it" => "italština",
        "ja" => "japonština",
        "ko" => "korejština",
        "nl" => "nizozemština",
        "no" | "nb" => "norština",
        "pl" => "polština",
        "pt" => "portugalština",
        "ro" => "rumunština",
        "ru" => "ruština",
        "sk" => "slovenština",
        "sl" => "slovinština",
        "sv" => "švédština",
        "tr" => "turečtina",
        "uk" => "ukrajinština",
        "vi" => "vietnamština",
        "zh" => "čínština",
        _ => return None,
    })
}
