"""What JAX makes of one collective in a shard_map: the type of its result, or what its error says.

`testdata/manual/cases.txt` has one case on a line: `program | operand | in spec | manual axes | JAX's answer`. Without an
argument the answers are worked out anew and compared; `--write` makes the table anew.

A program is a chain of steps, such as `pcast X unreduced; psum X`; `out SPEC` at its end asks for that out spec. Specs are
`X,-`, `XY,-` and `X,-{R:Y}`; the mesh is X=4, Y=2, of Auto axes. An in spec of the form `LAYOUT as SPEC` is one on a mesh of
Explicit axes, of an operand that lies so, and `LAYOUT as typed` has no in spec; the type of the whole result follows then, if
there is an out spec. An error is its class, and the axes, numbers and types that its first lines name.
"""

import itertools
import re
import sys

import tables  # before jax: it asks for eight devices
import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P
from tables import DTYPES, SHORT

SPECS = ["X,-", "-,Y", "X,Y", "XY,-", "YX,-", "-,-"]
AXES = ["X", "Y", "XY", "YX"]
# What stands in messages of JAX's own making, and says nothing of the program.
NOISE = re.compile(r"https?://\S+|args\[\d+\]|0x[0-9a-f]+|\(this warning.*|rank \d+|rank=\d+|and \d+ <=? \d+|\(and.*\)")


def axes_of(word):
    return word if len(word) == 1 else tuple(word)


def spec_of(text):
    dims, state, axes = re.fullmatch(r"([^{]+)(?:\{([UR]):(\w+)\})?", text).groups()
    entries = [None if e == "-" else axes_of(e) for e in dims.split(",")] if dims != "()" else []
    named = {"U": "unreduced", "R": "reduced"}
    return P(*entries, **({named[state]: set(axes)} if state else {}))


def permutation(word, count):
    if word.startswith("shift"):
        return [(i, (i + int(word[5:])) % count) for i in range(count)]
    return [tuple(map(int, pair.split(">"))) for pair in word.split(",")]


def count_of(axes):
    sizes = {"X": 4, "Y": 2}
    total = 1
    for axis in axes:
        total *= sizes.get(axis, 1)
    return total


def step(x, words):
    if words == ["add_number"]:
        return x + 1
    op, axes = words[0], words[1]
    over = axes_of(axes)
    if op in ("psum", "pmean", "pmax", "pmin"):
        return getattr(lax, op)(x, over)
    if op in ("all_gather", "all_gather_replicated", "all_gather_reduced"):
        to = {"all_gather": "varying", "all_gather_replicated": "invarying", "all_gather_reduced": "reduced"}[op]
        return lax.all_gather(x, over, axis=int(words[2]), tiled=words[3] == "tiled", to=to)
    if op == "psum_scatter":
        return lax.psum_scatter(x, over, scatter_dimension=int(words[2]), tiled=words[3] == "tiled")
    if op == "all_to_all":
        return lax.all_to_all(x, over, int(words[2]), int(words[3]), tiled=words[4] == "tiled")
    if op == "ppermute":
        return lax.ppermute(x, over, permutation(words[2], count_of(axes)))
    if op == "pshuffle":
        return lax.pshuffle(x, over, [int(i) for i in words[2].split(",")])
    if op == "pcast":
        return lax.pcast(x, over, to=words[2])
    if op == "axis_index":
        return lax.axis_index(over)
    assert op == "add_index", op
    return x + lax.axis_index(over).astype(x.dtype)


def facts(error):
    """The axes, numbers and types that a message names, before its advice."""
    text = NOISE.sub("", str(error).split("Check the")[0])
    types = re.findall(r"(?:float32|f32|bfloat16|int32|bool)\[[^\]]*\](?:\{[^}]*\})?", text)
    for name in types:
        text = text.replace(name, " ")
    axes = sorted(set(re.findall(r"\b[XYZ]\b", text)))
    numbers = sorted(set(map(int, re.findall(r"(?<![\w.])-?\d+\b", text))))
    for name, short in SHORT.items():
        types = [t.replace(name, short) for t in types]
    return " ".join([f"error {type(error).__name__}", *axes, *map(str, numbers), *sorted(set(types))])


def shown(ty):
    """A type, as the tables write it."""
    name, rest = ty.lstrip("~").split("[", 1)
    return f"{SHORT[name]}[{rest.split('(')[0] if '({' in rest else rest}"


def answer(mesh, program, operand, in_spec, manual):
    layout, _, in_spec = in_spec.rpartition(" as ")
    if layout:
        explicit = jax.make_mesh((4, 2), ("X", "Y"), axis_types=(AxisType.Explicit,) * 2)
        with jax.set_mesh(explicit):
            return ask(program, operand, layout, in_spec, manual)
    return ask(program, operand, layout, in_spec, manual)


def ask(program, operand, layout, in_spec, manual):
    dtype, sizes = operand[:-1].split("[")
    shape = tuple(int(n) for n in sizes.split(",") if n)
    *steps, last = [s.split() for s in program.split(";")]
    has_out = last[0] == "out"
    steps += [] if has_out else [last]
    found = []

    def body(x):
        for words in steps:
            x = step(x, words)
        found.append(shown(str(jax.typeof(x))))
        return x if has_out else jnp.zeros(())

    def whole(x):
        specs = {} if in_spec == "typed" else {"in_specs": spec_of(in_spec)}
        out_specs = spec_of(last[1]) if has_out else P()
        x = jax.sharding.reshard(x, spec_of(layout)) if layout else x
        y = jax.shard_map(body, out_specs=out_specs, axis_names=set(manual), **specs)(x)
        if layout and has_out:
            found[-1] += " -> " + shown(str(jax.typeof(y)))
        return y

    try:
        jax.jit(whole).lower(jax.ShapeDtypeStruct(shape, DTYPES[dtype]))
    except Exception as e:  # every class of error is an answer
        return facts(e)
    return found[-1]


def cases():
    """(program, operand, in spec, manual axes)."""
    whole = "f32[16,16]"
    for op, spec, axes in itertools.product(["psum", "pmax"], SPECS, AXES):
        yield f"{op} {axes}", whole, spec, "XY"
    for op, spec, axes in itertools.product(["pmean", "pmin"], SPECS, ["X", "YX"]):
        yield f"{op} {axes}", whole, spec, "XY"
    for spec, axes, dim, how in itertools.product(SPECS[:4], AXES, [0, 1], ["tiled", "stacked"]):
        yield f"all_gather {axes} {dim} {how}", whole, spec, "XY"
    for op, spec, axes in itertools.product(["all_gather_replicated", "all_gather_reduced"], SPECS, ["X", "XY"]):
        yield f"{op} {axes} 0 tiled", whole, spec, "XY"
    for spec, axes, dim, how in itertools.product(SPECS, AXES, [0, 1], ["tiled", "stacked"]):
        yield f"psum_scatter {axes} {dim} {how}", whole, spec, "XY"
    for spec, axes, dims, how in itertools.product(SPECS[:4], AXES, ["0 1", "1 0", "1 1"], ["tiled", "stacked"]):
        yield f"all_to_all {axes} {dims} {how}", whole, spec, "XY"
    for spec, axes in itertools.product(SPECS[:3], AXES):
        yield f"ppermute {axes} shift1", whole, spec, "XY"
        yield f"axis_index {axes}", whole, spec, "XY"
        yield f"add_index {axes}", whole, spec, "XY"
    for spec, axes, to in itertools.product(SPECS, ["X", "XY"], ["varying", "unreduced", "reduced"]):
        yield f"pcast {axes} {to}", whole, spec, "XY"
    chains = [
        "pcast X unreduced; psum X",
        "pcast X unreduced; psum XY",
        "pcast X unreduced; psum_scatter X 1 tiled",
        "pcast X unreduced; pmax X",
        "pcast X unreduced; all_gather X 0 tiled",
        "pcast X unreduced; ppermute X shift1",
        "pcast X unreduced; pcast X varying",
        "pcast Y reduced; pcast Y varying",
        "pcast Y reduced; psum Y",
        "pcast Y reduced; add_index Y",
        "pcast Y varying; psum XY",
        "psum X; psum X",
        "psum X; all_gather X 0 tiled",
        "all_gather X 0 tiled; psum_scatter X 0 tiled",
        "all_gather_replicated X 0 tiled; pcast X varying",
        "all_gather_reduced X 0 tiled; pcast X varying",
        "psum_scatter X 1 tiled; all_to_all X 0 1 tiled",
        "pcast X unreduced; add_index Y",
    ]
    for program, spec in itertools.product(chains, ["X,-", "X,Y"]):
        yield program, whole, spec, "XY"
    for program in [
        "psum Z",
        "psum XX",
        "all_gather Z 0 tiled",
        "axis_index Z",
        "pcast Z varying",
        "all_gather X 2 tiled",
        "all_gather X 5 stacked",
        "all_gather X -1 tiled",
        "all_gather X -1 stacked",
        "psum_scatter X 2 tiled",
        "psum_scatter X -1 tiled",
        "all_to_all X 2 0 tiled",
        "all_to_all X 0 2 tiled",
        "all_to_all X -1 0 tiled",
        "ppermute X 0>1,0>2",
        "ppermute X 0>1,2>1",
        "ppermute X 0>9",
        "ppermute X 0>1",
        "pshuffle X 3,2,1,0",
        "pshuffle X 1,1,3,0",
        "pshuffle X 0,1",
        "pcast X reduced; pcast X unreduced",
    ]:
        yield program, whole, "X,-", "XY"
    for dtype, program in itertools.product(["i32", "bool", "bf16"], ["psum X", "pmean X", "pmax X", "psum_scatter X 1 tiled"]):
        yield program, f"{dtype}[16,16]", "X,-", "XY"
    for out, spec in itertools.product(["X,-", "-,Y", "X,Y", "XY,-", "()", "X,-,-", "Z", "X,X"], ["X,-", "X,Y", "-,-"]):
        yield f"out {out}", whole, spec, "XY"
    for program in ["psum X; out ()", "psum X; out X", "all_gather X 0 tiled; out ()", "all_gather_replicated X 0 tiled; out ()"]:
        yield program, whole, "X,-", "XY"
    yield "pcast X unreduced; out ()", whole, "X,-", "XY"
    yield "pcast Y reduced; out X", whole, "X,-", "XY"
    for spec, operand in [("X,-", "f32[6,4]"), ("-,XY", "f32[8,12]"), ("X,-,Y", whole), ("Z,-", whole), ("X,X", whole)]:
        yield "out X,-", operand, spec, "XY"
    for program in ["psum X", "psum Y", "all_gather X 0 tiled", "axis_index XY", "psum_scatter X 1 tiled", "out X,-", "out Y,-"]:
        yield program, whole, "X,-", "X"
    yield "psum X", whole, "X,Y", "X"
    for case in explicit_cases():
        yield case[0], whole, *case[1:]


def explicit_cases():
    """(program, in spec, manual axes), on Explicit axes."""
    layouts = ["X,-", "X,Y", "X,-{R:Y}", "-,-{R:X}", "-,-{R:XY}", "X,-{U:Y}"]
    for layout, spec in itertools.product(layouts, [*layouts, "typed"]):
        yield "axis_index X", f"{layout} as {spec}", "XY"
    for layout, out in itertools.product(layouts, [*layouts, "()", "-,-{U:Y}"]):
        yield f"out {out}", f"{layout} as typed", "XY"
    over_y = ["psum Y", "psum XY", "pmax Y", "ppermute Y shift1", "add_index Y", "add_index X", "add_number"]
    over_y += [f"pcast Y {to}" for to in ("varying", "reduced", "unreduced")]
    over_y += ["all_gather Y 0 tiled", "all_gather_replicated Y 0 tiled", "psum_scatter Y 1 tiled", "all_to_all Y 0 1 tiled"]
    for layout, program in itertools.product(layouts[2:], over_y):
        yield program, f"{layout} as typed", "XY"
    for program in [
        "all_gather_reduced X 0 tiled; out -,-{R:X}",
        "all_gather_reduced X 0 tiled; out ()",
        "all_gather_reduced X 0 tiled; out -,-{R:XY}",
        "pcast Y reduced; out X,-{R:Y}",
        "pcast Y reduced; pcast Y varying; out X,Y",
        "psum X; pcast XY reduced; out -,-{R:XY}",
        "pcast Y varying; pcast Y unreduced; out X,-{U:Y}",
        "pcast Y varying; out X,-{U:Y}",
        "out X,-{R:Z}",
        "out X,-{R:X}",
    ]:
        yield program, "X,- as X,-", "XY"
    for spec in ["X,-{R:Z}", "X,-{R:X}"]:
        yield "axis_index X", f"X,- as {spec}", "XY"
    for spec, manual in [("X,-", "X"), ("X,-{R:Y}", "X"), ("typed", "X"), ("-,-{R:Y}", "Y"), ("typed", "Y")]:
        yield "axis_index " + manual, f"X,-{{R:Y}} as {spec}", manual
        yield "out " + spec.replace("typed", "X,-"), f"X,-{{R:Y}} as {spec}", manual
    for program, spec in [("out X,-{R:Y}", "X,-{R:Y}"), ("pcast Y reduced; out X,-{R:Y}", "X,-"), ("out X,-", "X,-{R:Y}")]:
        yield program, spec, "XY"


if __name__ == "__main__":
    title = "What JAX makes of each collective"
    sys.exit(tables.main("manual/cases.txt", title, AxisType.Auto, cases(), answer))
