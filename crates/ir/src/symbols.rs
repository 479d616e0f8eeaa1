//! The functions that the ops of other functions refer to.

use crate::{Attr, Attrs, Func, Module, Visibility};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Returns the module without the private functions to which the ops of public functions do not refer, directly or
/// through other functions. The order of the functions is kept. A reference is what [`keep_referenced`] counts as one.
pub fn without_unused_funcs(module: &Module) -> Module {
    let mut out = module.without_funcs();
    out.funcs = module.funcs.iter().filter(|f| f.visibility == Visibility::Public).cloned().collect();
    keep_referenced(module, &mut out);
    let is_kept = |f: &&Func| out.func(&f.name).is_some();
    out.funcs = module.funcs.iter().filter(is_kept).cloned().collect();
    out
}

/// Appends the functions of `module` that ops of the functions in `out` refer to, directly or through appended
/// functions, and that `out` lacks. A reference is a symbol (`@name`) in an attribute, such as that of a callee or of
/// the computation of a custom call. Names that `module` does not have are ignored.
pub fn keep_referenced(module: &Module, out: &mut Module) {
    let mut next = 0;
    while let Some(func) = out.funcs.get(next) {
        let mut names = BTreeSet::new();
        for op in func.body.walk() {
            collect_referenced(&func.body[op].attrs, &mut names);
        }
        let missing: Vec<Func> =
            names.iter().filter(|n| out.func(n).is_none()).filter_map(|n| module.func(n)).cloned().collect();
        out.funcs.extend(missing);
        next += 1;
    }
}

/// Adds the symbols (`@name`) in the attributes of an op, also in lists, dictionaries and records.
pub fn collect_referenced(attrs: &Attrs, names: &mut BTreeSet<Arc<str>>) {
    attrs.iter().for_each(|(_, attr)| collect_symbols(attr, names));
}

/// Replaces each symbol (`@name`) in the attributes of the ops of a function by the name that the map has for it, also
/// in lists, dictionaries and records. Symbols that are not in the map stay.
pub fn rename_symbols(func: &mut Func, names: &BTreeMap<Arc<str>, Arc<str>>) {
    for op in func.body.walk() {
        let attrs = &func.body[op].attrs;
        let renamed = renamed_fields(attrs, names);
        if renamed != *attrs {
            func.body.op_mut(op).attrs = renamed;
        }
    }
}

fn renamed(attr: &Attr, names: &BTreeMap<Arc<str>, Arc<str>>) -> Attr {
    match attr {
        Attr::Symbol(name) => Attr::Symbol(names.get(name).unwrap_or(name).clone()),
        Attr::Array(items) => Attr::Array(items.iter().map(|a| renamed(a, names)).collect()),
        Attr::Dict(fields) => Attr::Dict(renamed_fields(fields, names)),
        Attr::Record { name, fields } => Attr::Record { name: name.clone(), fields: renamed_fields(fields, names) },
        other => other.clone(),
    }
}

fn renamed_fields(fields: &Attrs, names: &BTreeMap<Arc<str>, Arc<str>>) -> Attrs {
    fields.iter().map(|(field, attr)| (field, renamed(attr, names))).collect()
}

fn collect_symbols(attr: &Attr, names: &mut BTreeSet<Arc<str>>) {
    match attr {
        Attr::Symbol(name) => {
            names.insert(name.clone());
        }
        Attr::Array(items) => items.iter().for_each(|a| collect_symbols(a, names)),
        Attr::Dict(fields) | Attr::Record { fields, .. } => collect_referenced(fields, names),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Attr;

    #[test]
    fn symbols_are_renamed_wherever_they_are_found() {
        let symbol = |name: &str| Attr::Symbol(name.into());
        let fields: Attrs = [("to", symbol("f"))].into_iter().collect();
        let record = Attr::Record { name: "record".into(), fields: fields.clone() };
        let names = BTreeMap::from([(Arc::from("f"), Arc::from("g"))]);
        for attr in [symbol("f"), Attr::Array(vec![symbol("f")]), Attr::Dict(fields), record] {
            let found = |attr: &Attr| {
                let mut names = BTreeSet::new();
                collect_symbols(attr, &mut names);
                names.into_iter().collect::<Vec<_>>()
            };
            assert_eq!((found(&attr), found(&renamed(&attr, &names))), (vec!["f".into()], vec!["g".into()]));
        }
    }
}
