//! GF(2^64) as polynomials modulo an irreducible one: just what fingerprints need.

/// Arithmetic modulo t^64 + the polynomial given.
pub(super) struct Field {
    polynomial: u64,
}

impl Field {
    /// Rabin's criterion: of degree 64 = 2^6, P is irreducible exactly when P divides t^(2^64) − t and shares no factor
    /// with t^(2^32) − t.
    pub fn new(polynomial: u64) -> Option<Self> {
        const T: u64 = 2;
        let field = Self { polynomial };
        let half = field.square_repeatedly(T, 32);
        let full = field.square_repeatedly(half, 32);
        let whole = (1u128 << 64) | u128::from(polynomial);
        (full == T && greatest_common_divisor(whole, u128::from(half ^ T)) == 1).then_some(field)
    }

    pub fn polynomial(&self) -> u64 {
        self.polynomial
    }

    pub fn multiply(&self, a: u64, b: u64) -> u64 {
        let mut product = 0;
        for i in (0..64).rev() {
            product = self.times_t(product);
            if b >> i & 1 == 1 {
                product ^= a;
            }
        }
        product
    }

    /// t^exponent.
    pub fn power_of_t(&self, mut exponent: u64) -> u64 {
        let (mut result, mut base) = (1, 2);
        while exponent > 0 {
            if exponent & 1 == 1 {
                result = self.multiply(result, base);
            }
            base = self.multiply(base, base);
            exponent >>= 1;
        }
        result
    }

    fn times_t(&self, a: u64) -> u64 {
        (a << 1) ^ if a >> 63 == 1 { self.polynomial } else { 0 }
    }

    fn square_repeatedly(&self, mut a: u64, times: u32) -> u64 {
        for _ in 0..times {
            a = self.multiply(a, a);
        }
        a
    }
}

fn greatest_common_divisor(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, remainder(a, b));
    }
    a
}

fn remainder(mut a: u128, b: u128) -> u128 {
    let degree = |p: u128| 127 - p.leading_zeros();
    while a != 0 && degree(a) >= degree(b) {
        a ^= b << (degree(a) - degree(b));
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_of_two_irreducible_halves_is_refused() {
        // Both factors have degree 32, so P divides t^(2^64) − t: only the second half of the criterion refuses it.
        let factor = (1u64 << 32) | 0b1000_1101;
        let mut product = 0u128;
        for i in 0..=32 {
            if factor >> i & 1 == 1 {
                product ^= u128::from(factor) << i;
            }
        }
        assert!(Field::new(product as u64).is_none());
    }

    #[test]
    fn about_one_polynomial_in_sixty_four_is_irreducible() {
        let found = (0..4096u64).filter(|&i| Field::new(i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).is_some()).count();
        assert!((30..110).contains(&found), "{found} of 4096");
    }
}
