//! Ten thousand broken pages: none of them makes the analysis panic or hang, or gives more than a description may hold.

use prost::Message;
use seine_common::limits::MAX_TEXT_BYTES;
use seine_proto::common::v1::Description;

use crate::cases::{analysed, page};
use crate::random::Random;

const PAGES: usize = 10_000;

const WORDS: [&str; 12] =
    ["river", "the", "of old", "town,", "market.", "price $5", "© 2024", "你好。", "naïve", "Share", "&amp; so", "and"];
const OPEN: [&str; 26] = [
    "<p>",
    "<div class='content main'>",
    "<ul class=nav>",
    "<li>",
    "<table>",
    "<tr>",
    "<td>",
    "<h1>",
    "<h3 id=x>",
    "<a href=/p?q=1>",
    "<a rel=nofollow href='#x'>",
    "<b>",
    "<svg>",
    "<foreignObject>",
    "<math>",
    "<noscript>",
    "<template>",
    "<select>",
    "<option>",
    "<button>",
    "<my-card class=product>",
    "<footer>",
    "<nav>",
    "<article>",
    "<form action=/s>",
    "<blockquote cite=/c>",
];
const CLOSE: [&str; 16] = [
    "</p>",
    "</div>",
    "</ul>",
    "</table>",
    "</h1>",
    "</a>",
    "</b>",
    "</svg>",
    "</noscript>",
    "</template>",
    "</select>",
    "</button>",
    "</my-card>",
    "</article>",
    "</form>",
    "</td>",
];
const ODD: [&str; 16] = [
    "<script>if (a < b) '<p>'</script>",
    "<style>p>a{}</style>",
    "<!-- x -- > -->",
    "<![CDATA[ x ]]>",
    "<?php x ?>",
    "<br/>",
    "<img src=a.png srcset='a 1x, b,c 2x' alt=Picture>",
    "<title>T</title>",
    "<base href=/b/>",
    "<iframe src=/f>",
    "<textarea>",
    "<meta http-equiv=refresh content='0;url=/r'>",
    "<meta property=article:published_time content=2024-05-06>",
    "<script type='application/ld+json'>{\"@type\":\"Article\",\"author\":[{\"name\":\"A\"}]}</script>",
    "<plaintext>",
    "<link rel=alternate hreflang=de href=/de>",
];

fn html(random: &mut Random) -> Vec<u8> {
    let mut html =
        String::from("<!doctype html><html lang=en><head><meta charset=utf-8><title>Page</title></head><body>");
    for _ in 0..20 + random.below(120) {
        match random.below(8) {
            0 | 1 => html.push_str(random.pick(&OPEN)),
            2 => html.push_str(random.pick(&CLOSE)),
            3 if random.below(3) == 0 => html.push_str(random.pick(&ODD)),
            _ => {
                for _ in 0..random.below(20) {
                    html.push_str(random.pick(&WORDS));
                    html.push(' ');
                }
            }
        }
    }
    html.into_bytes()
}

fn mutate(html: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..random.below(12) {
        if html.is_empty() {
            return;
        }
        let at = random.below(html.len());
        match random.below(6) {
            0 | 1 => html[at] ^= 1 << random.below(8),
            2 => html.truncate(at),
            3 => {
                let end = (at + random.below(200)).min(html.len());
                let piece = html[at..end].to_vec();
                let to = random.below(html.len());
                html.splice(to..to, piece);
            }
            4 => {
                let end = (at + random.below(60)).min(html.len());
                html.drain(at..end);
            }
            _ => html.insert(at, [b'<', b'>', b'"', b'&', 0, 0xff, b'/'][random.below(7)]),
        }
    }
}

/// Deep nesting and huge attributes.
fn huge(number: usize, random: &mut Random) -> Vec<u8> {
    let long = |length: usize| "x".repeat(length);
    match number % 8 {
        0 => random.pick(&OPEN).repeat(30_000).into_bytes(),
        1 => format!("<div class='{}'>text</div>", long(2 << 20)).into_bytes(),
        2 => format!("<a href='/{}'>text</a><img srcset='{}'>", long(1 << 20), "a 1x,".repeat(200_000)).into_bytes(),
        3 => "<div>text".repeat(50_000).into_bytes(),
        4 => format!("{}{}", "<table><tr><td>".repeat(5_000), "</div></li>".repeat(50_000)).into_bytes(),
        5 => format!("<{} {}>text", long(1 << 20), "a=1 ".repeat(100_000)).into_bytes(),
        6 => format!("<script type='application/ld+json'>{}", "[{\"@graph\":".repeat(20_000)).into_bytes(),
        _ => "<svg><foreignObject><template><noscript>".repeat(10_000).into_bytes(),
    }
}

fn check(description: &Description) {
    assert!(description.text.len() <= MAX_TEXT_BYTES);
    let covered: u64 = description.blocks.iter().map(|block| u64::from(block.bytes)).sum();
    assert!(description.blocks.is_empty() || covered == description.text.len() as u64);
    assert!((0.0..=1.0).contains(&description.usability));
    assert!(description.encoded_len() < 16 << 20, "a description fits in a message");
}

#[test]
fn ten_thousand_mutated_pages_give_bounded_descriptions() {
    let mut random = Random(0x5e1e_5e1e_5e1e_5e1e);
    for number in 0..PAGES {
        let mut html = html(&mut random);
        mutate(&mut html, &mut random);
        if number % 400 == 0 {
            html.extend(huge(number / 400, &mut random));
        }
        check(&analysed(&page("http://example.org/", html)).description);
    }
}
