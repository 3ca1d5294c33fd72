//! Which units to take, given how probable each is.
//!
//! A text is good when little is missing and little is too much; F1 measures both. The set with the highest expected F1
//! always consists of the most probable units, so that only their number has to be found.

/// `lengths` weigh the units. For each unit whether it is taken.
pub fn choose(probabilities: &[f32], lengths: &[f32]) -> Vec<bool> {
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_by(|a, b| probabilities[*b].total_cmp(&probabilities[*a]));
    let wanted: f32 = probabilities.iter().zip(lengths).map(|(probability, length)| probability * length).sum();
    let (mut taken, mut right) = (0.0, 0.0);
    let (mut best, mut best_count) = (0.0, 0);
    for (count, place) in order.iter().enumerate() {
        taken += lengths[*place];
        right += lengths[*place] * probabilities[*place];
        let expected = 2.0 * right / (taken + wanted);
        if expected > best {
            (best, best_count) = (expected, count + 1);
        }
    }
    let mut chosen = vec![false; probabilities.len()];
    for place in &order[..best_count] {
        chosen[*place] = true;
    }
    chosen
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn expected_f1(probabilities: &[f32], lengths: &[f32], chosen: impl Fn(usize) -> bool) -> f32 {
        let units = || (0..lengths.len()).filter(|place| chosen(*place));
        let right: f32 = units().map(|place| lengths[place] * probabilities[place]).sum();
        let taken: f32 = units().map(|place| lengths[place]).sum();
        let wanted: f32 = probabilities.iter().zip(lengths).map(|(probability, length)| probability * length).sum();
        if taken + wanted > 0.0 { 2.0 * right / (taken + wanted) } else { 0.0 }
    }

    proptest! {
        #[test]
        fn no_other_choice_is_better(units in proptest::collection::vec((0.0f32..1.0, 1.0f32..50.0), 0..9)) {
            let (probabilities, lengths): (Vec<f32>, Vec<f32>) = units.into_iter().unzip();
            let chosen = choose(&probabilities, &lengths);
            let best = expected_f1(&probabilities, &lengths, |place| chosen[place]);
            for other in 0..1u32 << lengths.len() {
                let score = expected_f1(&probabilities, &lengths, |place| other >> place & 1 == 1);
                prop_assert!(score <= best + 1e-4, "{score} > {best}");
            }
        }
    }
}
