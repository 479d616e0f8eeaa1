//! Which ops may use linear values. Those that forward mode builds are linear in tangents. The rule of a custom
//! derivative is a user's, and may have others.

use super::Reverse;
use crate::errors;
use shardwise_base::{Diagnostics, budget};
use shardwise_ir::{OpView, Region, Uses};
use shardwise_ops::custom::LinearCall;
use shardwise_ops::derivative::Transposed;
use shardwise_ops::{Linear, Opcode};

impl<'s> Reverse<'s> {
    /// Checks that each op that uses linear values is linear in them. Ops whose results nothing uses are not checked.
    /// Fails with `no-transpose` for each that is not.
    pub(super) fn check(&self) -> Result<(), Diagnostics> {
        let mut wrong = Diagnostics::default();
        self.check_region(self.source.entry(), &Uses::compute(self.source), &mut wrong);
        wrong.or(())
    }

    fn check_region(&self, region: Region, uses: &Uses, wrong: &mut Diagnostics) {
        for &op in self.ops(region) {
            budget::poll();
            let view = self.module.view(self.source, op);
            // Linear calls have transposes of their own.
            if LinearCall::of(&view).is_some() {
                continue;
            }
            let is_used = || view.results().iter().any(|&v| !uses.of(v).is_empty());
            if matches!(Opcode::of_view(&view).facts().transpose(&view), Transposed::Structure) {
                view.regions().iter().for_each(|&inner| self.check_region(inner, uses, wrong));
            } else if self.is_linear(&view) && !self.is_linear_in_tangents(&view) && is_used() {
                wrong.push(errors::not_linear(&view));
            }
        }
    }

    /// Returns true unless it is known that an op is not linear in the linear values that it uses. Ops that are linear
    /// in no operand have no transpose, and are refused when they are transposed.
    fn is_linear_in_tangents(&self, op: &OpView<'s>) -> bool {
        let (linear, count) = (Opcode::of_view(op).facts().linear(op), op.operands().len());
        op.results().iter().all(|&v| self.linear[v])
            && (linear == Linear::No || linear.holds_for(count, |i| self.linear[op.operand(i)], |_| true))
    }
}
