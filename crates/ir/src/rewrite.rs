//! Rebuilds functions: a new body is made op by op from an old one.

use crate::{Body, Builder, Cloner, Func, Module, OpView, Region, Type, Value};
use shardwise_base::Loc;

/// Rebuilds a function. `f` gets a cloner of the old body and a builder at the entry of the new body, which has the
/// arguments already.
pub fn rebuild(func: &Func, f: impl FnOnce(&mut Cloner<'_>, &mut Builder<'_>)) -> Func {
    let mut out = func.without_body();
    let mut cloner = Cloner::new(&func.body);
    let mut builder = Builder::new(&mut out.body);
    cloner.args(func.body.entry(), &mut builder);
    f(&mut cloner, &mut builder);
    out
}

/// A pass that replaces some ops and copies the others.
pub trait Rewrite<'s> {
    /// Rewrites one op and maps its results to new values. If this returns `false`, the op is copied and its regions
    /// are rewritten.
    fn rewrite(&mut self, view: &OpView<'s>, cloner: &mut Cloner<'s>, b: &mut Builder<'_>) -> bool;
}

/// Returns the function with every op passed to `pass`, in program order.
pub fn rewrite_func<'s>(module: &'s Module, func: &'s Func, pass: &mut impl Rewrite<'s>) -> Func {
    let mut out = func.without_body();
    let mut cloner = Cloner::new(&func.body);
    let mut builder = Builder::new(&mut out.body);
    cloner.args(func.body.entry(), &mut builder);
    rewrite_ops(module, func.body.entry(), pass, &mut cloner, &mut builder);
    out
}

/// Rewrites the ops of a region to the builder's position.
pub fn rewrite_ops<'s>(
    module: &'s Module,
    region: Region,
    pass: &mut impl Rewrite<'s>,
    cloner: &mut Cloner<'s>,
    b: &mut Builder<'_>,
) {
    let source = cloner.source;
    for &op in &source[region].ops {
        let view = module.view(source, op);
        b.loc = view.loc().clone();
        if pass.rewrite(&view, cloner, b) {
            continue;
        }
        let regions = view.regions().iter().map(|&r| rewrite_region(module, r, pass, cloner, b)).collect();
        cloner.op_with_regions(op, regions, b);
    }
}

/// Copies a region with its ops passed to `pass`.
pub fn rewrite_region<'s>(
    module: &'s Module,
    from: Region,
    pass: &mut impl Rewrite<'s>,
    cloner: &mut Cloner<'s>,
    b: &mut Builder<'_>,
) -> Region {
    let region = b.body.add_region();
    let mut inner = Builder::at(b.body, region, b.loc.clone());
    cloner.args(from, &mut inner);
    rewrite_ops(module, from, pass, cloner, &mut inner);
    region
}

/// Adds a region with arguments of these types to the body.
pub fn open_region(body: &mut Body, types: &[Type], loc: &Loc) -> (Region, Vec<Value>) {
    let region = body.add_region();
    let args = types.iter().map(|ty| body.add_arg(region, ty.clone(), loc.clone())).collect();
    (region, args)
}
