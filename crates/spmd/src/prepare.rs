//! Puts a program into the form that all other passes expect: shardings in one notation over one mesh, no quantized
//! types, no reducer on wider elements than its operands have, collectives of one operand, numbered random streams.
//!
//! Quantized values become their integers, and ops on them become the arithmetic that they represent
//! ([`shardwise_ops::quantized::decompose`]). The operands of a reducer on wider elements are converted to these
//! elements ([`shardwise_ops::promote::decompose`]). Every `rng` gets the number of its stream, which determines the
//! numbers that it draws, so that no pass changes them.
//!
//! Shardy's collectives on global values, as Shardy's own partitioner prints them, become the reshards that they
//! express ([`reshards`]).

use crate::rewrite::{Rewrite, rewrite_func, rewrite_region};
use shardwise_base::{Diagnostic, Diagnostics};
use shardwise_engine::GLOBAL_TYPE;
use shardwise_ir::{Attr, Body, Builder, Cloner, Func, Module, Op, OpView, Region, Type, Value};
use shardwise_ops::promote::{self, is_promoted};
use shardwise_ops::quantized::{decompose, is_quantized, stored};
use shardwise_ops::random::{STREAM, streams};
use shardwise_ops::shardy::ShardyCollective;
use shardwise_ops::{Opcode, collective};

/// Returns the module in this form, or `None` if nothing had to change.
pub fn prepare(module: &Module, warnings: &mut Diagnostics) -> Result<Option<Module>, Diagnostics> {
    refuse_local(module)?;
    let laid_out = layouts(module, warnings)?;
    crate::processes::check(laid_out.as_ref().unwrap_or(module))?;
    crate::sharding_groups::check(laid_out.as_ref().unwrap_or(module))?;
    let numbered = numbered(laid_out.as_ref().unwrap_or(module)).or(laid_out);
    let resharded = reshards(numbered.as_ref().unwrap_or(module)).or(numbered);
    let plain = simplified(resharded.as_ref().unwrap_or(module)).or(resharded);
    Ok(without_quantized(plain.as_ref().unwrap_or(module)).or(plain))
}

/// Fails if the program has already been partitioned, which the global types of its arguments show.
fn refuse_local(module: &Module) -> Result<(), Diagnostics> {
    let Some(main) = module.main() else { return Ok(()) };
    match main.arg_attrs.iter().chain(&main.result_attrs).any(|attrs| attrs.contains(GLOBAL_TYPE)) {
        true => Err(already_local(main).into()),
        false => Ok(()),
    }
}

fn already_local(main: &Func) -> Diagnostic {
    let message = format!("`@{}` has been partitioned: its arguments have `{GLOBAL_TYPE}`", main.name);
    Diagnostic::error("partitioned-twice", &main.loc, message)
        .help("give the program as it was before, or remove these attributes from a program of global values")
}

/// Returns the module with all layouts in Shardy's notation and over one mesh
/// ([`meshes::unify`](crate::meshes::unify)), or `None` if nothing had to change.
pub fn layouts(module: &Module, warnings: &mut Diagnostics) -> Result<Option<Module>, Diagnostics> {
    let imported = crate::gspmd::import(module)?;
    Ok(crate::meshes::unify(imported.as_ref().unwrap_or(module), warnings)?.or(imported))
}

/// Returns the module with each of Shardy's collectives replaced by a reshard to the sharding of its result, or `None`
/// if it has none.
///
/// On global values such an op is the identity: an unreduced value already means the sum of what its devices hold. The
/// pipeline finds the collectives again from the two shardings.
///
/// ```text
/// %0 = sdy.all_gather [{"y"}, {}] %x out_sharding=<@mesh, [{"x"}, {}]>
/// -> %0 = sdy.reshard %x <@mesh, [{"x"}, {}]>
/// ```
fn reshards(module: &Module) -> Option<Module> {
    let mut out: Option<Module> = None;
    for (f, func) in module.funcs.iter().enumerate() {
        let is_step = |&op: &Op| ShardyCollective::of(&module.view(&func.body, op)).is_some();
        for op in func.body.walk().into_iter().filter(is_step) {
            let data = out.get_or_insert_with(|| module.clone()).funcs[f].body.op_mut(op);
            data.code = Opcode::Reshard.into();
            for name in ShardyCollective::ATTRIBUTES {
                data.attrs.remove(name);
            }
        }
    }
    out
}

/// Returns the module with a stream number on every `rng`, or `None` if all have one.
fn numbered(module: &Module) -> Option<Module> {
    let all: Vec<_> = streams(module).collect();
    let is_open = all.iter().any(|&(f, op)| !module[f].body[op].attrs.contains(STREAM));
    is_open.then(|| {
        let mut out = module.clone();
        for (n, (f, op)) in all.into_iter().enumerate() {
            let attrs = &mut out.funcs[f.index()].body.op_mut(op).attrs;
            if !attrs.contains(STREAM) {
                attrs.set(STREAM, Attr::int(n as i64));
            }
        }
        out
    })
}

/// Returns the module with collectives of one operand each and with the operands of each reducer converted to the
/// reducer's types, or `None` if nothing had to change.
fn simplified(module: &Module) -> Option<Module> {
    let has_any = |f: &Func| {
        let started = |r: &Region| f.body[*r].parent.is_some_and(|op| is_start(&module.view(&f.body, op)));
        let regions = (0..f.body.region_count()).map(Region::new).filter(|r| !started(r));
        regions.flat_map(|r| &f.body[r].ops).any(|&op| is_compound(&module.view(&f.body, op)))
    };
    if !module.funcs.iter().any(has_any) {
        return None;
    }
    let mut out = module.without_funcs();
    out.funcs = module.funcs.iter().map(|f| rewrite_func(module, f, &mut Simplify)).collect();
    Some(out)
}

/// Returns whether the op is an `async_start`. Its region holds exactly one op, which must not be replaced by several.
fn is_start(view: &OpView<'_>) -> bool {
    Opcode::of_view(view) == Opcode::AsyncStart
}

fn is_compound(view: &OpView<'_>) -> bool {
    is_promoted(view) || collective::is_variadic(view)
}

struct Simplify;

impl<'s> Rewrite<'s> for Simplify {
    fn rewrite(&mut self, view: &OpView<'s>, cloner: &mut Cloner<'s>, b: &mut Builder<'_>) -> bool {
        if is_start(view) {
            cloner.op(view.op, b);
            return true;
        }
        if !is_compound(view) {
            return false;
        }
        let operands = cloner.values(view.operands());
        let mut regions = |b: &mut Builder<'_>| -> Vec<Region> {
            view.regions().iter().map(|&r| rewrite_region(view.module, r, self, cloner, b)).collect()
        };
        let results = match collective::is_variadic(view) {
            true => collective::split(view, &operands, &mut regions, b),
            false => promote::decompose(view, &operands, regions(b), b),
        };
        view.results().iter().zip(results).for_each(|(&from, to)| cloner.carry(from, to, b));
        true
    }
}

fn without_quantized(module: &Module) -> Option<Module> {
    let names = |body: &Body| (0..body.value_count()).map(Value::new).any(|v| names_quantized(body.ty(v)));
    if !module.funcs.iter().any(|f| names(&f.body)) {
        return None;
    }
    let mut out = module.without_funcs();
    out.funcs = module.funcs.iter().map(|f| on_integers(module, f)).collect();
    Some(out)
}

fn names_quantized(ty: &Type) -> bool {
    match ty {
        Type::Tensor(t) => t.dtype.quantized().is_some(),
        Type::Tuple(types) | Type::Future(types) => types.iter().any(names_quantized),
        Type::Token => false,
    }
}

fn on_integers(module: &Module, func: &Func) -> Func {
    let mut out = func.without_body();
    out.result_types.iter_mut().for_each(|ty| *ty = stored(ty));
    let mut cloner = Cloner::new(&func.body);
    region(module, &mut cloner, func.body.entry(), &mut Builder::new(&mut out.body));
    out
}

/// Copies the contents of a region to the builder's position, with quantized values replaced by their integers.
fn region(module: &Module, cloner: &mut Cloner<'_>, from: Region, b: &mut Builder<'_>) {
    cloner.args(from, b);
    for &arg in &cloner.source[from].args {
        let ty: Type = stored(cloner.source.ty(arg));
        b.body.value_mut(cloner.get(arg)).ty = ty;
    }
    for &op in &cloner.source[from].ops {
        one(module, cloner, &module.view(cloner.source, op), b);
    }
}

fn one(module: &Module, cloner: &mut Cloner<'_>, op: &OpView<'_>, b: &mut Builder<'_>) {
    let inner = |cloner: &mut Cloner<'_>, b: &mut Builder<'_>, from: Region| {
        let made = b.body.add_region();
        region(module, cloner, from, &mut Builder::at(b.body, made, b.loc.clone()));
        made
    };
    let regions: Vec<Region> = op.regions().iter().map(|&r| inner(cloner, b, r)).collect();
    if !is_quantized(op) {
        cloner.op_with_regions(op.op, regions, b);
        return;
    }
    b.loc = op.loc().clone();
    let results = decompose(op, &cloner.values(op.operands()), regions, b);
    for (&from, to) in op.results().iter().zip(results) {
        cloner.carry(from, to, b);
    }
}
