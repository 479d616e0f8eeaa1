//! The lists of axes that a search meets, each known by a number, and which tensor has which of them.
//!
//! A search compares the same few lists many times. Numbers are compared and copied at no cost, and the size of a list
//! is computed once.

use super::overlap;
use crate::{AxisList, Factor, Rule, TensorFactors};
use shardwise_base::{AxisRef, EntityVec, Mesh, Sharding, entity};
use smallvec::SmallVec;
use std::sync::Arc;

entity! {
    /// A list of axes among [`Lists`].
    pub(super) List "list"
}

/// The candidates of a factor.
pub(super) type Candidates = SmallVec<[List; 8]>;

/// The candidates of all factors.
pub(super) type AllCandidates = SmallVec<[Candidates; 4]>;

/// The lists met so far, each once. The first one is [`empty`](Lists::empty).
pub(super) struct Lists {
    mesh: Arc<Mesh>,
    all: EntityVec<List, Data>,
}

struct Data {
    axes: AxisList,
    shards: usize,
    /// A bit for each axis that the list has a part of, by its position in the mesh, of which there are at most 64.
    mask: u64,
}

impl Lists {
    /// Returns a table that has only the empty list.
    pub fn new(mesh: &Arc<Mesh>) -> Lists {
        let mut lists = Lists { mesh: mesh.clone(), all: EntityVec::with_capacity(16) };
        lists.number(&[]);
        lists
    }

    /// Returns the number of the list without axes.
    pub fn empty() -> List {
        List::new(0)
    }

    /// Returns the number of a list, which is recorded if it is new.
    pub fn number(&mut self, axes: &[AxisRef]) -> List {
        self.find(axes).unwrap_or_else(|| {
            let mask = axes.iter().fold(0, |mask, a| mask | 1 << a.axis.index());
            self.all.push(Data { axes: axes.into(), shards: AxisRef::total_size(&self.mesh, axes), mask })
        })
    }

    /// Returns the number of a list, or `None` if it was not met.
    pub fn find(&self, axes: &[AxisRef]) -> Option<List> {
        self.all.iter().position(|data| data.axes[..] == *axes).map(List::new)
    }

    pub fn axes(&self, list: List) -> &AxisList {
        &self.all[list].axes
    }

    /// Returns the number of shards into which the list splits a factor.
    pub fn shards(&self, list: List) -> usize {
        self.all[list].shards
    }

    /// Returns true if two lists share a part of an axis, or split an axis in contradictory ways.
    pub fn overlap(&self, a: List, b: List) -> bool {
        let [a, b] = [a, b].map(|list| &self.all[list]);
        a.mask & b.mask != 0 && overlap(&a.axes, &b.axes)
    }

    /// Returns for each list which of these parts of axes it uses, a bit for each part.
    pub fn used(&self, parts: &[AxisRef]) -> EntityVec<List, u64> {
        let of = |data: &Data| {
            let is_used = |part: AxisRef| data.axes.iter().any(|a| a.contains(part));
            parts.iter().enumerate().filter(|(_, part)| is_used(**part)).map(|(i, _)| 1 << i).sum()
        };
        self.all.iter().map(of).collect()
    }
}

/// The axes that a tensor has for a factor.
#[derive(Clone, Copy)]
pub(super) struct Own {
    pub tensor: usize,
    pub factor: Factor,
    pub list: List,
    pub has_overflow: bool,
}

/// The axes that all tensors have for their factors.
pub(super) struct Given {
    /// One item for each dimension and factor, in the order of the tensors, operands first. If the axes of a dimension
    /// do not fit one of its factors, the next factor has an item without axes, and further factors of the dimension
    /// have none.
    pub own: SmallVec<[Own; 12]>,
    /// The axes that do not fit the factors of their dimensions.
    overflow: Vec<AxisRef>,
}

impl Given {
    /// Returns the axes that tensors with these shardings have, operands first.
    pub fn new(rule: &Rule, mesh: &Mesh, shardings: &[Option<&Sharding>], lists: &mut Lists) -> Given {
        let mut given = Given { own: SmallVec::new(), overflow: vec![] };
        for (tensor, (mapping, sharding)) in rule.mappings().zip(shardings).enumerate() {
            for (dim, factors) in mapping.dims.iter().enumerate() {
                let axes = sharding.map_or(&[][..], |s| &s.dims[dim].axes);
                if let &[factor] = &factors[..] {
                    given.own.push(Own { tensor, factor, list: lists.number(axes), has_overflow: false });
                    continue;
                }
                for (factor, part) in TensorFactors::of_dim(factors, rule, mesh, axes).iter() {
                    let (list, has_overflow) = (lists.number(&part.axes), !part.overflow.is_empty());
                    given.own.push(Own { tensor, factor, list, has_overflow });
                    given.overflow.extend_from_slice(&part.overflow);
                }
            }
        }
        given
    }

    /// Returns the axes of the tensors with a factor. A tensor of which several dimensions have it counts with the
    /// first of them.
    pub fn of(&self, factor: Factor) -> impl Iterator<Item = Own> {
        let mut last = None;
        let with_factor = self.own.iter().copied().filter(move |own| own.factor == factor);
        with_factor.filter(move |own| last.replace(own.tensor) != Some(own.tensor))
    }

    /// Returns all axes of the tensors, also those that do not fit.
    pub fn axes(&self, lists: &Lists) -> Vec<AxisRef> {
        let own = self.own.iter().flat_map(|own| lists.axes(own.list));
        own.chain(&self.overflow).copied().collect()
    }
}
