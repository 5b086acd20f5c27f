//! The project's own random numbers: splitmix64, so that a seed means the same cases on every machine and
//! in every later version.

/// A stream of random numbers. Not for secrets.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`; 0 for a bound of 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        // Multiply and shift: the bias is below bound / 2^64.
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// `numerator` times in `denominator`.
    pub fn chance(&mut self, numerator: u64, denominator: u64) -> bool {
        self.below(denominator) < numerator
    }

    /// One of the items.
    ///
    /// # Panics
    /// If there is none.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len() as u64) as usize]
    }

    /// One of the items, each as often as its weight says; `None` where the weights are all 0.
    pub fn pick_weighted<T: Copy>(&mut self, items: &[(T, u16)]) -> Option<T> {
        let total: u64 = items.iter().map(|&(_, weight)| u64::from(weight)).sum();
        let mut left = self.below(total);
        for &(item, weight) in items {
            let weight = u64::from(weight);
            if left < weight {
                return Some(item);
            }
            left -= weight;
        }
        None
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.below(high.abs_diff(low) + 1) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reference sequence of splitmix64 for seed 1234567 (Vigna).
    #[test]
    fn is_splitmix64() {
        let mut rng = Rng::new(1_234_567);
        assert_eq!(rng.next_u64(), 6_457_827_717_110_365_317);
        assert_eq!(rng.next_u64(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn weights_are_kept() {
        let mut rng = Rng::new(1);
        let drawn = (0..10_000).filter(|_| rng.pick_weighted(&[(1, 3), (2, 1)]) == Some(1)).count();
        assert!((7_200..7_800).contains(&drawn), "{drawn}");
        assert_eq!(rng.pick_weighted::<u8>(&[]), None);
        assert_eq!(rng.pick_weighted(&[(1, 0)]), None);
    }
}
