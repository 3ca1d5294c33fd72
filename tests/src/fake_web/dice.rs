//! Repeatable pseudo-random numbers: the same key gives the same series, on every machine and in every version.
//!
//! Not for secrets. SplitMix64: a few nanoseconds per number, no state beyond one word.

/// A series of numbers drawn from a key.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    pub fn new(key: u64) -> Self {
        Self(key)
    }

    /// A series for one thing among many, such as page `b` of host `a`.
    pub fn keyed(seed: u64, a: u64, b: u64) -> Self {
        let mut dice = Self(seed ^ a.wrapping_mul(0xA24B_AED4_963E_E407));
        let start = dice.next() ^ b.wrapping_mul(0x9FB2_1C65_1E98_DF25);
        Self(start)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which must not be 0. The bias of the multiplication is far below what a test can see.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }

    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// True once in `n` times.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// A number from 0 up to, not including, 1.
    pub fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}
