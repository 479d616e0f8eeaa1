//! Imports shardings in XLA's older notation (`mhlo.sharding = "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"`).
//!
//! The older notation has device numbers but no axes, so the axes of a mesh are derived: the strides and sizes of all
//! grids of tiles cut the list of devices into factors, and each factor becomes an axis. A grid that does not fit these
//! factors, or whose devices are in an order that no grid has, gets a mesh of its own.
//!
//! `custom_call @Sharding` becomes `sdy.sharding_constraint`. Per-device regions become manual computations
//! ([`manual`]).

mod manual;

use crate::processes::bound_again;
use manual::Role;
use shardwise_base::gspmd::{HloSharding, HloShardingError, Rest, Run, Tiling};
use shardwise_base::{AxisIndex, AxisRef, Diagnostic, Diagnostics, DimSharding, Loc, Mesh, Sharding, counted};
use shardwise_engine::GLOBAL_TYPE;
use shardwise_ir::{Attrs, Func, Module, Op, Value};
use shardwise_ops::Opcode;
use shardwise_ops::calls::callers_first;
use shardwise_ops::control::backend_config;
use std::collections::BTreeSet;
use std::sync::Arc;

const ATTR: &str = "mhlo.sharding";

/// Returns the module with all shardings in Shardy's form, and per-device regions as manual computations. A module
/// without `mhlo.sharding` is returned unchanged.
///
/// # Errors
/// Fails if the program has been partitioned before (`partitioned-twice`), or if something in the older notation is
/// malformed, does not fit its values, has no equal in Shardy's, or splits a value over an axis that is manual already
/// (`sdy-manual-bound`).
pub fn import(module: Module) -> Result<Module, Diagnostics> {
    refuse_local(&module)?;
    let found = find(&module)?;
    if found.is_empty() {
        return Ok(module);
    }
    let module = &module;
    let mut meshes = Meshes::of(module, &found);
    let mut out = module.clone();
    for Found { place, sharding, loc } in found {
        match place {
            Place::Argument(f, i) => {
                let v = module.funcs[f].body.args()[i];
                let shape = module.funcs[f].body.ty(v).shape();
                out.funcs[f].body.value_mut(v).sharding = meshes.sharding(&sharding, shape, &loc)?;
                out.funcs[f].arg_attrs[i].remove(ATTR);
            }
            Place::Result(f, i) => {
                let shape = module.funcs[f].result_types[i].shape();
                out.funcs[f].result_shardings[i] = meshes.sharding(&sharding, shape, &loc)?;
                out.funcs[f].result_attrs[i].remove(ATTR);
            }
            Place::Op(f, op) => import_op(module, &mut out, &mut meshes, f, op, &sharding)?,
        }
    }
    manual::close(&mut out, || meshes.main())?;
    out.meshes.extend(meshes.made);
    Diagnostics(bound_again(&out, callers_first(&out))).or(())?;
    Ok(out)
}

fn refuse_local(module: &Module) -> Result<(), Diagnostics> {
    let Some(main) = module.main() else { return Ok(()) };
    match main.arg_attrs.iter().chain(&main.result_attrs).any(|attrs| attrs.contains(GLOBAL_TYPE)) {
        true => Err(already_local(main).into()),
        false => Ok(()),
    }
}

fn already_local(main: &Func) -> Diagnostic {
    let message = format!("`@{}` has been partitioned: an argument or result has `{GLOBAL_TYPE}`", main.name);
    Diagnostic::error("partitioned-twice", &main.loc, message)
        .help("give the program as it was before, or remove these attributes from a program of global values")
}

fn import_op(
    module: &Module,
    out: &mut Module,
    meshes: &mut Meshes,
    f: usize,
    op: Op,
    sharding: &HloSharding,
) -> Result<(), Diagnostics> {
    let body = &module.funcs[f].body;
    let view = module.view(body, op);
    let results: Vec<Value> = view.results().to_vec();
    let each: Vec<&HloSharding> = match sharding {
        HloSharding::Tuple(items) if items.len() == results.len() => items.iter().collect(),
        HloSharding::Tuple(items) => return Err(wrong_count(view.loc(), items.len(), results.len()).into()),
        one => vec![one; results.len()],
    };
    let role = manual::role(&view);
    manual::check_values(&view, role)?;
    if each.iter().all(|one| is_manual(one)) && matches!(role, Role::Enters | Role::Marks) {
        out.funcs[f].body.op_mut(op).attrs.remove(ATTR);
        return Ok(());
    }
    let open = unspecified_dims(view.attrs());
    for (&v, sharding) in results.iter().zip(each) {
        let mut sharding = meshes.sharding(sharding, body.ty(v).shape(), view.loc())?;
        for &d in &open {
            if let Some(dim) = sharding.as_mut().and_then(|s| s.dims.get_mut(d)) {
                dim.is_open = true;
            }
        }
        out.funcs[f].body.value_mut(v).sharding = sharding;
    }
    let data = out.funcs[f].body.op_mut(op);
    data.attrs.remove(ATTR);
    if role == Role::Marks {
        data.code = Opcode::ShardingConstraint.into();
        data.attrs = Attrs::new();
    }
    Ok(())
}

/// Returns true for the sharding of a value that is manual over all devices: `{manual}`, and tilings into one tile
/// whose devices are manual, as in `{devices=[1,8]<=[8] last_tile_dims={manual}}`.
fn is_manual(sharding: &HloSharding) -> bool {
    match sharding {
        HloSharding::Manual => true,
        HloSharding::Tiled(Tiling { tiles, rest, .. }) => {
            let has_manual = rest.iter().any(|(kind, _)| *kind == Rest::Manual);
            has_manual
                && tiles.iter().all(|&size| size == 1)
                && rest.iter().all(|(kind, size)| *kind == Rest::Manual || *size == 1)
        }
        _ => false,
    }
}

/// Returns the dimensions that a constraint leaves open: `backend_config = "unspecified_dims=[0,2]"`. There are none if
/// the attribute does not have this form. Entries that are no numbers are skipped.
fn unspecified_dims(attrs: &Attrs) -> Vec<usize> {
    let config = backend_config(attrs).unwrap_or("");
    let list = config.strip_prefix("unspecified_dims=[").and_then(|rest| rest.split(']').next());
    list.map_or(vec![], |list| list.split(',').filter_map(|n| n.trim().parse().ok()).collect())
}

enum Place {
    Argument(usize, usize),
    Result(usize, usize),
    Op(usize, Op),
}

struct Found {
    place: Place,
    sharding: HloSharding,
    loc: Loc,
}

fn find(module: &Module) -> Result<Vec<Found>, Diagnostics> {
    let mut found = vec![];
    let mut add = |attrs: &Attrs, place: Place, loc: &Loc| -> Result<(), Diagnostics> {
        if let Some(attr) = attrs.get(ATTR) {
            let text = attr.as_str().ok_or_else(|| not_text(loc))?;
            let sharding = text.parse().map_err(|e| malformed(loc, text, &e))?;
            found.push(Found { place, sharding, loc: loc.clone() });
        }
        Ok(())
    };
    for (f, func) in module.funcs.iter().enumerate() {
        for (i, attrs) in func.arg_attrs.iter().enumerate() {
            add(attrs, Place::Argument(f, i), &func.loc)?;
        }
        for (i, attrs) in func.result_attrs.iter().enumerate() {
            add(attrs, Place::Result(f, i), &func.loc)?;
        }
        for op in func.body.walk() {
            add(&func.body[op].attrs, Place::Op(f, op), &func.body[op].loc)?;
        }
    }
    Ok(found)
}

/// Returns the first place with a sharding in the older notation: its location, and the function or `an op` as text, or
/// `None` if there is none.
pub(crate) fn remaining(module: &Module) -> Option<(Loc, String)> {
    let in_ops = |func: &Func| func.body.walk().into_iter().find(|&op| func.body[op].attrs.contains(ATTR));
    module.funcs.iter().find_map(|func| {
        if func.arg_attrs.iter().chain(&func.result_attrs).any(|attrs| attrs.contains(ATTR)) {
            return Some((func.loc.clone(), format!("`@{}`", func.name)));
        }
        Some((func.body[in_ops(func)?].loc.clone(), "an op".to_string()))
    })
}

/// The meshes that are made for the grids of devices in the module's shardings.
struct Meshes {
    /// The strides at which axes begin and end, ascending. Each divides the next, and the last is the largest number of
    /// devices that a sharding lists.
    cuts: Vec<usize>,
    made: Vec<Arc<Mesh>>,
    taken: BTreeSet<Arc<str>>,
}

impl Meshes {
    fn of(module: &Module, found: &[Found]) -> Meshes {
        let mut tilings = vec![];
        found.iter().for_each(|f| collect(&f.sharding, &mut tilings));
        let count = tilings.iter().map(|t| t.devices.len()).max().unwrap_or(1);
        let mut cuts = BTreeSet::from([1, count]);
        for runs in tilings.iter().filter(|t| t.devices.len() == count).filter_map(|t| t.runs()) {
            let ends = runs.iter().flatten().flat_map(|r| [r.stride, r.stride * r.size]);
            let more: BTreeSet<usize> = cuts.iter().copied().chain(ends).collect();
            let fits = more.iter().zip(more.iter().skip(1)).all(|(a, b)| b.is_multiple_of(*a));
            if fits {
                cuts = more;
            }
        }
        let taken = module.meshes.iter().map(|m| m.name.clone()).collect();
        Meshes { cuts: cuts.into_iter().collect(), made: vec![], taken }
    }

    /// Returns `given` in Shardy's form for a value of this shape, or `None` if `given` is an empty tuple, which specifies
    /// nothing. Adds a mesh if the main one does not fit. Fails for other tuples, for manual shardings, if `given` has no
    /// equal in Shardy's form, and if it tiles another number of dimensions.
    fn sharding(&mut self, given: &HloSharding, shape: &[usize], loc: &Loc) -> Result<Option<Sharding>, Diagnostic> {
        match given {
            HloSharding::Replicated => Ok(Some(Sharding::replicated(&self.main(), shape.len()))),
            HloSharding::Maximal(device) => {
                let mesh = Mesh { device_ids: Some(vec![*device]), ..grid("maximal_mesh", &[]) };
                let mesh = self.named(mesh);
                Ok(Some(Sharding::replicated(&mesh, shape.len())))
            }
            HloSharding::Manual => Err(misplaced_manual(loc)),
            HloSharding::Tuple(items) if items.is_empty() => Ok(None),
            HloSharding::Tuple(_) => Err(unexpected_tuple(loc)),
            HloSharding::Tiled(_) if is_manual(given) => Err(misplaced_manual(loc)),
            HloSharding::Tiled(tiling) => self.tiled(tiling, shape, loc).map(Some),
        }
    }

    fn tiled(&mut self, tiling: &Tiling, shape: &[usize], loc: &Loc) -> Result<Sharding, Diagnostic> {
        if tiling.rest.iter().any(|(rest, _)| *rest == Rest::Manual) {
            return Err(partly_manual(loc));
        }
        if tiling.tiles.len() != shape.len() {
            return Err(wrong_rank(loc, tiling.tiles.len(), shape.len()));
        }
        let rank = shape.len();
        if let Some(runs) = tiling.runs()
            && let Some(axes) = runs[..rank].iter().map(|runs| self.axes(runs)).collect::<Option<Vec<_>>>()
        {
            return Ok(Sharding::closed(&self.main(), axes));
        }
        // A mesh is made whose axes are the dimensions of the grid.
        let sizes: Vec<usize> = tiling.grid().collect();
        if sizes.len() > Mesh::MAX_AXES {
            return Err(too_many_dims(loc, sizes.len()));
        }
        let is_ordered = tiling.devices.iter().copied().eq(0..tiling.devices.len());
        if !is_ordered && !tiling.names_each_device() {
            return Err(not_all_devices(loc, tiling.devices.len()));
        }
        let device_ids = (!is_ordered).then(|| tiling.devices.to_vec());
        let mesh = self.named(Mesh { device_ids, ..grid("mesh", &sizes) });
        let axes = |i: usize| if sizes[i] == 1 { vec![] } else { vec![AxisRef::full(AxisIndex::new(i))] };
        let dims = (0..rank).map(|i| DimSharding::closed(axes(i))).collect();
        Ok(Sharding::new(&mesh, dims))
    }

    /// Returns the axes that the runs cover, major to minor, or `None` if a run does not begin and end at axes.
    fn axes(&self, runs: &[Run]) -> Option<Vec<AxisRef>> {
        let mut out = vec![];
        for run in runs {
            let at = |stride: usize| self.cuts.iter().position(|&c| c == stride);
            let (from, to) = (at(run.stride)?, at(run.stride * run.size)?);
            let axis_count = self.cuts.len() - 1;
            out.extend((from..to).rev().map(|i| AxisRef::full(AxisIndex::new(axis_count - 1 - i))));
        }
        Some(out)
    }

    fn main(&mut self) -> Arc<Mesh> {
        let sizes: Vec<usize> = self.cuts.windows(2).rev().map(|w| w[1] / w[0]).collect();
        self.named(grid("mesh", &sizes))
    }

    /// Returns the equal mesh that was made before, or names and stores this one under a free name.
    fn named(&mut self, mesh: Mesh) -> Arc<Mesh> {
        let is_same = |m: &&Arc<Mesh>| m.axes == mesh.axes && m.device_ids == mesh.device_ids;
        if let Some(same) = self.made.iter().find(is_same) {
            return same.clone();
        }
        let numbered = (1..).map(|i| Arc::from(format!("{}_{i}", mesh.name)));
        let mut names = [mesh.name.clone()].into_iter().chain(numbered);
        let name = names.find(|n| !self.taken.contains(n)).expect("some number is free");
        self.taken.insert(name.clone());
        let mesh = Arc::new(Mesh { name, ..mesh });
        self.made.push(mesh.clone());
        mesh
    }
}

fn collect<'a>(sharding: &'a HloSharding, out: &mut Vec<&'a Tiling>) {
    match sharding {
        HloSharding::Tiled(tiling) => out.push(tiling),
        HloSharding::Tuple(items) => items.iter().for_each(|s| collect(s, out)),
        HloSharding::Replicated | HloSharding::Manual | HloSharding::Maximal(_) => {}
    }
}

fn grid(name: &str, sizes: &[usize]) -> Mesh {
    let names: Vec<String> = (0..sizes.len()).map(|i| format!("axis_{i}")).collect();
    let axes = names.iter().map(String::as_str).zip(sizes.iter().copied());
    Mesh::new(name, axes).expect("names are distinct, sizes positive")
}

fn malformed(loc: &Loc, text: &str, error: &HloShardingError) -> Diagnostic {
    Diagnostic::error("gspmd-sharding", loc, format!("`{text}` is no sharding: {error}"))
        .help("write `{devices=[2,1,4]<=[8] last_tile_dim_replicate}`, `{replicated}` or `{maximal device=0}`")
}

fn too_many_dims(loc: &Loc, count: usize) -> Diagnostic {
    let message = format!(
        "the grid of a sharding's devices needs a mesh of {count} axes, and a mesh has at most {}",
        Mesh::MAX_AXES
    );
    Diagnostic::error("gspmd-sharding", loc, message)
        .help("list the devices in a regular order: `{devices=[2,1,4]<=[8] last_tile_dim_replicate}`")
}

fn not_text(loc: &Loc) -> Diagnostic {
    Diagnostic::error("gspmd-sharding", loc, format!("the value of `{ATTR}` is not a string"))
        .help("write `mhlo.sharding = \"{replicated}\"`")
}

fn not_all_devices(loc: &Loc, count: usize) -> Diagnostic {
    Diagnostic::error("gspmd-devices", loc, format!("the sharding must name each of its {count} devices once"))
        .help(format!("write the numbers from 0 to {} in any order", count.saturating_sub(1)))
}

fn wrong_rank(loc: &Loc, tiles: usize, rank: usize) -> Diagnostic {
    let dimensions = counted(tiles, "dimension");
    Diagnostic::error("gspmd-rank", loc, format!("the sharding tiles {dimensions}, the tensor has {rank}"))
        .help("write a number of tiles per dimension, and more only with `last_tile_dim_replicate` or `last_tile_dims`")
}

fn wrong_count(loc: &Loc, given: usize, values: usize) -> Diagnostic {
    let (shardings, results) = (counted(given, "sharding"), counted(values, "result"));
    let message = format!("the sharding is a tuple of {shardings} for an op with {results}");
    Diagnostic::error("gspmd-tuple", loc, message).help("write a tuple with one sharding for each result of the op")
}

fn unexpected_tuple(loc: &Loc) -> Diagnostic {
    Diagnostic::error("gspmd-tuple", loc, "the sharding of one value is a tuple")
        .help("write the sharding itself: a tuple is for an op with several results")
}

const EXPORT_WITH_SHARDY: &str =
    "export the program with Shardy's notation: `jax.config.update(\"jax_use_shardy_partitioner\", True)`";

fn misplaced_manual(loc: &Loc) -> Diagnostic {
    let message = "the sharding `{manual}` can only be on the custom calls `@SPMDFullToShardShape` and `@Sharding`";
    Diagnostic::error("gspmd-manual", loc, message).help(EXPORT_WITH_SHARDY)
}

fn partly_manual(loc: &Loc) -> Diagnostic {
    let message = "a sharding in XLA's older notation is manual over some axes only, which is not supported";
    Diagnostic::error("gspmd-manual", loc, message).help(EXPORT_WITH_SHARDY)
}
