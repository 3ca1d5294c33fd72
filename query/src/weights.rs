//! What counts how much in the order of results. The defaults were chosen by measuring on judged collections of
//! different kinds and languages (`measure_ranking` among the examples), not for any one of them.

/// Of the word fields, in the order of `seine_indexer::schema::Fields::words`.
pub const WORD_FIELDS: usize = 6;
pub const TEXT: usize = 0;
pub const TITLE: usize = 1;
pub const ADDRESS: usize = 3;
pub const ANCHORS: usize = 5;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankingWeights {
    /// How soon further occurrences of a word stop to count: BM25's k1.
    pub saturation: f32,
    /// How much an occurrence counts in each field.
    pub fields: [f32; WORD_FIELDS],
    /// How much a longer field makes an occurrence count less, 0 to 1: BM25's b, for each field.
    pub length: [f32; WORD_FIELDS],
    /// Words that stand near each other.
    pub proximity: f32,
    /// Pairs of characters that reach from one Chinese word into the next, beside those within words.
    pub between_words: f32,
    /// Dictionary words of three and more characters, beside the pairs they consist of.
    pub long_words: f32,
    /// Matches of a word that was not typed but is spelled alike.
    pub misspelled: f32,
}

impl Default for RankingWeights {
    fn default() -> Self {
        Self {
            saturation: 1.8,
            fields: [1.0, 1.5, 0.5, 0.2, 0.2, 1.0],
            length: [0.6, 0.4, 0.3, 0.0, 0.5, 0.5],
            proximity: 0.3,
            between_words: 0.5,
            long_words: 0.5,
            misspelled: 0.5,
        }
    }
}
