//! Ops that move elements along a sharded dimension, or need all of it.

use super::Maker;
use super::reduce::sizes;
use super::scope::{Grade, Live, Scope};
use crate::single::Fill;
use shardwise_base::{DType, Literal};
use shardwise_ir::TensorType;

impl Maker {
    /// Writes an op along a dimension that is split. Its result is split in the same way, except if the op removes the
    /// dimension. Seldom, it is an op on sums over an axis and over a part of it.
    pub(super) fn along_dimension(&mut self, scope: &mut Scope) {
        if self.choose.one_in(12) && self.sums_over_parts(scope) {
            return;
        }
        let rank = 1 + self.choose.below(3);
        let dim = self.choose.below(rank);
        let mut shape: Vec<usize> = (0..rank).map(|_| *self.choose.of(&[1, 2, 3, 4, 6])).collect();
        shape[dim] = *self.choose.of(&[4, 5, 6, 8, 8, 9, 11, 12, 16]);
        let sharding = self.split_along(dim, rank);
        let dtype = *self.choose.of(&[DType::F32, DType::F32, DType::I32]);
        let ty = TensorType::new(dtype, shape);
        let x = self.provide(scope, &ty, &Fill::Small);
        let constraint = format!("sdy.sharding_constraint {} {sharding} : {ty}", x.name);
        let x = self.plain(scope, &constraint, ty, x.grade);
        let made = match self.choose.below(9) {
            0 | 1 => self.cumulative(scope, &x, dim),
            2 => self.wide_window(scope, &x, dim),
            3 => self.scattered_maxima(scope, &x, dim),
            4 => self.every_few(scope, &x, dim),
            5 => self.padded(scope, &x, dim),
            6 => self.mirrored(scope, &x, dim),
            7 => return self.largest(scope, &x, dim),
            _ => self.sorted(scope, &x, dim),
        };
        let constraint = format!("sdy.sharding_constraint {} {sharding} : {}", made.name, made.ty);
        self.plain(scope, &constraint, made.ty, Grade::Wild);
    }

    /// Returns a sharding in which `dim` is split over an axis, and sometimes over two, or another dimension is split
    /// too.
    fn split_along(&mut self, dim: usize, rank: usize) -> String {
        let mut axes = self.axis_texts(0, &[]);
        self.choose.shuffle(&mut axes);
        let mut dims: Vec<Vec<String>> = vec![vec![]; rank];
        for (i, (axis, _)) in axes.into_iter().take(2).enumerate() {
            let to = if i == 0 { dim } else { self.choose.below(rank) };
            // Two adjacent parts of an axis would be merged into one.
            let is_part = |a: &String| a.split(':').next() == axis.split(':').next();
            if !dims[to].last().is_some_and(is_part) {
                dims[to].push(axis);
            }
        }
        let dims: Vec<String> = dims.iter().map(|axes| format!("{{{}}}", axes.join(", "))).collect();
        format!("<@mesh, [{}]>", dims.join(", "))
    }

    fn cumulative(&mut self, scope: &mut Scope, x: &Live, dim: usize) -> Live {
        let n = x.ty.shape[dim];
        let (low, high) = if self.choose.one_in(2) { (n - 1, 0) } else { (0, n - 1) };
        self.window(scope, x, dim, [n, low, high, 1])
    }

    fn wide_window(&mut self, scope: &mut Scope, x: &Live, dim: usize) -> Live {
        let n = x.ty.shape[dim];
        let size = 2 + self.choose.below(n + 3);
        let (low, stride) = (self.choose.below(size), 1 + self.choose.below(2));
        self.window(scope, x, dim, [size, low, size - 1 - low, stride])
    }

    fn window(&mut self, scope: &mut Scope, x: &Live, dim: usize, [size, low, high, stride]: [usize; 4]) -> Live {
        let one = vec![1; x.ty.rank()];
        let with = |n: usize| (0..one.len()).map(|d| if d == dim { n } else { 1 }).collect::<Vec<_>>();
        let rows: Vec<String> =
            (0..one.len()).map(|d| if d == dim { format!("[{low}, {high}]") } else { "[0, 0]".into() }).collect();
        let attrs = format!(
            "window_dimensions = {}, window_strides = {}, padding = dense<[{}]> : tensor<{}x2xi64>",
            sizes(&with(size)),
            sizes(&with(stride)),
            rows.join(", "),
            one.len()
        );
        let (reducer, init) = *self.choose.of(&[("add", 0), ("add", 0), ("maximum", -4), ("minimum", 4)]);
        let init = self.whole_number(scope, x.ty.dtype, init);
        let mut to = x.ty.clone();
        to.shape[dim] = (x.ty.shape[dim] + low + high - size) / stride + 1;
        let region = combined(reducer, x.ty.dtype);
        self.one(scope, "stablehlo.reduce_window", &[x, &init], &attrs, &[region], to)
    }

    fn scattered_maxima(&mut self, scope: &mut Scope, x: &Live, dim: usize) -> Live {
        let (size, stride) = (1 + self.choose.below(4), 1 + self.choose.below(3));
        let with = |n: usize| (0..x.ty.rank()).map(|d| if d == dim { n } else { 1 }).collect::<Vec<_>>();
        let attrs = format!("window_dimensions = {}, window_strides = {}", sizes(&with(size)), sizes(&with(stride)));
        let mut source = x.ty.clone();
        source.shape[dim] = (x.ty.shape[dim] - size) / stride + 1;
        let source = self.provide(scope, &source, &Fill::Small);
        let init = self.whole_number(scope, x.ty.dtype, 0);
        let t = TensorType::new(x.ty.dtype, []);
        let order = *self.choose.of(&["GE", "LE"]);
        let select = format!(
            "{{\n  ^bb0(%a: {t}, %b: {t}):\n    %c = stablehlo.compare {order}, %a, %b : ({t}, {t}) -> tensor<i1>\n    \
             stablehlo.return %c : tensor<i1>\n  }}"
        );
        let regions = [select, combined("add", x.ty.dtype)];
        self.one(scope, "stablehlo.select_and_scatter", &[x, &source, &init], &attrs, &regions, x.ty.clone())
    }

    fn every_few(&mut self, scope: &mut Scope, x: &Live, dim: usize) -> Live {
        let n = x.ty.shape[dim];
        let (start, stride) = (self.choose.below(n / 2), 1 + self.choose.below(3));
        let ends = |of: usize, other: &dyn Fn(usize) -> usize| -> Vec<usize> {
            (0..x.ty.rank()).map(|d| if d == dim { of } else { other(d) }).collect()
        };
        let limits = ends(n, &|d| x.ty.shape[d]);
        let attrs = format!(
            "start_indices = {}, limit_indices = {}, strides = {}",
            sizes(&ends(start, &|_| 0)),
            sizes(&limits),
            sizes(&ends(stride, &|_| 1))
        );
        let mut to = x.ty.clone();
        to.shape[dim] = (n - start).div_ceil(stride);
        self.one(scope, "stablehlo.slice", &[x], &attrs, &[], to)
    }

    fn padded(&mut self, scope: &mut Scope, x: &Live, dim: usize) -> Live {
        let (low, high, interior) = (self.choose.below(5), self.choose.below(5), self.choose.below(2));
        let with = |n: usize| sizes(&(0..x.ty.rank()).map(|d| if d == dim { n } else { 0 }).collect::<Vec<_>>());
        let attrs = format!(
            "edge_padding_low = {}, edge_padding_high = {}, interior_padding = {}",
            with(low),
            with(high),
            with(interior)
        );
        let value = self.whole_number(scope, x.ty.dtype, 2);
        let mut to = x.ty.clone();
        to.shape[dim] += low + high + interior * (x.ty.shape[dim] - 1);
        self.one(scope, "stablehlo.pad", &[x, &value], &attrs, &[], to)
    }

    fn mirrored(&mut self, scope: &mut Scope, x: &Live, dim: usize) -> Live {
        let attrs = format!("dimensions = {}", sizes(&[dim]));
        self.one(scope, "stablehlo.reverse", &[x], &attrs, &[], x.ty.clone())
    }

    fn sorted(&mut self, scope: &mut Scope, x: &Live, dim: usize) -> Live {
        let t = TensorType::new(x.ty.dtype, []);
        let attrs = format!("dimension = {dim} : i64, is_stable = true");
        let order = format!(
            "{{\n  ^bb0(%a: {t}, %b: {t}):\n    %c = stablehlo.compare LT, %a, %b : ({t}, {t}) -> tensor<i1>\n    \
             stablehlo.return %c : tensor<i1>\n  }}"
        );
        self.one(scope, "stablehlo.sort", &[x], &attrs, &[order], x.ty.clone())
    }

    /// Writes a reduction along `dim` to the largest element and its index.
    fn largest(&mut self, scope: &mut Scope, x: &Live, dim: usize) {
        let indices = TensorType::new(DType::I32, x.ty.shape.clone());
        let iota = format!("stablehlo.iota dim = {dim} : {indices}");
        let index = self.plain(scope, &iota, indices, Grade::Wild);
        let inits = [self.whole_number(scope, x.ty.dtype, -4), self.whole_number(scope, DType::I32, 0)];
        let t = TensorType::new(x.ty.dtype, []);
        let region = format!(
            "{{\n  ^bb0(%a: {t}, %i: tensor<i32>, %b: {t}, %j: tensor<i32>):\n    \
             %c = stablehlo.compare GE, %a, %b : ({t}, {t}) -> tensor<i1>\n    \
             %d = stablehlo.select %c, %a, %b : tensor<i1>, {t}\n    \
             %k = stablehlo.select %c, %i, %j : tensor<i1>, tensor<i32>\n    \
             stablehlo.return %d, %k : {t}, tensor<i32>\n  }}"
        );
        let operands = [x, &index, &inits[0], &inits[1]];
        let names = operands.map(|v| v.name.clone());
        let from = operands.map(|v| v.ty.clone());
        let mut kept = x.ty.shape.clone();
        kept.remove(dim);
        let to = [x.ty.dtype, DType::I32].map(|dtype| TensorType::new(dtype, kept.clone()));
        let attrs = format!("dimensions = {}", sizes(&[dim]));
        self.op(scope, "stablehlo.reduce", &names, &attrs, &[region], &from, &to, Grade::Wild);
    }

    fn whole_number(&mut self, scope: &mut Scope, dtype: DType, value: i64) -> Live {
        let exact = Fill::Exact(vec![value]);
        let literal: Literal = exact.literal(&mut self.choose, &TensorType::new(dtype, []));
        self.constant(scope, &literal, Grade::Wild)
    }

    fn one(
        &mut self,
        scope: &mut Scope,
        op: &str,
        operands: &[&Live],
        attrs: &str,
        regions: &[String],
        to: TensorType,
    ) -> Live {
        let names: Vec<String> = operands.iter().map(|v| v.name.clone()).collect();
        let from: Vec<TensorType> = operands.iter().map(|v| v.ty.clone()).collect();
        self.op(scope, op, &names, attrs, regions, &from, &[to], Grade::Wild).remove(0)
    }
}

fn combined(name: &str, dtype: DType) -> String {
    let t = TensorType::new(dtype, []);
    format!(
        "{{\n  ^bb0(%a: {t}, %b: {t}):\n    %c = stablehlo.{name} %a, %b : {t}\n    stablehlo.return %c : {t}\n  }}"
    )
}
