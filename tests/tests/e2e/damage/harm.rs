//! What a disk may do to one file.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use seine_tests::fake_web::dice::Dice;

use super::crawled::Crawled;

#[derive(Debug)]
pub struct Harm {
    file: PathBuf,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Nothing,
    Flip { byte: u64, bit: u8 },
    Cut { length: u64 },
    Missing,
}

impl Harm {
    pub fn none() -> Self {
        Self { file: PathBuf::new(), kind: Kind::Nothing }
    }

    /// Of any file of archive, log and index; as often of each part, whatever the number of its files.
    pub fn draw(directory: &Crawled, dice: &mut Dice) -> Self {
        let part = *dice.pick(&["filesaver/archive", "filesaver/log", "index"]);
        let files: Vec<PathBuf> = directory.files().into_iter().filter(|file| file.starts_with(part)).collect();
        let file = dice.pick(&files).clone();
        let length = directory.length(&file);
        let kind = match dice.below(10) {
            0 => Kind::Missing,
            1..=3 => Kind::Cut { length: dice.below(length.max(1) as usize) as u64 },
            _ if length == 0 => Kind::Cut { length: 0 },
            _ => Kind::Flip { byte: dice.below(length as usize) as u64, bit: dice.below(8) as u8 },
        };
        Self { file, kind }
    }

    pub fn inflict(&self, data: &Path) {
        let path = data.join(&self.file);
        match self.kind {
            Kind::Nothing => {}
            Kind::Missing => fs::remove_file(path).expect("the file can be removed"),
            Kind::Cut { length } => {
                let file = fs::File::options().write(true).open(path).expect("the file can be opened");
                file.set_len(length).expect("the file can be cut");
            }
            Kind::Flip { byte, bit } => {
                let mut bytes = fs::read(&path).expect("the file is readable");
                bytes[byte as usize] ^= 1 << bit;
                fs::write(path, bytes).expect("the file can be written");
            }
        }
    }

    /// Whether bytes of a file are not what they were.
    pub fn touches(&self, file: &Path, range: &Range<u64>) -> bool {
        file == self.file
            && match self.kind {
                Kind::Nothing => false,
                Kind::Missing => true,
                Kind::Cut { length } => length < range.end,
                Kind::Flip { byte, .. } => range.contains(&byte),
            }
    }

    /// Whether the file ends earlier than it did.
    pub fn shortens(&self, file: &Path) -> bool {
        file == self.file && matches!(self.kind, Kind::Cut { .. } | Kind::Missing)
    }
}

/// Whether somebody reads in this that something is lost.
pub fn is_named(text: &str) -> bool {
    ["damaged", "cut", "does not fit", "does not name", "missing"].iter().any(|word| text.contains(word))
}
