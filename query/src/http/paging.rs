//! Which pages of results there are, and which of them are offered as links.

/// Numbers offered around the page shown.
const AROUND: usize = 2;

/// One entry of the row of page numbers.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    Page(usize),
    /// Some were left out here.
    Gap,
}

/// The first, the last, and those around the one shown.
pub fn steps(page: usize, pages: usize) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut last = 0;
    let around = page.saturating_sub(AROUND)..=page + AROUND;
    for number in (1..=pages).filter(|number| *number == 1 || *number == pages || around.contains(number)) {
        match number - last {
            1 => {}
            // A gap would take as much room as the number that it hides.
            2 => steps.push(Step::Page(number - 1)),
            _ => steps.push(Step::Gap),
        }
        steps.push(Step::Page(number));
        last = number;
    }
    steps
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Step::{Gap, Page};
    use super::*;

    #[test]
    fn ends_and_neighbours_are_offered() {
        assert_eq!(steps(1, 1), [Page(1)]);
        assert_eq!(steps(1, 5), [Page(1), Page(2), Page(3), Page(4), Page(5)]);
        assert_eq!(steps(5, 20), [Page(1), Page(2), Page(3), Page(4), Page(5), Page(6), Page(7), Gap, Page(20)]);
    }

    proptest! {
        #[test]
        fn numbers_ascend_and_are_few(page in 1usize..1100, pages in 1usize..1100) {
            let steps = steps(page, pages);
            let numbers: Vec<usize> =
                steps.iter().filter_map(|step| if let Page(number) = step { Some(*number) } else { None }).collect();
            prop_assert!(numbers.is_sorted() && numbers.len() <= 9);
            prop_assert_eq!((numbers[0], numbers[numbers.len() - 1]), (1, pages));
        }
    }
}
