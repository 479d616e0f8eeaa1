//! Checks that always hold.

use super::Maker;
use super::adapt::dense;
use super::scope::{Grade, Live, Scope};
use crate::single::Fill;

impl Maker {
    /// Writes a check of the dialect `check` that holds, as an op or as a custom call. Writes nothing in regions and in
    /// other functions than `@main`, and sometimes nothing for booleans and for floats without arithmetic.
    pub(super) fn expectation(&mut self, scope: &mut Scope) {
        if !scope.place.is_main {
            return;
        }
        let x = self.choose.of(&scope.live).clone();
        let dtype = x.ty.dtype;
        let is_near = (dtype.is_float() && dtype.is_computed()) || dtype.is_complex();
        match self.choose.below(4) {
            0 => self.constant_expectation(scope, is_near, &x),
            _ if is_near => self.near_expectation(scope, &x),
            1 if dtype.is_integer() => scope.line(format!(
                "stablehlo.custom_call @check.expect_eq({0}, {0}) {{has_side_effect = true}} : ({1}, {1}) -> ()",
                x.name, x.ty
            )),
            _ if dtype.is_integer() => scope.line(format!("check.expect_eq {0}, {0} : {1}", x.name, x.ty)),
            _ => {}
        }
    }

    fn constant_expectation(&mut self, scope: &mut Scope, is_near: bool, x: &Live) {
        let literal = Fill::Small.literal(&mut self.choose, &x.ty);
        let constant = self.constant(scope, &literal, Grade::Wild);
        let op = if is_near && self.choose.one_in(2) { "expect_almost_eq_const" } else { "expect_eq_const" };
        let value = format!("{} : {}", dense(&literal), x.ty);
        scope.line(format!("check.{op} {}, {value}", constant.name));
    }

    /// Writes a check that `x` is near itself. A NaN is near itself.
    fn near_expectation(&mut self, scope: &mut Scope, x: &Live) {
        let (name, ty) = (&x.name, &x.ty);
        scope.line(match self.choose.below(4) {
            0 => format!("check.expect_almost_eq {name}, {name}, tolerance = 1.000000e-01 : {ty}"),
            1 => format!("check.expect_almost_eq {name}, {name} : {ty}"),
            n => format!("check.expect_close {name}, {name}, max_ulp_difference = {} : {ty}, {ty}", 3 * (n - 2)),
        });
    }
}
