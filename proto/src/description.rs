//! Reads main text and rest out of a description: its text is stored once, and its blocks say what each part is.
//!
//! Whoever needs the main text asks here, so that all mean the same by it. Blocks come from another process: where they
//! do not fit the text, what is left of it counts as one block that is not main.

use crate::common::v1::{Description, TextBlock};

impl Description {
    /// The blocks with their text, in page order; together they are the whole text.
    pub fn parts(&self) -> impl Iterator<Item = (TextBlock, &str)> {
        let mut rest = self.text.as_str();
        let mut blocks = self.blocks.iter();
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let Some(block) = blocks.next() else {
                return Some((TextBlock::default(), std::mem::take(&mut rest)));
            };
            let (text, behind) = rest.split_at(rest.floor_char_boundary(block.bytes as usize));
            rest = behind;
            Some((*block, text))
        })
    }

    /// What a reader came for: the main blocks, one below the other. The whole text where nothing is known of it.
    pub fn main_text(&self) -> String {
        if self.blocks.is_empty() {
            return self.text.clone();
        }
        self.joined(true)
    }

    /// What is not main text.
    pub fn remainder(&self) -> String {
        if self.blocks.is_empty() {
            return String::new();
        }
        self.joined(false)
    }

    fn joined(&self, main: bool) -> String {
        let mut out = String::new();
        let mut is_adjacent = true;
        for (block, text) in self.parts() {
            if block.main != main {
                is_adjacent = false;
                continue;
            }
            // What was taken out in between ends the line.
            if !std::mem::replace(&mut is_adjacent, true) && !out.is_empty() {
                out.truncate(out.trim_ascii_end().len());
                out.push('\n');
            }
            out.push_str(text);
        }
        out.truncate(out.trim_ascii_end().len());
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn description(text: &str, blocks: &[(u32, bool)]) -> Description {
        let blocks =
            blocks.iter().map(|(bytes, main)| TextBlock { bytes: *bytes, main: *main, ..TextBlock::default() });
        Description { text: text.into(), blocks: blocks.collect(), ..Description::default() }
    }

    #[test]
    fn main_text_and_remainder_share_the_text_between_them() {
        let page = description("Menu\nOne.\nTwo.\nFooter", &[(5, false), (10, true), (6, false)]);
        assert_eq!(page.main_text(), "One.\nTwo.");
        assert_eq!(page.remainder(), "Menu\nFooter");
    }

    #[test]
    fn what_is_taken_out_of_a_line_ends_it() {
        let page = description("One Button two", &[(4, true), (7, false), (3, true)]);
        assert_eq!(page.main_text(), "One\ntwo");
    }

    #[test]
    fn a_text_of_which_nothing_is_known_is_main() {
        assert_eq!(description("All of it", &[]).main_text(), "All of it");
        assert_eq!(description("All of it", &[]).remainder(), "");
    }

    #[test]
    fn blocks_that_do_not_fit_lose_nothing_and_split_no_character() {
        for blocks in [&[(2, true)][..], &[(1, true), (900, false)], &[(0, true), (4, true)]] {
            let page = description("é你好 end", blocks);
            assert_eq!(page.parts().map(|(_, text)| text).collect::<String>(), "é你好 end");
        }
    }
}
