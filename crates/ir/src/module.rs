//! Modules and functions.

use crate::{Attrs, Body, FuncId, Funcs, Op, OpTable, OpView, Type};
use shardwise_base::{Loc, Mesh, Sharding};
use std::ops::Index;
use std::sync::Arc;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Visibility {
    #[default]
    Public,
    Private,
}

/// What stands beside the type of a function's argument or result, without `sdy.sharding`:
/// that is on the argument's value, or in [`Func::result_shardings`].
pub type FuncArgAttrs = Attrs;

/// A function: its name, its arguments' and results' attributes, its body.
#[derive(Clone, PartialEq, Debug)]
pub struct Func {
    pub name: Arc<str>,
    pub visibility: Visibility,
    pub body: Body,
    /// One for each argument.
    pub arg_attrs: Vec<FuncArgAttrs>,
    pub result_types: Vec<Type>,
    /// What is asked of each result; `None`: nothing.
    pub result_shardings: Vec<Option<Sharding>>,
    /// One for each result.
    pub result_attrs: Vec<FuncArgAttrs>,
    pub attrs: Attrs,
    pub loc: Loc,
}

impl Func {
    /// A public function without arguments, results or ops.
    pub fn new(name: impl Into<Arc<str>>, loc: Loc) -> Func {
        Func {
            name: name.into(),
            visibility: Visibility::Public,
            body: Body::new(),
            arg_attrs: vec![],
            result_types: vec![],
            result_shardings: vec![],
            result_attrs: vec![],
            attrs: Attrs::new(),
            loc,
        }
    }

    /// Everything but the body, for which there is room: the start of a pass's new version.
    pub fn without_body(&self) -> Func {
        Func {
            name: self.name.clone(),
            visibility: self.visibility,
            body: Body::with_capacity_of(&self.body),
            arg_attrs: self.arg_attrs.clone(),
            result_types: self.result_types.clone(),
            result_shardings: self.result_shardings.clone(),
            result_attrs: self.result_attrs.clone(),
            attrs: self.attrs.clone(),
            loc: self.loc.clone(),
        }
    }
}

/// A program: meshes and functions, over a table of ops.
#[derive(Clone)]
pub struct Module {
    pub name: Arc<str>,
    pub attrs: Attrs,
    pub meshes: Vec<Arc<Mesh>>,
    /// What else stands on the definition of a mesh, by the mesh's name: dictionaries that nobody here reads.
    pub mesh_attrs: Attrs,
    pub funcs: Funcs,
    pub loc: Loc,
    pub table: &'static dyn OpTable,
}

impl Module {
    pub fn new(name: impl Into<Arc<str>>, table: &'static dyn OpTable) -> Module {
        Module {
            name: name.into(),
            attrs: Attrs::new(),
            meshes: vec![],
            mesh_attrs: Attrs::new(),
            funcs: Funcs::default(),
            loc: Loc::UNKNOWN,
            table,
        }
    }

    /// The same module without functions: the start of a pass's new version.
    pub fn without_funcs(&self) -> Module {
        Module {
            name: self.name.clone(),
            attrs: self.attrs.clone(),
            meshes: self.meshes.clone(),
            mesh_attrs: self.mesh_attrs.clone(),
            funcs: Funcs::default(),
            loc: self.loc.clone(),
            table: self.table,
        }
    }

    pub fn func_id(&self, name: &str) -> Option<FuncId> {
        self.funcs.id(name)
    }

    pub fn func(&self, name: &str) -> Option<&Func> {
        self.func_id(name).map(|id| &self[id])
    }

    /// The function that runs: `main`, else the first public one, else the first.
    pub fn main(&self) -> Option<&Func> {
        self.func("main")
            .or_else(|| self.funcs.iter().find(|f| f.visibility == Visibility::Public))
            .or(self.funcs.first())
    }

    pub fn mesh(&self, name: &str) -> Option<&Arc<Mesh>> {
        self.meshes.iter().find(|m| &*m.name == name)
    }

    /// The mesh that the module's program runs on: see [`main_mesh`].
    pub fn main_mesh(&self) -> Option<&Arc<Mesh>> {
        main_mesh(&self.meshes)
    }

    pub fn view<'a>(&'a self, body: &'a Body, op: Op) -> OpView<'a> {
        OpView::new(self, body, op)
    }
}

/// Of a module's meshes the first that has axes; one without names a single device.
pub(crate) fn main_mesh(meshes: &[Arc<Mesh>]) -> Option<&Arc<Mesh>> {
    meshes.iter().find(|m| !m.axes.is_empty()).or(meshes.first())
}

impl Index<FuncId> for Module {
    type Output = Func;
    fn index(&self, id: FuncId) -> &Func {
        &self.funcs[id.index()]
    }
}
