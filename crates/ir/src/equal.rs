//! Structural equality of modules: they are the same program, whatever the numbers of values, ops and regions in the
//! arenas.
//!
//! [`difference`] describes where two modules first differ. It is used by the cache of executables and by tests.

use crate::{Attr, Attrs, Body, Func, Module, Op, Region, Value};
use shardwise_base::Loc;

/// Returns a description of the first difference between two modules, or `None` if they are the same program. The
/// indices of values, ops and regions in the arenas may differ, the order of meshes, functions and ops may not. The
/// modules' names, and the locations of modules, functions, ops and values, are only compared if `locations` is true.
/// The reasons of ops are always compared, with the locations in them.
pub fn difference(a: &Module, b: &Module, locations: bool) -> Option<String> {
    let meshes = a.meshes != b.meshes || !same_attrs(&a.mesh_attrs, &b.mesh_attrs);
    if meshes || !same_attrs(&a.attrs, &b.attrs) || (locations && (&a.name, &a.loc) != (&b.name, &b.loc)) {
        return Some("the modules' names, attributes, meshes or locations".to_string());
    }
    if a.funcs.len() != b.funcs.len() {
        return Some(format!("{} functions and {}", a.funcs.len(), b.funcs.len()));
    }
    a.funcs.iter().zip(&b.funcs).find_map(|(f, g)| {
        let found = same_signature(f, g, locations).err().map(str::to_string);
        found.or_else(|| Pair::new(&f.body, &g.body, locations).difference()).map(|d| format!("@{}: {d}", f.name))
    })
}

fn same_signature(f: &Func, g: &Func, locations: bool) -> Result<(), &'static str> {
    let lists = |a: &[Attrs], b: &[Attrs]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_attrs(a, b));
    let checks = [
        (f.name == g.name, "names"),
        (f.visibility == g.visibility, "visibility"),
        (lists(&f.arg_attrs, &g.arg_attrs), "attributes of arguments"),
        (lists(&f.result_attrs, &g.result_attrs), "attributes of results"),
        (f.result_types == g.result_types, "types of results"),
        (f.result_shardings == g.result_shardings, "shardings of results"),
        (same_attrs(&f.attrs, &g.attrs), "attributes"),
        (!locations || f.loc == g.loc, "locations"),
    ];
    checks.into_iter().find(|(same, _)| !same).map_or(Ok(()), |(_, what)| Err(what))
}

/// Two bodies that are walked together.
struct Pair<'a> {
    a: &'a Body,
    b: &'a Body,
    /// The value of `b` that each value of `a` corresponds to, or `None` if the walk has not reached the value of `a`.
    map: Vec<Option<Value>>,
    locations: bool,
}

impl<'a> Pair<'a> {
    fn new(a: &'a Body, b: &'a Body, locations: bool) -> Pair<'a> {
        Pair { a, b, map: vec![None; a.value_count()], locations }
    }

    fn difference(&mut self) -> Option<String> {
        self.region(self.a.entry(), self.b.entry())
    }

    fn region(&mut self, ra: Region, rb: Region) -> Option<String> {
        let (a, b) = (self.a.region(ra), self.b.region(rb));
        if a.args.len() != b.args.len() || a.ops.len() != b.ops.len() {
            let sizes = |r: &crate::RegionData| format!("{} arguments and {} ops", r.args.len(), r.ops.len());
            return Some(format!("a region of {}, and of {}", sizes(a), sizes(b)));
        }
        let args = self.values(&a.args, &b.args).map(|d| format!("argument {d}"));
        args.or_else(|| a.ops.iter().zip(&b.ops).find_map(|(&x, &y)| self.op(x, y)))
    }

    fn op(&mut self, oa: Op, ob: Op) -> Option<String> {
        let (a, b) = (self.a.op(oa), self.b.op(ob));
        let operands: Vec<Option<Value>> = a.operands.iter().map(|v| self.map[v.index()]).collect();
        let checks = [
            (a.code == b.code, "code"),
            (operands.into_iter().eq(b.operands.iter().map(|&v| Some(v))), "operands"),
            (same_attrs(&a.attrs, &b.attrs), "attributes"),
            (a.results.len() == b.results.len(), "number of results"),
            (a.regions.len() == b.regions.len(), "number of regions"),
            (a.reason == b.reason, "reason"),
            (self.same_loc(&a.loc, &b.loc), "location"),
        ];
        if let Some((_, what)) = checks.into_iter().find(|(same, _)| !same) {
            return Some(format!("{oa:?} ({:?}) and {ob:?} ({:?}): {what}\n{:?}\n{:?}", a.code, b.code, a, b));
        }
        let inner = a.regions.iter().zip(&b.regions).find_map(|(&x, &y)| self.region(x, y));
        inner.or_else(|| self.values(&a.results, &b.results).map(|d| format!("{oa:?}: result {d}")))
    }

    /// Compares the data of the values, and records that they correspond. Stops at the first difference, and returns
    /// its description, or `None` if there is none.
    fn values(&mut self, a: &[Value], b: &[Value]) -> Option<String> {
        for (i, (&x, &y)) in a.iter().zip(b).enumerate() {
            self.map[x.index()] = Some(y);
            let (vx, vy) = (self.a.value(x), self.b.value(y));
            let checks = [
                (vx.ty == vy.ty, "type"),
                (vx.sharding == vy.sharding, "sharding"),
                (vx.varying == vy.varying, "varying axes"),
                (vx.manual == vy.manual, "manual axes"),
                (vx.padding == vy.padding, "padding"),
                (self.same_loc(&vx.loc, &vy.loc), "location"),
            ];
            if let Some((_, what)) = checks.into_iter().find(|(same, _)| !same) {
                return Some(format!("{i}: {what}\n{vx:?}\n{vy:?}"));
            }
        }
        None
    }

    fn same_loc(&self, a: &Loc, b: &Loc) -> bool {
        !self.locations || a == b
    }
}

fn same_attrs(a: &Attrs, b: &Attrs) -> bool {
    a.len() == b.len() && a.iter().zip(b.iter()).all(|((n, x), (m, y))| n == m && same_attr(x, y))
}

/// Returns true if the attributes are equal. In float attributes, a NaN equals every NaN, and 0.0 differs from -0.0.
fn same_attr(a: &Attr, b: &Attr) -> bool {
    match (a, b) {
        (Attr::Float { value: x, dtype: d }, Attr::Float { value: y, dtype: e }) => {
            d == e && (x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan())
        }
        (Attr::Array(x), Attr::Array(y)) => x.len() == y.len() && x.iter().zip(y).all(|(a, b)| same_attr(a, b)),
        (Attr::Dict(x), Attr::Dict(y)) => same_attrs(x, y),
        (Attr::Record { name: n, fields: x }, Attr::Record { name: m, fields: y }) => n == m && same_attrs(x, y),
        _ => a == b,
    }
}
