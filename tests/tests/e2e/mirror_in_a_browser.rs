//! An exported mirror in a real Chromium, opened from the disk.

use seine_tests::LiveWeb;
use seine_tests::sandbox::Seine;

use crate::browser::Browser;

const HTML: &str = "text/html; charset=utf-8";
/// Crawls take what has no type, for the analyser to look at.
const UNTYPED: &str = "";

/// One pixel of a colour.
fn picture(red: u8, green: u8, blue: u8) -> Vec<u8> {
    let mut gif = b"GIF89a\x01\x00\x01\x00\x80\x00\x00".to_vec();
    gif.extend([red, green, blue, 0, 0, 0]);
    gif.extend(b"\x2c\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02\x44\x01\x00\x3b");
    gif
}

fn page(title: &str, style: &str, body: &str) -> String {
    format!(
        "<!doctype html><html lang=en><head><meta charset=utf-8><meta name=viewport content='width=device-width'>\
         <title>{title}</title><link rel=stylesheet href='{style}'><script src=/app.js></script></head>\
         <body><header><h1>{title}</h1></header>{body}</body></html>"
    )
}

/// A site with folders, queries, letters of all alphabets, styles and pictures. A crawl takes files that are no pages where
/// a page links to them.
fn site() -> LiveWeb {
    let web = LiveWeb::new();
    let put = |path: &str, html: &str| web.put_file(path, HTML, html.as_bytes());
    web.put("/robots.txt", "", &[]);
    let start = "<nav><a href='/kapitel/1/'>Chapter one</a> <a href='/list?page=2&amp;sort=a+b'>List, page 2</a> \
        <a href='/čeština/žluťoučký kůň.html'>Příliš žluťoučký kůň</a> <a href='/50%25'>50% off</a> \
        <a href='http://elsewhere.test/page'>Elsewhere</a></nav>\
        <style>p.note { background: #fff3cd; padding: 1em }</style><p class=note>Where the river comes from.</p>\
        <img class=photo src='static/photo.gif' width=300 height=150 alt='The source'>\
        <img class=inline src='data:image/gif;base64,R0lGODlhAQABAIAAAP8AAAAAACwAAAAAAQABAAACAkQBADs=' width=60 height=60 alt=dot>\
        <img src='/static/boat.jpg' srcset='/static/boat2.jpg 2x' width=300 height=150 alt='A boat on the river'>\
        <p>Files: <a href='/static/site.css'>style</a> <a href='/static/more.css'>more style</a> \
        <a href='/static/photo.gif'>photo</a> <a href='/static/stripe.gif'>stripe</a></p>\
        <p>Odd: <a href='/notes.html'>Notes</a> <a href='/old.xhtml'>Old page</a> <a href='/drawing.svg'>Drawing</a> \
        <a href='/data.xml'>Data</a></p>\
        <img src='http://elsewhere.test/counter.gif' alt=''>";
    put("/", &page("The river", "static/site.css", start));
    let chapter = "<p>It is a small river here.</p><ul><li><a href='a/section?of=1#second'>A section of it</a></ul>\
        <p><a href='/'>Home</a></p>";
    put("/kapitel/1/", &page("Chapter one", "../../static/site.css", chapter));
    let section = format!(
        "<p id=first>First.</p>{}<p id=second>Second.</p><p><a href='../../../'>Home</a></p>",
        "<p>And so on.</p>".repeat(40)
    );
    put("/kapitel/1/a/section?of=1", &page("A section", "/static/site.css", &section));
    let list = |other: u32| {
        format!("<p><a href='?page={other}&amp;sort=a+b'>List, page {other}</a> <a href='./'>Home</a></p>")
    };
    put("/list?page=1&sort=a+b", &page("List 1", "/static/site.css", &list(2)));
    put("/list?page=2&sort=a+b", &page("List 2", "/static/site.css", &list(1)));
    put(
        "/50%25",
        &page(
            "Half the price",
            "/static/other.css",
            "<p>Nothing links to the style of this page but the page.</p><p><a href='/'>Home</a></p>",
        ),
    );
    let library = "<p>一座图书馆。</p><p><a href='/'>Home</a></p>";
    put("/%E5%9B%BE%E4%B9%A6%E9%A6%86/", &page("图书馆", "../static/site.css", library));
    // In windows-1250, which only the page itself says.
    let czech = "<html><head><meta charset=windows-1250><title>Příliš žluťoučký kůň</title></head>\
        <body><p>Úpěl ďábelské ódy.</p><p><a href='/%E5%9B%BE%E4%B9%A6%E9%A6%86/'>dál</a></p></body></html>";
    let czech = czech.replace(">dál<", ">&#x56fe;&#x4e66;&#x9986;<");
    web.put_file(
        "/%C4%8De%C5%A1tina/%C5%BElu%C5%A5ou%C4%8Dk%C3%BD%20k%C5%AF%C5%88.html",
        "text/html",
        &windows_1250(&czech),
    );
    let css = "@import url(more.css); body { font-family: sans-serif; max-width: 40em; margin: 2em auto; padding: 0 1em }\
        h1 { color: rgb(20, 83, 45) } header { background: url(\"stripe.gif\"); padding: .1em 1em } img { max-width: 100% }";
    web.put_file("/static/site.css", "text/css", css.as_bytes());
    web.put_file(
        "/static/more.css",
        "text/css",
        b"nav { border-top: 3px solid rgb(200, 60, 60); padding: 1em 0 } nav a { margin-right: 1em }",
    );
    web.put_file("/static/other.css", "text/css", b"body { display: none }");
    web.put_file("/static/photo.gif", UNTYPED, &picture(70, 130, 180));
    web.put_file("/static/stripe.gif", UNTYPED, &picture(220, 235, 225));
    // Each would tell by its title that a script of it has run.
    const RUN: &str = "document.title = 'ran'";
    let xhtml = "http://www.w3.org/1999/xhtml";
    web.put_file("/notes.html", "text/plain", format!("<title>Notes</title><script>{RUN}</script>").as_bytes());
    let old = format!(
        "<?xml version='1.0'?><html xmlns='{xhtml}'><head><title>Old page</title></head><body><p onclick=\"{RUN}\">Old.</p>\
         <script>{RUN}</script><x:script xmlns:x='{xhtml}'>{RUN}</x:script></body></html>"
    );
    web.put_file("/old.xhtml", "application/xhtml+xml", old.as_bytes());
    let drawing = format!("<svg xmlns='http://www.w3.org/2000/svg' onload=\"{RUN}\"><script>{RUN}</script></svg>");
    web.put_file("/drawing.svg", "text/xml", drawing.as_bytes());
    let data = format!("<data><x:script xmlns:x='{xhtml}'>{RUN}</x:script></data>");
    web.put_file("/data.xml", "application/xml", data.as_bytes());
    web.put_file("/static/boat.jpg", "image/jpeg", b"no crawl asks for it");
    web
}

/// The letters that are in the page.
fn windows_1250(text: &str) -> Vec<u8> {
    let byte = |letter: char| match letter {
        'Ú' => 0xda,
        'á' => 0xe1,
        'é' => 0xe9,
        'í' => 0xed,
        'ó' => 0xf3,
        'ý' => 0xfd,
        'č' => 0xe8,
        'ď' => 0xef,
        'ě' => 0xec,
        'ň' => 0xf2,
        'ř' => 0xf8,
        'š' => 0x9a,
        'ť' => 0x9d,
        'ů' => 0xf9,
        'ž' => 0x9e,
        letter => {
            u8::try_from(letter).ok().filter(u8::is_ascii).unwrap_or_else(|| panic!("{letter} is not known here"))
        }
    };
    text.chars().map(byte).collect()
}

#[test]
fn a_mirror_works_in_a_browser_without_any_network() {
    let Some(browser) = Browser::find() else { return };
    let (web, seine) = (site(), Seine::new());
    let run = seine.crawl(&web.url("/"), &["--delay", "0"]);
    assert_eq!((run.code, run.count("pages")), (0, 16), "{run:?}");
    let mirror = seine.data().join("mirror");
    let output = seine.run(&["export", "mirror", mirror.to_str().unwrap()]);
    assert!(output.status.success(), "{output:?}");
    // Whatever is asked of the site from here on fails.
    let host = mirror.join(web.host().replace(':', "_"));
    drop(web);
    browser.check("mirror.mjs", &[("SEINE_MIRROR", host.to_str().expect("a readable path").to_owned())]);
}
