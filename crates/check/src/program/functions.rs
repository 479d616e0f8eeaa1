//! Functions and their uses: calls, composites, named computations.

use super::Maker;
use super::control::returned;
use super::scope::{Grade, Live, Scope, Surroundings, Typed};
use crate::single::Fill;
use shardwise_ir::TensorType;

/// A private function.
#[derive(Clone)]
pub(super) struct Function {
    pub name: String,
    pub text: String,
    arguments: Vec<TensorType>,
    results: Vec<TensorType>,
}

impl Maker {
    pub(super) fn function(&mut self) {
        self.features.insert("several functions");
        let mut scope = Scope::isolated(Surroundings { in_function: true, depth: 1, ..Surroundings::default() });
        let types: Vec<TensorType> = (0..1 + self.choose.below(2)).map(|_| self.any_type()).collect();
        let arguments: Vec<Typed> = types.iter().map(|ty| self.parameter(&mut scope, ty)).collect();
        (0..1 + self.choose.below(3)).for_each(|_| self.statement(&mut scope));
        let results: Vec<Typed> = (0..1 + self.choose.below(2)).map(|_| self.choose.of(&scope.live).typed()).collect();
        let list: Vec<String> = arguments.iter().map(|a| format!("{}: {}", a.name, a.ty)).collect();
        let shown: Vec<String> = results.iter().map(|r| r.ty.to_string()).collect();
        let name = format!("@f{}", self.functions.len());
        let text = format!(
            "func.func private {name}({}) -> ({}) {{\n{}{}}}\n",
            list.join(", "),
            shown.join(", "),
            scope.text(),
            returned("return", &results)
        );
        let results = results.into_iter().map(|r| r.ty).collect();
        self.functions.push(Function { name, text, arguments: types, results });
    }

    /// Makes a parameter with a new name available in a region or a function, and returns it. Writes no text.
    pub(super) fn parameter(&mut self, scope: &mut Scope, ty: &TensorType) -> Typed {
        let name = self.name();
        scope.push(&name, ty.clone(), Grade::Wild).typed()
    }

    pub(super) fn call(&mut self, scope: &mut Scope) {
        if self.choose.one_in(3) {
            return self.named_computation(scope);
        }
        let Some(function) = self.any_function() else { return };
        let operands: Vec<Live> = function.arguments.iter().map(|ty| self.provide(scope, ty, &Fill::Any)).collect();
        let names: Vec<String> = operands.into_iter().map(|o| o.name).collect();
        let (op, attrs) = match self.choose.one_in(3) {
            true => (
                "stablehlo.composite",
                format!("decomposition = {}, name = \"my.op\", version = 0 : i32", function.name),
            ),
            false => ("func.call", format!("callee = {}", function.name)),
        };
        self.features.insert("calls");
        self.op(scope, op, &names, &attrs, &[], &function.arguments, &function.results, Grade::Wild);
    }

    fn any_function(&mut self) -> Option<Function> {
        (!self.functions.is_empty()).then(|| self.choose.of(&self.functions).clone())
    }

    fn named_computation(&mut self, scope: &mut Scope) {
        if scope.place.depth > 1 || scope.place.in_manual {
            return;
        }
        let operands: Vec<Live> = (0..1 + self.choose.below(2)).map(|_| self.choose.of(&scope.live).clone()).collect();
        let place = Surroundings { is_main: false, in_function: true, depth: scope.place.depth + 1, ..scope.place };
        let mut inner = Scope::isolated(place);
        let arguments: Vec<Typed> = operands.iter().map(|o| self.parameter(&mut inner, &o.ty)).collect();
        (0..self.choose.below(3)).for_each(|_| self.statement(&mut inner));
        let value = self.choose.of(&inner.live).typed();
        let names: Vec<&str> = operands.iter().map(|o| o.name.as_str()).collect();
        let list: Vec<String> = arguments.iter().map(|a| format!("{}: {}", a.name, a.ty)).collect();
        let types: Vec<String> = operands.iter().map(|o| o.ty.to_string()).collect();
        let op = format!(
            "sdy.named_computation<\"part\">({}) ({}) {{\n{}{}  }} : ({}) -> {}",
            names.join(", "),
            list.join(", "),
            inner.text(),
            returned("sdy.return", std::slice::from_ref(&value)),
            types.join(", "),
            value.ty
        );
        self.features.insert("named computations");
        self.plain(scope, &op, value.ty.clone(), Grade::Wild);
    }
}
