//! The names of values in text, numbered as MLIR does: first a region's arguments and results, and from there on those
//! of each inner region. Sibling regions use the same numbers.
//!
//! MLIR prints names for some values: `%cst`, `%iterArg`, and `%cst_0` if `%cst` is taken.

use crate::{Body, Module, Op, Region, Value, ValueNames};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;

#[derive(Clone)]
enum Name {
    None,
    Arg(u32),
    Result { number: u32, index: Option<u32> },
    Own(Arc<str>),
}

pub(super) struct Names(Vec<Name>);

/// The next numbers for names in a region, and the names that are taken. Inner regions start with a copy.
#[derive(Clone, Default)]
struct Scope {
    next_arg: u32,
    next_result: u32,
    next_conflict: u32,
    taken: BTreeSet<Arc<str>>,
}

impl Scope {
    fn own(&mut self, wanted: &str) -> Name {
        let mut name: Arc<str> = wanted.into();
        while !self.taken.insert(name.clone()) {
            name = format!("{wanted}_{}", self.next_conflict).into();
            self.next_conflict += 1;
        }
        Name::Own(name)
    }

    fn arg(&mut self) -> Name {
        self.next_arg += 1;
        Name::Arg(self.next_arg - 1)
    }
}

impl Names {
    pub fn of(body: &Body) -> Names {
        Names::with(body, &|_| ValueNames::default())
    }

    /// Returns the names with which MLIR prints the values of `body`. Some ops choose the names of their values.
    pub fn as_mlir(module: &Module, body: &Body) -> Names {
        Names::with(body, &|op| module.table.def(body[op].code).value_names(&module.view(body, op)))
    }

    fn with(body: &Body, own: &dyn Fn(Op) -> ValueNames) -> Names {
        let mut names = Names(vec![Name::None; body.value_count()]);
        names.region(body, body.entry(), Scope::default(), own);
        names
    }

    fn region(&mut self, body: &Body, region: Region, mut scope: Scope, own: &dyn Fn(Op) -> ValueNames) {
        let name = body[region].parent.and_then(|op| own(op).args);
        for &v in &body[region].args {
            self.0[v.index()] = match name {
                Some(name) => scope.own(name),
                None => scope.arg(),
            };
        }
        for &op in &body[region].ops {
            let (results, names) = (&body[op].results, own(op).results);
            if !results.is_empty() && names.len() == results.len() {
                for (&v, name) in results.iter().zip(names) {
                    self.0[v.index()] = scope.own(name);
                }
                continue;
            }
            for (i, &v) in results.iter().enumerate() {
                let index = (results.len() > 1).then_some(i as u32);
                self.0[v.index()] = Name::Result { number: scope.next_result, index };
            }
            scope.next_result += u32::from(!results.is_empty());
        }
        for &op in &body[region].ops {
            for &inner in &body[op].regions {
                self.region(body, inner, scope.clone(), own);
            }
        }
    }

    /// Writes `%arg0`, `%3`, `%3#1`, `%cst`, or `<v7>` for a value that no region of the body defines.
    pub fn write(&self, out: &mut String, v: Value) {
        match &self.0[v.index()] {
            Name::None => write!(out, "<{v:?}>"),
            Name::Arg(n) => write!(out, "%arg{n}"),
            Name::Result { number, index: None } => write!(out, "%{number}"),
            Name::Result { number, index: Some(i) } => write!(out, "%{number}#{i}"),
            Name::Own(name) => write!(out, "%{name}"),
        }
        .expect("writing to a string");
    }

    /// Writes the names of an op's results before the `=`: `%3`, `%3:2` or `%output_state, %output`. Writes `<unknown>`
    /// if there are no results, or if no region of the body contains the op.
    pub fn write_results(&self, out: &mut String, results: &[Value]) {
        match (results.first().map(|v| &self.0[v.index()]), results.len()) {
            (Some(Name::Result { number, .. }), 1) => write!(out, "%{number}"),
            (Some(Name::Result { number, .. }), n) => write!(out, "%{number}:{n}"),
            (Some(Name::Own(_)), _) => {
                for (i, &v) in results.iter().enumerate() {
                    out.push_str(if i > 0 { ", " } else { "" });
                    self.write(out, v);
                }
                Ok(())
            }
            _ => return out.push_str("<unknown>"),
        }
        .expect("writing to a string");
    }
}
