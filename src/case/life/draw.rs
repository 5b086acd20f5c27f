//! Lives **at random**: each turns on a few kinds of steps only (a swarm), so that long runs of one kind come
//! up, and only steps that make sense where they stand.

use super::{Change, Life, MAX_STEPS, Mood, Place, Slot, Standing, Step};
use crate::case::{Probe, Rng};

/// Gives the case's life some steps, or changes some.
pub fn draw_life(life: &mut Life, rng: &mut Rng) {
    let mut steps = life.0.to_vec();
    match rng.below(8) {
        _ if steps.is_empty() => steps = fresh(rng),
        0..2 => steps = fresh(rng),
        2 => drop(steps.remove(rng.below(steps.len() as u64) as usize)),
        3 => steps.truncate(rng.below(steps.len() as u64) as usize),
        4 => {
            let place = rng.below(steps.len() as u64) as usize;
            let step = steps.remove(place);
            steps.insert(rng.below(steps.len() as u64 + 1) as usize, step);
        }
        _ => {
            let place = rng.below(steps.len() as u64 + 1) as usize;
            let mut standing = Standing::after_export();
            for &step in &steps[..place] {
                standing.take(step);
            }
            let kinds = swarm(rng);
            let more = draw_step(&standing, &kinds, rng);
            steps.splice(place..place, more);
        }
    }
    *life = Life::normalized(steps);
    while life.is_empty() {
        *life = Life::normalized(fresh(rng));
    }
}

/// Kinds of steps that a life may have, as numbers of [`proposal`].
const KINDS: usize = 16;

/// About half of the kinds; the rare ones cost a thousand times a usual one.
fn swarm(rng: &mut Rng) -> Vec<usize> {
    let rare = |kind: &usize| matches!(kind, 12..KINDS);
    let mut kinds: Vec<usize> = (0..KINDS).filter(|kind| !rare(kind) && rng.chance(1, 2)).collect();
    if rng.chance(1, 32) {
        kinds.push(12 + rng.below(2) as usize);
    }
    if rng.chance(1, 512) {
        kinds.push(14);
    }
    if rng.chance(1, 2048) {
        kinds.push(15);
    }
    kinds
}

fn fresh(rng: &mut Rng) -> Vec<Step> {
    let kinds = swarm(rng);
    let mut standing = Standing::after_export();
    let mut steps = Vec::new();
    for _ in 0..rng.between(1, MAX_STEPS as i64) {
        if let Some(step) = draw_step(&standing, &kinds, rng) {
            standing.take(step);
            steps.push(step);
        }
    }
    steps
}

/// A step of one of these kinds that makes sense now.
fn draw_step(standing: &Standing, kinds: &[usize], rng: &mut Rng) -> Option<Step> {
    if kinds.is_empty() {
        return None;
    }
    (0..8).map(|_| proposal(*rng.pick(kinds), standing, rng)).find(|&step| standing.allows(step))
}

fn proposal(kind: usize, standing: &Standing, rng: &mut Rng) -> Step {
    let slot = Slot::ALL[rng.below(4).min(rng.below(4)) as usize];
    match kind {
        0 => {
            let probe = rng.chance(1, 2).then(|| *rng.pick(&Probe::ALL));
            Step::Export(standing.next_slot().unwrap_or(Slot::A), probe)
        }
        1..4 => Step::Take(slot),
        4 => Step::Drop(slot, Mood::Calm),
        5 => Step::Drop(slot, Mood::Raising),
        6 => Step::Delete(slot, Place::Here),
        7 => Step::Delete(slot, *rng.pick(&[Place::Raising, Place::Unlocked])),
        8 => Step::DropSource,
        9 => Step::Churn,
        10 => Step::Disarm(slot),
        11 => Step::Change(*rng.pick(&Change::ALL)),
        // The rare ones: a thread, a full collection, many exports, a process.
        12 => Step::Delete(slot, *rng.pick(&[Place::Thread, Place::Native])),
        13 => *rng.pick(&[Step::Collect, Step::Attach(slot), Step::Starve]),
        14 => Step::Race,
        _ => Step::Exit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_step_is_drawn_and_every_life_makes_sense() {
        let mut rng = Rng::new(4);
        let mut life = Life::default();
        let mut words: HashSet<String> = HashSet::new();
        for _ in 0..60_000 {
            draw_life(&mut life, &mut rng);
            assert!(!life.is_empty() && life.steps().len() <= MAX_STEPS);
            assert_eq!(Life::normalized(life.steps().iter().copied()), life);
            for step in life.steps() {
                let text = step.to_string();
                assert_eq!(Step::parse(&text), Some(*step), "{text}");
                assert_eq!(Step::of_code(step.code()), Some(*step), "{text}");
                words.insert(text.split(" with ").next().unwrap().replace([' '], "-"));
            }
        }
        // export b..d, twenty others of which eight have four slots.
        for word in ["export-d", "delete-a-on-native-thread", "delete-c-unlocked", "drop-b-raising"]
        {
            assert!(words.contains(word), "{word}");
        }
        for word in ["race", "exit", "starve", "freeze", "attach-a", "disarm-b", "collect"] {
            assert!(words.contains(word), "{word}");
        }
    }
}
