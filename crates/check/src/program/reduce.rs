//! Reductions whose results have a wider type than their operands, and reducers that use values from outside.

use super::Maker;
use super::scope::{Grade, Live, Scope};
use crate::single::Fill;
use shardwise_base::DType;
use shardwise_ir::TensorType;

/// Pairs of the element types of operands and results.
const PROMOTED: &[(DType, DType)] = &[
    (DType::F32, DType::F64),
    (DType::BF16, DType::F32),
    (DType::F16, DType::F32),
    (DType::F16, DType::F64),
    (DType::I8, DType::I32),
    (DType::I8, DType::I16),
    (DType::I32, DType::I64),
    (DType::U8, DType::U32),
    (DType::U16, DType::U64),
    (DType::F32, DType::F32),
    (DType::I32, DType::I32),
];

impl Maker {
    pub(super) fn reduction(&mut self, scope: &mut Scope) {
        let (from, to) = *self.choose.of(PROMOTED);
        let shape: Vec<usize> =
            (0..1 + self.choose.below(3)).map(|_| *self.choose.of(&[0, 1, 2, 3, 4, 5, 7, 8])).collect();
        let ty = TensorType::new(from, shape);
        let x = self.provide(scope, &ty, &Fill::Small);
        let init = self.provide(scope, &TensorType::new(from, []), &Fill::Small);
        let region = self.reducer(scope, to);
        if from != to {
            self.features.insert("promoted reductions");
        }
        match self.choose.below(4) {
            0 => self.promoted_window(scope, &x, &init, region, to),
            1 => self.promoted_scatter(scope, &x, region, to),
            _ => self.promoted_reduce(scope, &x, &init, region, to),
        }
    }

    /// Returns the region of a sum, a maximum or a minimum. For signed integers, a constant from outside sometimes
    /// takes part, which is added to `scope` and does not change results from -5 to 5.
    pub(super) fn reducer(&mut self, scope: &mut Scope, dtype: DType) -> String {
        let op = *self.choose.of(&["add", "maximum", "minimum"]);
        let t = TensorType::new(dtype, []);
        let [a, b, c] = [self.name(), self.name(), self.name()];
        let mut lines = format!("    {c} = stablehlo.{op} {a}, {b} : {t}\n");
        let mut last = c.clone();
        // The maximum is taken with -5, the minimum with 5, and the sum with 0.
        if self.choose.one_in(3) && dtype.is_signed() {
            let neutral = match op {
                "add" => 0,
                "maximum" => -5,
                _ => 5,
            };
            let captured = self.number(scope, dtype, neutral);
            last = self.name();
            lines += &format!("    {last} = stablehlo.{op} {c}, {captured} : {t}\n");
            self.features.insert("captures in reducers");
        }
        format!("{{\n  ^bb0({a}: {t}, {b}: {t}):\n{lines}    stablehlo.return {last} : {t}\n  }}")
    }

    fn promoted_reduce(&mut self, scope: &mut Scope, x: &Live, init: &Live, region: String, to: DType) {
        let dims: Vec<usize> = (0..x.ty.rank()).filter(|_| self.choose.one_in(2)).collect();
        let shape: Vec<usize> = (0..x.ty.rank()).filter(|d| !dims.contains(d)).map(|d| x.ty.shape[d]).collect();
        let attrs = format!("dimensions = {}", sizes(&dims));
        let names = [x.name.clone(), init.name.clone()];
        let from = [x.ty.clone(), init.ty.clone()];
        self.op(
            scope,
            "stablehlo.reduce",
            &names,
            &attrs,
            &[region],
            &from,
            &[TensorType::new(to, shape)],
            Grade::Wild,
        );
    }

    fn promoted_window(&mut self, scope: &mut Scope, x: &Live, init: &Live, region: String, to: DType) {
        let window: Vec<usize> = x.ty.shape.iter().map(|&n| 1 + self.choose.below(n.clamp(1, 3))).collect();
        let shape: Vec<usize> = x.ty.shape.iter().zip(&window).map(|(n, w)| (n + 1).saturating_sub(*w)).collect();
        let attrs = format!("window_dimensions = {}", sizes(&window));
        let names = [x.name.clone(), init.name.clone()];
        let from = [x.ty.clone(), init.ty.clone()];
        let result = [TensorType::new(to, shape)];
        self.op(scope, "stablehlo.reduce_window", &names, &attrs, &[region], &from, &result, Grade::Wild);
    }

    fn promoted_scatter(&mut self, scope: &mut Scope, x: &Live, region: String, to: DType) {
        let count = self.choose.below(4);
        let indices = self.provide(scope, &TensorType::new(DType::I32, [count, 1]), &Fill::Ints(-1, 4));
        let mut rows = x.ty.shape.clone();
        rows[0] = count;
        let updates = self.provide(scope, &TensorType::new(x.ty.dtype, rows), &Fill::Small);
        let window: Vec<String> = (1..x.ty.rank()).map(|d| d.to_string()).collect();
        let attrs = format!(
            "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [{}], inserted_window_dims = [0], \
             scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false",
            window.join(", ")
        );
        let operands = [x, &indices, &updates];
        let (names, from) = (operands.map(|o| o.name.clone()), operands.map(|o| o.ty.clone()));
        let result = [TensorType::new(to, x.ty.shape.clone())];
        self.op(scope, "stablehlo.scatter", &names, &attrs, &[region], &from, &result, Grade::Wild);
    }
}

pub(super) fn sizes(values: &[usize]) -> String {
    let list: Vec<String> = values.iter().map(usize::to_string).collect();
    if list.is_empty() { "array<i64>".into() } else { format!("array<i64: {}>", list.join(", ")) }
}
