//! The names that values print under, numbered as MLIR does: a region's arguments and results first, then, starting
//! from there, those of each region within. Sibling regions use the same numbers.

use crate::{Body, Region, Value};
use std::fmt::Write;

#[derive(Clone, Copy)]
enum Name {
    None,
    Arg(u32),
    Result { number: u32, index: Option<u32> },
}

pub(super) struct Names(Vec<Name>);

impl Names {
    pub fn of(body: &Body) -> Names {
        let mut names = Names(vec![Name::None; body.value_count()]);
        names.region(body, body.entry(), 0, 0);
        names
    }

    fn region(&mut self, body: &Body, region: Region, mut next_arg: u32, mut next_result: u32) {
        for &v in &body[region].args {
            self.0[v.index()] = Name::Arg(next_arg);
            next_arg += 1;
        }
        for &op in &body[region].ops {
            let results = &body[op].results;
            for (i, &v) in results.iter().enumerate() {
                let index = (results.len() > 1).then_some(i as u32);
                self.0[v.index()] = Name::Result { number: next_result, index };
            }
            next_result += u32::from(!results.is_empty());
        }
        for &op in &body[region].ops {
            for &inner in &body[op].regions {
                self.region(body, inner, next_arg, next_result);
            }
        }
    }

    /// `%arg0`, `%3`, `%3#1`; `<v7>` for a value that no region of the body defines.
    pub fn write(&self, out: &mut String, v: Value) {
        match self.0[v.index()] {
            Name::None => write!(out, "<{v:?}>"),
            Name::Arg(n) => write!(out, "%arg{n}"),
            Name::Result { number, index: None } => write!(out, "%{number}"),
            Name::Result { number, index: Some(i) } => write!(out, "%{number}#{i}"),
        }
        .expect("writing to a string");
    }

    /// `%3` or `%3:2`: before the `=`.
    pub fn write_results(&self, out: &mut String, results: &[Value]) {
        let number = match results.first().map(|v| self.0[v.index()]) {
            Some(Name::Result { number, .. }) => number,
            _ => return out.push_str("<unknown>"),
        };
        match results.len() {
            1 => write!(out, "%{number}"),
            n => write!(out, "%{number}:{n}"),
        }
        .expect("writing to a string");
    }
}
