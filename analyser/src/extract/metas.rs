//! Every `<meta>` of a page with its name, for filters that ask for one. In bounded memory.

use super::text::one_line;

/// Pages have some twenty.
const MAX_METAS: usize = 100;
const MAX_NAME_BYTES: usize = 64;
const MAX_CONTENT_BYTES: usize = 1 << 10;

#[derive(Debug, Default)]
pub(crate) struct Metas {
    all: Vec<(String, String)>,
}

impl Metas {
    pub fn add(&mut self, name: &[u8], content: &[u8]) {
        if name.is_empty() || name.len() > MAX_NAME_BYTES || self.all.len() >= MAX_METAS {
            return;
        }
        let name = String::from_utf8_lossy(name).to_lowercase();
        self.all.push((name, one_line(content, MAX_CONTENT_BYTES)));
    }

    pub fn into_all(self) -> Vec<(String, String)> {
        self.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_lower_case_and_memory_is_bounded() {
        let mut metas = Metas::default();
        metas.add(b"Author", b" Jana  Novakova ");
        for _ in 0..2 * MAX_METAS {
            metas.add(b"x", &[b'y'; 2 * MAX_CONTENT_BYTES]);
        }
        metas.add(&[b'n'; 200], b"too long a name");
        let all = metas.into_all();
        assert_eq!(all[0], ("author".to_owned(), "Jana Novakova".to_owned()));
        assert_eq!(all.len(), MAX_METAS);
        assert!(all.iter().all(|(_, content)| content.len() <= MAX_CONTENT_BYTES));
    }
}
