//! Rabin fingerprints of degree 64: the bytes as a polynomial over GF(2) modulo an irreducible polynomial.
//!
//! Two different texts of n bytes collide with a probability of about n / 2^56 as long as the polynomial is unknown to
//! whoever chose them; so the frontier draws its own when the data directory is made. A polynomial is written as its 64
//! low coefficients; t^64 is implied.
//!
//! Invariant: `f(AB) = f(A) · t^(8·|B|) + f(B)`, which [`Fingerprinter::concat`] computes without the texts.

mod field;

use field::Field;

/// For texts that machines without a common data directory must be able to compare (page contents).
pub const PUBLIC_POLYNOMIAL: u64 = 0x1b;

/// Tables for one polynomial. Costs 16 KiB; make one and share it.
pub struct Fingerprinter {
    field: Field,
    /// `tables[i][b]` is `b · t^(64 + 8i)` reduced.
    tables: Box<[[u64; 256]; 8]>,
}

impl Fingerprinter {
    /// `None` when the polynomial is not irreducible.
    pub fn new(polynomial: u64) -> Option<Self> {
        let field = Field::new(polynomial)?;
        let mut tables = Box::new([[0u64; 256]; 8]);
        for (i, table) in tables.iter_mut().enumerate() {
            let shift = field.power_of_t(64 + 8 * i as u64);
            for (byte, entry) in table.iter_mut().enumerate() {
                *entry = field.multiply(byte as u64, shift);
            }
        }
        Some(Self { field, tables })
    }

    /// With a polynomial drawn from `next` until an irreducible one is met (about one in 64 is).
    pub fn random(mut next: impl FnMut() -> u64) -> Self {
        loop {
            if let Some(fingerprinter) = Self::new(next() | 1) {
                return fingerprinter;
            }
        }
    }

    pub fn public() -> Self {
        Self::new(PUBLIC_POLYNOMIAL).expect("t^64 + t^4 + t^3 + t + 1 is irreducible")
    }

    pub fn polynomial(&self) -> u64 {
        self.field.polynomial()
    }

    pub fn of(&self, bytes: &[u8]) -> u64 {
        self.extend(0, bytes)
    }

    /// The fingerprint of a text whose fingerprint was `state`, with `bytes` behind it.
    pub fn extend(&self, mut state: u64, bytes: &[u8]) -> u64 {
        let (blocks, rest) = bytes.as_chunks::<8>();
        for block in blocks {
            let shifted = state.to_le_bytes();
            let mut next = u64::from_be_bytes(*block);
            for (table, byte) in self.tables.iter().zip(shifted) {
                next ^= table[usize::from(byte)];
            }
            state = next;
        }
        for &byte in rest {
            let out = (state >> 56) as usize;
            state = (state << 8) ^ u64::from(byte) ^ self.tables[0][out];
        }
        state
    }

    /// The fingerprint of A followed by B, from their fingerprints and the length of B in bytes.
    pub fn concat(&self, a: u64, b: u64, b_length: u64) -> u64 {
        self.field.multiply(a, self.field.power_of_t(8 * b_length)) ^ b
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The definition, bit by bit.
    fn by_definition(polynomial: u64, bytes: &[u8]) -> u64 {
        let mut remainder = 0u64;
        for bit in bytes.iter().flat_map(|byte| (0..8).rev().map(move |i| byte >> i & 1)) {
            let carry = remainder >> 63 == 1;
            remainder = (remainder << 1) | u64::from(bit);
            if carry {
                remainder ^= polynomial;
            }
        }
        remainder
    }

    proptest! {
        #[test]
        fn tables_agree_with_the_definition(bytes: Vec<u8>, seed: u64) {
            let mut state = seed;
            let drawn = Fingerprinter::random(|| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                state
            });
            prop_assert_eq!(drawn.of(&bytes), by_definition(drawn.polynomial(), &bytes));
        }

        #[test]
        fn fingerprints_are_incremental(a: Vec<u8>, b: Vec<u8>) {
            let f = Fingerprinter::public();
            let whole = f.of(&[a.as_slice(), b.as_slice()].concat());
            prop_assert_eq!(f.extend(f.of(&a), &b), whole);
            prop_assert_eq!(f.concat(f.of(&a), f.of(&b), b.len() as u64), whole);
        }
    }

    #[test]
    fn a_polynomial_that_factors_is_refused() {
        // An even number of terms has the root 1; without a constant term, the root 0.
        assert!(Fingerprinter::new(0x0f).is_none());
        assert!(Fingerprinter::new(0x1a).is_none());
    }
}
