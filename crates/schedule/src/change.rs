//! The changes that can be made to a program, and the places where each of them is possible.

use crate::combine::{self, Combine};
use crate::matmul::{self, Matmul};
use crate::prefetch::{self, Prefetch};
use crate::ring::Ways;
use crate::site::Sites;
use crate::split::{self, Split};
use crate::times::Times;
use shardwise_base::{Diagnostics, Loc};
use shardwise_ir::{Module, Op};

/// A place where a change is possible.
#[derive(Clone, Debug)]
pub(crate) enum Site {
    /// An all-gather and the products of its result, or a product and the reduce-scatter of its result.
    Matmul(Matmul),
    /// An all-reduce. The comments call it a sum, however it combines values.
    Split(Split),
    /// Small all-reduces in one block.
    Combine(Combine),
    /// A gather in a loop.
    Prefetch(Prefetch),
}

/// The facts on which the decision for a place depends. Places that share them are decided together.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Like {
    Matmul(matmul::Like),
    Split(split::Like),
    Combine(combine::Like),
    Prefetch(prefetch::Like),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Variant {
    /// Products in pieces, in an unrolled loop.
    Pieces(Ways),
    /// A scatter and a gather in place of a sum.
    Split,
    /// A scatter in pieces, and a gather, in place of a sum.
    SplitPieces(Ways),
    /// One collective in place of several.
    Combine,
    /// A gather in the turn before.
    Prefetch,
}

pub(crate) fn find(sites: &Sites<'_>, times: &Times) -> Vec<Site> {
    let matmuls = matmul::find(sites).into_iter().map(Site::Matmul);
    let prefetches = prefetch::find(sites).into_iter().map(Site::Prefetch);
    let splits = split::find(sites).into_iter().map(Site::Split);
    let combines = combine::find(sites, times).into_iter().map(Site::Combine);
    matmuls.chain(prefetches).chain(splits).chain(combines).collect()
}

impl Site {
    pub(crate) fn like(&self) -> Like {
        match self {
            Site::Matmul(matmul) => Like::Matmul(matmul.like.clone()),
            Site::Split(split) => Like::Split(split.like.clone()),
            Site::Combine(combine) => Like::Combine(combine.like.clone()),
            Site::Prefetch(prefetch) => Like::Prefetch(prefetch.like.clone()),
        }
    }

    pub(crate) fn collectives(&self) -> &[Op] {
        match self {
            Site::Matmul(matmul) => std::slice::from_ref(&matmul.collective),
            Site::Split(split) => std::slice::from_ref(&split.sum),
            Site::Combine(combine) => &combine.members,
            Site::Prefetch(prefetch) => std::slice::from_ref(&prefetch.gather),
        }
    }

    pub(crate) fn variants(&self) -> Vec<Variant> {
        match self {
            Site::Matmul(matmul) => matmul.ways().iter().copied().map(Variant::Pieces).collect(),
            Site::Split(split) if split.is_of_product => {
                vec![Variant::Split, Variant::SplitPieces(Ways::One), Variant::SplitPieces(Ways::Both)]
            }
            Site::Split(_) => vec![Variant::Split],
            Site::Combine(_) => vec![Variant::Combine],
            Site::Prefetch(_) => vec![Variant::Prefetch],
        }
    }

    pub(crate) fn describe(&self, sites: &Sites<'_>) -> String {
        match self {
            Site::Matmul(matmul) => matmul.describe(sites.module, sites.body),
            Site::Split(_) => "all_reduce".into(),
            Site::Combine(combine) => format!("{} small all_reduces", combine.members.len()),
            Site::Prefetch(_) => "all_gather in a loop".into(),
        }
    }

    /// Returns the origin of the first product beside a gather or scatter. For other changes, returns that of the first
    /// collective.
    pub(crate) fn loc(&self, sites: &Sites<'_>) -> Loc {
        let op = match self {
            Site::Matmul(matmul) => matmul.products[0].op,
            other => other.collectives()[0],
        };
        sites.view(op).origin().clone()
    }

    pub(crate) fn as_prefetch(&self) -> Option<&Prefetch> {
        if let Site::Prefetch(prefetch) = self { Some(prefetch) } else { None }
    }

    fn as_matmul(&self) -> Option<&Matmul> {
        if let Site::Matmul(matmul) = self { Some(matmul) } else { None }
    }
}

impl Variant {
    pub(crate) fn words(self) -> String {
        match self {
            Variant::Pieces(ways) => ways.words().into(),
            Variant::Split => "as reduce_scatter and all_gather".into(),
            Variant::SplitPieces(ways) => {
                format!("as reduce_scatter in pieces {} and all_gather", ways.words())
            }
            Variant::Combine => "as one".into(),
            Variant::Prefetch => "started in the turn before".into(),
        }
    }

    /// Returns the program with this change at these places, which are of one kind. Returns `None` if the change is not
    /// possible there. Never fails.
    pub(crate) fn apply(self, module: &Module, chosen: &[Site]) -> Result<Option<Module>, Diagnostics> {
        let matmuls: Vec<&Matmul> = chosen.iter().filter_map(Site::as_matmul).collect();
        Ok(match self {
            Variant::Pieces(ways) => Some(matmul::apply(module, &matmuls, ways)?),
            Variant::Split => Some(split::apply(module, chosen)?),
            Variant::SplitPieces(ways) => in_pieces(module, &split::apply(module, chosen)?, ways)?,
            Variant::Combine => Some(combine::apply(module, chosen)?),
            Variant::Prefetch => Some(prefetch::apply(module, chosen)?),
        })
    }
}

/// Returns the program `split` with those products beside collectives in pieces that are not like any in `before`, or
/// `None` if there are none. Never fails.
fn in_pieces(before: &Module, split: &Module, ways: Ways) -> Result<Option<Module>, Diagnostics> {
    let matmuls = |module: &Module| module.main().map_or(vec![], |main| matmul::find(&Sites::new(module, &main.body)));
    let known = matmuls(before);
    let made = matmuls(split);
    let new: Vec<&Matmul> = made.iter().filter(|m| known.iter().all(|known| known.like != m.like)).collect();
    if new.is_empty() { Ok(None) } else { matmul::apply(split, &new, ways).map(Some) }
}
