//! Hashes the structure of a module without locations. The hash is the key under which executables are cached.

use crate::{Attr, Attrs, Body, Module, Region};
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};

impl Module {
    /// Returns a hash of the meshes and of the functions: their names, the types, shardings and attributes of their
    /// arguments and results, and their ops. It ignores the module's name, the visibility of functions, the attributes
    /// of the module, of meshes and of functions themselves, all locations, and the padding, manual axes, varying axes
    /// and reasons in bodies. Modules that [`difference`](crate::difference) finds equal may have different hashes, for
    /// example if the indices of their values differ. The hash is stable within a process.
    pub fn structure_hash(&self) -> u64 {
        let mut h = DefaultHasher::new();
        self.meshes.hash(&mut h);
        for func in &self.funcs {
            (&func.name, &func.result_types, &func.result_shardings).hash(&mut h);
            func.arg_attrs.iter().chain(&func.result_attrs).for_each(|attrs| hash_attrs(attrs, &mut h));
            hash_region(&func.body, func.body.entry(), &mut h);
        }
        h.finish()
    }
}

impl Attrs {
    /// Feeds the values of the attributes to `h`. This is quick, because not everything is hashed: of a literal at most
    /// three elements, and neither names nor the values of some attributes such as booleans, floats and shardings.
    /// Equal attributes have equal hashes, and different ones may have equal hashes too.
    pub fn quick_hash(&self, h: &mut impl Hasher) {
        self.iter().for_each(|(_, attr)| quick_hash(attr, h));
    }
}

fn quick_hash(attr: &Attr, h: &mut impl Hasher) {
    match attr {
        Attr::Int { value, .. } => value.hash(h),
        Attr::Ints { values, .. } => values.hash(h),
        Attr::Str(text) | Attr::Symbol(text) | Attr::Enum { value: text, .. } => text.hash(h),
        Attr::Dense(literal) => {
            let last = literal.size().saturating_sub(1);
            let places = [0, last / 2, last].into_iter().filter(|&i| i < literal.size());
            places.for_each(|i| literal.element_bytes(i).hash(h));
        }
        Attr::Array(items) => items.iter().for_each(|a| quick_hash(a, h)),
        Attr::Dict(fields) | Attr::Record { fields, .. } => fields.quick_hash(h),
        _ => std::mem::discriminant(attr).hash(h),
    }
}

fn hash_region(body: &Body, region: Region, h: &mut DefaultHasher) {
    for &v in &body[region].args {
        (v, &body[v].ty, &body[v].sharding).hash(h);
    }
    for &op in &body[region].ops {
        let data = body.op(op);
        (data.code, &data.operands[..], &data.results[..], data.regions.len()).hash(h);
        for &v in &data.results {
            (&body[v].ty, &body[v].sharding).hash(h);
        }
        hash_attrs(&data.attrs, h);
        data.regions.iter().for_each(|&r| hash_region(body, r, h));
    }
}

fn hash_attrs(attrs: &Attrs, h: &mut DefaultHasher) {
    for (name, attr) in attrs.iter() {
        name.hash(h);
        hash_attr(attr, h);
    }
}

fn hash_attr(attr: &Attr, h: &mut DefaultHasher) {
    match attr {
        Attr::Dense(literal) => {
            (literal.dtype(), literal.shape(), literal.raw_bytes()).hash(h);
        }
        Attr::Array(items) => items.iter().for_each(|a| hash_attr(a, h)),
        Attr::Dict(fields) | Attr::Record { fields, .. } => hash_attrs(fields, h),
        Attr::Ints { values, dtype } => (values, dtype).hash(h),
        other => {
            let mut text = String::new();
            write!(text, "{other:?}").expect("writing to a string");
            text.hash(h);
        }
    }
}
