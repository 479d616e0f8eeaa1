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

/// The attributes of a function's argument or result, without its sharding. The sharding and other facts of an argument
/// are stored with the argument's value, and the sharding of a result in [`Func::result_shardings`].
pub type FuncArgAttrs = Attrs;

/// The name of the attribute of a function's argument or result that holds the type of the whole array without padding,
/// if the type in the function is padded or that of each device's part.
pub const GLOBAL_TYPE: &str = "shardwise.global_type";

/// A function: its name, the attributes of its arguments and results, and its body.
#[derive(Clone, PartialEq, Debug)]
pub struct Func {
    pub name: Arc<str>,
    pub visibility: Visibility,
    pub body: Body,
    /// The attributes of each argument.
    pub arg_attrs: Vec<FuncArgAttrs>,
    pub result_types: Vec<Type>,
    /// The requested sharding of each result, or `None` if there is none.
    pub result_shardings: Vec<Option<Sharding>>,
    /// The attributes of each result.
    pub result_attrs: Vec<FuncArgAttrs>,
    pub attrs: Attrs,
    pub loc: Loc,
}

impl Func {
    /// Returns a public function without arguments, results or ops.
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

    /// Returns a copy with an empty body of the same capacity, with which a pass starts its new version.
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

/// A program: meshes and functions, with a table of ops.
#[derive(Clone)]
pub struct Module {
    pub name: Arc<str>,
    pub attrs: Attrs,
    pub meshes: Vec<Arc<Mesh>>,
    /// Other attributes on the definitions of meshes, by the mesh's name. They are kept and not interpreted.
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

    /// Returns a copy without functions, with which a pass starts its new version.
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

    /// Returns the function that runs: the one named `main`, or else the first public one, or else the first. Returns
    /// `None` if there are no functions.
    pub fn main(&self) -> Option<&Func> {
        self.func("main")
            .or_else(|| self.funcs.iter().find(|f| f.visibility == Visibility::Public))
            .or(self.funcs.first())
    }

    /// Returns the location of the main function, or that of the module if it has no functions.
    pub fn program_loc(&self) -> &Loc {
        self.main().map_or(&self.loc, |main| &main.loc)
    }

    pub fn mesh(&self, name: &str) -> Option<&Arc<Mesh>> {
        self.meshes.iter().find(|m| &*m.name == name)
    }

    /// Returns the mesh on which the module's program runs, or `None` if the module has no mesh. It is the first mesh
    /// that has axes, or else the first mesh.
    pub fn main_mesh(&self) -> Option<&Arc<Mesh>> {
        main_mesh(&self.meshes)
    }

    pub fn view<'a>(&'a self, body: &'a Body, op: Op) -> OpView<'a> {
        OpView::new(self, body, op)
    }
}

pub(crate) fn main_mesh(meshes: &[Arc<Mesh>]) -> Option<&Arc<Mesh>> {
    meshes.iter().find(|m| !m.axes.is_empty()).or(meshes.first())
}

impl Index<FuncId> for Module {
    type Output = Func;
    fn index(&self, id: FuncId) -> &Func {
        &self.funcs[id.index()]
    }
}
