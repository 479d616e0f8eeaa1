//! What can be wrong with a program, in words: each function takes raw facts and gives the diagnostic.

use crate::dtype::{Misfit, Number};
use crate::{Array, ArrayType, DType, Mesh, P, context};
use shardwise_base::{Diagnostic, Loc};
use shardwise_engine::ShardedType;

pub(crate) fn part_length(offset: &[usize], shape: &[usize], found: usize, loc: &Loc) -> Diagnostic {
    let message = "a part has another number of elements than its shape";
    Diagnostic::error("part-length", loc, message)
        .facts(format!("the part at {offset:?} of shape {shape:?} got {found} elements"))
        .expected(format!("{} elements", shape.iter().product::<usize>()))
}

pub(crate) fn rank(expected: usize, ty: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("rank", loc, format!("expected {expected} dimensions, found {ty}"))
}

pub(crate) fn dimension(dim: &str, ty: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("dimension", loc, format!("there is no dimension {dim}")).facts(ty)
}

pub(crate) fn dimension_twice(name: &str, dim: usize, ty: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("dimension-twice", loc, format!("`{name}` names dimension {dim} twice")).facts(ty)
}

pub(crate) fn deleted(ty: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("deleted", loc, "the array has been deleted or given away").facts(ty).help("keep a clone of it")
}

pub(crate) fn traced_value(ty: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("no-value", loc, "a traced array has no value yet")
        .facts(ty)
        .help("return it from the traced function, and ask the result")
}

pub(crate) fn no_value(ty: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("no-value", loc, "a type without a value can be lowered with, not computed with")
        .facts(ty)
        .help("make an array with `zeros`, `array`, `Array::from_parts`, …")
}

pub(crate) fn element_type(wanted: DType, ty: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("element-type", loc, format!("the elements are read as {wanted}"))
        .facts(ty)
        .help(format!("read them as they are, or `.astype({wanted:?})` first"))
}

pub(crate) fn not_one(ty: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("not-one-element", loc, "`item` of an array that has not exactly one element").facts(ty)
}

pub(crate) fn mesh_mismatch(a: &Mesh, x: &ShardedType, b: &Mesh, y: &ShardedType, loc: &Loc) -> Diagnostic {
    Diagnostic::error("mesh-mismatch", loc, "arrays of two meshes meet in one program")
        .facts(format!("{} on {}\n{} on {}", ArrayType::of(x), a.with_kinds(), ArrayType::of(y), b.with_kinds()))
        .help("lay them out on one mesh with `.shard(mesh.sharding(P!(..)))`")
}

pub(crate) fn layout_mesh(own: &Mesh, other: &Mesh, loc: &Loc) -> Diagnostic {
    Diagnostic::error("mesh-mismatch", loc, "the layout refers to another mesh than the program runs on")
        .facts(format!("the layout's: {}\nthe program's: {}", other.with_kinds(), own.with_kinds()))
        .help("give the arguments and the layout one mesh: `set_mesh`, or `mesh.sharding(P!(..))`")
}

pub(crate) fn dtypes(name: &str, x: &str, y: &str, to: DType, loc: &Loc) -> Diagnostic {
    Diagnostic::error("dtype-mixed", loc, format!("`{name}` of arrays of two dtypes"))
        .facts(format!("{x} and {y}"))
        .help(format!("convert one of them: `.astype({to:?})`"))
}

pub(crate) fn broadcast(name: &str, x: &str, y: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("broadcast", loc, format!("`{name}` of arrays that do not broadcast"))
        .facts(format!("{x} and {y}"))
        .expected("from the last dimension on, sizes that are equal or 1")
}

pub(crate) fn number(name: &str, number: Number, ty: &str, why: Misfit, loc: &Loc) -> Diagnostic {
    let d =
        Diagnostic::error("number-dtype", loc, format!("`{name}`: the number {number} cannot take the array's dtype"));
    let d = d.facts(ty);
    match why {
        Misfit::FloatOnInteger => d.help("convert the array first: `.astype(F32)`"),
        Misfit::BoolOnNumber => d.help("write 0 or 1, or compare the array first"),
        Misfit::NumberOnBool => d.help("convert the array first: `.astype(I32)`"),
        Misfit::OutOfRange => d.note("the number is out of its range"),
        Misfit::NotComputed => d.note("nothing is computed in this dtype"),
    }
}

pub(crate) fn two_numbers(name: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("no-array", loc, format!("`{name}` of two numbers: one of them must be an array"))
        .help("make one with `scalar(value, dtype)`")
}

pub(crate) fn wrong_kind(name: &str, ty: &str, expected: &str, help: &str, loc: &Loc) -> Diagnostic {
    let d = Diagnostic::error("dtype-kind", loc, format!("`{name}` has no meaning for this dtype"));
    let d = d.facts(ty).expected(expected);
    if help.is_empty() { d } else { d.help(help) }
}

pub(crate) fn shape(code: &'static str, message: String, facts: String, help: &str, loc: &Loc) -> Diagnostic {
    let d = Diagnostic::error(code, loc, message).facts(facts);
    if help.is_empty() { d } else { d.help(help) }
}

pub(crate) fn layout(wanted: &str, found: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("layout", loc, "the array is laid out otherwise").facts(found).expected(wanted)
}

pub(crate) fn layout_unknown(wanted: &str, ty: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("layout-unknown", loc, "the compiler decides this layout, after the function has been traced")
        .facts(ty)
        .expected(wanted)
        .help("ask for it with `.shard(..)`, or check the result of the call")
}

pub(crate) fn carry(name: &str, path: &str, before: &str, after: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("carry", loc, format!("`{name}`: the body gives the carry another type"))
        .facts(format!("`{path}` enters as {before} and leaves as {after}"))
        .help("make both one type, for instance with `.astype(..)` where the loop starts")
}

pub(crate) fn form(name: &str, what: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("tree-form", loc, format!("`{name}`: {what}"))
}

pub(crate) fn branches(name: &str, path: &str, a: &str, b: &str, which: &[String; 2], loc: &Loc) -> Diagnostic {
    Diagnostic::error("branch-types", loc, format!("`{name}`: the branches give results of different types"))
        .facts(format!("`{path}` is {a} {} and {b} {}", which[0], which[1]))
}

pub(crate) fn unconstrained(spec: &P, ty: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("spec-unconstrained", loc, "`_` leaves a layout open that nothing else decides")
        .facts(format!("{ty} as {spec}"))
        .help("say how each dimension lies: an axis, or `None`")
}

pub(crate) fn new_sum(ty: &str, axes: &str, loc: &Loc) -> Diagnostic {
    let message = format!("the array is not a sum over {axes} that has yet to be taken");
    Diagnostic::error("spec-unreduced", loc, message)
        .facts(ty)
        .help("`.unreduced` stands right after the product or reduction that leaves the sum")
}

pub(crate) fn unreduced(name: &str, types: &str, axes: &str, reduced: &P, loc: &Loc) -> Diagnostic {
    let message = format!("`{name}` of a sum over {axes} that has yet to be taken, in which it is not linear");
    Diagnostic::error("unreduced", loc, message).facts(types).help(format!("take the sum first: `.shard({reduced})`"))
}

pub(crate) fn escaped(array: &Array, loc: &Loc) -> Diagnostic {
    Diagnostic::error("traced-escaped", loc, "an array is used after the trace that made it has ended")
        .facts(array.short_type())
        .note(format!("it was made at {}", context::show(array.node().at)))
        .help("return it from the traced function, and use the result")
}
