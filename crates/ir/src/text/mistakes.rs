//! The diagnostics of the text engine.

use crate::Type;
use shardwise_base::{DType, Diagnostic, Loc, Mesh, counted, did_you_mean};

pub(super) fn unexpected(loc: &Loc, message: String, expected: &str) -> Diagnostic {
    Diagnostic::error("text-syntax", loc, message).expected(expected)
}

fn with_near<'a>(d: Diagnostic, name: &str, known: impl IntoIterator<Item = &'a str>, sigil: &str) -> Diagnostic {
    match did_you_mean(name, known) {
        Some(near) => d.help(format!("did you mean `{sigil}{near}`?")),
        None => d,
    }
}

pub(super) fn unknown_op(loc: &Loc, name: &str, known: &[&'static str]) -> Diagnostic {
    let d = Diagnostic::error("text-op", loc, format!("there is no op `{name}`"));
    // A name without a dialect is most likely from `stablehlo`.
    let full = if name.contains('.') { name.to_string() } else { format!("stablehlo.{name}") };
    match did_you_mean(&full, known.iter().copied()) {
        Some(near) => d.help(format!("did you mean `{near}`?")),
        None => d.help("the op is not supported: rewrite the program without it"),
    }
}

pub(super) fn unknown_value(loc: &Loc, name: &str, known: &[&str]) -> Diagnostic {
    let d = Diagnostic::error("text-value", loc, format!("`%{name}` is not defined here"));
    with_near(d, name, known.iter().copied(), "%")
}

pub(super) fn defined_twice(loc: &Loc, name: &str) -> Diagnostic {
    Diagnostic::error("text-value", loc, format!("`%{name}` is defined twice")).help("rename one of them")
}

pub(super) fn value_type(loc: &Loc, name: &str, given: &str, expected: &str) -> Diagnostic {
    Diagnostic::error("text-value-type", loc, format!("`%{name}` is used with a type that differs from its own"))
        .facts(format!("its type: {given}"))
        .facts(format!("used as:  {expected}"))
}

pub(super) fn unknown_mesh(loc: &Loc, name: &str, known: &[&str]) -> Diagnostic {
    let d = Diagnostic::error("text-mesh", loc, format!("there is no mesh `@{name}`"));
    match known {
        [] => d.help(format!("define it in the module: `sdy.mesh @{name} = <[\"x\"=2]>`")),
        _ => {
            with_near(d.note(format!("the module's meshes: @{}", known.join(", @"))), name, known.iter().copied(), "@")
        }
    }
}

pub(super) fn unknown_axis(loc: &Loc, name: &str, mesh: &Mesh) -> Diagnostic {
    let title = if mesh.name.is_empty() { "the mesh".to_string() } else { format!("mesh `@{}`", mesh.name) };
    let d = Diagnostic::error("sharding-axis", loc, format!("{title} has no axis \"{name}\"")).mesh(mesh);
    mesh.near_axis(name).into_iter().fold(d, Diagnostic::help)
}

pub(super) fn sub_axis(loc: &Loc, axis: &str, pre_size: usize, size: usize, mesh: &Mesh) -> Diagnostic {
    Diagnostic::error("sharding-axis", loc, format!("axis \"{axis}\" has no sub-axis ({pre_size}){size}"))
        .mesh(mesh)
        .help("a sub-axis (m)k needs m >= 1 and k >= 2, m * k must divide the axis' size, and it must not be the whole axis")
}

pub(super) fn axis_twice(loc: &Loc, axis: &str, first: &str, mesh: &Mesh) -> Diagnostic {
    let message = if axis == first {
        format!("axis {axis} is used twice in one sharding")
    } else {
        format!("axis {axis} overlaps {first} in one sharding, or splits the axis differently")
    };
    Diagnostic::error("sharding-axis-twice", loc, message)
        .mesh(mesh)
        .help("an axis can split one dimension, or be replicated or unreduced, once")
}

pub(super) fn axis_list(loc: &Loc, expected: &str, mesh: &Mesh) -> Diagnostic {
    Diagnostic::error("sharding-axis-list", loc, format!("this list of axes must be written as {expected}"))
        .mesh(mesh)
        .help("neighbours that are one part of an axis are merged, and replicated axes are in the mesh's order")
}

pub(super) fn sharding_rank(loc: &Loc, what: &str, given: usize, ty: &Type) -> Diagnostic {
    let message =
        format!("the sharding of {what} has {}, and its type has {}", counted(given, "dimension"), ty.shape().len());
    Diagnostic::error("sharding-rank", loc, message)
        .facts(format!("its type: {ty}"))
        .help("write one `{..}` for each dimension, and `{}` for a dimension that is not split")
}

pub(super) fn sharding_count(loc: &Loc, given: usize, expected: usize, what: &str) -> Diagnostic {
    let message =
        format!("each value needs one sharding: {} for {}", counted(given, "sharding"), counted(expected, what));
    Diagnostic::error("sharding-count", loc, message)
}

pub(super) fn no_mesh_for_axes(loc: &Loc) -> Diagnostic {
    Diagnostic::error("text-mesh", loc, "there is no mesh that these axes could belong to")
        .help("define a mesh in the module, or give the op a sharding")
}

pub(super) fn mesh_of_facts(loc: &Loc, read: &Mesh, main: &Mesh) -> Diagnostic {
    let message =
        format!("the axes here were read as axes of mesh `@{}`, and the program's mesh is `@{}`", read.name, main.name);
    Diagnostic::error("text-mesh", loc, message).mesh(main).help("define each mesh on a line of its own")
}

pub(super) fn too_large(loc: &Loc, what: &str) -> Diagnostic {
    Diagnostic::error("text-size", loc, format!("{what} is too large")).help(
        "a size and the number of bytes must fit 63 bits, and the number of elements 59 bits; sizes of 0 count as 1",
    )
}

pub(super) fn text_too_large(loc: &Loc, bytes: usize, max: usize) -> Diagnostic {
    Diagnostic::error("text-size", loc, format!("the text has {bytes} bytes, more than {max}"))
        .help("pass large constants as arguments of the program")
}

pub(super) fn unsupported(loc: &Loc, what: &str, way_out: &str) -> Diagnostic {
    Diagnostic::error("text-unsupported", loc, format!("{what} are not supported")).help(way_out)
}

pub(super) fn dynamic_size(loc: &Loc, subject: &str) -> Diagnostic {
    let message = format!("{subject} has a shape that is known only when the program runs");
    Diagnostic::error("text-dynamic-size", loc, message)
        .expected("a number for each dimension")
        .help("export the program for fixed sizes; `stablehlo.dynamic_*` ops run where their results have fixed sizes")
}

pub(super) fn unknown_type(loc: &Loc, name: &str) -> Diagnostic {
    let known = DType::ALL.iter().map(|d| d.name()).chain(["tensor", "tuple"]);
    let element = match name {
        "complex" | "!quant.uniform" => Some(format!("{name}<..>")),
        _ => DType::parse(name).map(|_| name.to_string()),
    };
    if let Some(element) = element {
        return Diagnostic::error("text-type", loc, format!("`{name}` is the type of an element, not of a value"))
            .help(format!("a single number is a tensor without dimensions: tensor<{element}>"));
    }
    if ["tensor", "tuple", "!stablehlo.token", "!stablehlo.future"].contains(&name) {
        return Diagnostic::error("text-type", loc, format!("`{name}` is the type of a value, not of an element"))
            .help("write the type of one element, such as `f32`");
    }
    with_near(Diagnostic::error("text-type", loc, format!("type `{name}` is not supported")), name, known, "")
}

pub(super) fn literal(loc: &Loc, message: String) -> Diagnostic {
    Diagnostic::error("text-literal", loc, message)
}

/// Builds the error for a number such as `1e5`. MLIR's integers end before the `e`.
pub(super) fn exponent_without_point(loc: &Loc, integer: &str, exponent: &str) -> Diagnostic {
    let rule = "a float has a point, and an integer has no exponent";
    literal(loc, format!("`{integer}{exponent}` is no number in MLIR's notation: {rule}"))
        .help(format!("write a float as {integer}.0{exponent}"))
}

pub(super) fn generic_only(loc: &Loc, name: &str) -> Diagnostic {
    Diagnostic::error("text-syntax", loc, format!("`{name}` has only the generic form"))
        .help(format!("write it as \"{name}\"(%a, ..) <{{..}}> : (T, ..) -> U"))
}

pub(super) fn function_type(loc: &Loc, name: &str, declared: &str, taken: &str) -> Diagnostic {
    let message = format!("the type of function `@{name}` differs from the arguments of its body");
    Diagnostic::error("text-function", loc, message)
        .facts(format!("`function_type` has the arguments: {declared}"))
        .facts(format!("the body takes: {taken}"))
        .help("give `function_type` the types of the body's arguments")
}

/// Builds the error for a property that is no list of `count` dictionaries. `given` is the length of the list, or
/// `None` if it is no list.
pub(super) fn function_dicts(loc: &Loc, name: &str, key: &str, given: Option<usize>, count: usize) -> Diagnostic {
    let message = format!("`{key}` of function `@{name}` must be a list of {count} dictionaries");
    let d = Diagnostic::error("text-function", loc, message)
        .help("write `{}` for an argument or a result without attributes, or leave the list out");
    match given {
        Some(given) if given != count => d.facts(format!("the list has {given} entries")),
        Some(_) => d.facts("an entry is no dictionary"),
        None => d.facts("it is no list"),
    }
}

pub(super) fn no_function_body(loc: &Loc, name: &str) -> Diagnostic {
    Diagnostic::error("text-function", loc, format!("function `@{name}` has no body"))
        .help("functions of other modules cannot be called: add its definition, or remove the declaration")
}
