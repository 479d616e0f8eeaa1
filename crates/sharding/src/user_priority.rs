//! User priorities: `{"x"}p1` takes part only after everything of priority 0 is done.
//!
//! Until then the dimension is closed and empty, and its axes are in the replicated list so that they are not used
//! elsewhere.

use crate::problem::{Tensor, TensorId};
use shardwise_base::{AxisRef, DimSharding, EntityVec, Sharding, ShardingParts};
use std::collections::BTreeMap;

/// The tensors that have a dimension of a certain priority, with their shardings before any dimension was held back.
pub(crate) struct Later {
    priority: u32,
    originals: Vec<(TensorId, Sharding)>,
}

/// Holds back all dimensions whose priority is not 0, and removes all priorities. Returns the later priorities in
/// ascending order, with the shardings of the tensors before this.
pub(crate) fn start(tensors: &mut EntityVec<TensorId, Tensor>) -> Vec<Later> {
    let mut later: BTreeMap<u32, Vec<(TensorId, Sharding)>> = BTreeMap::new();
    for (id, tensor) in tensors.keys().zip(tensors.iter_mut()) {
        let Some(sharding) = &mut tensor.sharding else { continue };
        if sharding.dims.iter().all(|d| d.priority.is_none()) {
            continue;
        }
        let mut priorities: Vec<u32> = sharding.dims.iter().map(priority_of).filter(|&p| p > 0).collect();
        priorities.sort_unstable();
        priorities.dedup();
        for p in priorities {
            later.entry(p).or_default().push((id, sharding.clone()));
        }
        hold_back(sharding);
    }
    later.into_iter().map(|(priority, originals)| Later { priority, originals }).collect()
}

fn hold_back(sharding: &mut Sharding) {
    let mut held: Vec<AxisRef> = vec![];
    for dim in &mut sharding.dims {
        if priority_of(dim) > 0 {
            held.append(&mut dim.axes);
            dim.is_open = false;
        }
        dim.priority = None;
    }
    sharding.replicated.append(&mut held);
    sharding.replicated.sort_by(|a, b| a.cmp_in_mesh(*b));
}

/// Restores the dimensions of one priority. Returns the tensors that have such a dimension.
pub(crate) fn release(tensors: &mut EntityVec<TensorId, Tensor>, later: &Later) -> Vec<TensorId> {
    for (tensor, original) in &later.originals {
        let sharding = tensors[*tensor].sharding.as_mut().expect("it had a sharding with a priority");
        let sharding: &mut ShardingParts = sharding;
        for (dim, original) in sharding.dims.iter_mut().zip(&original.dims) {
            if priority_of(original) == later.priority {
                *dim = DimSharding { priority: None, ..original.clone() };
                // The axes may have been merged with others.
                let replicated = sharding.replicated.iter().flat_map(|a| a.minus(&sharding.mesh, &original.axes));
                sharding.replicated = replicated.collect();
            }
        }
    }
    later.originals.iter().map(|(t, _)| *t).collect()
}

fn priority_of(dim: &DimSharding) -> u32 {
    dim.priority.unwrap_or(0)
}
