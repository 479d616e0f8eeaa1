//! Functions whose values are computed again in reverse mode: composites whose attributes say which values are kept.
//!
//! ```text
//! stablehlo.composite "shardwise.checkpoint" %x
//!     {decomposition = @f, composite_attributes = {policy = {keeps = "dots"}}}
//! ```
//!
//! All passes but the transforms see an ordinary composite. While a function is differentiated, such a composite is a
//! `named_computation` with the attribute `shardwise.checkpoint`, which has a region.

use crate::Opcode;
use crate::control::{Composite, OptimizationBarrier};
use crate::dot::DotDims;
use shardwise_ir::{Attr, Attrs, OpView};
use std::sync::Arc;

const CHECKPOINT: &str = "shardwise.checkpoint";

/// The values that reverse mode keeps of a function whose values it computes again.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Policy {
    /// Keeps the arguments only.
    #[default]
    Nothing,
    /// Keeps all values.
    Everything,
    /// Keeps the results of `dot_general`, `dot` and `convolution`.
    Dots,
    /// Keeps the results of `dot_general` and `dot` without batch dimensions.
    DotsWithNoBatchDims,
    /// Keeps the values marked with one of these names.
    Names(Vec<Arc<str>>),
    /// Keeps the values marked with any other name.
    OtherNames(Vec<Arc<str>>),
    /// Keeps all values except those marked with one of these names.
    AllBut(Vec<Arc<str>>),
    /// Keeps what one of these keeps.
    Either(Box<Policy>, Box<Policy>),
}

impl Policy {
    /// Returns the policy that keeps the values marked with one of these names.
    pub fn names<'n>(names: impl IntoIterator<Item = &'n str>) -> Policy {
        Policy::Names(names.into_iter().map(Arc::from).collect())
    }

    /// Returns the policy that keeps the values marked with a name that is none of these.
    pub fn other_names<'n>(names: impl IntoIterator<Item = &'n str>) -> Policy {
        Policy::OtherNames(names.into_iter().map(Arc::from).collect())
    }

    /// Returns the policy that keeps all values except those marked with one of these names.
    pub fn all_but<'n>(names: impl IntoIterator<Item = &'n str>) -> Policy {
        Policy::AllBut(names.into_iter().map(Arc::from).collect())
    }

    /// Returns the policy that keeps what this one keeps, and what `other` keeps.
    pub fn or(self, other: Policy) -> Policy {
        Policy::Either(Box::new(self), Box::new(other))
    }

    /// Returns true if reverse mode keeps the results of an op under this policy.
    pub fn keeps(&self, op: &OpView<'_>) -> bool {
        let code = Opcode::of_view(op);
        let is_dot = matches!(code, Opcode::DotGeneral | Opcode::Dot);
        let named = |f: &dyn Fn(&str) -> bool| OptimizationBarrier::value_name(op).is_some_and(f);
        let is_one = |names: &[Arc<str>], name: &str| names.iter().any(|n| **n == *name);
        match self {
            Policy::Nothing => false,
            Policy::Everything => true,
            Policy::Dots => is_dot || code == Opcode::Convolution,
            Policy::DotsWithNoBatchDims => is_dot && DotDims::of(op).is_some_and(|dims| dims.lhs_batch.is_empty()),
            Policy::Names(names) => named(&|name| is_one(names, name)),
            Policy::OtherNames(names) => named(&|name| !is_one(names, name)),
            Policy::AllBut(names) => !named(&|name| is_one(names, name)),
            Policy::Either(a, b) => a.keeps(op) || b.keeps(op),
        }
    }

    fn attr(&self) -> Attr {
        let listed = |names: &[Arc<str>]| Attr::Array(names.iter().map(|n| Attr::Str(n.clone())).collect());
        let keeps = |word: &str| Attrs::new().with("keeps", Attr::str(word));
        Attr::Dict(match self {
            Policy::Nothing => keeps("nothing"),
            Policy::Everything => keeps("everything"),
            Policy::Dots => keeps("dots"),
            Policy::DotsWithNoBatchDims => keeps("dots_with_no_batch_dims"),
            Policy::Names(names) => keeps("names").with("names", listed(names)),
            Policy::OtherNames(names) => keeps("other_names").with("names", listed(names)),
            Policy::AllBut(names) => keeps("all_but").with("names", listed(names)),
            Policy::Either(a, b) => keeps("either").with("of", Attr::Array(vec![a.attr(), b.attr()])),
        })
    }

    fn of_attr(attr: &Attr) -> Option<Policy> {
        let fields = attr.as_record()?;
        let names = || -> Option<Vec<Arc<str>>> {
            let Attr::Array(items) = fields.get("names")? else { return None };
            items.iter().map(|item| Some(item.as_str()?.into())).collect()
        };
        Some(match fields.str("keeps")? {
            "nothing" => Policy::Nothing,
            "everything" => Policy::Everything,
            "dots" => Policy::Dots,
            "dots_with_no_batch_dims" => Policy::DotsWithNoBatchDims,
            "names" => Policy::Names(names()?),
            "other_names" => Policy::OtherNames(names()?),
            "all_but" => Policy::AllBut(names()?),
            "either" => {
                let Attr::Array(of) = fields.get("of")? else { return None };
                let [a, b] = &of[..] else { return None };
                Policy::Either(Box::new(Policy::of_attr(a)?), Box::new(Policy::of_attr(b)?))
            }
            _ => return None,
        })
    }
}

/// Returns the attributes of the composite that runs the function `func`. Reverse mode keeps those values of the
/// function that `policy` keeps.
pub fn composite_attrs(func: Arc<str>, policy: &Policy) -> Attrs {
    Composite::attrs(CHECKPOINT, func, Attrs::new().with("policy", policy.attr()))
}

/// Returns the attributes of the `named_computation` that stands for a composite of [`composite_attrs`] while a
/// function with it is differentiated.
pub fn region_attrs(policy: &Policy) -> Attrs {
    Attrs::new().with("name", Attr::str(CHECKPOINT)).with(CHECKPOINT, policy.attr())
}

/// Returns the policy of a composite or a region that reverse mode runs again. Returns `None` for other ops. A policy
/// that cannot be read counts as [`Policy::Nothing`].
pub fn policy(op: &OpView<'_>) -> Option<Policy> {
    let attr = match Opcode::of_view(op) {
        Opcode::Composite if Composite::name(op) == Some(CHECKPOINT) => {
            op.attr("composite_attributes").and_then(Attr::as_record).and_then(|facts| facts.get("policy"))
        }
        Opcode::NamedComputation => Some(op.attr(CHECKPOINT)?),
        _ => return None,
    };
    Some(attr.and_then(Policy::of_attr).unwrap_or_default())
}
