//! Accumulation of gradients over several steps.

use super::state::Slot;
use super::{Optimizer, Params, Part, Parts, in_layout_of, kept};
use crate::array::Array;
use crate::{DType, cond, scalar, zeros_like};

/// The result of [`Optimizer::every`].
#[derive(Clone, Debug)]
#[must_use = "call `.init(..)` and `.update(..)`"]
pub struct MultiSteps<T> {
    inner: T,
    steps: usize,
}

const NAME: &str = "every";

impl<T> MultiSteps<T> {
    pub(super) fn new(inner: T, steps: usize) -> MultiSteps<T> {
        MultiSteps { inner, steps }
    }
}

impl<T: Optimizer> MultiSteps<T> {
    /// Runs the inner optimizer on the means of the gradients, with the parts `old` of its state. Returns the updates,
    /// followed by the arrays of its new parts, in order. The updates have the layouts of the means, and the new arrays
    /// those of the old ones, where these are known.
    fn step(&self, means: &[Array], old: &[Part<Vec<Array>>], params: &Params) -> Vec<Array> {
        let mut parts = Parts::new(old.to_vec());
        let updates = self.inner.transform(means.to_vec(), &mut parts, params);
        let updates = updates.into_iter().zip(means).map(|(u, mean)| in_layout_of(u, mean));
        let new = parts.new.into_iter().zip(old).map(|(new, old)| kept(new, old));
        updates.chain(new.flat_map(|part| arrays(&part))).collect()
    }
}

fn arrays(part: &Part<Vec<Array>>) -> Vec<Array> {
    let numbers = part.numbers.iter().map(|(_, x)| x);
    numbers.chain(part.slots.iter().flat_map(|slot| &slot.tree)).cloned().collect()
}

fn with_arrays(part: &Part<Vec<Array>>, arrays: &mut impl Iterator<Item = Array>) -> Part<Vec<Array>> {
    let mut part = part.clone();
    let numbers = part.numbers.iter_mut().map(|(_, x)| x);
    let all = numbers.chain(part.slots.iter_mut().flat_map(|slot| &mut slot.tree));
    all.for_each(|x| *x = arrays.next().expect("one for each"));
    part
}

impl<T: Optimizer> Optimizer for MultiSteps<T> {
    fn part_names(&self) -> Vec<&'static str> {
        [&[NAME], &self.inner.part_names()[..]].concat()
    }
    fn init_parts(&self, params: &Params) -> Vec<Part<Vec<Array>>> {
        let numbers = vec![("mini_step", scalar(0, DType::I32))];
        let own = Part { name: NAME, numbers, slots: vec![Slot::zeros("acc", params.arrays())] };
        std::iter::once(own).chain(self.inner.init_parts(params)).collect()
    }
    fn transform(&self, grads: Vec<Array>, state: &mut Parts, params: &Params) -> Vec<Array> {
        let mut own = state.take(NAME);
        let inner = self.inner.part_names();
        let old: Vec<Part<Vec<Array>>> = inner.iter().map(|name| state.take(name)).collect();
        let step = own.number("mini_step").clone();
        let mean = |(acc, g): (&Array, &Array)| acc + (g - acc) / (&step + 1).astype(g.dtype());
        let means: Vec<Array> = own.slot("acc").iter().zip(&grads).map(mean).collect();
        // A state may come from an optimizer with more steps.
        let is_last = step.ge(self.steps - 1);
        let unchanged = || means.iter().map(zeros_like).chain(old.iter().flat_map(arrays)).collect();
        let results: Vec<Array> = cond(&is_last, || self.step(&means, &old, params), unchanged);
        let mut results = results.into_iter();
        let updates = results.by_ref().take(grads.len()).collect();
        *own.number("mini_step") = is_last.select(0, &step + 1);
        *own.slot("acc") = means.iter().map(|mean| is_last.select(0.0, mean)).collect();
        state.new.push(own);
        state.new.extend(old.iter().map(|part| with_arrays(part, &mut results)).collect::<Vec<_>>());
        updates
    }
    fn wrong_setting(&self) -> Option<[String; 3]> {
        let is_counted = (1..=i32::MAX as usize).contains(&self.steps);
        let expected = || "a positive number of steps that fits an i32".to_string();
        let own = (!is_counted).then(|| ["every".into(), self.steps.to_string(), expected()]);
        own.or_else(|| self.inner.wrong_setting())
    }
    fn axis_of_states(&self) -> Option<String> {
        self.inner.axis_of_states()
    }
}
