//! The errors of programs and command lines for Shardy's passes.

use crate::{SHARDY_PASSES, ShardyPass};
use shardwise_base::{Diagnostic, Loc, did_you_mean};

pub(crate) fn unknown(text: &str) -> Diagnostic {
    let name = text.split('{').next().unwrap_or(text).trim();
    let names = || SHARDY_PASSES.iter().map(|p| p.name);
    let d = Diagnostic::error("pass-unknown", &Loc::UNKNOWN, format!("there is no pass `{name}` of Shardy here"));
    match did_you_mean(name, names()) {
        Some(near) => d.help(format!("did you mean `{near}`?")),
        None => d.help(format!("the passes are {}", names().collect::<Vec<_>>().join(", "))),
    }
}

pub(crate) fn malformed_options(pass: &str, text: &str) -> Diagnostic {
    Diagnostic::error("pass-option", &Loc::UNKNOWN, format!("`{text}` is no list of options for `{pass}`"))
        .help("write `name{option=value other=value}`")
}

pub(crate) fn unknown_option(pass: &ShardyPass, name: &str) -> Diagnostic {
    let d = Diagnostic::error("pass-option", &Loc::UNKNOWN, format!("`{}` has no option `{name}`", pass.name));
    match pass.options {
        [] => d.help("this pass has no options"),
        options => d.help(format!("its options are {}", options.join(", "))),
    }
}

pub(crate) fn no_flag(pass: &str, name: &str, value: &str) -> Diagnostic {
    let message = format!("option `{name}` of `{pass}` is `{value}`, which is no boolean");
    Diagnostic::error("pass-option", &Loc::UNKNOWN, message).help("write `true` or `false`")
}

pub(crate) fn notes(pass: &str, name: &str) -> Diagnostic {
    let message = format!("`{pass}` does not note where shardings come from: `{name}` can only be false");
    Diagnostic::error("pass-option", &Loc::UNKNOWN, message)
        .help("`shardwise explain` says why data moves and what asked for it")
}

pub(crate) fn strategy(value: &str) -> Diagnostic {
    Diagnostic::error("pass-option", &Loc::UNKNOWN, format!("`{value}` is no strategy of propagation"))
        .help("the strategies are aggressive, basic and basic-then-aggressive")
}

pub(crate) fn manual_without_values(loc: &Loc) -> Diagnostic {
    let message = "a manual computation without operands and results has manual axes, and ops in its body";
    Diagnostic::error("sdy-manual-attrs", loc, message).help("leave out its manual axes")
}

pub(crate) fn unsharded_sum(loc: &Loc, op: &str) -> Diagnostic {
    Diagnostic::error("unreduced", loc, format!("the operand of `{op}` has no sharding"))
        .help("say over which axes it is unreduced")
}

pub(crate) fn new_unreduced(loc: &Loc, op: &str, axis: &str) -> Diagnostic {
    Diagnostic::error(
        "unreduced",
        loc,
        format!("a result of `{op}` is unreduced over {axis}, and this op cannot make it so"),
    )
    .help("drop the axis from the `unreduced` list of the result")
}

pub(crate) fn lost_unreduced(loc: &Loc, op: &str, axis: &str) -> Diagnostic {
    Diagnostic::error(
        "unreduced",
        loc,
        format!("an operand of `{op}` is unreduced over {axis}, and no result of the op is"),
    )
    .help("sum over it with `sdy.reshard` or `sdy.all_reduce`, or keep the axis in the `unreduced` list of the result")
}

/// Builds the error for a value that is passed on and gains or loses unreduced axes. `what` is the value, `to` what it
/// becomes.
pub(crate) fn unequal_unreduced(loc: &Loc, op: &str, what: &str, to: &str) -> Diagnostic {
    let message = format!("the unreduced axes of {what} of `{op}` are not those of {to}");
    Diagnostic::error("unreduced", loc, message)
        .help("write the same `unreduced` axes for both, or put a `sdy.reshard` between")
}
