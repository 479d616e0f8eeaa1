//! Rebuilds functions: a new body is made op by op from an old one.

use crate::{Body, Builder, Cloner, Func, Module, Op, OpView, Region, Type, Value};
use shardwise_base::{Diagnostics, Loc};

/// Returns the function with a new body that `f` builds. `f` gets a cloner of the old body and a builder at the entry
/// of the new body, which has the arguments already. The declared types of the results are copied from the old
/// function.
pub fn rebuild<'s>(func: &'s Func, f: impl FnOnce(&mut Cloner<'s>, &mut Builder<'_>)) -> Func {
    let mut out = func.without_body();
    let mut cloner = Cloner::new(&func.body);
    let mut builder = Builder::new(&mut out.body);
    cloner.args(func.body.entry(), &mut builder);
    f(&mut cloner, &mut builder);
    out
}

/// A pass that replaces some ops and copies the others.
pub trait Rewrite<'s> {
    /// Rewrites one op, maps its results to new values, and returns true. If it returns false, the op is copied and
    /// its regions are rewritten. An error ends the rewriting of the module or function.
    fn rewrite(&mut self, view: &OpView<'s>, cloner: &mut Cloner<'s>, b: &mut Builder<'_>)
    -> Result<bool, Diagnostics>;

    /// Returns the type that the copy of `v` gets. `v` is an argument of the function or of a region in `source`, the
    /// old body, or a result of an op that is copied. By default, this is the type of `v`.
    fn value_type(&self, source: &Body, v: Value) -> Type {
        source.ty(v).clone()
    }
}

/// Returns the module with each function rewritten by [`rewrite_func`].
///
/// # Errors
/// Fails if the pass does.
pub fn rewrite_funcs<'s>(module: &'s Module, pass: &mut impl Rewrite<'s>) -> Result<Module, Diagnostics> {
    let mut out = module.without_funcs();
    for func in &module.funcs {
        out.funcs.push(rewrite_func(module, func, pass)?);
    }
    Ok(out)
}

/// Returns the function with each op rewritten by `pass` or else copied, in program order. The ops inside an op that
/// `pass` rewrites are not passed to it. The function's result types are those of the values that it returns.
///
/// # Errors
/// Fails if the pass does.
pub fn rewrite_func<'s>(module: &'s Module, func: &'s Func, pass: &mut impl Rewrite<'s>) -> Result<Func, Diagnostics> {
    let mut out = func.without_body();
    let mut cloner = Cloner::new(&func.body);
    let mut builder = Builder::new(&mut out.body);
    args(func.body.entry(), pass, &mut cloner, &mut builder);
    rewrite_ops(module, func.body.entry(), pass, &mut cloner, &mut builder)?;
    out.result_types = out.body.results().iter().map(|&v| out.body.ty(v).clone()).collect();
    Ok(out)
}

/// Rewrites or copies the ops of `region`, a region of the old body, to the builder's position.
///
/// # Errors
/// Fails if the pass does.
pub fn rewrite_ops<'s>(
    module: &'s Module,
    region: Region,
    pass: &mut impl Rewrite<'s>,
    cloner: &mut Cloner<'s>,
    b: &mut Builder<'_>,
) -> Result<(), Diagnostics> {
    let source = cloner.source;
    source[region].ops.iter().try_for_each(|&op| rewrite_op(module, op, pass, cloner, b))
}

/// Rewrites one op to the builder's position. If `pass` does not rewrite it, copies it with its regions rewritten. Sets
/// the builder's location to that of the op.
///
/// # Errors
/// Fails if the pass does.
pub fn rewrite_op<'s>(
    module: &'s Module,
    op: Op,
    pass: &mut impl Rewrite<'s>,
    cloner: &mut Cloner<'s>,
    b: &mut Builder<'_>,
) -> Result<(), Diagnostics> {
    let view = module.view(cloner.source, op);
    b.loc = view.loc().clone();
    if pass.rewrite(&view, cloner, b)? {
        return Ok(());
    }
    let regions = rewrite_regions(&view, pass, cloner, b)?;
    let new = cloner.op_with_regions(op, regions, b);
    for (i, &v) in view.results().iter().enumerate() {
        let to = b.body[new].results[i];
        b.body.value_mut(to).ty = pass.value_type(view.body, v);
    }
    Ok(())
}

/// Returns copies of the regions of an op, with their ops rewritten by `pass` or else copied. No op holds them yet.
///
/// # Errors
/// Fails if the pass does.
pub fn rewrite_regions<'s>(
    view: &OpView<'s>,
    pass: &mut impl Rewrite<'s>,
    cloner: &mut Cloner<'s>,
    b: &mut Builder<'_>,
) -> Result<Vec<Region>, Diagnostics> {
    view.regions().iter().map(|&r| rewrite_region(view.module, r, pass, cloner, b)).collect()
}

fn rewrite_region<'s>(
    module: &'s Module,
    from: Region,
    pass: &mut impl Rewrite<'s>,
    cloner: &mut Cloner<'s>,
    b: &mut Builder<'_>,
) -> Result<Region, Diagnostics> {
    let region = b.body.add_region();
    let mut inner = Builder::at(b.body, region, b.loc.clone());
    args(from, pass, cloner, &mut inner);
    rewrite_ops(module, from, pass, cloner, &mut inner)?;
    Ok(region)
}

fn args<'s>(from: Region, pass: &impl Rewrite<'s>, cloner: &mut Cloner<'s>, b: &mut Builder<'_>) {
    cloner.args(from, b);
    for &v in &cloner.source[from].args {
        b.body.value_mut(cloner.get(v)).ty = pass.value_type(cloner.source, v);
    }
}

/// Adds a region with arguments of these types to the body. Returns the region, which no op holds yet, and its
/// arguments.
pub fn open_region(body: &mut Body, types: &[Type], loc: &Loc) -> (Region, Vec<Value>) {
    let region = body.add_region();
    let args = types.iter().map(|ty| body.add_arg(region, ty.clone(), loc.clone())).collect();
    (region, args)
}
