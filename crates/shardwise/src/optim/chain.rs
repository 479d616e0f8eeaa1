//! Transformations one after the other.

use super::{Optimizer, Params, Part, Parts};
use crate::array::Array;
use std::fmt;
use std::sync::Arc;

/// The result of [`chain`].
#[derive(Clone)]
#[must_use = "call `.init(..)` and `.update(..)`"]
pub struct Chain(Vec<Arc<dyn Optimizer>>);

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Chain({} transformations)", self.0.len())
    }
}

/// Types that are accepted by [`chain`]: tuples of one to six optimizers and transformations, and vectors of one type
/// of them, which may be `Arc<dyn Optimizer>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a list of optimizers and transformations",
    label = "expected a tuple, as in `chain((clip_by_global_norm(1.0), adamw(1e-3)))`"
)]
pub trait Transforms {
    #[doc(hidden)]
    fn list(self) -> Vec<Arc<dyn Optimizer>>;
}

impl<T: Optimizer + 'static> Transforms for Vec<T> {
    fn list(self) -> Vec<Arc<dyn Optimizer>> {
        self.into_iter().map(|t| Arc::new(t) as Arc<dyn Optimizer>).collect()
    }
}

macro_rules! transforms {
    ($($t:ident $i:tt),+) => {
        impl<$($t: Optimizer + 'static),+> Transforms for ($($t,)+) {
            fn list(self) -> Vec<Arc<dyn Optimizer>> { vec![$(Arc::new(self.$i)),+] }
        }
    };
}
transforms!(A 0);
transforms!(A 0, B 1);
transforms!(A 0, B 1, C 2);
transforms!(A 0, B 1, C 2, D 3);
transforms!(A 0, B 1, C 2, D 3, E 4);
transforms!(A 0, B 1, C 2, D 3, E 4, F 5);

/// Applies transformations one after the other: the first one to the gradients, and the last one makes the updates that
/// are added to the parameters. An empty vector leaves the gradients as they are, so that they are added. This is
/// `optax.chain`.
///
/// # Examples
///
/// ```
/// use shardwise::optim::{chain, clip_by_global_norm, sgd};
/// use shardwise::prelude::*;
/// let optimizer = chain((clip_by_global_norm(1.0), sgd(1.0)));
/// let param = zeros([2], F32);
/// let (param, _) = optimizer.update(&array(&[30.0f32, 40.0]), optimizer.init(&param), &param);
/// assert_close(&param, &array(&[-0.6f32, -0.8]));
/// ```
pub fn chain(transforms: impl Transforms) -> Chain {
    Chain(transforms.list())
}

impl Optimizer for Chain {
    fn part_names(&self) -> Vec<&'static str> {
        self.0.iter().flat_map(|t| t.part_names()).collect()
    }
    fn init_parts(&self, params: &Params) -> Vec<Part<Vec<Array>>> {
        self.0.iter().flat_map(|t| t.init_parts(params)).collect()
    }
    fn transform(&self, updates: Vec<Array>, state: &mut Parts, params: &Params) -> Vec<Array> {
        self.0.iter().fold(updates, |updates, t| t.transform(updates, state, params))
    }
    fn wrong_setting(&self) -> Option<[String; 3]> {
        self.0.iter().find_map(|t| t.wrong_setting())
    }
    fn axis_of_states(&self) -> Option<String> {
        self.0.iter().find_map(|t| t.axis_of_states())
    }
}
