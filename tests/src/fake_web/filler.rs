//! The part of a page that is no text: style rules, script lines, empty widgets. Made once, copied into pages.
//!
//! None of it holds a link, visible text or a reference to another file, so a page's links and text stay exactly what
//! the graph and the text pool say.

use std::fmt::Write as _;

use super::dice::Dice;

/// Few enough to stay in the cache, more than one page shows.
const LINES: usize = 400;
const WIDGETS: usize = 256;

/// Lines of one kind in one piece, with the start of each.
#[derive(Debug)]
struct Lines {
    text: String,
    starts: Vec<usize>,
}

#[derive(Debug)]
pub struct Filler {
    style: Lines,
    script: Lines,
    widgets: Vec<String>,
}

impl Filler {
    pub fn new(seed: u64) -> Self {
        let mut dice = Dice::keyed(seed, 0xf111, 0);
        Self {
            style: Lines::new(&mut dice, style_rule),
            script: Lines::new(&mut dice, script_line),
            widgets: (0..WIDGETS).map(|_| widget(&mut dice)).collect(),
        }
    }

    /// Appends exactly `len` bytes of style rules.
    pub fn write_style(&self, dice: &mut Dice, len: usize, out: &mut Vec<u8>) {
        self.style.write(dice, len, out);
    }

    /// Appends exactly `len` bytes of script.
    pub fn write_script(&self, dice: &mut Dice, len: usize, out: &mut Vec<u8>) {
        self.script.write(dice, len, out);
    }

    /// An element without visible text.
    pub fn widget(&self, dice: &mut Dice) -> &str {
        dice.pick::<String>(&self.widgets)
    }
}

impl Lines {
    fn new(dice: &mut Dice, write_line: fn(&mut Dice, &mut String)) -> Self {
        let mut lines = Self { text: String::new(), starts: Vec::with_capacity(LINES) };
        for _ in 0..LINES {
            lines.starts.push(lines.text.len());
            write_line(dice, &mut lines.text);
            lines.text.push('\n');
        }
        lines
    }

    /// Whole lines from a random one on, round the end, and spaces for the line that no longer fits.
    fn write(&self, dice: &mut Dice, len: usize, out: &mut Vec<u8>) {
        let end = out.len() + len;
        let mut start = *dice.pick(&self.starts);
        while out.len() < end {
            let rest = &self.text.as_bytes()[start..];
            let room = end - out.len();
            if rest.len() <= room {
                out.extend_from_slice(rest);
                start = 0;
            } else {
                let whole = rest[..room].iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
                out.extend_from_slice(&rest[..whole]);
                out.resize(end, b' ');
            }
        }
    }
}

fn style_rule(dice: &mut Dice, out: &mut String) {
    const NAMES: [&str; 8] = ["card", "grid", "media", "badge", "tabs", "panel", "toolbar", "hero"];
    let _ = write!(
        out,
        ".{}-{}>.c{}{{margin:{}px {}px;padding:.{}rem;color:#{:06x};line-height:1.{}}}",
        dice.pick(&NAMES),
        dice.below(90),
        dice.below(400),
        dice.below(24),
        dice.below(24),
        dice.below(99),
        dice.below(1 << 24),
        dice.below(9),
    );
}

fn script_line(dice: &mut Dice, out: &mut String) {
    let (a, b, c) = (dice.below(1000), dice.below(1000), dice.below(1 << 30));
    let _ = match dice.below(4) {
        0 => write!(out, "var m{a}={{\"id\":{b},\"token\":\"{c:08x}\",\"lazy\":true,\"weight\":0.{b}}};"),
        1 => write!(out, "function f{a}(e){{for(var i=0;i<{b};i++){{e.push(i*{a}%{b})}}return e.length>{a}&&e[{b}]}}"),
        2 => write!(out, "window.queue=window.queue||[];window.queue.push([\"track\",{a},\"{c:08x}\",{b}]);"),
        _ => write!(out, "if(document.readyState!==\"loading\"){{init{a}({b})}}else{{wait(init{a},0x{c:x})}}"),
    };
}

fn widget(dice: &mut Dice) -> String {
    let (a, b, c) = (dice.below(1000), dice.below(400), dice.below(1 << 30));
    match dice.below(4) {
        0 => format!(
            "<div class=\"card card-{a} c{b}\" data-id=\"{c}\"><span class=\"icon i{b}\" aria-hidden=\"true\"></span></div>\n"
        ),
        1 => format!(
            "<svg class=\"glyph\" width=\"24\" height=\"24\" viewBox=\"0 0 24 24\" aria-hidden=\"true\"><path d=\"M{a} {b}l{b} {a}h{a}v-{b}z\"/><circle cx=\"{b}\" cy=\"{a}\" r=\"3\"/></svg>\n"
        ),
        2 => format!(
            "<div class=\"row r{a}\"><div class=\"col col-6 c{b}\"></div><div class=\"col col-6\" style=\"min-height:{b}px\"></div></div>\n"
        ),
        _ => format!(
            "<form class=\"f{a}\" data-key=\"{c:08x}\"><input type=\"hidden\" name=\"k{b}\" value=\"{c}\"><input type=\"hidden\" name=\"s\" value=\"{a}\"></form>\n"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filler_has_exactly_the_length_asked_for() {
        let filler = Filler::new(3);
        for len in [0, 1, 17, 500, 4_000, 400_000] {
            let mut out = b"before".to_vec();
            filler.write_script(&mut Dice::new(len as u64), len, &mut out);
            filler.write_style(&mut Dice::new(len as u64), len, &mut out);
            assert_eq!(out.len(), 6 + 2 * len);
        }
    }

    #[test]
    fn filler_holds_no_link_and_does_not_end_its_element() {
        let filler = Filler::new(3);
        let widgets = filler.widgets.concat();
        for text in [&filler.script.text, &filler.style.text, &widgets] {
            assert!(!text.contains("href") && !text.contains("src="));
        }
        assert!(!filler.script.text.contains("</") && !filler.style.text.contains("</"));
    }
}
