//! Passes that write meshes as symbols or inline.

use crate::settings::Settings;
use crate::small_passes::map_shardings;
use shardwise_base::{Diagnostics, Mesh};
use shardwise_ir::{Attr, Attrs, Module};
use std::cell::RefCell;
use std::sync::Arc;

pub(crate) fn inline(module: &Module, _: &Settings) -> Result<Module, Diagnostics> {
    let unnamed = |mesh: &Arc<Mesh>| Arc::new(Mesh { name: "".into(), ..(**mesh).clone() });
    let mut out = map_shardings(module, |s| s.clone().with_mesh(unnamed(&s.mesh)));
    map_axes(&mut out, unnamed);
    out.meshes.clear();
    out.mesh_attrs = Attrs::new();
    Ok(out)
}

/// Applies `f` to the meshes of the attributes of ops that are one list of axes. Lists of axes for each dimension are
/// not changed.
fn map_axes(module: &mut Module, f: impl Fn(&Arc<Mesh>) -> Arc<Mesh>) {
    for func in &mut module.funcs {
        for op in func.body.walk() {
            let of_axes = |(name, attr): (&str, &Attr)| {
                Some((name.to_string(), Attr::axes(&f(attr.as_axes()?.0), attr.as_axes()?.1)))
            };
            let moved: Vec<_> = func.body[op].attrs.iter().filter_map(of_axes).collect();
            for (name, attr) in moved {
                func.body.op_mut(op).attrs.set(name, attr);
            }
        }
    }
}

/// Defines each mesh once, as a symbol. Inline meshes get a name, and equal meshes are replaced by the first of them.
/// Always returns `Ok`.
pub(crate) fn lift(module: &Module, _: &Settings) -> Result<Module, Diagnostics> {
    let mut meshes: Vec<Arc<Mesh>> = vec![];
    for mesh in &module.meshes {
        if !meshes.iter().any(|m| is_same_mesh(m, mesh)) {
            meshes.push(mesh.clone());
        }
    }
    let meshes = RefCell::new(meshes);
    let lifted = |mesh: &Arc<Mesh>| {
        let mut meshes = meshes.borrow_mut();
        if let Some(same) = meshes.iter().find(|m| is_same_mesh(m, mesh)) {
            return same.clone();
        }
        let named = Arc::new(Mesh { name: free_name(mesh, &meshes), ..(**mesh).clone() });
        meshes.push(named.clone());
        named
    };
    let mut out = map_shardings(module, |s| s.clone().with_mesh(lifted(&s.mesh)));
    map_axes(&mut out, lifted);
    out.meshes = meshes.into_inner();
    Ok(out)
}

fn is_same_mesh(a: &Mesh, b: &Mesh) -> bool {
    a.axes == b.axes && a.device_ids == b.device_ids
}

fn free_name(mesh: &Mesh, taken: &[Arc<Mesh>]) -> Arc<str> {
    let base = match &mesh.device_ids {
        Some(ids) if mesh.is_maximal() => format!("maximal_mesh_{}", ids[0]),
        _ if mesh.axes.is_empty() => "empty_mesh".to_string(),
        _ => "mesh".to_string(),
    };
    let is_free = |name: &String| taken.iter().all(|m| *m.name != **name);
    let numbered = (0..).map(|i| format!("{base}_{i}"));
    [base.clone()].into_iter().chain(numbered).find(is_free).expect("some number is free").into()
}
