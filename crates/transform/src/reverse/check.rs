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
        let mut wrong = vec![];
        self.check_region(self.source.entry(), &mut wrong);
        if wrong.is_empty() {
            return Ok(());
        }
        let uses = Uses::compute(self.source);
        wrong.retain(|op| op.results().iter().any(|&v| !uses.of(v).is_empty()));
        let mut found = Diagnostics::default();
        found.extend(wrong.iter().map(errors::not_linear));
        found.or(())
    }

    /// Adds the ops of a region that use linear values and are not linear in them to `wrong`, and those in the regions of
    /// control flow.
    fn check_region(&self, region: Region, wrong: &mut Vec<OpView<'s>>) {
        for &op in self.ops(region) {
            budget::poll();
            let view = self.module.view(self.source, op);
            // Linear calls have transposes of their own.
            if !self.is_linear(&view) || LinearCall::of(&view).is_some() {
                continue;
            }
            if matches!(Opcode::of_view(&view).facts().transpose(&view), Transposed::Structure) {
                view.regions().iter().for_each(|&inner| self.check_region(inner, wrong));
            } else if !self.is_linear_in_tangents(&view) {
                wrong.push(view);
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
