"""What JAX's Explicit mode makes of one op: the type of its result, or the class of its error.

`testdata/explicit/cases.txt` has one case on a line: `op | operand types | JAX's answer`. Without an argument the answers
are worked out anew and compared; `--write` makes the table anew: every op of OPS with layouts drawn evenly.

Types are `f32[8@X,16@(X,Y)]{U:Y}`; the mesh is X=4, Y=2.
"""

import itertools
import re
import sys

import tables  # before jax: it asks for eight devices
import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P
from tables import DTYPES, SHORT

MATRIX = ["-,-", "X,-", "Y,-", "-,X", "-,Y", "X,Y", "Y,X", "XY,-", "-,XY"]
VECTOR = ["-", "X", "Y", "XY"]
CUBE = ["-,-,-", "X,-,-", "-,X,-", "-,-,X", "X,Y,-", "X,-,Y", "-,X,Y", "Y,-,X", "XY,-,-", "-,Y,X"]
SCALAR = [""]


def specs(rank):
    return [SCALAR, VECTOR, MATRIX, CUBE][rank]


def ints(text):
    return [int(n) for n in text.split(",") if n]


# Each op: how JAX writes it, and the operands' dtypes and shapes.
OPS = {
    "add": (lambda x, y: x + y, ["f32[8,16]", "f32[8,16]"]),
    "mul": (lambda x, y: x * y, ["f32[8,16]", "f32[8,16]"]),
    "maximum": (jnp.maximum, ["f32[8,16]", "f32[16]"]),
    "lt": (lambda x, y: x < y, ["f32[8,16]", "f32[8,1]"]),
    "sub_column": (lambda x, y: x - y[:, None], ["f32[8,16]", "f32[8]"]),
    "exp": (jnp.exp, ["f32[8,16]"]),
    "neg": (lambda x: -x, ["f32[8,16]"]),
    "astype": (lambda x: x.astype(jnp.int32), ["f32[8,16]"]),
    "add_number": (lambda x: x + 1.0, ["f32[8,16]"]),
    "select": (jnp.where, ["bool[8,16]", "f32[8,16]", "f32[8,16]"]),
    "broadcast_to": (lambda x: jnp.broadcast_to(x, (3, 8, 16)), ["f32[8,16]"]),
    "expand_dims": (lambda x: jnp.expand_dims(x, 1), ["f32[8,16]"]),
    "squeeze": (lambda x: jnp.squeeze(x, 1), ["f32[8,1,16]"]),
    "transpose": (lambda x: jnp.transpose(x, (2, 0, 1)), ["f32[8,16,8]"]),
    "repeat": (lambda x: jnp.repeat(x, 2, axis=0), ["f32[8,16]"]),
    "matmul": (jnp.matmul, ["f32[8,16]", "f32[16,32]"]),
    "matvec": (jnp.matmul, ["f32[8,16]", "f32[16]"]),
    "batch_matmul": (jnp.matmul, ["f32[8,8,16]", "f32[8,16,8]"]),
    "einsum_outer": (lambda x, y: jnp.einsum("i,j->ij", x, y), ["f32[8]", "f32[16]"]),
    "einsum_swap": (lambda x, y: jnp.einsum("bd,df->fb", x, y), ["f32[8,16]", "f32[16,32]"]),
    "einsum_batch": (lambda x, y: jnp.einsum("bik,bjk->bij", x, y), ["f32[8,8,16]", "f32[8,8,16]"]),
    "sum_0": (lambda x: jnp.sum(x, 0), ["f32[8,16]"]),
    "sum_1": (lambda x: jnp.sum(x, 1), ["f32[8,16]"]),
    "sum_all": (jnp.sum, ["f32[8,16]"]),
    "max_keep": (lambda x: jnp.max(x, 1, keepdims=True), ["f32[8,16]"]),
    "argmax": (lambda x: jnp.argmax(x, 0), ["f32[8,16]"]),
    "mean": (lambda x: jnp.mean(x, 0), ["f32[8,16]"]),
    "var": (lambda x: jnp.var(x, 1), ["f32[8,16]"]),
    "softmax": (lambda x: jax.nn.softmax(x, 1), ["f32[8,16]"]),
    "logsumexp": (lambda x: jax.nn.logsumexp(x, 0), ["f32[8,16]"]),
    "ravel": (lambda x: jnp.reshape(x, (128,)), ["f32[8,16]"]),
    "split_first": (lambda x: lax.reshape(x, (4, 2, 16)), ["f32[8,16]"]),
    "split_last": (lambda x: lax.reshape(x, (8, 2, 8)), ["f32[8,16]"]),
    "split_both": (lambda x: lax.reshape(x, (4, 2, 2, 8)), ["f32[8,16]"]),
    "merge_first": (lambda x: lax.reshape(x, (64, 16)), ["f32[8,8,16]"]),
    "merge_last": (lambda x: lax.reshape(x, (8, 128)), ["f32[8,8,16]"]),
    "split_small": (lambda x: lax.reshape(x, (2, 4, 16)), ["f32[8,16]"]),
    "concatenate_0": (lambda x, y: jnp.concatenate([x, y], 0), ["f32[8,16]", "f32[8,16]"]),
    "concatenate_1": (lambda x, y: jnp.concatenate([x, y], 1), ["f32[8,16]", "f32[8,8]"]),
    "stack": (lambda x, y: jnp.stack([x, y], 0), ["f32[8,16]", "f32[8,16]"]),
    "slice_even": (lambda x: lax.slice(x, (0, 0), (4, 16)), ["f32[8,16]"]),
    "slice_odd": (lambda x: lax.slice(x, (0, 0), (5, 16)), ["f32[8,16]"]),
    "slice_stride": (lambda x: lax.slice(x, (0, 0), (8, 16), (1, 2)), ["f32[8,16]"]),
    "row": (lambda x: x[3], ["f32[8,16]"]),
    "column": (lambda x: x[:, 3], ["f32[8,16]"]),
    "dynamic_slice": (lambda x, i: lax.dynamic_slice(x, (i, jnp.int32(0)), (4, 16)), ["f32[8,16]", "i32[]"]),
    "dynamic_row": (lambda x, i: lax.dynamic_slice(x, (i, jnp.int32(0)), (1, 16)), ["f32[8,16]", "i32[]"]),
    "pad": (lambda x: jnp.pad(x, ((0, 0), (2, 2))), ["f32[8,16]"]),
    "flip": (lambda x: lax.rev(x, (0,)), ["f32[8,16]"]),
    "roll": (lambda x: jnp.roll(x, 1, 1), ["f32[8,16]"]),
    "take": (lambda t, i: t.at[i].get(mode="clip"), ["f32[16,8]", "i32[8]"]),
    "scatter_set": (lambda t, i, v: t.at[i].set(v), ["f32[16,8]", "i32[8]", "f32[8,8]"]),
    "scatter_add": (lambda t, i, v: t.at[i].add(v), ["f32[16,8]", "i32[8]", "f32[8,8]"]),
    "update_slice": (
        lambda x, u, i: lax.dynamic_update_slice(x, u, (i, jnp.int32(0))),
        ["f32[8,16]", "f32[4,16]", "i32[]"],
    ),
    "cumsum": (lambda x: jnp.cumsum(x, 0), ["f32[8,16]"]),
    "cummax": (lambda x: lax.cummax(x, 1), ["f32[8,16]"]),
    "sort": (lambda x: jnp.sort(x, 1), ["f32[8,16]"]),
    "argsort": (lambda x: jnp.argsort(x, 0), ["f32[8,16]"]),
    "top_k": (lambda x: lax.top_k(x, 4)[0], ["f32[8,16]"]),
    "scan_sum": (lambda x: lax.scan(lambda c, r: (c + r, c), jnp.zeros_like(x[0]), x)[0], ["f32[8,16]"]),
}
PER_OP = 7
PER_OP_OF_SEVERAL = 22
# Ops of sums yet to be taken, and of what is reduced: every state of each operand.
OF_SUMS = [
    "add", "mul", "lt", "exp", "neg", "astype", "add_number", "select", "expand_dims", "matmul", "sum_0", "sum_1", "max_keep",
    "softmax", "split_first", "concatenate_0", "stack", "slice_even", "column", "pad", "update_slice", "take",
]  # fmt: skip
STATES = ["", "{U:Y}", "{R:Y}", "@Y"]


def parse(text):
    dtype, dims, states = re.fullmatch(r"(\w+)\[(.*)\](?:\{(.*)\})?", text).groups()
    sizes, entries = [], []
    for dim in re.findall(r"(\d+)(?:@(\w+|\([\w,]+\)))?", dims):
        sizes.append(int(dim[0]))
        axes = tuple(dim[1].strip("()").split(",")) if dim[1] else None
        entries.append(axes[0] if axes and len(axes) == 1 else axes)
    state, _, axes = (states or "").partition(":")
    return DTYPES[dtype], tuple(sizes), P(*entries, unreduced={axes} if state == "U" else set(), reduced={axes} if state == "R" else set())


def answer(mesh, op, types):
    f = OPS[op][0]
    found = []

    def traced(*args):
        out = f(*args)
        found.append(str(jax.typeof(out)))
        return out

    args = []
    for text in types.split():
        dtype, shape, spec = parse(text)
        args.append(jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, spec)))
    try:
        jax.jit(traced).trace(*args)
    except Exception as e:  # every class of error is an answer
        return f"error {type(e).__name__}"
    name, rest = found[-1].lstrip("~").split("[", 1)
    return f"{SHORT[name]}[{rest}"


def with_layout(ty, layout):
    """`f32[8,16]` with `X,-`: `f32[8@X,16]`."""
    dtype, dims = ty[:-1].split("[")
    sizes = [d for d in dims.split(",") if d]
    words = {"-": "", "X": "@X", "Y": "@Y", "XY": "@(X,Y)"}
    entries = [words[e] for e in layout.split(",")] if layout else []
    return f"{dtype}[{','.join(s + e for s, e in zip(sizes, entries, strict=True))}]"


def is_even(ty):
    _, shape, spec = parse(ty)
    sizes = {"X": 4, "Y": 2}
    for n, entry in zip(shape, spec):
        for axis in (entry,) if isinstance(entry, str) else entry or ():
            if n % sizes[axis]:
                return False
            n //= sizes[axis]
    return True


def cases():
    """Every op with layouts spread evenly over all that its operands may have; the seed of the walk is the op's place."""
    for place, (op, (_, operands)) in enumerate(OPS.items()):
        ranks = [len([d for d in o[:-1].split("[")[1].split(",") if d]) for o in operands]
        every = [
            [with_layout(o, s) for o, s in zip(operands, layouts, strict=True)]
            for layouts in itertools.product(*(specs(r) for r in ranks))
        ]
        every = [types for types in every if all(map(is_even, types))]
        if len([o for o in operands if "[]" not in o]) > 1:
            split = [types for types in every if sum("@" in t for t in types) > 1]
            rest = [types for types in every if sum("@" in t for t in types) <= 1]
            yield from ((op, t) for t in evenly(split, PER_OP_OF_SEVERAL, place))
            yield from ((op, t) for t in evenly(rest, 3, place))
        else:
            yield from ((op, t) for t in evenly(every, PER_OP, place))
    for op in OF_SUMS:
        is_index = ["f32" not in o for o in OPS[op][1]]
        choices = [[o] if whole else [in_state(o, s) for s in STATES] for o, whole in zip(OPS[op][1], is_index, strict=True)]
        for types in itertools.product(*choices):
            if any("{" in t for t in types):
                yield op, list(types)


def in_state(ty, state):
    """`f32[8,16]` with `{U:Y}`: `f32[8,16]{U:Y}`; with `@Y`: `f32[8,16@Y]`."""
    return ty[:-1] + "@Y]" if state == "@Y" else ty + state


def evenly(items, count, start):
    if len(items) <= count:
        return items
    return [items[(start + i * len(items) // count) % len(items)] for i in range(count)]


if __name__ == "__main__":
    title = "What JAX's Explicit mode makes of each op"
    table = ((op, " ".join(types)) for op, types in cases())
    sys.exit(tables.main("explicit/cases.txt", title, AxisType.Explicit, table, answer))
