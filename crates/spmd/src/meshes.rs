//! One mesh for the whole program.
//!
//! A text may name several meshes, and may write meshes out where it uses them. The passes work on the axes of one
//! mesh, the *main mesh*. Layouts over another mesh of the same devices are rewritten here to use the axes of the main
//! mesh:
//!
//! ```text
//! @a = <["x"=2, "y"=4]>, @b = <["p"=4, "q"=2]>:   <@b, [{"p"}]> -> <@a, [{"x", "y":(1)2}]>
//! ```
//!
//! If the axes of the main mesh cannot express a layout, because the devices are in another order, the value is
//! replicated with a warning. The layouts over a mesh of a single device are dropped, because they say nothing about
//! the other devices. A mesh of any other number of devices is an error.
//!
//! All resulting lists of axes are in Shardy's normal form: neighbouring parts of an axis are merged, and sets are in
//! the order of the mesh.

use shardwise_base::{AxisRef, Diagnostic, Diagnostics, DimSharding, Loc, Mesh, Rates, Sharding, ShardingParts};
use shardwise_ir::{Attr, Attrs, Body, Func, FuncId, Module, Op, Value};
use shardwise_ops::Opcode;
use shardwise_ops::calls::callees_first;
use shardwise_ops::collective::axes_in_mesh;
use shardwise_ops::shardy::manual_mesh_axes_in;
use shardwise_propagate::sharding_groups;
use std::collections::HashMap;
use std::sync::Arc;

/// Returns the rates of a mesh, or `None` if they are not known.
pub type RatesOf<'a> = dyn Fn(&Mesh) -> Option<Rates> + 'a;

/// Returns the module with all layouts of the functions that run rewritten over its main mesh. The main mesh has the
/// rates that `rates` returns for it, or else those that it had.
///
/// If the main mesh cannot express a layout, the value is replicated, and the warning `mesh-order` is added to
/// `warnings`, once for each mesh with such layouts. A layout over another mesh of one device becomes replicated
/// without a warning.
///
/// # Errors
/// Fails if a layout is over a mesh of several devices that has another number of devices than the main mesh, or on a
/// device that the main mesh does not have (`mesh-devices`), if the main mesh cannot express axes that the program
/// requires (`mesh-order`), or if what the program states of the devices cannot hold: the processes of a collective
/// (`collective-process`), axes that are manual already (`sdy-manual-bound`), a sharding rule (`sharding-rule`), a
/// sharding group (`sharding-group`).
pub fn unify(module: Module, rates: Option<&RatesOf<'_>>, warnings: &mut Diagnostics) -> Result<Module, Diagnostics> {
    let module = over_main_mesh(&module, rates, warnings)?.unwrap_or(module);
    crate::processes::check(&module)?;
    sharding_groups::check(&module)?;
    Ok(module)
}

/// Returns the module with all layouts of the functions that run over its main mesh, which is declared if it was not.
/// The mesh has its new rates. Returns `None` if nothing has to change. Adds the warnings of [`unify`], and fails with
/// its errors `mesh-devices` and `mesh-order`.
fn over_main_mesh(
    module: &Module,
    rates: Option<&RatesOf<'_>>,
    warnings: &mut Diagnostics,
) -> Result<Option<Module>, Diagnostics> {
    let funcs = functions_that_run(module);
    let Used { meshes: used, is_irregular } = meshes_of(module, &funcs);
    let Some(mut main) = main_mesh(module, &used) else { return Ok(None) };
    if let Some(rates) = rates.and_then(|rates| rates(&main)).filter(|rates| Some(rates) != main.rates.as_ref()) {
        Arc::make_mut(&mut main).rates = Some(rates);
    }
    let is_declared = module.main_mesh().is_some_and(|m| is_same(m, &main));
    if !is_irregular && is_declared && used.iter().all(|u| is_same(&u.mesh, &main)) {
        return Ok(None);
    }
    let main_use = used.iter().find(|u| u.mesh.same_devices(&main));
    let others = used.iter().filter(|u| u.mesh.size() != 1 && u.mesh.size() != main.size());
    let beyond = used.iter().filter_map(|u| beyond_devices(u, &main));
    let found: Vec<Diagnostic> = others.map(|u| other_devices(u, &main, main_use)).chain(beyond).collect();
    Diagnostics(found).or(())?;
    let mut out = module.clone();
    if !is_declared {
        out.meshes.retain(|m| m.name != main.name || !m.same_devices(&main));
        out.meshes.insert(0, main.clone());
    }
    let mut rewriter = Rewriter { main: &main, known: HashMap::new(), lost: vec![], found: Diagnostics::default() };
    for id in funcs {
        rewriter.func(&mut out.funcs[id.index()]);
    }
    warnings.extend(rewriter.lost.iter().map(|u| lost_order(u, &main)));
    rewriter.found.or(Some(out))
}

/// Returns the first place in the functions that run where the mesh of a layout is not the main mesh, and that
/// other mesh as text. Returns `None` if there is no such place. If the module has no main mesh, every layout counts.
pub(crate) fn other_mesh(module: &Module) -> Option<(Loc, String)> {
    let main = module.main_mesh();
    let used = meshes_of(module, &functions_that_run(module)).meshes;
    let other = used.into_iter().find(|u| main.is_none_or(|main| !is_same(&u.mesh, main)))?;
    Some((other.loc, shown(&other.mesh)))
}

/// Returns the main function and the functions that it reaches by calls, each after the functions that it calls.
/// Returns an empty list if there is no main function.
pub(crate) fn functions_that_run(module: &Module) -> Vec<FuncId> {
    let main = module.main().and_then(|f| module.func_id(&f.name));
    callees_first(module, main.into_iter().collect())
}

struct Use {
    mesh: Arc<Mesh>,
    loc: Loc,
}

/// Returns true if both meshes have the same name, the same axes by name and size, the same devices at the same
/// positions, and the same rates.
fn is_same(a: &Arc<Mesh>, b: &Arc<Mesh>) -> bool {
    Arc::ptr_eq(a, b) || a.name == b.name && a.same_devices(b) && a.rates == b.rates
}

struct Used {
    /// Every mesh over which there is a layout, once.
    meshes: Vec<Use>,
    /// True if a sharding is not in normal form ([`is_normal`]).
    is_irregular: bool,
}

/// Returns true if all lists of axes in the sharding are in normal form: neighbouring parts of an axis are merged, and
/// the replicated, unreduced and reduced axes are in the order of the mesh.
fn is_normal(s: &Sharding) -> bool {
    let is_merged = |axes: &[AxisRef]| axes.windows(2).all(|w| !w[0].can_merge(w[1]));
    let is_set = |axes: &[AxisRef]| axes.len() < 2 || AxisRef::union(&s.mesh, axes.iter().copied()) == axes;
    s.dims.iter().all(|d| is_merged(&d.axes))
        && [&s.replicated, &s.unreduced, &s.reduced].into_iter().all(|a| is_set(a))
}

fn merged(mesh: &Mesh, axes: &[AxisRef]) -> Vec<AxisRef> {
    let mut out = vec![];
    axes.iter().for_each(|&a| AxisRef::push_or_merge(&mut out, a, mesh));
    out
}

/// Returns the meshes that layouts in the functions use, in the order of their first uses. Also looks for shardings
/// that are not in normal form ([`Used::is_irregular`]).
fn meshes_of(module: &Module, funcs: &[FuncId]) -> Used {
    let mut meshes: Vec<Use> = vec![];
    let mut is_irregular = false;
    let mut add = |mesh: &Arc<Mesh>, loc: &Loc| {
        if !meshes.iter().any(|u| is_same(&u.mesh, mesh)) {
            meshes.push(Use { mesh: mesh.clone(), loc: loc.clone() });
        }
    };
    for func in funcs.iter().map(|&id| &module[id]) {
        for v in (0..func.body.value_count()).map(Value::new) {
            let Some(s) = func.body.sharding(v) else { continue };
            add(&s.mesh, &func.body[v].loc);
            is_irregular |= !is_normal(s);
        }
        for s in func.result_shardings.iter().flatten() {
            add(&s.mesh, &func.loc);
            is_irregular |= !is_normal(s);
        }
        for op in func.body.walk() {
            let data = &func.body[op];
            let mut see = |mesh: &Arc<Mesh>, is_normal: bool| {
                add(mesh, &data.loc);
                is_irregular |= !is_normal;
            };
            data.attrs.iter().for_each(|(_, attr)| for_each_layout(attr, &mut see));
        }
    }
    Used { meshes, is_irregular }
}

/// Calls `f` for each sharding, list of axes, and list of axes per dimension in the attribute, at any depth. The
/// arguments are its mesh, and true if it is in normal form.
fn for_each_layout(attr: &Attr, f: &mut impl FnMut(&Arc<Mesh>, bool)) {
    let is_merged = |mesh: &Mesh, axes: &[AxisRef]| axes.len() < 2 || merged(mesh, axes) == axes;
    match attr {
        Attr::Sharding(s) => f(&s.mesh, is_normal(s)),
        Attr::Shardings(list) => list.iter().for_each(|s| f(&s.mesh, is_normal(s))),
        Attr::Axes { mesh, axes } => f(mesh, is_merged(mesh, axes)),
        Attr::AxesPerDim { mesh, dims } => f(mesh, dims.iter().all(|axes| is_merged(mesh, axes))),
        Attr::Array(items) => items.iter().for_each(|a| for_each_layout(a, f)),
        Attr::Dict(fields) | Attr::Record { fields, .. } => fields.iter().for_each(|(_, a)| for_each_layout(a, f)),
        _ => {}
    }
}

/// Returns the mesh that the program runs on, or `None` if no mesh is declared or used. It is the declared mesh if it
/// is one of the used meshes of several devices, or if its axes can express those of all of them, or if there are none
/// of these. Otherwise it is the first mesh that is used. Meshes of several devices come before those of one device. In
/// place of a mesh that names a single device ([`Mesh::is_maximal`]), it is a new mesh without axes, whose shardings
/// have the ranks of their tensors.
fn main_mesh(module: &Module, used: &[Use]) -> Option<Arc<Mesh>> {
    let several = || used.iter().map(|u| &u.mesh).filter(|m| m.size() > 1);
    let declared = module.main_mesh();
    let expresses = |m: &Mesh, u: &Mesh| u.all_axes().all(|axis| axes_in_mesh(u, &[axis], m).is_some());
    let is_meant = |m: &&Arc<Mesh>| {
        several().any(|u| u.same_devices(m)) || several().all(|u| u.size() == m.size() && expresses(m, u))
    };
    let first = || several().next().or(used.first().map(|u| &u.mesh)).map(|m| named(m, &module.meshes));
    let main = declared.filter(is_meant).cloned().or_else(first)?;
    Some(if main.is_maximal() { named(&Arc::new(Mesh::of_axes("", vec![])), &module.meshes) } else { main })
}

/// Returns `mesh` itself if it has a name. A mesh without a name, which the program writes out where it uses the mesh,
/// is returned with a name that no mesh of `taken` has.
fn named(mesh: &Arc<Mesh>, taken: &[Arc<Mesh>]) -> Arc<Mesh> {
    if !mesh.name.is_empty() {
        return mesh.clone();
    }
    let is_free = |name: &String| taken.iter().all(|m| *m.name != **name);
    let mut names = ["mesh".to_string()].into_iter().chain((0..).map(|i| format!("mesh_{i}")));
    let name = names.find(is_free).expect("some number is free");
    Arc::new(Mesh { name: name.into(), ..(**mesh).clone() })
}

/// A mesh and some of its axes, major to minor.
type AxesOfMesh = (Arc<Mesh>, Vec<AxisRef>);

/// Rewrites lists of axes of other meshes over the main mesh.
struct Rewriter<'a> {
    main: &'a Arc<Mesh>,
    known: HashMap<AxesOfMesh, Option<Vec<AxisRef>>>,
    /// The meshes with layouts that could not be rewritten, each once. A layout with manual axes, which are required,
    /// is an error in `found` instead.
    lost: Vec<Use>,
    found: Diagnostics,
}

impl Rewriter<'_> {
    fn func(&mut self, func: &mut Func) {
        let ops = func.body.walk();
        let mut manual_results = HashMap::new();
        for &op in &ops {
            let manual = self.op(&mut func.body, op);
            manual_results.extend(func.body[op].results.iter().map(|&v| (v, manual.clone())));
        }
        for v in (0..func.body.value_count()).map(Value::new) {
            let Some(sharding) = func.body.sharding(v).cloned() else { continue };
            let (rank, loc) = (func.body.ty(v).shape().len(), func.body[v].loc.clone());
            let manual = manual_results.get(&v).map_or(&[][..], |m| m);
            func.body.value_mut(v).sharding = Some(self.sharding(&sharding, rank, manual, &loc));
        }
        for (sharding, ty) in func.result_shardings.iter_mut().zip(&func.result_types) {
            if let Some(s) = sharding {
                *s = self.sharding(s, ty.shape().len(), &[], &func.loc);
            }
        }
    }

    /// Rewrites the attributes of an op in place. Returns the original axes over which the op is manual, which are none
    /// unless it is a manual computation.
    fn op(&mut self, body: &mut Body, op: Op) -> Vec<AxisRef> {
        let loc = body[op].loc.clone();
        let is_manual = Opcode::of(body[op].code) == Opcode::ManualComputation;
        let manual =
            manual_mesh_axes_in(&body[op].attrs).filter(|_| is_manual).map_or(vec![], |(_, axes)| axes.to_vec());
        let ranks: Vec<usize> = body[op].operands.iter().map(|&v| body.ty(v).shape().len()).collect();
        let names: Vec<String> =
            body[op].attrs.iter().filter(|(_, a)| self.is_changed(a)).map(|(n, _)| n.into()).collect();
        for name in names {
            let attr = body[op].attrs.get(&name).expect("found above").clone();
            let new = match attr {
                Attr::Shardings(list) if name == "in_shardings" => {
                    let pairs = list.iter().zip(&ranks);
                    Attr::Shardings(pairs.map(|(s, &rank)| self.sharding(s, rank, &manual, &loc)).collect())
                }
                other => self.attr(&other, &loc),
            };
            body.op_mut(op).attrs.set(name, new);
        }
        manual
    }

    fn is_changed(&self, attr: &Attr) -> bool {
        let mut is_changed = false;
        for_each_layout(attr, &mut |mesh, is_normal| is_changed |= !is_normal || !is_same(mesh, self.main));
        is_changed
    }

    fn attr(&mut self, attr: &Attr, loc: &Loc) -> Attr {
        let fields = |fields: &Attrs, this: &mut Self| {
            fields.iter().fold(Attrs::new(), |out, (name, a)| out.with(name, this.attr(a, loc)))
        };
        match attr {
            Attr::Sharding(s) => Attr::Sharding(self.sharding(s, s.rank(), &[], loc)),
            Attr::Shardings(list) => {
                Attr::Shardings(list.iter().map(|s| self.sharding(s, s.rank(), &[], loc)).collect())
            }
            Attr::Axes { mesh, axes } => Attr::Axes { mesh: self.main.clone(), axes: self.axes(mesh, axes, loc) },
            Attr::AxesPerDim { mesh, dims } => {
                let dims = dims.iter().map(|axes| self.axes(mesh, axes, loc)).collect();
                Attr::AxesPerDim { mesh: self.main.clone(), dims }
            }
            Attr::Array(items) => Attr::Array(items.iter().map(|a| self.attr(a, loc)).collect()),
            Attr::Dict(inner) => Attr::Dict(fields(inner, self)),
            Attr::Record { name, fields: inner } => Attr::Record { name: name.clone(), fields: fields(inner, self) },
            other => other.clone(),
        }
    }

    /// Rewrites a list of axes that the program needs exactly. Records an error and returns an empty list if the main
    /// mesh cannot express it.
    fn axes(&mut self, mesh: &Arc<Mesh>, axes: &[AxisRef], loc: &Loc) -> Vec<AxisRef> {
        self.list(mesh, axes).unwrap_or_else(|| {
            self.found.push(no_such_axes(mesh, axes, self.main, loc));
            vec![]
        })
    }

    /// Returns the sharding of a tensor of this rank rewritten over the main mesh. If the last of the leading `manual`
    /// axes of a dimension would merge with the axis after them, all axes after them are dropped. The result is
    /// replicated if `given` has another rank. It is also replicated if the main mesh cannot express `given`. This is
    /// recorded as an error if there are manual axes, and in `lost` otherwise.
    fn sharding(&mut self, given: &Sharding, rank: usize, manual: &[AxisRef], loc: &Loc) -> Sharding {
        if given.rank() != rank {
            return Sharding::replicated(self.main, rank);
        }
        if given.mesh.same_devices(self.main) && is_normal(given) {
            return given.clone().with_mesh(self.main.clone());
        }
        self.translated(given, manual).unwrap_or_else(|lost| {
            if !manual.is_empty() {
                self.found.push(no_such_axes(&given.mesh, lost, self.main, loc));
            } else if !self.lost.iter().any(|u| u.mesh == given.mesh) {
                self.lost.push(Use { mesh: given.mesh.clone(), loc: loc.clone() });
            }
            Sharding::replicated(self.main, rank)
        })
    }

    /// Returns the sharding rewritten over the main mesh, with its `manual` axes as [`sharding`](Self::sharding) says.
    /// Returns the first of its lists of axes that the main mesh cannot express as the error, if there is one.
    fn translated<'g>(&mut self, given: &'g Sharding, manual: &[AxisRef]) -> Result<Sharding, &'g [AxisRef]> {
        let mesh = &given.mesh;
        let mut list = |axes: &'g [AxisRef]| self.list(mesh, axes).ok_or(axes);
        let mut dims = vec![];
        for dim in &given.dims {
            let count = dim.axes.iter().take_while(|a| manual.iter().any(|m| m.contains(**a))).count();
            let (first, rest) = dim.axes.split_at(count);
            let (first, mut rest) = (list(first)?, list(rest)?);
            // Two parts of one axis cannot remain separate. The manual axes are required, and the others are only
            // preferred.
            if first.last().zip(rest.first()).is_some_and(|(a, b)| a.can_merge(*b)) {
                rest.clear();
            }
            let axes = [first, rest].concat();
            dims.push(DimSharding { axes, ..dim.clone() });
        }
        let sets = [list(&given.replicated)?, list(&given.unreduced)?, list(&given.reduced)?];
        let [replicated, unreduced, reduced] = sets.map(|axes| AxisRef::union(self.main, axes));
        Ok(ShardingParts { mesh: self.main.clone(), dims, replicated, unreduced, reduced }.into())
    }

    /// Returns the axes of the main mesh along which every device has the same position as along `axes` of `mesh`, or
    /// `None` if the main mesh has no such axes. If both meshes have the same axes and devices, these are `axes` with
    /// neighbouring parts merged. Otherwise the list is empty if the product of the sizes of `axes` is 1.
    fn list(&mut self, mesh: &Arc<Mesh>, axes: &[AxisRef]) -> Option<Vec<AxisRef>> {
        if mesh.same_devices(self.main) {
            return Some(merged(self.main, axes));
        }
        if AxisRef::total_size(mesh, axes) == 1 {
            return Some(vec![]);
        }
        let main = self.main;
        let find = || axes_in_mesh(mesh, axes, main);
        self.known.entry((mesh.clone(), axes.to_vec())).or_insert_with(find).clone()
    }
}

fn name(mesh: &Mesh) -> String {
    if mesh.name.is_empty() { "a mesh without a name".to_string() } else { format!("@{}", mesh.name) }
}

fn shown(mesh: &Mesh) -> String {
    let name = name(mesh);
    let order = match &mesh.device_ids {
        Some(ids) if ids.len() <= 16 => format!(" in the order {ids:?}"),
        Some(_) => " in another order".to_string(),
        None => String::new(),
    };
    format!("{name}: {mesh} ({} devices{order})", mesh.size())
}

fn other_devices(other: &Use, main: &Mesh, main_use: Option<&Use>) -> Diagnostic {
    let message = format!(
        "a layout is over a mesh of {} devices, and the program runs on a mesh of {}",
        other.mesh.size(),
        main.size()
    );
    let main_loc = main_use.map_or(String::new(), |u| format!(", first used at {}", u.loc));
    Diagnostic::error("mesh-devices", &other.loc, message)
        .facts(format!("here {}", shown(&other.mesh)))
        .facts(format!("elsewhere {}{main_loc}", shown(main)))
        .help("give all meshes of the program the same number of devices, or split the program in two")
}

/// Returns an error if the mesh has one device ([`Mesh::is_maximal`]) that is not among the several of the main mesh.
fn beyond_devices(other: &Use, main: &Mesh) -> Option<Diagnostic> {
    let device = other.mesh.device_ids.as_ref().filter(|_| other.mesh.is_maximal() && main.size() > 1)?[0];
    let count = main.size();
    let message = format!("a layout is on device {device}, and the program runs on a mesh of {count} devices");
    let found = Diagnostic::error("mesh-devices", &other.loc, message).facts(shown(main));
    (device >= count).then(|| found.help(format!("name a device from 0 to {}, or leave out the layout", count - 1)))
}

fn lost_order(other: &Use, main: &Mesh) -> Diagnostic {
    let message = format!("the axes of {} cannot express a layout over {}", name(main), name(&other.mesh));
    Diagnostic::warning("mesh-order", &other.loc, message)
        .facts(shown(&other.mesh))
        .facts(shown(main))
        .note("the values with such layouts are replicated")
        .help("write the layout over the mesh that the rest of the program uses, or list its devices in the same order")
}

fn no_such_axes(mesh: &Mesh, axes: &[AxisRef], main: &Mesh, loc: &Loc) -> Diagnostic {
    let names: Vec<String> = axes.iter().map(|a| a.display(mesh).to_string()).collect();
    let message = format!("the axes of {} cannot express {} of {}", name(main), names.join(", "), name(mesh));
    Diagnostic::error("mesh-order", loc, message)
        .facts(shown(mesh))
        .facts(shown(main))
        .help("use the mesh that the rest of the program uses, or list its devices in the same order")
}
