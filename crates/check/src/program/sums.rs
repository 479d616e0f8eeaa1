//! Products whose contracted dimensions are split over an axis and over a part of it, so that an op reads sums over
//! both.

use super::Maker;
use super::scope::{Grade, Live, Scope};
use crate::single::Fill;
use shardwise_base::DType;
use shardwise_ir::TensorType;

/// The size of the axes that have two halves.
const HALVED: usize = 4;

impl Maker {
    /// Writes two products, each with a contracted dimension that is split over an axis of the first mesh or over a
    /// half of this axis, and an op that multiplies or adds their results. The layouts of the results are stated, and
    /// unreduced in half of the programs. Writes nothing and returns false if no axis has two halves, and in manual
    /// computations and functions.
    pub(super) fn sums_over_parts(&mut self, scope: &mut Scope) -> bool {
        let axis = self.meshes.first().iter().find(|axis| axis.1 == HALVED).map(|axis| axis.0);
        let Some(axis) = axis.filter(|_| !scope.place.in_manual && !scope.place.in_function) else { return false };
        self.features.insert("sums over parts of axes");
        let [whole, major, minor] = ["", ":(1)2", ":(2)2"].map(|part| format!("\"{axis}\"{part}"));
        let half = if self.choose.one_in(2) { &major } else { &minor };
        let axes = match self.choose.below(4) {
            0 => [half, &whole],
            1 => [&major, &minor],
            _ => [&whole, half],
        };
        // The products of floating-point summands that add up to 0 may add up to a 0 of another sign.
        let is_stated = self.choose.one_in(2);
        let dtype = if is_stated { DType::I32 } else { *self.choose.of(&[DType::F32, DType::F64, DType::I32]) };
        let ty = TensorType::new(dtype, [*self.choose.of(&[1, 3, 4, 8]); 2]);
        let unreduced = |axis: &str| layout("{}", "{}", if is_stated { axis } else { "" });
        let sums = axes.map(|axis| self.contraction(scope, &ty, axis, &unreduced(axis)));
        let wanted = unreduced(&whole);
        let [x, y] = &sums;
        let op = match self.choose.below(4) {
            0 => format!("stablehlo.add {x}, {y} {} : {ty}", in_braces(&wanted)),
            1 => format!("stablehlo.multiply {x}, {y} {} : {ty}", in_braces(&wanted)),
            _ => dot(x, y, &ty, &ty, &ty, &wanted),
        };
        let name = self.name();
        scope.line(format!("{name} = {op}"));
        // No other op reads an unreduced value: infinity times a summand that is 0 is not a number.
        let constraint = format!("sdy.sharding_constraint {name} {} : {ty}", layout("{}", "{}", ""));
        self.plain(scope, &constraint, ty, Grade::Wild);
        true
    }

    /// Writes a product of two matrices whose contracted dimension is split over `axis`, and returns its name. Its type
    /// is `ty`, and `to` is its layout. No other statement can use it.
    fn contraction(&mut self, scope: &mut Scope, ty: &TensorType, axis: &str, to: &str) -> String {
        let size = *self.choose.of(&[2, 4, 5, 8]);
        let [m, n] = [ty.shape[0], ty.shape[1]];
        let split = format!("{{{axis}}}");
        let x = self.split_matrix(scope, TensorType::new(ty.dtype, [m, size]), &layout("{}", &split, ""));
        let y = self.split_matrix(scope, TensorType::new(ty.dtype, [size, n]), &layout(&split, "{}", ""));
        let name = self.name();
        scope.line(format!("{name} = {}", dot(&x.name, &y.name, &x.ty, &y.ty, ty, to)));
        name
    }

    fn split_matrix(&mut self, scope: &mut Scope, ty: TensorType, layout: &str) -> Live {
        let x = self.provide(scope, &ty, &Fill::Ints(-2, 2));
        self.plain(scope, &format!("sdy.sharding_constraint {} {layout} : {ty}", x.name), ty, x.grade)
    }
}

/// Returns the layout of a matrix on the first mesh. `unreduced` is the axis over which it is unreduced, or empty.
fn layout(rows: &str, columns: &str, unreduced: &str) -> String {
    let unreduced = if unreduced.is_empty() { String::new() } else { format!(", unreduced={{{unreduced}}}") };
    format!("<@mesh, [{rows}, {columns}]{unreduced}>")
}

fn in_braces(layout: &str) -> String {
    format!("{{sdy.sharding = #sdy.sharding_per_value<[{layout}]>}}")
}

fn dot(x: &str, y: &str, x_type: &TensorType, y_type: &TensorType, ty: &TensorType, to: &str) -> String {
    let attrs = in_braces(to);
    format!("stablehlo.dot_general {x}, {y}, contracting_dims = [1] x [0] {attrs} : ({x_type}, {y_type}) -> {ty}")
}

#[cfg(test)]
mod tests {
    use crate::program::moving_program;

    #[test]
    fn sums_over_an_axis_and_over_a_part_meet_in_some_programs() {
        let is_found = |seed: &u64| moving_program(*seed).features.contains(&"sums over parts of axes");
        assert!((0..300).filter(is_found).count() > 3);
    }
}
