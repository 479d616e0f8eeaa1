//! What can be wrong with a program, in words: each function takes raw facts and gives the diagnostic.

use crate::dtype::{Misfit, Number};
use crate::manual::Predicate;
use crate::{Array, ArrayType, DType, Mesh, P, context};
use shardwise_base::{self as base, AxisKind, Diagnostic, Loc};
use shardwise_engine::ShardedType;
use shardwise_ir::TensorType;
use std::panic::Location;

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

/// `found`: the index, or its type; `conversion`: what makes an integer of such a value.
pub(crate) fn switch_index(found: String, conversion: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("condition", loc, "`switch`: the index is not an integer scalar")
        .facts(found)
        .help(format!("convert a scalar first: `{conversion}`"))
}

pub(crate) fn too_large(ty: &TensorType, loc: &Loc) -> Diagnostic {
    Diagnostic::error("too-large", loc, "an array of more elements, or dimensions, than there can be")
        .facts(ty.short())
        .expected("at most 2^59 bytes, and 255 dimensions")
}

/// `what` counts `n` positions in 32 bits.
pub(crate) fn too_many(what: &str, n: usize, facts: String, loc: &Loc) -> Diagnostic {
    Diagnostic::error("too-large", loc, format!("`{what}` counts {n} positions, and i32 holds {}", i32::MAX))
        .facts(facts)
        .help("split what is counted")
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

pub(crate) fn carry_layout(name: &str, path: &str, types: [&str; 2], layouts: [&P; 2], loc: &Loc) -> Diagnostic {
    Diagnostic::error("carry", loc, format!("`{name}`: the body gives the carry another layout"))
        .facts(format!("`{path}` enters as {} and leaves as {}", types[0], types[1]))
        .help(format!("lay out what enters as it leaves: `.shard({})` before the loop", layouts[1]))
        .help(format!("lay out what leaves as it entered: `.shard({})` in the body", layouts[0]))
}

pub(crate) fn branch_layouts(
    name: &str,
    path: &str,
    types: [&str; 2],
    layouts: [&P; 2],
    which: &[String; 2],
    loc: &Loc,
) -> Diagnostic {
    Diagnostic::error("branch-types", loc, format!("`{name}`: the branches give results of different layouts"))
        .facts(format!("`{path}` is {} {} and {} {}", types[0], which[0], types[1], which[1]))
        .help(format!("lay out both alike: `.shard({})` or `.shard({})`", layouts[0], layouts[1]))
}

pub(crate) fn form(name: &str, what: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("tree-form", loc, format!("`{name}`: {what}"))
}

pub(crate) fn branches(name: &str, path: &str, a: &str, b: &str, which: &[String; 2], loc: &Loc) -> Diagnostic {
    Diagnostic::error("branch-types", loc, format!("`{name}`: the branches give results of different types"))
        .facts(format!("`{path}` is {a} {} and {b} {}", which[0], which[1]))
}

pub(crate) fn layout_of_auto(ty: &str, loc: &Loc) -> Diagnostic {
    let message = "the compiler decides how this array lies over axes that are Explicit here";
    Diagnostic::error("layout-unknown", loc, message).facts(ty).help("say it first: `.shard(P!(..))`")
}

pub(crate) fn no_mesh_for(name: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("no-mesh", loc, format!("`{name}` refers to no mesh"))
        .help("call `set_mesh(&mesh)`, or wrap the code in `with_mesh(&mesh, || ..)`")
}

pub(crate) fn axis_mode(name: &str, axis: &str, kind: AxisKind, kinds: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("axis-mode", loc, format!("`{name}` of \"{axis}\", which is no {kind:?} axis here"))
        .mesh_text(kinds)
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

pub(crate) fn reduced(name: &str, types: &str, axes: &str, operand: usize, both: &P, loc: &Loc) -> Diagnostic {
    let message = format!("`{name}` of an array that is reduced over {axes} and one that is not");
    Diagnostic::error("reduced", loc, message)
        .facts(types)
        .note("their gradients would differ by a sum over devices, which nobody asks for")
        .help(format!("make both alike: `.shard({both})` of operand {operand}"))
}

pub(crate) fn escaped(array: &Array, loc: &Loc) -> Diagnostic {
    Diagnostic::error("traced-escaped", loc, "an array is used outside of the trace, loop or branch that made it")
        .facts(array.short_type())
        .note(format!("it was made at {}", context::show(array.node().at)))
        .help("return it from the traced function, and use the result")
}

pub(crate) fn tree_depth(limit: usize, loc: &Loc) -> Diagnostic {
    Diagnostic::error("tree-depth", loc, format!("vectors and maps of a tree are nested more than {limit} deep"))
        .help("keep the parts of a long chain side by side in one vector")
}

pub(crate) fn nesting(limit: usize, loc: &Loc) -> Diagnostic {
    let message = format!("traced functions, loops and branches are nested more than {limit} deep");
    Diagnostic::error("trace-depth", loc, message)
        .note("a function that calls itself is traced without end: the values that would end it are not known yet")
        .help("write `fori_loop`, `while_loop` or `scan`; or end the recursion by a `Static` argument or a Rust number")
}

// ── manual code
/// `axes`: as types show them; `argument`: as Rust code names them.
pub(crate) fn unreduced_operand(name: &str, types: &[String], axes: &str, argument: &str, loc: &Loc) -> Diagnostic {
    let op = name.rsplit('.').next().unwrap_or(name);
    Diagnostic::error("unreduced", loc, format!("`{op}` of a value that is still to be summed over {axes}"))
        .facts(types.join(" and "))
        .expected("an op that is linear in the summands, of values that are equal along these axes otherwise")
        .help(format!("sum it first: `.psum({argument})`"))
}

pub(crate) fn carry_unreduced(name: &str, path: &str, before: &str, after: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("carry", loc, format!("`{name}`: the carry is a summand on one side of the body only"))
        .facts(format!("`{path}` enters as {before} and leaves as {after}"))
        .help("sum what is unreduced with `.psum(..)`, or start from a summand: `.pcast(.., Pcast::Unreduced)` of what varies")
}

pub(crate) fn branches_unreduced(name: &str, path: &str, types: &[String; 2], loc: &Loc) -> Diagnostic {
    let path = if path.is_empty() { "result" } else { path };
    Diagnostic::error("branch-types", loc, format!("`{name}`: the result is a summand of some branches only"))
        .facts(format!("`{path}` is {} or {}", types[0], types[1]))
        .help("sum what is unreduced with `.psum(..)`")
}

/// `what`: `psum`, `axis_index`.
pub(crate) fn not_manual(what: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error(
        "not-manual",
        loc,
        format!("`{what}` speaks of devices, and there is one program for all of them here"),
    )
    .help("call it in the function that `shard_map` maps")
}

/// An axis that a function of manual code names and cannot: `why` says which way.
pub(crate) fn manual_axis(what: &str, axis: &str, why: &str, kinds: &str, help: Option<&str>, loc: &Loc) -> Diagnostic {
    let d = Diagnostic::error("manual-axis", loc, format!("{what} over axis \"{axis}\", {why}")).mesh_text(kinds);
    help.into_iter().fold(d, Diagnostic::help)
}

pub(crate) fn axis_groups(what: &str, axis: &str, size: usize, groups: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("axis-groups", loc, format!("`{what}`: these groups are no part of axis \"{axis}\""))
        .facts(format!("{groups}, axis \"{axis}\" has size {size}"))
        .expected("each position once, in groups of one size that lie at equal steps, as in [[0, 1], [2, 3]] or [[0, 2], [1, 3]]")
}

pub(crate) fn mixed_states(what: &str, ty: &str, axes: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("mixed-states", loc, format!("`{what}` over {axes}, along which the value is not in one state"))
        .facts(ty)
        .help("where it is equal and each device shall count, say so: `.pcast(.., Pcast::Varying)`")
}

pub(crate) fn wrong_state(what: &str, ty: &str, state: &str, axes: &str, help: &str, loc: &Loc) -> Diagnostic {
    let d =
        Diagnostic::error("wrong-state", loc, format!("`{what}` over {axes} of a value that is {state} along them"));
    let d = d.facts(ty);
    if help.is_empty() { d } else { d.help(help) }
}

pub(crate) fn divergent(what: &str, axes: &str, p: &Predicate, shared: &str, kinds: &str, loc: &Loc) -> Diagnostic {
    let message =
        format!("`{what}` over {axes} where the devices along {shared} do not all come: it could not complete");
    Diagnostic::error("divergent-collective", loc, message)
        .facts(format!(
            "it stands in `{}` at {}, which decides on what varies over {shared}",
            p.name,
            context::show(p.at)
        ))
        .mesh_text(kinds)
        .help("take it out of there, or decide on what is equal on these devices: `.pmax(..)` of what varies")
}

pub(crate) fn matmul_letter(what: &str, letter: char, spec: &str, expected: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("matmul-letter", loc, format!("`{what}`: `{letter}` cannot lie in parts in {spec:?}"))
        .expected(format!("a letter that stands {expected}"))
}

/// A dimension of an array, and the devices over which it is to lie in equal parts.
pub(crate) struct Split<'a> {
    pub ty: &'a str,
    pub dim: usize,
    pub size: usize,
    /// `"X"`, `("X", "Y")`.
    pub axes: &'a str,
    pub count: usize,
}

impl Split<'_> {
    /// With `ty` as the message has it.
    fn facts(&self, ty: &str) -> String {
        let Split { dim, size, axes, count, .. } = self;
        format!("{ty}: dim {dim} has size {size}, there are {count} devices along {axes}")
    }

    fn help(&self) -> String {
        let Split { dim, size, count, .. } = self;
        format!("make dim {dim} a multiple of {count} ({} with padding)", size.next_multiple_of(*count))
    }
}

pub(crate) fn indivisible(what: &str, split: &Split<'_>, loc: &Loc) -> Diagnostic {
    let message = format!("`{what}` cannot split a dimension evenly over {}", split.axes);
    Diagnostic::error("collective-uneven", loc, message).facts(split.facts(split.ty)).help(split.help())
}

pub(crate) fn not_stacked(what: &str, split: &Split<'_>, loc: &Loc) -> Diagnostic {
    let message = format!("`{what}`: dimension {} must have one element for each device", split.dim);
    Diagnostic::error("collective-uneven", loc, message)
        .facts(split.facts(split.ty))
        .help(format!("name the dimension as `{}` to split it in parts", split.dim))
}

pub(crate) fn spec_uneven(spec: &P, split: &Split<'_>, mesh: &base::Mesh, loc: &Loc) -> Diagnostic {
    let message = format!("dimension {} cannot be split as the layout asks", split.dim);
    Diagnostic::error("spec-uneven", loc, message)
        .facts(split.facts(&format!("{} as {spec}", split.ty)))
        .mesh(mesh)
        .help(format!("{}, or leave {} out of the layout", split.help(), split.axes))
}

pub(crate) fn permutation(what: &str, wrong: &str, pairs: &str, axes: &str, count: usize, loc: &Loc) -> Diagnostic {
    let expected = format!("each position from 0 to {} at most once as a source, and once as a target", count - 1);
    positions(what, wrong, pairs, axes, count, loc).expected(expected)
}

pub(crate) fn shuffle(what: &str, given: usize, from: &str, axes: &str, count: usize, loc: &Loc) -> Diagnostic {
    positions(what, &format!("{given} positions are given"), from, axes, count, loc)
        .expected(format!("{count} positions: for each device the one that it takes the value of"))
}

pub(crate) fn no_position(what: &str, position: usize, axes: &str, count: usize, loc: &Loc) -> Diagnostic {
    let (wrong, shown) = (format!("there is no position {position}"), position.to_string());
    positions(what, &wrong, &shown, axes, count, loc).expected(format!("a position from 0 to {}", count - 1))
}

fn positions(what: &str, wrong: &str, given: &str, axes: &str, count: usize, loc: &Loc) -> Diagnostic {
    Diagnostic::error("permutation", loc, format!("`{what}`: {wrong}"))
        .facts(format!("{given} over {axes}, which has {count} positions"))
}

/// A leaf that does not fit its spec: `what` is `in_specs` or `out_specs`.
pub(crate) fn in_shard_map(d: Diagnostic, name: &str, what: &str, leaf: &str) -> Diagnostic {
    let message = format!("shard_map of {name}, {what} of `{leaf}`: {}", d.message);
    Diagnostic { message, ..d }
}

/// `spec`: with the array's type.
pub(crate) fn spec_not_manual(spec: &str, axis: &str, kinds: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("spec-not-manual", loc, format!("the spec names axis \"{axis}\", which is not manual here"))
        .facts(spec)
        .mesh_text(kinds)
        .help("add it with `.axes(..)`, or leave it out of the spec: the others lie as they do outside")
}

pub(crate) fn layout_manual(axis: &str, ty: &str, kinds: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("layout-manual", loc, format!("a layout over axis \"{axis}\", which is manual here"))
        .facts(ty)
        .mesh_text(kinds)
        .help("in `shard_map` a value is one device's own; use the collectives")
}

pub(crate) fn no_in_specs(name: &str, types: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("in-specs", loc, format!("the shard_map of {name} does not say how its arguments are split"))
        .facts(types)
        .help("add `.in_specs(..)`: one `P!(..)` for all, or one for each in a tuple")
}

pub(crate) fn not_replicated(ty: &str, spec: &str, axes: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error(
        "out-spec-varying",
        loc,
        format!("the spec claims a result that is equal along {axes}, and it varies over {axes}"),
    )
    .facts(format!("{ty} as {spec}"))
    .help(format!(
        "make it equal with `.psum(..)`, `.pmax(..)` or `.all_gather_equal(..)`, or put {axes} into the spec"
    ))
}

pub(crate) fn result_unreduced(ty: &str, axes: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("out-spec-unreduced", loc, format!("the result is still to be summed over {axes}"))
        .facts(ty)
        .help("sum it: `.psum(..)`, `.psum_scatter(..)`")
}

pub(crate) fn in_spec_differs(ty: &str, spec: &P, loc: &Loc) -> Diagnostic {
    let message = "the argument is laid out otherwise than its spec, and nothing is moved unasked over explicit axes";
    let d = Diagnostic::error("in-spec-layout", loc, message).facts(format!("{ty} as {spec}"));
    match spec.unreduced_axes() {
        [] => d.help(format!("move it: `.shard({spec})`; or leave `.in_specs(..)` out: the arguments' types say it")),
        _ => d.help("a sum that has been taken cannot be opened again: take `.unreduced(..)` from the spec"),
    }
}

pub(crate) fn stacked_once(what: &str, ty: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("dimension", loc, format!("`{what}`: one dimension is stacked and the other is not"))
        .facts(ty)
        .help("make both `stacked(..)`, or none")
}

pub(crate) fn ragged_dot(operands: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("ragged-dot", loc, "`ragged_dot` of arrays that do not fit each other")
        .facts(operands)
        .expected("rows [m,k], matrices [g,k,n], and how many rows each matrix has: integers [g]")
}

pub(crate) fn ragged_rows(facts: String, loc: &Loc) -> Diagnostic {
    Diagnostic::error("ragged-rows", loc, "`ragged_all_to_all` into an array that does not hold such rows")
        .facts(facts)
        .expected("two arrays of one dtype, whose dimensions after the first are equal")
}

pub(crate) fn ragged_lists(facts: Vec<String>, axes: &str, count: usize, loc: &Loc) -> Diagnostic {
    let d = Diagnostic::error("ragged-lists", loc, "`ragged_all_to_all`: offsets and sizes do not fit the devices");
    let expected =
        format!("one-dimensional integer arrays of one type, with an entry for each device: {axes} has {count}");
    facts.into_iter().fold(d, Diagnostic::facts).expected(expected)
}

pub(crate) fn future_unfinished(what: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("future-unfinished", loc, format!("`{what}` is never finished"))
        .help("call `.done()` on what it gives")
}

pub(crate) fn future_elsewhere(what: &str, at: &Location<'_>, loc: &Loc) -> Diagnostic {
    Diagnostic::error("future-elsewhere", loc, format!("`{what}` is finished in another loop, branch or function"))
        .note(format!("it was started at {}", context::show(at)))
        .help("finish it where it was started, and use the result here")
}

pub(crate) fn result_reduced(ty: &str, spec: &str, axes: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("out-spec-reduced", loc, format!("the result is reduced over {axes}, and its spec does not say so"))
        .facts(format!("{ty} as {spec}"))
        .help("say it with `.reduced(..)` of Explicit axes; or make the result equal: `.all_gather_equal(..)`, or no `.pcast(..)`")
}

pub(crate) fn result_not_reduced(ty: &str, spec: &str, axes: &str, loc: &Loc) -> Diagnostic {
    let message = format!("the spec claims a result that is reduced over {axes}, and it is not");
    Diagnostic::error("out-spec-reduced", loc, message)
        .facts(format!("{ty} as {spec}"))
        .help(format!("drop {axes} from `.reduced(..)`, or cast the result: `.pcast(.., Pcast::Reduced)`"))
}

pub(crate) fn result_no_summand(ty: &str, spec: &str, axes: &str, loc: &Loc) -> Diagnostic {
    let message = format!("the spec leaves the result to be summed over {axes}, and it is equal along {axes}");
    Diagnostic::error("out-spec-unreduced", loc, message)
        .facts(format!("{ty} as {spec}"))
        .help(format!("drop {axes} from the spec; or let it count once for each device: `.pcast(.., Pcast::Varying)`"))
}

pub(crate) fn captured_split(ty: &str, loc: &Loc) -> Diagnostic {
    let message = "the function that is mapped uses an array from outside that is split, and nothing is moved unasked over explicit axes";
    Diagnostic::error("captured-layout", loc, message)
        .facts(ty)
        .help("pass it as an argument with a spec of its own, or gather it first: `.shard(P!())`")
}
