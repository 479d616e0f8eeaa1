//! Loops and branches, whose regions return anything: computed values, constants, arguments, and values from outside.

use super::Maker;
use super::scope::{Grade, Live, Scope, Typed};
use crate::single::Fill;
use shardwise_base::DType;
use shardwise_ir::TensorType;

impl Maker {
    pub(super) fn loop_or_branch(&mut self, scope: &mut Scope) {
        if self.choose.one_in(2) { self.counted_loop(scope) } else { self.branch(scope) }
    }

    /// Returns a value of this type for a region to return: one of its `arguments`, a value from outside, one of the
    /// values that it returns `earlier` in the list, a constant, or another value.
    fn yielded(&mut self, inner: &mut Scope, ty: &TensorType, arguments: &[Typed], earlier: &[Typed]) -> Typed {
        let same = |list: &[Typed]| list.iter().filter(|v| v.ty == *ty).cloned().collect::<Vec<Typed>>();
        let depth = inner.place.depth;
        let outer: Vec<Typed> = inner.live.iter().filter(|l| l.depth < depth).map(Live::typed).collect();
        let (arguments, outer, earlier) = (same(arguments), same(&outer), same(earlier));
        match self.choose.below(6) {
            0 if !arguments.is_empty() => {
                self.features.insert("argument yields");
                self.choose.of(&arguments).clone()
            }
            1 if !outer.is_empty() => {
                self.features.insert("captured yields");
                self.choose.of(&outer).clone()
            }
            2 if !earlier.is_empty() => {
                self.features.insert("duplicate yields");
                self.choose.of(&earlier).clone()
            }
            3 => {
                self.features.insert("constant yields");
                let literal = Fill::Small.literal(&mut self.choose, ty);
                self.constant(inner, &literal, Grade::Wild).typed()
            }
            _ => self.of_type(inner, ty).typed(),
        }
    }

    fn yields(&mut self, inner: &mut Scope, types: &[TensorType], arguments: &[Typed]) -> Vec<Typed> {
        let mut out: Vec<Typed> = vec![];
        for ty in types {
            let value = self.yielded(inner, ty, arguments, &out);
            out.push(value);
        }
        out
    }

    fn some_types(&mut self, scope: &Scope, most: usize) -> Vec<TensorType> {
        (0..1 + self.choose.below(most)).map(|_| self.choose.of(&scope.live).ty.clone()).collect()
    }

    /// Writes a loop that ends after at most four rounds. Its counter may be at any place among its values.
    fn counted_loop(&mut self, scope: &mut Scope) {
        let counter = TensorType::new(DType::I32, []);
        let mut types = self.some_types(scope, 3);
        types.retain(|ty| ty.size() <= 4096);
        let place = self.choose.below(types.len() + 1);
        types.insert(place, counter.clone());
        let init: Vec<Live> = types.iter().map(|ty| self.provide(scope, ty, &Fill::Ints(0, 2))).collect();
        let condition = self.condition(scope, &types, place);
        let body = self.loop_body(scope, &types, place);
        let names: Vec<String> = init.iter().map(|i| i.name.clone()).collect();
        self.features.insert("loops");
        if scope.place.in_branch && scope.place.in_manual {
            self.features.insert("loops in branches in manual computations");
        }
        self.op(scope, "stablehlo.while", &names, "", &[condition, body], &types, &types, Grade::Wild);
    }

    /// Adds an argument of each type to a region. Returns the arguments and the first line of the region, as in
    /// `^bb0(%v1: tensor<i32>):`.
    fn parameters(&mut self, inner: &mut Scope, types: &[TensorType]) -> (Vec<Typed>, String) {
        let names: Vec<String> = types.iter().map(|_| self.name()).collect();
        let values = types.iter().zip(&names).map(|(ty, name)| inner.push(name, ty.clone(), Grade::Wild).typed());
        let values: Vec<Typed> = values.collect();
        let list: Vec<String> = values.iter().map(|v| format!("{}: {}", v.name, v.ty)).collect();
        (values, format!("^bb0({}):", list.join(", ")))
    }

    fn condition(&mut self, scope: &Scope, types: &[TensorType], place: usize) -> String {
        let mut inner = scope.inner(|_| ());
        let (arguments, head) = self.parameters(&mut inner, types);
        let counter = TensorType::new(DType::I32, []);
        let limit = self.choose.between(0, 4);
        let limit = self.number(&mut inner, DType::I32, limit);
        let flag = TensorType::new(DType::I1, []);
        let op = format!(
            "stablehlo.compare LT, {}, {limit}, SIGNED : ({counter}, {counter}) -> {flag}",
            arguments[place].name
        );
        let flag_name = self.plain(&mut inner, &op, flag.clone(), Grade::Wild).name;
        format!("{{\n  {head}\n{}    stablehlo.return {flag_name} : {flag}\n  }}", inner.text())
    }

    fn loop_body(&mut self, scope: &Scope, types: &[TensorType], place: usize) -> String {
        let mut inner = scope.inner(|p| p.in_loop = true);
        let (arguments, head) = self.parameters(&mut inner, types);
        (0..self.choose.below(3)).for_each(|_| self.statement(&mut inner));
        let counter = &arguments[place];
        let one = self.number(&mut inner, DType::I32, 1);
        let next = format!("stablehlo.add {}, {one} : {}", counter.name, counter.ty);
        let next = self.plain(&mut inner, &next, counter.ty.clone(), Grade::Wild).typed();
        let mut values = self.yields(&mut inner, types, &arguments);
        values[place] = next;
        format!("{{\n  {head}\n{}{}  }}", inner.text(), returned("stablehlo.return", &values))
    }

    pub(super) fn branch(&mut self, scope: &mut Scope) {
        let types = self.some_types(scope, 2);
        let is_if = self.choose.one_in(2);
        let (op, index, count) = match is_if {
            true => ("stablehlo.if", TensorType::new(DType::I1, []), 2),
            false => ("stablehlo.case", TensorType::new(DType::I32, []), 1 + self.choose.below(3)),
        };
        let index = self.provide(scope, &index, &Fill::Ints(-1, 3));
        let branches: Vec<String> = (0..count).map(|_| self.branch_region(scope, &types)).collect();
        self.features.insert("branches");
        self.op(
            scope,
            op,
            std::slice::from_ref(&index.name),
            "",
            &branches,
            std::slice::from_ref(&index.ty),
            &types,
            Grade::Wild,
        );
    }

    fn branch_region(&mut self, scope: &Scope, types: &[TensorType]) -> String {
        let mut inner = scope.inner(|p| p.in_branch = true);
        if inner.place.in_manual && inner.place.depth < 3 && !self.choose.one_in(4) {
            self.counted_loop(&mut inner);
        }
        (0..self.choose.below(3)).for_each(|_| self.statement(&mut inner));
        let values = self.yields(&mut inner, types, &[]);
        format!("{{\n{}{}  }}", inner.text(), returned("stablehlo.return", &values))
    }
}

pub(super) fn returned(op: &str, values: &[Typed]) -> String {
    let names: Vec<&str> = values.iter().map(|v| v.name.as_str()).collect();
    let types: Vec<String> = values.iter().map(|v| v.ty.to_string()).collect();
    format!("    {op} {} : {}\n", names.join(", "), types.join(", "))
}
