//! A forest of oblivious trees: every tree asks the same few questions of all units, and the answers together number
//! the leaf. So a question runs over a whole column of features at once.

use std::sync::LazyLock;

use super::features::{Columns, UNITS_AT_ONCE};

/// Questions per tree.
pub const DEPTH: usize = 5;

#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    /// Feature, and the value above which the answer is yes.
    pub questions: Vec<(u16, f32)>,
    /// By answers, the first question being the lowest bit.
    pub leaves: Vec<f32>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Forest {
    pub bias: f32,
    pub trees: Vec<Tree>,
}

static TRAINED: LazyLock<Forest> =
    LazyLock::new(|| Forest::parse(include_str!("forest.txt")).expect("the trained forest is part of the program"));

pub(crate) fn trained() -> &'static Forest {
    &TRAINED
}

impl Forest {
    /// One tree a line: questions as `feature>value`, then leaves.
    pub fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines().filter(|line| !line.starts_with('#'));
        let bias = lines.next()?.trim().parse().ok()?;
        let trees = lines.map(parse_tree).collect::<Option<Vec<Tree>>>()?;
        Some(Self { bias, trees })
    }

    pub fn write(&self) -> String {
        let mut out = format!("{}\n", self.bias);
        for tree in &self.trees {
            let questions = tree.questions.iter().map(|(feature, value)| format!("{feature}>{value}"));
            let leaves = tree.leaves.iter().map(|leaf| format!("{leaf:.4}"));
            out += &questions.chain(leaves).collect::<Vec<_>>().join(" ");
            out.push('\n');
        }
        out
    }

    /// Appends the probability of each unit.
    pub(crate) fn add_probabilities(&self, columns: &Columns, probabilities: &mut Vec<f32>) {
        // As wide as a feature, so that whole registers are compared at once.
        let mut sums = [self.bias; UNITS_AT_ONCE];
        for tree in &self.trees {
            let mut leaf_of = [0u32; UNITS_AT_ONCE];
            for (number, (feature, value)) in tree.questions.iter().enumerate() {
                let bit = 1 << number;
                for (leaf, known) in leaf_of.iter_mut().zip(columns.column(usize::from(*feature))) {
                    *leaf |= if *known > *value { bit } else { 0 };
                }
            }
            for (sum, leaf) in sums.iter_mut().zip(leaf_of) {
                *sum += tree.leaves[leaf as usize];
            }
        }
        probabilities.extend(sums[..columns.rows()].iter().map(|sum| 1.0 / (1.0 + (-sum).exp())));
    }
}

fn parse_tree(line: &str) -> Option<Tree> {
    let mut tree = Tree { questions: Vec::new(), leaves: Vec::new() };
    for word in line.split_ascii_whitespace() {
        match word.split_once('>') {
            Some((feature, value)) => tree.questions.push((feature.parse().ok()?, value.parse().ok()?)),
            None => tree.leaves.push(word.parse().ok()?),
        }
    }
    (tree.questions.len() <= DEPTH && tree.leaves.len() == 1 << tree.questions.len()).then_some(tree)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::main_text::features;

    #[test]
    fn the_trained_forest_asks_of_known_features_only() {
        let known = features::names().len();
        assert!(!trained().trees.is_empty());
        for tree in &trained().trees {
            assert!(tree.questions.iter().all(|(feature, _)| usize::from(*feature) < known));
        }
    }

    #[test]
    fn a_forest_is_read_as_it_was_written() {
        let tree = Tree { questions: vec![(3, 0.5), (0, -1.25)], leaves: vec![0.5, -0.25, 0.125, 1.0] };
        let forest = Forest { bias: -0.5, trees: vec![tree] };
        assert_eq!(Forest::parse(&forest.write()), Some(forest));
        assert_eq!(Forest::parse("0\n1>2 0.5"), None);
    }
}
