//! Functions with derivatives of their own: composites whose attributes name the functions that compute them.
//!
//! ```text
//! stablehlo.composite "shardwise.custom_jvp" %x, %c {decomposition = @f, composite_attributes = {args = 1 : i64, jvp = @f_jvp}}
//! stablehlo.composite "shardwise.custom_vjp" %x, %c {decomposition = @f, composite_attributes = {args = 1 : i64, fwd = @f_fwd, bwd = @f_bwd}}
//! ```
//!
//! The first `args` operands are the arguments of the function, and the others are values that it captures, which have
//! no derivative. Below, a tangent or cotangent exists for each float and complex number only:
//!
//! | function | takes | returns |
//! |---|---|---|
//! | `decomposition` | arguments, captures | results |
//! | `jvp` | arguments, tangents of the arguments, captures | results, tangents of the results |
//! | `fwd` | arguments, captures | results, residuals |
//! | `bwd` | residuals, cotangents of the results, captures | cotangents of the arguments |
//!
//! All passes but the transforms see an ordinary composite.

use crate::control::{Composite, CustomCall};
use crate::derivative::has_tangent;
use crate::{Opcode, calls};
use shardwise_base::{Diagnostic, Diagnostics};
use shardwise_ir::{Attr, Attrs, Builder, Func, OpView, Type, Value};
use std::sync::Arc;

const JVP: &str = "shardwise.custom_jvp";
const VJP: &str = "shardwise.custom_vjp";
const LINEAR: &str = "shardwise.custom_vjp_linear";

/// The functions that compute a function's derivative.
#[derive(Clone, Copy)]
pub enum Rule<'a> {
    Jvp(&'a Func),
    Vjp { fwd: &'a Func, bwd: &'a Func },
}

/// A function with a derivative of its own.
#[derive(Clone, Copy)]
pub struct Custom<'a> {
    pub func: &'a Func,
    pub rule: Rule<'a>,
    /// The number of operands that are arguments. The others are captured values.
    pub args: usize,
}

impl Rule<'_> {
    pub fn names(self) -> RuleNames {
        match self {
            Rule::Jvp(jvp) => RuleNames::Jvp(jvp.name.clone()),
            Rule::Vjp { fwd, bwd } => RuleNames::Vjp { fwd: fwd.name.clone(), bwd: bwd.name.clone() },
        }
    }
}

/// The names of the functions of a [`Rule`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum RuleNames {
    Jvp(Arc<str>),
    Vjp { fwd: Arc<str>, bwd: Arc<str> },
}

impl RuleNames {
    /// Returns the attributes of the composite with this rule, whose results `func` computes. `args` is the number of
    /// its operands that are arguments.
    pub fn attrs(&self, func: Arc<str>, args: usize) -> Attrs {
        let facts = Attrs::new().with("args", Attr::int(args as i64));
        match self {
            RuleNames::Jvp(jvp) => Composite::attrs(JVP, func, facts.with("jvp", Attr::Symbol(jvp.clone()))),
            RuleNames::Vjp { fwd, bwd } => {
                let facts = facts.with("fwd", Attr::Symbol(fwd.clone())).with("bwd", Attr::Symbol(bwd.clone()));
                Composite::attrs(VJP, func, facts)
            }
        }
    }
}

/// Returns the function with a derivative of its own that a composite runs. Returns `None` for other ops and for other
/// composites. Also returns `None` if an attribute of the composite is missing or broken, names no function of the
/// module, or counts more arguments than there are operands. The types of the functions are not checked.
pub fn of<'a>(op: &OpView<'a>) -> Option<Custom<'a>> {
    let name = Composite::name(op).filter(|_| Opcode::of_view(op) == Opcode::Composite)?;
    let facts = op.attr("composite_attributes")?.as_record()?;
    let func = &op.module[calls::callee(op)?];
    let named = |key: &str| op.module.func(facts.str(key)?);
    let rule = match name {
        JVP => Rule::Jvp(named("jvp")?),
        VJP => Rule::Vjp { fwd: named("fwd")?, bwd: named("bwd")? },
        _ => return None,
    };
    let args = facts.size("args").filter(|&n| n <= op.operands().len())?;
    Some(Custom { func, rule, args })
}

fn smooth(types: &[Type]) -> Vec<Type> {
    types.iter().filter(|ty| ty.as_tensor().is_some_and(|t| has_tangent(t.dtype))).cloned().collect()
}

fn takes(func: &Func) -> Vec<Type> {
    func.body.args().iter().map(|&v| func.body.ty(v).clone()).collect()
}

/// Checks that `jvp`, or `fwd` and `bwd`, of a composite with a custom derivative have the types that the table in this
/// file's documentation shows. Fails otherwise, and if an attribute is missing or broken. Any other composite passes.
pub(crate) fn check(op: &OpView<'_>) -> Result<(), Diagnostics> {
    if !matches!(Composite::name(op), Some(JVP | VJP)) {
        return Ok(());
    }
    let Some(custom) = of(op) else {
        let rule = "`composite_attributes` must have `args`, at most the number of operands, and name functions of the \
                    module: `jvp`, or `fwd` and `bwd`";
        return Err(broken(op, rule).into());
    };
    let operands: Vec<Type> = op.operands().iter().map(|&v| op.body.ty(v).clone()).collect();
    let results: Vec<Type> = op.results().iter().map(|&v| op.body.ty(v).clone()).collect();
    let (args, captured) = operands.split_at(custom.args);
    let fits = |func: &Func, given: &[&[Type]], made: &[&[Type]]| {
        takes(func) == given.concat() && func.result_types == made.concat()
    };
    let wrong = match custom.rule {
        Rule::Jvp(jvp) => {
            let tangents = [smooth(args), smooth(&results)];
            (!fits(jvp, &[args, &tangents[0], captured], &[&results, &tangents[1]]))
                .then_some("`jvp` must take arguments, tangents and captured values, and return results and tangents")
        }
        Rule::Vjp { fwd, bwd } => {
            let residuals = fwd.result_types.get(results.len()..).unwrap_or(&[]);
            if !fits(fwd, &[args, captured], &[&results, residuals]) {
                Some("`fwd` must take arguments and captured values, and return results and residuals")
            } else {
                (!fits(bwd, &[residuals, &smooth(&results), captured], &[&smooth(args)]))
                    .then_some("`bwd` must take residuals, cotangents and captured values, and return cotangents")
            }
        }
    };
    wrong.map_or(Ok(()), |why| Err(broken(op, why).into()))
}

fn broken(op: &OpView<'_>, why: &str) -> Diagnostic {
    Diagnostic::error("custom-rule", op.loc(), "the custom derivative of a composite is not valid").note(why)
}

/// A linear function that is only known by its transpose, the `bwd` of a function. It exists while a function is
/// differentiated in reverse mode, which transposes it.
#[derive(Clone, Copy)]
pub struct LinearCall<'a> {
    pub bwd: &'a Func,
    /// The number of operands that are residuals. They come first, then `captured` captured values, and then the
    /// tangents of arguments.
    pub residuals: usize,
    pub captured: usize,
}

impl<'a> LinearCall<'a> {
    /// Returns the linear function that an op calls. Returns `None` for other ops, if an attribute is missing or
    /// broken, and if the module has no function of that name. The numbers and the types of the operands are not
    /// checked.
    pub fn of(op: &OpView<'a>) -> Option<LinearCall<'a>> {
        CustomCall::target(op).filter(|t| *t == LINEAR)?;
        let bwd = op.module.func(op.attrs().str("shardwise.bwd")?)?;
        let count = |name: &str| op.attrs().size(name);
        Some(LinearCall { bwd, residuals: count("shardwise.residuals")?, captured: count("shardwise.captured")? })
    }

    /// Builds a call on residuals, captured values and tangents of arguments. Returns the tangents of results.
    pub fn build(
        b: &mut Builder<'_>,
        bwd: &Func,
        [residuals, captured, tangents]: [&[Value]; 3],
        results: Vec<Type>,
    ) -> Vec<Value> {
        let attrs = Attrs::new()
            .with("call_target_name", Attr::str(LINEAR))
            .with("shardwise.bwd", Attr::Symbol(bwd.name.clone()))
            .with("shardwise.residuals", Attr::int(residuals.len() as i64))
            .with("shardwise.captured", Attr::int(captured.len() as i64));
        let op = b.op(Opcode::CustomCall, [residuals, captured, tangents].concat(), attrs, results);
        b.body[op].results.to_vec()
    }
}
