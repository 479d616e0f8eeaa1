//! The diagnostics of the transforms.

use crate::request::COMMAND_LINE;
use crate::vmap::BatchAxis;
use shardwise_base::{Diagnostic, Mesh, counted};
use shardwise_ir::{OpView, Type};
use shardwise_ops::control::CustomCall;

pub(crate) fn no_derivative(op: &OpView<'_>, why: &str) -> Diagnostic {
    Diagnostic::error("no-derivative", op.loc(), format!("{} has no derivative", shown(op)))
        .note(why)
        .help("stop the gradient in front of it, or give the function a derivative of its own")
}

pub(crate) fn reverse_only(op: &OpView<'_>) -> Diagnostic {
    Diagnostic::error("custom-vjp-forward", op.loc(), "a function with `custom_vjp` has no derivative in forward mode")
        .note("its rule computes cotangents from cotangents")
        .help("use reverse mode (`grad`, `vjp`, `jacrev`), or give the function a rule by `custom_jvp`, which both modes use")
}

pub(crate) fn custom_captured(op: &OpView<'_>, ty: &Type) -> Diagnostic {
    let message =
        "a function with a custom derivative (`custom_jvp`, `custom_vjp`) captures an array that is differentiated";
    Diagnostic::error("custom-captured", op.loc(), message)
        .facts(ty.to_string())
        .note("its rule has derivatives for arguments only")
        .help("pass the array as an argument, or stop its gradient: `.stop_gradient()`")
}

pub(crate) fn no_transpose(op: &OpView<'_>, why: &str) -> Diagnostic {
    Diagnostic::error("no-transpose", op.loc(), format!("{} has no derivative in reverse mode", shown(op)))
        .note(why)
        .help("use forward mode (`jvp`), or give the function a derivative of its own")
}

pub(crate) fn not_linear(op: &OpView<'_>) -> Diagnostic {
    let message = format!("{} has no derivative in reverse mode, because it is not linear in tangents here", shown(op));
    Diagnostic::error("no-transpose", op.loc(), message)
        .note("the tangents that a rule of `custom_jvp` returns must be linear in the tangents that it takes")
        .help(
            "use forward mode (`jvp`), or mend the rule: it may multiply tangents by values, add, move and select them",
        )
}

pub(crate) fn unknown_length(op: &OpView<'_>) -> Diagnostic {
    let message =
        "this loop cannot be linearized or differentiated in reverse mode, because its number of steps is not known";
    Diagnostic::error("loop-length", op.loc(), message)
        .note("the steps are run again for the derivative, with values that are kept of each")
        .help("use `scan` or `fori_loop` with a constant number of steps, or forward mode (`jvp`)")
}

pub(crate) fn too_many_turns(op: &OpView<'_>, count: i64) -> Diagnostic {
    let message = "this loop cannot be linearized or differentiated in reverse mode, because it has too many steps";
    Diagnostic::error("loop-length", op.loc(), message)
        .facts(format!("{count} steps"))
        .note("the steps are run again for the derivative, with values that are kept of each")
        .help("use fewer steps, or forward mode (`jvp`)")
}

pub(crate) fn two_meshes(op: &OpView<'_>, first: &Mesh, other: &Mesh) -> Diagnostic {
    let message = "a program with manual computations over different meshes cannot be linearized or differentiated in \
                   reverse mode";
    Diagnostic::error("manual-mesh", op.loc(), message)
        .facts(format!("the first manual computation is over the mesh {first}, and this one over {other}"))
        .help("rewrite the program over one mesh first, by the pass `meshes`: `opt --pass meshes,vjp`")
}

pub(crate) fn no_batch(op: &OpView<'_>, why: &str) -> Diagnostic {
    Diagnostic::error("no-batch", op.loc(), format!("{} cannot be computed for a batch", shown(op)))
        .note(why)
        .help("call it outside of `vmap`; a kernel computes a batch by its sharding rule, or by `Kernel::batched_by`")
}

pub(crate) fn no_leading(index: usize, ty: &Type, loc: &shardwise_base::Loc) -> Diagnostic {
    Diagnostic::error("no-batch", loc, format!("argument {index} cannot have the dimension of a batch"))
        .facts(ty.to_string())
        .note("only arrays have one")
        .help("leave the argument out, or pass its arrays as arguments of their own")
}

pub(crate) fn batch_too_large(size: usize, ty: &Type, loc: &shardwise_base::Loc) -> Diagnostic {
    Diagnostic::error("transform-options", loc, format!("a batch of {size} is too large"))
        .facts(ty.to_string())
        .note("with the dimension of the batch, this array would have more elements or bytes than an array can have")
        .help("choose a smaller batch")
}

fn shown(op: &OpView<'_>) -> String {
    match CustomCall::target(op) {
        Some(target) => format!("the custom call `{target}`"),
        None => format!("`{}`", op.name()),
    }
}

pub(crate) fn spmd_axis(axis: &BatchAxis, loc: &shardwise_base::Loc) -> Diagnostic {
    let message = format!(
        "the layout of a value inside of `vmap` uses the axis {axis}, over which the mapped dimension is split"
    );
    Diagnostic::error("spmd-axis", loc, message)
        .help("leave the axis out of the layout: it is added for the mapped dimension")
}

pub(crate) fn not_smooth(index: usize, ty: &Type, loc: &shardwise_base::Loc) -> Diagnostic {
    Diagnostic::error("grad-integer", loc, format!("argument {index} has no derivative"))
        .facts(ty.to_string())
        .note("only floating-point and complex numbers have one")
        .help("leave the argument out, or convert it to a float first")
}

pub(crate) fn no_argument(index: usize, count: usize, loc: &shardwise_base::Loc) -> Diagnostic {
    let arguments = counted(count, "argument");
    let message = format!("the function has {arguments}, and no argument {index}");
    Diagnostic::error("transform-argument", loc, message).help("arguments are counted from 0")
}

pub(crate) fn not_scalar(results: &[Type], loc: &shardwise_base::Loc) -> Diagnostic {
    let types: Vec<String> = results.iter().map(|ty| ty.as_tensor().map_or(ty.to_string(), |ty| ty.short())).collect();
    let help = match results {
        [Type::Tensor(ty)] if ty.rank() == 0 && ty.dtype.is_complex() => {
            "return a real number, such as the square of an absolute value"
        }
        [Type::Tensor(ty)] if ty.rank() == 0 => "return a float: an integer is converted by `.astype(F32)`",
        _ => "return a sum or a mean, or use `vjp`, which takes a cotangent for each result",
    };
    Diagnostic::error(
        "grad-scalar",
        loc,
        "a gradient is taken of one result, which must be a scalar of a real float type",
    )
    .facts(format!("the function returns ({})", types.join(", ")))
    .help(help)
}

pub(crate) fn bad_request(text: &str, why: &str) -> Diagnostic {
    Diagnostic::error("transform-options", &COMMAND_LINE, format!("cannot read the transform `{text}`"))
        .note(why)
        .help("write `value-and-grad{args=0+2}`, or `vmap{args=0+2,size=8}`")
}

pub(crate) fn no_main(loc: &shardwise_base::Loc) -> Diagnostic {
    Diagnostic::error("module-main", loc, "the module has no functions")
        .help("add the function to transform: `func.func public @main`")
}
