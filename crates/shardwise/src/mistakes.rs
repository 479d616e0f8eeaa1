//! The diagnostics of programs' mistakes. Each function takes raw facts and returns a diagnostic.

use crate::dtype::{Misfit, Number};
use crate::manual::Predicate;
use crate::{Array, ArrayType, DType, Mesh, P, context};
use shardwise_base::{self as base, AxisKind, Diagnostic, Loc};
use shardwise_engine::ShardedType;
use shardwise_ir::TensorType;
use std::panic::Location;
use std::path::Path;

pub(crate) fn part_length(offset: &[usize], shape: &[usize], found: usize, loc: &Loc) -> Diagnostic {
    let message = "`from_parts`: the function returns a part that does not have as many elements as its shape";
    Diagnostic::error("part-length", loc, message)
        .facts(format!("the part at {offset:?} of shape {shape:?} has {found} elements"))
        .expected(format!("{} elements", shape.iter().product::<usize>()))
}

pub(crate) fn rank(name: &str, expected: usize, ty: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("rank", loc, format!("`{name}` is called for {expected} dimensions, and the array is {ty}"))
}

pub(crate) fn data_size(count: usize, shape: &str, loc: &Loc) -> Diagnostic {
    let message = format!("`from_vec`: {count} elements cannot be arranged in the shape {shape}");
    Diagnostic::error("data-size", loc, message).help("one size may be `INFER` if the others determine it")
}

pub(crate) fn dimension(dim: &str, ty: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("dimension", loc, format!("there is no dimension {dim}")).facts(ty)
}

pub(crate) fn dimension_twice(name: &str, dim: usize, ty: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("dimension-twice", loc, format!("`{name}` names dimension {dim} twice")).facts(ty)
}

pub(crate) fn deleted(ty: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("deleted", loc, "the array has been deleted")
        .facts(ty)
        .note("`.delete()` frees the buffers of all clones of the array")
        .help("call `.delete()` after the last use")
}

pub(crate) fn traced_value(ty: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("no-value", loc, "a traced array has no value yet")
        .facts(ty)
        .help("return it from the traced function, and read the result of the call")
}

pub(crate) fn compiled_traced(ty: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("compiled-traced", loc, "a compiled function cannot become a part of a program that is traced")
        .facts(ty)
        .help("call the function itself or its `jit`, which become a part of the program")
}

pub(crate) fn no_value(ty: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("no-value", loc, "the array is only a type and has no value")
        .facts(ty)
        .help("use it to compute types or to lower a program; for values, use `zeros`, `array`, `Array::from_parts`, …")
}

pub(crate) fn element_type(wanted: DType, ty: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("element-type", loc, format!("the elements cannot be read as {wanted}"))
        .facts(ty)
        .help(format!("read them as their own type, or convert the array first: `.astype({wanted:?})`"))
}

/// Returns the mistake of a text that names no element type. `str::parse` does not know the line of its call.
pub(crate) fn dtype_name(name: &str) -> Diagnostic {
    Diagnostic::error("dtype-name", &Loc::UNKNOWN, format!("`{name}` is not the name of an element type"))
        .help("write a short name of JAX: `bool`, `i32`, `u8`, `bf16`, `f32`, `c64`, ..")
}

pub(crate) fn not_one(ty: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("not-one-element", loc, "`item` needs an array with exactly one element").facts(ty)
}

pub(crate) fn mesh_mismatch(a: &Mesh, x: &ShardedType, b: &Mesh, y: &ShardedType, loc: &Loc) -> Diagnostic {
    Diagnostic::error("mesh-mismatch", loc, "the program uses arrays on two different meshes")
        .facts(format!("{} on {}\n{} on {}", ArrayType::of(x), a.with_kinds(), ArrayType::of(y), b.with_kinds()))
        .note(SAME_MESH)
        .help("lay them out on one mesh with `.shard(mesh.sharding(P!(..)))`")
}

const SAME_MESH: &str = "meshes are the same if their axes, the kinds of their axes and their devices are the same";

/// Builds the error for a layout, or for the axes of a `shard_map`, on a mesh that is not the program's. `what` is
/// `layout` or `shard_map`.
pub(crate) fn layout_mesh(what: &str, own: &Mesh, other: &Mesh, loc: &Loc) -> Diagnostic {
    Diagnostic::error("mesh-mismatch", loc, format!("the {what} refers to a mesh that is not the program's mesh"))
        .facts(format!("the {what}'s: {}\nthe program's: {}", other.with_kinds(), own.with_kinds()))
        .note(SAME_MESH)
        .help(format!("use the same mesh for the arguments and the {what}"))
}

pub(crate) fn array_mesh(own: &Mesh, other: &Mesh, ty: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("mesh-mismatch", loc, "the program uses an array on a mesh that is not the program's mesh")
        .facts(format!("the array's: {ty} on {}\nthe program's: {}", other.with_kinds(), own.with_kinds()))
        .note(SAME_MESH)
        .help("move the array to the program's mesh first: `.shard(mesh.sharding(P!(..)))` outside of the program")
}

/// Builds the error for arrays of different dtypes, of which `x` and `y` are two. They can be converted to `to`.
pub(crate) fn dtypes(name: &str, x: &str, y: &str, to: DType, loc: &Loc) -> Diagnostic {
    Diagnostic::error("dtype-mixed", loc, format!("`{name}` needs a single dtype, and is given different ones"))
        .facts(format!("{x} and {y}"))
        .help(format!("convert one of them: `.astype({to:?})`"))
}

pub(crate) fn broadcast(name: &str, x: &str, y: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("broadcast", loc, format!("`{name}`: the arrays cannot be broadcast together"))
        .facts(format!("{x} and {y}"))
        .expected("sizes that are equal or 1, compared from the last dimension")
}

/// Builds the error for an array that is to take a given shape. `to` is the shape, or the type of the elements that it
/// is written to.
pub(crate) fn broadcast_to(name: &str, x: &str, to: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("broadcast", loc, format!("`{name}`: the array cannot be broadcast to this shape"))
        .facts(format!("{x} to {to}"))
        .expected("sizes of the array that are 1 or those of the shape, compared from the last dimension")
}

pub(crate) fn broadcast_batch(name: &str, x: &str, y: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("broadcast", loc, format!("`{name}`: the batch dimensions cannot be broadcast together"))
        .facts(format!("{x} and {y}"))
        .expected("sizes that are equal or 1 in the dimensions before the last two, compared from the right")
}

pub(crate) fn number(name: &str, number: Number, ty: &str, why: Misfit, loc: &Loc) -> Diagnostic {
    let d = Diagnostic::error("number-dtype", loc, format!("`{name}`: {number} cannot be a number of this dtype"));
    let d = d.facts(ty);
    match why {
        Misfit::FloatOnInteger => {
            d.help("write an integer, or use a dtype of floats: arrays are converted by `.astype(F32)`")
        }
        Misfit::BoolOnNumber => d.help("write 0 or 1, or use the dtype bool: comparisons such as `.gt(0)` return it"),
        Misfit::NumberOnBool => {
            d.help("write `true` or `false`, or use a dtype of numbers: arrays are converted by `.astype(I32)`")
        }
        Misfit::OutOfRange => d
            .note("the number is out of the range of the dtype")
            .help("use a number in this range, or a dtype whose range contains it"),
        Misfit::NotComputed => d.note(
            "arrays of this dtype can only be stored, and converted to other dtypes: no number can be used with them",
        ),
    }
}

pub(crate) fn two_numbers(name: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("no-array", loc, format!("`{name}` needs an array among its two operands, and both are numbers"))
        .help("make one with `scalar(value, dtype)`")
}

pub(crate) fn wrong_kind(name: &str, ty: &str, expected: &str, help: &str, loc: &Loc) -> Diagnostic {
    let d = Diagnostic::error("dtype-kind", loc, format!("`{name}` cannot take this dtype here"));
    let d = d.facts(ty).expected(expected);
    if help.is_empty() { d } else { d.help(help) }
}

pub(crate) fn with_facts(code: &'static str, message: String, facts: String, help: &str, loc: &Loc) -> Diagnostic {
    let d = Diagnostic::error(code, loc, message).facts(facts);
    if help.is_empty() { d } else { d.help(help) }
}

pub(crate) fn unwritable(what: &str, path: &Path, why: &std::io::Error, loc: &Loc) -> Diagnostic {
    Diagnostic::error("io", loc, format!("cannot {what} `{}`: {why}", path.display()))
}

pub(crate) fn switch_index(found: String, help: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("condition", loc, "`switch`: the index is not an integer scalar").facts(found).help(help)
}

/// Formats a number of things with an irregular plural: `1 axis`, `2 axes`.
pub(crate) fn counted_as(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

pub(crate) fn too_large(ty: &TensorType, loc: &Loc) -> Diagnostic {
    Diagnostic::error("too-large", loc, "the array has too many bytes or dimensions")
        .facts(ty.short())
        .expected("less than 2^59 bytes, where a size of 0 counts as 1, and at most 255 dimensions")
}

pub(crate) fn too_many(what: &str, n: usize, facts: String, loc: &Loc) -> Diagnostic {
    Diagnostic::error("too-large", loc, format!("`{what}` needs {n} as an i32, whose largest value is {}", i32::MAX))
        .facts(facts)
        .help("split the array or the loop into smaller ones, or make the stride or the dilation smaller")
}

pub(crate) fn step_beyond(what: &str, last: usize, range: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("too-large", loc, format!("`{what}`: the last step, {last}, exceeds {}", i32::MAX))
        .facts(range)
        .note("the index of a loop is an i32")
        .help("loop from 0, and add the start to the index as a wider type in the body")
}

pub(crate) fn reduce_empty(name: &str, dim: usize, ty: &str, loc: &Loc) -> Diagnostic {
    let message = format!("`{name}` of no elements is not defined, and dimension {dim} has size 0");
    Diagnostic::error("reduce-empty", loc, message).facts(ty)
}

pub(crate) fn layout(wanted: &str, found: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("layout", loc, "the array does not have the layout that `assert_sharding` expects")
        .facts(found)
        .expected(wanted)
}

pub(crate) fn layout_unknown(wanted: &str, ty: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error(
        "layout-unknown",
        loc,
        "the layout of the array is unknown while the function is traced: the compiler decides it later",
    )
    .facts(ty)
    .expected(wanted)
    .help("set the layout with `.shard(..)`, or check the result of the call")
}

pub(crate) fn carry(name: &str, path: &str, before: &str, after: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("carry", loc, format!("`{name}`: the body changes the type of the carry"))
        .facts(format!("`{path}` enters as {before} and leaves as {after}"))
        .help("give both the same shape and dtype: a dtype is converted by `.astype(..)` on the initial value")
}

pub(crate) fn carry_layout(name: &str, path: &str, types: [&str; 2], layouts: [&P; 2], loc: &Loc) -> Diagnostic {
    Diagnostic::error("carry", loc, format!("`{name}`: the body changes the layout of the carry"))
        .facts(format!("`{path}` enters as {} and leaves as {}", types[0], types[1]))
        .help(format!("give the initial value the layout after the body: `.shard({})` before the loop", layouts[1]))
        .help(format!("give the result of the body the initial layout: `.shard({})` in the body", layouts[0]))
}

pub(crate) fn branch_layouts(
    name: &str,
    path: &str,
    types: [&str; 2],
    layouts: [&P; 2],
    which: &[String; 2],
    loc: &Loc,
) -> Diagnostic {
    Diagnostic::error("branch-types", loc, format!("`{name}`: the results of the branches have different layouts"))
        .facts(format!("`{path}` is {} {} and {} {}", types[0], which[0], types[1], which[1]))
        .help(format!("give both the same layout: `.shard({})` or `.shard({})`", layouts[0], layouts[1]))
}

pub(crate) fn form(name: &str, what: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("tree-form", loc, format!("`{name}`: {what}"))
        .note(
            "the form is all but the arrays: lengths of vectors, keys of maps, which options are `Some`, fixed values",
        )
        .help("give both the same form; values that the program computes belong in arrays")
}

pub(crate) fn branches(name: &str, path: &str, a: &str, b: &str, which: &[String; 2], loc: &Loc) -> Diagnostic {
    Diagnostic::error("branch-types", loc, format!("`{name}`: the results of the branches have different types"))
        .facts(format!("`{path}` is {a} {} and {b} {}", which[0], which[1]))
}

pub(crate) fn layout_of_auto(ty: &str, loc: &Loc) -> Diagnostic {
    let message = "the compiler decides the layout of this array over axes that are Explicit here";
    Diagnostic::error("layout-unknown", loc, message).facts(ty).help("set the layout first: `.shard(P!(..))`")
}

pub(crate) fn no_mesh_for(name: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("no-mesh", loc, format!("`{name}` needs a mesh, and none is current"))
        .help("call `set_mesh(&mesh)`, or wrap the code in `with_mesh(&mesh, || ..)`")
}

pub(crate) fn axis_mode(name: &str, axis: &str, kind: AxisKind, kinds: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("axis-mode", loc, format!("`{name}` needs {kind:?} axes, and \"{axis}\" is not one here"))
        .mesh_text(kinds)
}

pub(crate) fn axis_mode_groups(name: &str, axis: &str, kinds: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("axis-mode", loc, format!("`{name}` needs whole axes, and only groups of \"{axis}\" are given"))
        .mesh_text(kinds)
        .help(format!("name the axis: \"{axis}\"; `groups(..)` is for collectives"))
}

pub(crate) fn unconstrained(spec: &P, ty: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("spec-unconstrained", loc, "`_` leaves part of the layout open, and nothing else decides it")
        .facts(format!("{ty} as {spec}"))
        .help("write an axis or `None` for each dimension")
}

pub(crate) fn new_sum(ty: &str, axes: &str, loc: &Loc) -> Diagnostic {
    let message = format!("the array is not an unreduced sum over {axes}");
    Diagnostic::error("spec-unreduced", loc, message)
        .facts(ty)
        .help("use `.unreduced` right after the product or reduction that makes the sum: later, the sum is complete")
}

pub(crate) fn unreduced(name: &str, types: &str, axes: &str, reduced: &P, loc: &Loc) -> Diagnostic {
    Diagnostic::error("unreduced", loc, format!("`{name}` cannot take these operands: one is unreduced over {axes}"))
        .facts(types)
        .expected(LINEAR)
        .help(format!("reduce it first: `.shard({reduced})`"))
}

/// The operands with which an op takes an unreduced one, for messages.
const LINEAR: &str = "a sum, or another linear op, of operands that are all unreduced over the same axes; \
                      or a product of one such operand with operands that are equal on all devices along these axes";

pub(crate) fn reduced(name: &str, types: &str, axes: &str, operand: usize, both: &P, loc: &Loc) -> Diagnostic {
    let message = format!(
        "`{name}` combines an array that is reduced over {axes} with one that is not reduced over the same axes"
    );
    Diagnostic::error("reduced", loc, message)
        .facts(types)
        .note("their gradients would differ by a sum over devices that the program does not ask for")
        .help(format!("give both the same state: `.shard({both})` on operand {operand}"))
}

pub(crate) fn escaped(array: &Array, loc: &Loc) -> Diagnostic {
    Diagnostic::error("traced-escaped", loc, "an array is used outside of the trace, loop or branch that made it")
        .facts(array.short_type())
        .note(format!("it was made at {}", context::show(array.node().at)))
        .help("return it from the function, loop or branch that made it, and use the result")
}

pub(crate) fn tree_depth(limit: usize, loc: &Loc) -> Diagnostic {
    Diagnostic::error(
        "tree-depth",
        loc,
        format!("the tree has vectors and maps that are nested more than {limit} deep"),
    )
    .help("store the parts of a long chain in one flat vector")
}

pub(crate) fn nesting(limit: usize, loc: &Loc) -> Diagnostic {
    let message = format!("traced functions, loops and branches are nested more than {limit} deep");
    Diagnostic::error("trace-depth", loc, message)
        .note("tracing a function that calls itself does not end: the values that would stop it are not known during tracing")
        .help("write `fori_loop`, `while_loop` or `scan`, or let a `Static` argument or a Rust number end the recursion")
}

// ── debugging
pub(crate) fn no_layout(ty: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("no-layout", loc, format!("the layout of this {ty} is not known while the function is traced"))
        .note("the compiler chooses it when the program is compiled")
        .help("use `debug::inspect`, which is called with the layout that the compiler chooses")
}

pub(crate) fn print_format(loc: &Loc) -> Diagnostic {
    Diagnostic::error("print-format", loc, "an array is printed with a width or another option")
        .expected("`{}`, which formats an array as its `Display` does")
        .help("leave the options out, or round the array before it is printed")
}

// ── manual code
/// Builds the error for an op that is not linear in an operand that is unreduced over `axes`, or that has another
/// operand that varies over these axes or is unreduced over other axes. `axes` are formatted as in types, and
/// `argument` are the same axes as in Rust code.
pub(crate) fn unreduced_operand(name: &str, types: &[String], axes: &str, argument: &str, loc: &Loc) -> Diagnostic {
    let op = name.rsplit('.').next().unwrap_or(name);
    Diagnostic::error("unreduced", loc, format!("`{op}` cannot take its operands: one is unreduced over {axes}"))
        .facts(types.join(" and "))
        .expected(LINEAR)
        .help(format!("sum it first: `.psum({argument})`"))
}

pub(crate) fn carry_unreduced(name: &str, path: &str, before: &str, after: &str, loc: &Loc) -> Diagnostic {
    let message = format!("`{name}`: the carry is unreduced over different axes before and after the body");
    Diagnostic::error("carry", loc, message)
        .facts(format!("`{path}` enters as {before} and leaves as {after}"))
        .help("reduce the carry with `.psum(..)`, or make the other side unreduced: `.pcast(.., Pcast::Unreduced)` on a varying value")
}

pub(crate) fn branches_unreduced(name: &str, path: &str, types: &[String; 2], loc: &Loc) -> Diagnostic {
    let path = if path.is_empty() { "result" } else { path };
    Diagnostic::error("branch-types", loc, format!("`{name}`: the branches' results are unreduced over different axes"))
        .facts(format!("`{path}` is {} or {}", types[0], types[1]))
        .help("reduce the result with `.psum(..)` in the branches where it is unreduced")
}

pub(crate) fn not_manual(what: &str, axes: &str, loc: &Loc) -> Diagnostic {
    let message =
        format!("`{what}` over {axes} is called outside of `shard_map`, and no `vmap` around it has this axis");
    Diagnostic::error("not-manual", loc, message)
        .help("call it in the function that `shard_map` maps, or name the axis of a batch: `vmap(..).axis_name(..)`")
}

/// Builds the error for an axis that a function of manual code cannot use. `why` is a relative clause about the axis.
pub(crate) fn manual_axis(what: &str, axis: &str, why: &str, kinds: &str, help: Option<&str>, loc: &Loc) -> Diagnostic {
    let d = Diagnostic::error("manual-axis", loc, format!("{what} over axis \"{axis}\", {why}")).mesh_text(kinds);
    help.into_iter().fold(d, Diagnostic::help)
}

pub(crate) fn batch_axis_twice(what: &str, axis: &str, axes: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("manual-axis", loc, format!("`{what}` over axis \"{axis}\" of a batch, which is named twice"))
        .facts(axes)
}

pub(crate) fn axis_groups(what: &str, axis: &str, size: usize, groups: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("axis-groups", loc, format!("`{what}`: these groups are not the groups of a sub-axis of \"{axis}\""))
        .facts(format!("{groups}, axis \"{axis}\" has size {size}"))
        .expected("each position once, in groups of two or more that are ascending blocks or strides of the axis, as in [[0, 1], [2, 3]] or [[0, 2], [1, 3]]")
}

pub(crate) fn mixed_states(what: &str, ty: &str, axes: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error(
        "mixed-states",
        loc,
        format!("`{what}` over {axes} needs a value that is in the same state along all of them"),
    )
    .facts(ty)
    .help("call it once for the axes of each state: replicated values then count once for each device")
}

/// Builds the error for an unreduced operand. `axes` are those of the collective as Rust code names them, and `open`
/// are the axes over which the operand is unreduced, as in types.
pub(crate) fn unreduced_value(what: &str, ty: &str, axes: &str, open: &str, loc: &Loc) -> Diagnostic {
    let message = format!("`{what}` over {axes} cannot take a value that is unreduced over {open}");
    Diagnostic::error("wrong-state", loc, message).facts(ty).help("reduce it first: `.psum(..)` or `.psum_scatter(..)`")
}

/// Builds the error for a cast that does not exist. `to` is a state, and `from` says which states are cast to it.
pub(crate) fn no_cast(to: &str, from: &str, ty: &str, axes: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("wrong-state", loc, format!("`pcast` over {axes} cannot cast this value to {to}"))
        .facts(ty)
        .expected(format!("a value that is {from}"))
}

pub(crate) fn divergent(what: &str, axes: &str, p: &Predicate, shared: &str, kinds: &str, loc: &Loc) -> Diagnostic {
    let message =
        format!("the devices along {shared} may not all reach this `{what}` over {axes}, and then it never completes");
    Diagnostic::error("divergent-collective", loc, message)
        .facts(format!(
            "it is called inside the `{}` at {}, which depends on a value that varies over {shared}",
            p.name,
            context::show(p.at)
        ))
        .mesh_text(kinds)
        .help("move it outside, or make the numbers that decide that value equal on these devices: `.pmax(..)`")
}

pub(crate) fn matmul_letter(what: &str, letter: char, spec: &str, expected: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("matmul-letter", loc, format!("`{what}`: `{letter}` cannot be the split letter of {spec:?}"))
        .expected(format!("a letter that occurs {expected}"))
}

/// A dimension of an array, and the axes along which it is to be split into equal parts.
pub(crate) struct Split<'a> {
    pub ty: &'a str,
    pub dim: usize,
    pub size: usize,
    /// The axes as Rust code names them: `"X"`, `("X", "Y")`.
    pub axes: &'a str,
    pub count: usize,
}

impl Split<'_> {
    fn facts(&self, ty: &str) -> String {
        let Split { dim, size, axes, count, .. } = self;
        format!("{ty}: dim {dim} has size {size}, and there are {count} positions along {axes}")
    }

    fn help(&self) -> String {
        let Split { dim, size, count, .. } = self;
        match count {
            0 => "map a batch that is not empty".into(),
            _ => format!("make dim {dim} a multiple of {count} ({} with padding)", size.next_multiple_of(*count)),
        }
    }
}

pub(crate) fn indivisible(what: &str, split: &Split<'_>, loc: &Loc) -> Diagnostic {
    let message = format!("`{what}` cannot split a dimension evenly over {}", split.axes);
    Diagnostic::error("collective-uneven", loc, message).facts(split.facts(split.ty)).help(split.help())
}

pub(crate) fn not_stacked(what: &str, split: &Split<'_>, loc: &Loc) -> Diagnostic {
    let message = format!("`{what}`: dimension {} must have one element for each position along the axes", split.dim);
    let Split { dim, size, count, .. } = split;
    let help = match count {
        0 => split.help(),
        _ if size.is_multiple_of(*count) => {
            format!("to split the dimension, write it as `{dim}` in place of `stacked(..)`")
        }
        _ => format!("make the size of dim {dim} equal to {count}"),
    };
    Diagnostic::error("collective-uneven", loc, message).facts(split.facts(split.ty)).help(help)
}

pub(crate) fn spec_uneven(spec: &P, split: &Split<'_>, mesh: &base::Mesh, loc: &Loc) -> Diagnostic {
    let message = format!("dimension {} cannot be split evenly over the axes of the layout", split.dim);
    Diagnostic::error("spec-uneven", loc, message)
        .facts(split.facts(&format!("{} as {spec}", split.ty)))
        .mesh(mesh)
        .help(format!("{}, or leave {} out of the layout", split.help(), split.axes))
}

pub(crate) fn permutation(what: &str, wrong: &str, pairs: &str, axes: &str, count: usize, loc: &Loc) -> Diagnostic {
    let expected = match count.checked_sub(1) {
        Some(last) => format!("each position from 0 to {last} at most once as a source, and at most once as a target"),
        None => NO_POSITIONS.into(),
    };
    positions(what, wrong, pairs, axes, count, loc).expected(expected)
}

pub(crate) fn shuffle(what: &str, given: usize, from: &str, axes: &str, count: usize, loc: &Loc) -> Diagnostic {
    positions(what, &format!("{given} positions are given, and the axes have {count}"), from, axes, count, loc)
        .expected(format!("{count} positions: entry i is the position whose value position i gets"))
}

pub(crate) fn no_position(what: &str, position: usize, axes: &str, count: usize, loc: &Loc) -> Diagnostic {
    let (wrong, shown) = (format!("there is no position {position}"), position.to_string());
    let expected = count.checked_sub(1).map_or(NO_POSITIONS.into(), |last| format!("a position from 0 to {last}"));
    positions(what, &wrong, &shown, axes, count, loc).expected(expected)
}

/// The expected text of messages about positions in an empty batch.
const NO_POSITIONS: &str = "no positions, because the batch is empty";

fn positions(what: &str, wrong: &str, given: &str, axes: &str, count: usize, loc: &Loc) -> Diagnostic {
    Diagnostic::error("permutation", loc, format!("`{what}`: {wrong}"))
        .facts(format!("{given} over {axes}, which has {count} positions"))
}

/// Puts the function's name and the path of the leaf in front of a message about an argument or a result of a
/// `shard_map`. `what` is `in_specs` or `out_specs`.
pub(crate) fn in_shard_map(d: Diagnostic, name: &str, what: &str, leaf: &str) -> Diagnostic {
    let message = format!("shard_map of {name}, {what} of `{leaf}`: {}", d.message);
    Diagnostic { message, ..d }
}

pub(crate) fn spec_not_manual(spec: &str, axis: &str, kinds: &str, loc: &Loc) -> Diagnostic {
    let message = format!("the spec names axis \"{axis}\", which this shard_map does not make manual");
    Diagnostic::error("spec-not-manual", loc, message)
        .facts(spec)
        .mesh_text(kinds)
        .help("leave the axis out of the spec: layouts over other axes stay as they are outside")
        .help("or add the axis with `.axes(..)`, if no enclosing `shard_map` has made it manual")
}

pub(crate) fn layout_manual(axis: &str, ty: &str, kinds: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("layout-manual", loc, format!("the layout uses axis \"{axis}\", which is manual here"))
        .facts(ty)
        .mesh_text(kinds)
        .help("inside `shard_map` each device has its own value: use collectives to move data")
}

pub(crate) fn no_in_specs(name: &str, types: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error(
        "in-specs",
        loc,
        format!("the `shard_map` of {name} has no `in_specs`, and not all of its axes are Explicit"),
    )
    .facts(types)
    .note("they can only be left out if all axes of the `shard_map` are Explicit")
    .help("add `.in_specs(..)`: one `P!(..)` for all arguments, or a tuple with one for each")
}

pub(crate) fn not_replicated(ty: &str, spec: &str, axes: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error(
        "out-spec-varying",
        loc,
        format!("the spec requires a result that is replicated along {axes}, and it varies over {axes}"),
    )
    .facts(format!("{ty} as {spec}"))
    .help(format!(
        "make it replicated with `.psum(..)`, `.pmax(..)` or `.all_gather_replicated(..)`, or add {axes} to the spec"
    ))
}

pub(crate) fn result_unreduced(ty: &str, axes: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error(
        "out-spec-unreduced",
        loc,
        format!("the result is unreduced over {axes}, and its spec does not say so"),
    )
    .facts(ty)
    .help("reduce it with `.psum(..)` or `.psum_scatter(..)`, or, over Explicit axes, add `.unreduced(..)` to the spec")
}

/// Builds the error for an argument in another layout. `is_new_sum` is true if the spec is unreduced over an axis over
/// which the argument is not.
pub(crate) fn in_spec_differs(ty: &str, spec: &P, is_new_sum: bool, loc: &Loc) -> Diagnostic {
    let message =
        "the argument's layout differs from its spec, and arrays are never moved implicitly over Explicit axes";
    let d = Diagnostic::error("in-spec-layout", loc, message).facts(format!("{ty} as {spec}"));
    match is_new_sum {
        false => d.help(format!(
            "move it first: `.shard({spec})`, or, if all mapped axes are Explicit, leave out `.in_specs(..)`"
        )),
        true => d.help("an array that is not unreduced cannot become so: remove `.unreduced(..)` from the spec"),
    }
}

/// Builds the error for an argument of which dimension `dim` is split by an Explicit axis that is not mapped, where the
/// axes of its spec do not come first, or another mapped axis comes before that Explicit axis. `axes` are the axes over
/// which the dimension would have to be split.
pub(crate) fn in_spec_order(ty: &str, spec: &P, dim: usize, axes: &str, loc: &Loc) -> Diagnostic {
    let message = "in the argument's layout, the axes of its spec, and no others of the shard_map, must come before \
                   other Explicit axes: arrays are never moved implicitly over them";
    Diagnostic::error("in-spec-layout", loc, message)
        .facts(format!("{ty} as {spec}"))
        .expected(format!("dimension {dim} split over {axes}"))
        .help("move it to this layout first, or name all axes of the dimension in `.axes(..)` and in the spec")
}

pub(crate) fn stacked_once(what: &str, ty: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("dimension", loc, format!("`{what}`: one dimension is stacked and the other is not"))
        .facts(ty)
        .help("make both `stacked(..)`, or neither")
}

pub(crate) fn ragged_dot(operands: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("ragged-dot", loc, "the shapes of the operands of `ragged_dot` do not fit")
        .facts(operands)
        .expected("rows [m,k], matrices [g,k,n], and the number of rows for each matrix: integers [g]")
}

pub(crate) fn ragged_rows(facts: String, loc: &Loc) -> Diagnostic {
    Diagnostic::error("ragged-rows", loc, "`ragged_all_to_all`: the rows do not fit the array that receives them")
        .facts(facts)
        .expected("two arrays of the same dtype, with at least one dimension and equal sizes after the first")
}

pub(crate) fn ragged_lists(facts: Vec<String>, axes: &str, count: usize, loc: &Loc) -> Diagnostic {
    let d = Diagnostic::error(
        "ragged-lists",
        loc,
        "`ragged_all_to_all`: offsets and sizes must be integer lists of one type, \
         with equally many entries for each device",
    );
    let expected = format!(
        "one-dimensional integer arrays of one dtype and one length, a positive multiple of the {count} devices along {axes}"
    );
    facts.into_iter().fold(d, Diagnostic::facts).expected(expected)
}

pub(crate) fn future_unfinished(what: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("future-unfinished", loc, format!("the future of `{what}` is dropped before it is finished"))
        .help("call `.done()` on the future")
}

pub(crate) fn future_elsewhere(what: &str, at: &Location<'_>, loc: &Loc) -> Diagnostic {
    let message = format!("`{what}` is finished in another loop, branch or function than it was started in");
    Diagnostic::error("future-elsewhere", loc, message)
        .note(format!("it was started at {}", context::show(at)))
        .help("call `.done()` where it was started, and use the result here")
}

pub(crate) fn result_reduced(ty: &str, spec: &str, axes: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("out-spec-reduced", loc, format!("the result is reduced over {axes}, and its spec does not say so"))
        .facts(format!("{ty} as {spec}"))
        .help("add `.reduced(..)` to the spec for Explicit axes, or make the result replicated: use `.all_gather_replicated(..)`, or leave out `.pcast(..)`")
}

pub(crate) fn result_not_reduced(ty: &str, spec: &str, axes: &str, loc: &Loc) -> Diagnostic {
    let message = format!("the spec requires a result that is reduced over {axes}, and it is not");
    Diagnostic::error("out-spec-reduced", loc, message)
        .facts(format!("{ty} as {spec}"))
        .help(format!("drop {axes} from `.reduced(..)`, or cast the result: `.pcast(.., Pcast::Reduced)`"))
}

pub(crate) fn result_no_summand(ty: &str, spec: &str, axes: &str, loc: &Loc) -> Diagnostic {
    let message =
        format!("the spec requires a result that is unreduced over {axes}, and it is replicated along {axes}");
    Diagnostic::error("out-spec-unreduced", loc, message).facts(format!("{ty} as {spec}")).help(format!(
        "drop {axes} from the spec, or count the result once for each device: `.pcast(.., Pcast::Varying)`"
    ))
}

pub(crate) fn captured_split(ty: &str, loc: &Loc) -> Diagnostic {
    let message = "the mapped function captures an array that is split or unreduced, and arrays are never moved implicitly over Explicit axes";
    Diagnostic::error("captured-layout", loc, message)
        .facts(ty)
        .help("pass it as an argument with its own spec, or gather it first: `.shard(P!())`")
}

pub(crate) fn grad_integer(path: &str, ty: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("grad-integer", loc, format!("`{path}` has no derivative"))
        .facts(ty)
        .note("only floating-point and complex numbers have one")
        .help(
            "select other arguments by `.argnums(..)`, convert it to a float, or, in reverse mode, write \
             `.allow_int()` for a gradient of `float0`",
        )
}

pub(crate) fn jacobian_integer(path: &str, ty: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("grad-integer", loc, format!("`{path}` has no derivative"))
        .facts(ty)
        .note("only floating-point and complex numbers have one")
        .help(
            "convert it to a float, or return it as the second part of a pair and write `.has_aux()`; `jacfwd` accepts \
             it",
        )
}

pub(crate) fn float0(of: &TensorType, loc: &Loc) -> Diagnostic {
    Diagnostic::error("float0", loc, "a `float0` array has no elements to compute with")
        .facts(format!("the gradient of {}", of.short()))
        .note("the gradient of integers and bools is zero everywhere")
        .help("leave it out: optimizers and functions of trees, such as `tree::map`, do so by themselves")
}

/// Returns the error for tangents, cotangents or results of a rule that do not have the expected types. `what` says in
/// the singular what they are. `wrong` has the path, the type and the expected type of each.
pub(crate) fn transform_types(name: &str, what: &str, wrong: &[[String; 3]], loc: &Loc) -> Diagnostic {
    let list = |k: usize| wrong.iter().map(|w| format!("{}: {}", w[0], w[k])).collect::<Vec<_>>().join(", ");
    Diagnostic::error("transform-types", loc, format!("`{name}`: a {what} does not have the expected type"))
        .facts(list(1))
        .expected(list(2))
}

/// Returns the error for mapped arguments of `vmap` whose mapped dimensions have different sizes or are missing, or do
/// not have the size `asked` if one was asked for. `found` shows the dimension, path and type of each.
pub(crate) fn batch_sizes(found: &str, asked: Option<usize>, loc: &Loc) -> Diagnostic {
    let wanted = asked.map_or("the same size".into(), |size| format!("the size {size}"));
    let d = Diagnostic::error(
        "batch-size",
        loc,
        format!("`vmap`: the mapped arguments do not all have a mapped dimension of {wanted}"),
    )
    .facts(found)
    .help("write `None` in `in_axes` for an argument that all indices of the batch share, or capture it");
    match asked {
        Some(size) => d.expected(format!("the `axis_size` {size}")),
        None => d,
    }
}

pub(crate) fn batch_nothing(loc: &Loc) -> Diagnostic {
    Diagnostic::error("batch-size", loc, "`vmap`: no argument is mapped, so the size of the batch is not known")
        .help("map an argument with a dimension in `in_axes`, or set the size with `.axis_size(n)`")
}

pub(crate) fn mixed_axes(name: &str, along: &str, of_mesh: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("mixed-axes", loc, format!("`{name}` names axes of a batch together with other axes"))
        .facts(format!("of a batch: {along}, other: \"{of_mesh}\""))
        .help("call it once for each kind of axes")
}

pub(crate) fn batch_axes(what: &str, found: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("batch-axes", loc, format!("`vmap`: the `{what}` do not fit the arrays"))
        .facts(found)
        .help("write one dimension or `None` for all arrays, or one for each")
}

pub(crate) fn spmd_axis_name(found: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("spmd-axis", loc, "`vmap`: `spmd_axis_name` takes whole axes of a mesh, each once")
        .facts(found)
        .help("name each axis once, without groups")
}

pub(crate) fn batch_result(found: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("batch-result", loc, "`vmap`: a result differs along the batch, and its `out_axes` is `None`")
        .facts(found)
        .help("name a dimension for it in `out_axes`, or reduce it over the batch: `.psum(name)` with an `axis_name`")
}

pub(crate) fn batch_layouts(found: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("batch-layout", loc, "`vmap`: the mapped dimensions of the arguments are split differently")
        .facts(found)
        .help("bring them to one layout first: `.shard(P!(..))`")
}

pub(crate) fn truncated_normal(low: f64, high: f64, ty: &str, loc: &Loc) -> Diagnostic {
    let message = format!("`truncated_normal`: the lower limit {low} is not less than the upper limit {high}");
    with_facts("truncated-normal", message, ty.into(), "the lower limit must be less than the upper one", loc)
}

pub(crate) fn nothing_between(low: f64, high: f64, ty: &TensorType, loc: &Loc) -> Diagnostic {
    let message = format!("`truncated_normal`: there is no {} between {low} and {high}", ty.dtype.short());
    let help = "draw in a dtype with more digits, or choose limits that are further apart";
    with_facts("truncated-normal", message, ty.short(), help, loc)
}

pub(crate) fn combined_type(name: &str, path: &str, [before, after]: &[String; 2], loc: &Loc) -> Diagnostic {
    let path = if path.is_empty() { "array" } else { path };
    let message = format!("`{name}`: the function changes the type of what it combines");
    Diagnostic::error("combined-type", loc, message)
        .facts(format!("`{path}` is {before} before and {after} after"))
        .help("the function gets parts of the arrays, and must return arrays of the same shapes and dtypes")
}

pub(crate) fn not_a_vector(name: &str, ty: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("vector", loc, format!("`{name}` needs an array with one dimension here"))
        .facts(ty)
        .help("arrange the elements along one dimension: `.reshape([INFER])`")
}

pub(crate) fn odd_halves(ty: &str, dim: usize, n: usize, loc: &Loc) -> Diagnostic {
    let message = format!("`glu`: dimension {dim} of size {n} cannot be split into 2 parts");
    with_facts("split", message, ty.into(), "one half is multiplied with the other: the size must be even", loc)
}

pub(crate) fn norm_scale(name: &str, what: &str, a: &str, x: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("norm-scale", loc, format!("`{name}`: the {what} does not fit the array"))
        .facts(format!("{a} for {x}"))
        .expected(format!("a {what} with one dimension, of the size of the last dimension of the array"))
}

pub(crate) fn dropout_rate(rate: f64, ty: &str, loc: &Loc) -> Diagnostic {
    let message = format!("`dropout`: the rate {rate} is not between 0 and 1");
    let help = "the rate is the probability that an element is set to 0, as 0.1 for one in ten";
    with_facts("dropout-rate", message, ty.into(), help, loc)
}

/// Builds the error for labels of the wrong shape. `wanted` is the shape of labels of this dtype, or `None` if the
/// logits have no dimension of classes.
pub(crate) fn labels(logits: &str, labels: &str, wanted: Option<&[usize]>, loc: &Loc) -> Diagnostic {
    let d = Diagnostic::error("labels", loc, "`softmax_cross_entropy`: the labels do not fit the logits")
        .facts(format!("logits {logits}, labels {labels}"));
    match wanted {
        Some(shape) => d
            .expected(format!("labels of shape {shape:?}"))
            .help("integer labels have a class for each example; labels of floats have a probability for each logit"),
        None => d.expected("logits whose last dimension is the classes"),
    }
}

pub(crate) fn no_classes(logits: &str, labels: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("index-bounds", loc, "`softmax_cross_entropy`: there are examples, and no classes to choose from")
        .facts(format!("logits {logits}, labels {labels}"))
}

pub(crate) fn attention_shapes(types: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("attention-shapes", loc, "`dot_product_attention`: the arrays do not fit each other")
        .facts(types)
        .expected("query [b,q,heads,d], key [b,k,kv_heads,d] and value [b,k,kv_heads,e], or all without b")
}

pub(crate) fn attention_heads(heads: usize, kv_heads: usize, types: &str, loc: &Loc) -> Diagnostic {
    let message =
        format!("`dot_product_attention`: {heads} heads of queries cannot be divided among {kv_heads} heads of keys");
    let help = "the number of heads of keys must be positive, and divide that of heads of queries";
    with_facts("attention-heads", message, types.into(), help, loc)
}

pub(crate) fn attention_mask(what: &str, ty: &str, scores: &[usize; 4], loc: &Loc) -> Diagnostic {
    let message = format!("`dot_product_attention`: the {what} cannot be broadcast to the scores");
    Diagnostic::error("attention-mask", loc, message)
        .facts(ty)
        .expected(format!("a shape that is broadcast to {scores:?}: batch, heads, queries, keys"))
}

/// Builds the error for a window. `facts` shows the option that is wrong, and `spatial` is the number of spatial
/// dimensions, for each of which it must have an entry.
pub(crate) fn window(name: &str, facts: &str, spatial: usize, ty: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("window", loc, format!("`{name}`: the windows or their options do not fit the array"))
        .facts(format!("{facts}, for {ty}"))
        .expected(format!(
            "an array [batch, spatial.., features], {}, and no 0 in windows, strides and dilations",
            counted_as(spatial, "entry", "entries")
        ))
}

pub(crate) fn conv_ranks(ranks: [usize; 2], types: &str, loc: &Loc) -> Diagnostic {
    let [input, kernel] = ranks;
    let message = format!(
        "`conv`: the input has {input} dimensions and the kernel {kernel}: both need the same number, and at least 2"
    );
    conv_shapes(message, types, loc)
}

pub(crate) fn conv_features(kernel: usize, input: usize, groups: usize, types: &str, loc: &Loc) -> Diagnostic {
    let given = if groups == 1 { "the input".to_string() } else { format!("each of {groups} groups of the input") };
    conv_shapes(format!("`conv`: the kernel takes {kernel} features, and {given} has {input}"), types, loc)
}

fn conv_shapes(message: String, types: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("conv-shapes", loc, message)
        .facts(types)
        .expected("input [batch, spatial.., features] and kernel [spatial.., features / groups, results]")
}

pub(crate) fn conv_groups(groups: usize, features: [usize; 2], types: &str, loc: &Loc) -> Diagnostic {
    let [input, result] = features;
    let message = format!(
        "`conv`: {input} features of the input and {result} of the result cannot be split into {groups} groups"
    );
    with_facts("conv-groups", message, types.into(), "the number of groups must divide both", loc)
}

pub(crate) fn init_fans(name: &str, ty: &str, loc: &Loc) -> Diagnostic {
    let message = format!("`{name}`: the shape lacks a dimension of the inputs or of the outputs");
    let help = "the inputs are the last dimension but one, and the outputs the last one, unless `Scaling::inputs` and \
                `Scaling::outputs` name others";
    with_facts("init-fans", message, ty.into(), help, loc)
}

pub(crate) fn schedule(name: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("schedule", loc, format!("`{name}`: the schedule has no steps"))
        .help("pass a positive number of steps")
}

pub(crate) fn schedule_steps(name: &str, steps: usize, loc: &Loc) -> Diagnostic {
    Diagnostic::error("number-dtype", loc, format!("`{name}`: {steps} steps do not fit an i32"))
        .help(format!("pass at most {} steps", i32::MAX))
}

pub(crate) fn warmup(warmup_steps: usize, steps: usize, loc: &Loc) -> Diagnostic {
    Diagnostic::error("schedule", loc, "`warmup_cosine` needs steps in the warm-up and after it")
        .facts(format!("{steps} steps in all, {warmup_steps} of them in the warm-up"))
        .help("pass a positive number of steps of the warm-up, and a larger number of all steps")
}

pub(crate) fn optimizer_setting(name: &str, value: &str, expected: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("optimizer-setting", loc, format!("the optimizer's `{name}` cannot be {value}"))
        .expected(expected)
}

pub(crate) fn gradient_type(path: &str, grad: &str, param: &str, loc: &Loc) -> Diagnostic {
    let whose = if path.is_empty() { "a parameter".into() } else { format!("`{path}`") };
    Diagnostic::error("gradient-type", loc, format!("the gradient of {whose} does not have the parameter's type"))
        .facts(format!("the gradient is {grad}, and the parameter {param}"))
        .help("compute the gradient for these parameters; a gradient of another dtype is converted by `.astype(..)`")
}
