//! The layout of a page: a header with navigation, sections of text, links and widgets, a footer and a script.
//!
//! The size of a page is met exactly by the length of its script, unless links and text already need more. Visible
//! text is counted while it is written, so that its share comes out as configured.

use super::{Pages, Place, push_number};
use crate::fake_web::dice::Dice;
use crate::fake_web::graph::{self, Form, Link, Target};
use crate::fake_web::text::TextPool;

/// What of a page that is neither text nor links goes into style and into script; widgets take what is left.
const STYLE_SHARE: f64 = 0.2;
const SCRIPT_SHARE: f64 = 0.3;
const LINKS_IN_NAVIGATION: usize = 4;
const LINKS_PER_SECTION: usize = 5;
const MOST_SECTIONS: usize = 8;
const FOOT: &str = "</body></html>\n";

/// One page being written.
pub struct Writer<'a> {
    pages: &'a Pages,
    place: Place<'a>,
    pool: &'a TextPool,
    out: &'a mut Vec<u8>,
    /// Where the body begins in `out`.
    start: usize,
    /// Bytes of visible text so far.
    visible: usize,
}

impl<'a> Writer<'a> {
    pub fn new(pages: &'a Pages, place: Place<'a>, pool: &'a TextPool, out: &'a mut Vec<u8>) -> Self {
        Self { pages, place, pool, start: out.len(), out, visible: 0 }
    }

    fn put(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    /// Appends visible text.
    fn say(&mut self, text: &[u8]) {
        self.out.extend_from_slice(text);
        self.visible += text.len();
    }

    fn put_number(&mut self, number: u32) {
        push_number(self.out, number);
    }

    fn len(&self) -> usize {
        self.out.len() - self.start
    }

    pub fn page(&mut self, page: u32, size: usize, links: &[Link], dice: &mut Dice) {
        let pages = self.pages;
        let text_bytes = (size as f64 * pages.config.text_share) as usize;
        let markup_bytes = (size - text_bytes) as f64;
        let script_bytes = (markup_bytes * SCRIPT_SHARE) as usize;

        self.head(page, (markup_bytes * STYLE_SHARE) as usize, dice);
        let (in_nav, in_text) = links.split_at(links.len().min(LINKS_IN_NAVIGATION));
        self.navigation(in_nav);

        self.put("<main><article><h1>");
        self.title(page);
        self.put("</h1>\n<p class=\"lead\">");
        self.put("uniq");
        self.put_number(page);
        self.put("x");
        self.put_number(self.place.host as u32);
        self.put(" ");
        self.say(self.pool.sentence(dice));
        self.put("</p>\n");

        let sections = links.len().div_ceil(LINKS_PER_SECTION).clamp(1, MOST_SECTIONS);
        let before = self.len();
        let room = size.saturating_sub(script_bytes + before);
        let mut groups = in_text.chunks(in_text.len().div_ceil(sections).max(1));
        for section in 1..=sections {
            self.section_text(section, text_bytes * section / sections, dice);
            self.section_links(groups.next().unwrap_or_default());
            let target = before + room * section / sections;
            loop {
                let widget = pages.filler.widget(dice);
                if self.len() + widget.len() > target {
                    break;
                }
                self.put(widget);
            }
            self.put("</section>\n");
        }
        self.put("</article></main>\n<footer class=\"site-footer\"><p>Fake web, page ");
        self.put_number(page);
        self.put("</p></footer>\n");
        self.script_up_to(size, dice);
        self.put(FOOT);
    }

    fn head(&mut self, page: u32, style_bytes: usize, dice: &mut Dice) {
        self.put("<!DOCTYPE html>\n<html lang=\"");
        self.put(self.pool.lang.code());
        self.put("\"><head><meta charset=\"utf-8\"><title>");
        self.title(page);
        self.put(
            "</title>\n<meta name=\"viewport\" content=\"width=device-width\"><meta name=\"description\" content=\"",
        );
        self.out.extend_from_slice(self.pool.sentence(dice).trim_ascii_end());
        self.put("\">\n<style>");
        self.pages.filler.write_style(dice, style_bytes, self.out);
        self.put("</style></head>\n<body class=\"page\">\n");
    }

    fn title(&mut self, page: u32) {
        self.name(self.place.host, page);
        self.put(" ");
        self.put_number(page);
    }

    fn name(&mut self, host: usize, page: u32) {
        self.say(self.pages.name(self.pool, host, page));
    }

    fn navigation(&mut self, links: &[Link]) {
        self.put("<header class=\"site-header\"><nav aria-label=\"main\"><ul class=\"menu\">");
        for link in links {
            self.put("<li class=\"menu-item\">");
            self.link(*link);
            self.put("</li>");
        }
        self.put("</ul></nav></header>\n");
    }

    fn section_text(&mut self, section: usize, visible: usize, dice: &mut Dice) {
        self.put("<section class=\"chapter\" id=\"s");
        self.put_number(section as u32);
        self.put("\"><h2 class=\"chapter-title\">");
        self.say(self.pool.phrase(dice));
        self.put("</h2>\n");
        while self.visible < visible {
            self.put("<p>");
            let sentences = 3 + dice.below(3);
            self.say(self.pool.paragraph(dice, sentences, visible - self.visible));
            self.put("</p>\n");
        }
    }

    fn section_links(&mut self, links: &[Link]) {
        if links.is_empty() {
            return;
        }
        self.put("<ul class=\"related\">\n");
        for link in links {
            self.put("<li>");
            self.link(*link);
            self.put("</li>\n");
        }
        self.put("</ul>\n");
    }

    fn link(&mut self, link: Link) {
        self.put("<a class=\"link\" href=\"");
        if link.form == Form::Absolute && !matches!(link.target, Target::OtherHost { .. }) {
            self.put("http://");
            self.put(self.place.authority);
        }
        match link.target {
            Target::Home => self.put("/"),
            Target::Private(page) => {
                self.put("/private/");
                self.put_number(page);
                self.put(".html");
            }
            Target::OtherHost { host, page } => {
                self.put("http://");
                self.put(&self.place.authorities[host]);
                self.put("/p/");
                self.put_number(page);
                self.put(".html");
            }
            // Pages stand side by side in /p/, so a relative link is the file name.
            Target::Page(page) => {
                if link.form != Form::Relative {
                    self.put("/p/");
                }
                self.put_number(page);
                self.put(".html");
            }
        }
        if link.form == Form::Fragment {
            self.put("#s2");
        }
        self.put("\">");
        match link.target {
            Target::Home => self.say(b"Home"),
            Target::Private(_) => self.say(b"Private"),
            Target::Page(page) => self.name(self.place.host, page),
            Target::OtherHost { host, page } => self.name(host, page),
        }
        self.put("</a>");
    }

    /// Makes the page as long as it shall be, counting what still follows.
    fn script_up_to(&mut self, size: usize, dice: &mut Dice) {
        const OPEN: &str = "<script>";
        const CLOSE: &str = "</script>";
        let others = self.len() + OPEN.len() + CLOSE.len() + FOOT.len();
        if let Some(length) = size.checked_sub(others) {
            self.put(OPEN);
            self.pages.filler.write_script(dice, length, self.out);
            self.put(CLOSE);
        }
    }

    pub fn root(&mut self) {
        let config = &self.pages.config;
        self.put("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Fake web, host ");
        self.put_number(self.place.host as u32);
        self.put("</title></head>\n<body><h1>All pages begin here</h1>\n<ul>\n");
        for page in 0..graph::first_pages(config) {
            self.put("<li>");
            self.link(Link { target: Target::Page(page), form: Form::FromRoot });
            self.put("</li>\n");
        }
        if config.private_links {
            for page in 0..2 {
                self.put("<li>");
                self.link(Link { target: Target::Private(page), form: Form::FromRoot });
                self.put("</li>\n");
            }
        }
        for path in &config.fault_links {
            self.put("<li><a href=\"");
            self.put(path);
            self.put("\">fault</a></li>\n");
        }
        self.put("</ul>\n");
        self.put(FOOT);
    }
}
