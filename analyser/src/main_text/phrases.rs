//! Words by which pages give away what a text is for: consent, copyright, buttons to share or to buy.
//!
//! A phrase is no decision either; see `hints` for the names of elements.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

pub(crate) const GROUPS: [&[&str]; 15] = [
    &["cookie", "consent", "privacy", "datenschutz", "confidentialit", "privacidad", "隐私", "soukrom"],
    &["rights reserved", "copyright", "terms of", "terms &", "impressum", "alle rechte", "mentions légales", "版权"],
    &["subscribe", "newsletter", "sign up", "abonn", "suscrib", "inbox", "订阅", "odběr"],
    &[
        "sign in",
        "log in",
        "login",
        "register",
        "my account",
        "anmelden",
        "connexion",
        "iniciar sesi",
        "登录",
        "přihlás",
    ],
    &["share", "facebook", "twitter", "linkedin", "pinterest", "whatsapp", "follow us", "teilen", "partager", "分享"],
    &["comment", "reply", "replies", "kommentar", "commentaire", "coment", "评论", "回复"],
    &[
        "related",
        "you may also",
        "you might",
        "recommended",
        "similar",
        "more from",
        "read next",
        "trending",
        "popular",
        "ähnlich",
        "相关",
        "推荐",
    ],
    &[
        "read more",
        "learn more",
        "see more",
        "view all",
        "show more",
        "load more",
        "view more",
        "shop now",
        "see all",
        "mehr lesen",
        "weiterlesen",
        "lire la suite",
        "leer más",
        "更多",
    ],
    &[
        "add to cart",
        "add to bag",
        "buy now",
        "checkout",
        "wishlist",
        "your cart",
        "sold out",
        "in stock",
        "quick view",
        "in den warenkorb",
        "ajouter au panier",
        "加入购物车",
        "do košíku",
    ],
    &["shipping", "delivery", "returns", "refund", "warranty", "versand", "livraison", "envío"],
    &["skip to", "menu", "search", "toggle", "close", "back to", "previous", "next"],
    &["javascript", "browser", "enable"],
    &["ago", "posted", "published", "updated", "min read", "by "],
    &["review", "rating", "out of 5", "stars", "bewertung", "avis"],
    &["faq", "frequently asked", "questions", "q&a", "häufige fragen"],
];

/// How often each group occurs in a text.
pub(crate) type Counts = [u8; GROUPS.len()];

struct Phrases {
    finder: AhoCorasick,
    groups: Vec<u8>,
}

static PHRASES: LazyLock<Phrases> = LazyLock::new(|| {
    let phrases = || GROUPS.iter().enumerate().flat_map(|(group, all)| all.iter().map(move |phrase| (group, *phrase)));
    let finder = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::LeftmostLongest)
        .kind(Some(AhoCorasickKind::DFA))
        .build(phrases().map(|(_, phrase)| phrase))
        .expect("a few short phrases");
    Phrases { finder, groups: phrases().map(|(group, _)| group as u8).collect() }
});

/// Long texts give nothing away by one phrase.
const MAX_LOOK_BYTES: usize = 160;

/// How often each group occurs at the beginning of a text.
pub(crate) fn count(text: &[u8]) -> Counts {
    let phrases = &*PHRASES;
    let mut found = [0u8; GROUPS.len()];
    for hit in phrases.finder.find_iter(&text[..text.len().min(MAX_LOOK_BYTES)]) {
        let count = &mut found[usize::from(phrases.groups[hit.pattern().as_usize()])];
        *count = count.saturating_add(1);
    }
    found
}
