"""The chapter's examples in JAX: twins of `crates/shardwise/examples`, whose values are compared with these.

    python oracle/chapter.py FOLDER c05_slice_and_average p1_1_average ...

`FOLDER/EXAMPLE` has what the Rust example wrote with `--dump`: the results of its variants in order, as `00.npy`, ....
A twin gives the same list. The meshes are those of eight devices. Prints a line for each example; exits with 1 if a value
differs, or if there are more values on one side.
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from harness import P, mesh

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

Array = jax.Array
Values = Iterator[Array]
TWINS: dict[str, Callable[[], Values]] = {}
# The largest difference, of the largest value.
TOLERANCES = {"int32": 0.0, "float32": 2e-5, "bfloat16": 2.0**-6}


def twin(values: Callable[[], Values]) -> Callable[[], Values]:
    """Decorator: the values of the example of the same name."""
    TWINS[values.__name__] = values
    return values


def normals(seed: int, *shapes: tuple[int, ...], dtype=jnp.float32) -> list[Array]:
    """Normal numbers, from a key for each array."""
    keys = jax.random.split(jax.random.key(seed), len(shapes))
    return [jax.random.normal(key, shape, dtype) for key, shape in zip(keys, shapes)]


def mapped(f: Callable, in_specs: object, out_specs: object) -> Callable:
    """A function that runs on each device, compiled."""
    return jax.jit(jax.shard_map(f, in_specs=in_specs, out_specs=out_specs))


def ring(by: int, axis: str = "Y") -> list[tuple[int, int]]:
    """Everyone sends to the one `by` positions on."""
    n = lax.axis_size(axis)
    return [(i, (i + by) % n) for i in range(n)]


def slice_rows(x: Array, start: Array, size: int) -> Array:
    return lax.dynamic_slice_in_dim(x, start, size)


# ── the chapter's code


def laid_out(x: Array, on: jax.sharding.Mesh, *axes: str | None) -> Array:
    return jax.device_put(x, jax.NamedSharding(on, P(*axes)))


@twin
def c01_auto_matmul() -> Values:
    on = mesh(X=4, Y=2)
    x = laid_out(jnp.zeros((8, 2048), jnp.bfloat16), on, "X", "Y")
    w = laid_out(jnp.zeros((2048, 8192), jnp.bfloat16), on, "Y", None)
    matmul_square = lambda x, w: jnp.einsum("bd,df->bf", jnp.square(x), w)
    yield jax.jit(matmul_square, out_shardings=jax.NamedSharding(on, P("X", None)))(x, w)


@twin
def c02_constraint() -> Values:
    with jax.set_mesh(mesh(X=4, Y=2)):

        def mlp(x: Array, w_in: Array, w_out: Array) -> Array:
            hidden = lax.with_sharding_constraint(jnp.einsum("bd,df->bf", x, w_in), P("X", "Y"))
            return jnp.einsum("bf,df->bd", hidden, w_out)

        w = jnp.ones((2048, 8192), jnp.bfloat16)
        yield jax.jit(mlp)(jnp.ones((8, 2048), jnp.bfloat16), w, w)


@twin
def c03_explicit_types() -> Values:
    with jax.set_mesh(mesh(X=4, Y=2, explicit=["X", "Y"])):
        yield jax.jit(lambda x: x * 2)(jax.reshard(jnp.arange(64).reshape(8, 8), P("X", "Y")))


@twin
def c04_explicit_einsum() -> Values:
    with jax.set_mesh(mesh(X=4, Y=2, explicit=["X", "Y"])):
        x = jnp.zeros((8, 2048), jnp.bfloat16, out_sharding=P("X", "Y"))
        w = jnp.zeros((2048, 8192), jnp.bfloat16, out_sharding=P("Y", None))
        yield jax.jit(lambda x, w: jnp.einsum("bd,df->bf", jnp.square(x), w, out_sharding=P("X", "Y")))(x, w)


@twin
def c05_slice_and_average() -> Values:
    with jax.set_mesh(mesh(x=4, y=2)):
        f = mapped(lambda x: lax.pmean(x[:4], ("x", "y")), P(("x", "y")), P())
        yield f(jnp.arange(512))


def allgather_matmul(lhs: Array, rhs: Array) -> Array:
    """A[B_X, D_Y] · W[D, F_Y] -> Out[B_X, F_Y], the chunks of A passed around the ring."""
    n, me, chunk = lax.axis_size("Y"), lax.axis_index("Y"), lhs.shape[1]
    acc = lax.pcast(jnp.zeros((lhs.shape[0], rhs.shape[1]), lhs.dtype), ("X", "Y"), to="varying")

    def step(i: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        acc, lhs = carry
        acc += lhs @ slice_rows(rhs, (me + i) % n * chunk, chunk)
        return acc, lax.ppermute(lhs, "Y", ring(-1))

    acc, lhs = lax.fori_loop(0, n - 1, step, (acc, lhs))
    return acc + lhs @ slice_rows(rhs, (me + n - 1) % n * chunk, chunk)


@twin
def c06_collective_matmul() -> Values:
    def whole(shape: tuple[int, int], dtype) -> Array:
        if dtype == jnp.int32:
            return jnp.arange(shape[0] * shape[1]).reshape(shape)
        return jax.random.normal(jax.random.key(0), shape, dtype)

    with jax.set_mesh(mesh(X=4, Y=2)):
        for dtype in [jnp.int32, jnp.bfloat16, jnp.float32]:
            a, w = whole((256, 512), dtype), whole((512, 1024), dtype)
            product = jax.jit(jnp.matmul)(a, w)
            collective = mapped(allgather_matmul, (P("X", "Y"), P(None, "Y")), P("X", "Y"))(a, w)
            gathered = mapped(
                lambda a, w: lax.all_gather(a, "Y", axis=1, tiled=True) @ w, (P("X", "Y"), P(None, "Y")), P("X", "Y")
            )(a, w)
            yield from [product, collective, collective, gathered, product]


# ── problem 1


@twin
def p1_1_average() -> Values:
    a = jnp.arange(8 * 64 * 8).reshape(8 * 64, 8)
    with jax.set_mesh(mesh(X=4, Y=2)):
        yield mapped(lambda a: a.mean(keepdims=True), P("X", "Y"), P("X", "Y"))(a)
        yield jax.jit(lambda a: a.reshape(4, 128, 2, 4).mean((1, 3)))(a)


@twin
def p1_2_shift() -> Values:
    a = jnp.arange(8 * 64 * 8).reshape(8 * 64, 8)
    with jax.set_mesh(mesh(X=4, Y=2)):
        yield mapped(lambda a: jnp.roll(a, 5, axis=0) - a, P("X", "Y"), P("X", "Y"))(a)
        yield mapped(lambda a, by: jnp.roll(a, by, axis=0) - a, (P("X", "Y"), P()), P("X", "Y"))(a, jnp.int32(5))
        parts = a.reshape(4, 128, 8)
        yield (jnp.roll(parts, 5, axis=1) - parts).reshape(512, 8)


# ── problem 2


def moe_scan(w: Array, a: Array, b: Array) -> Array:
    """Every expert looks at every token; a token of an expert that is not here gets zeros."""

    def step(out: Array, expert: tuple[Array, Array]) -> tuple[Array, None]:
        w, e = expert
        return out + jnp.where((b == e)[:, None], a @ w, 0), None

    start = lax.full_like(a, 0, shape=(a.shape[0], w.shape[2])) + 0 * b[:, None].astype(a.dtype) + 0 * w[0, :1]
    return lax.scan(step, start, (w, jnp.arange(w.shape[0])))[0]


def moe_sorted(w: Array, a: Array, b: Array) -> Array:
    """A row of S places for each expert."""
    (s, d), e = a.shape, w.shape[0]
    by_expert, counts = jnp.argsort(b), jnp.bincount(b, length=e)
    expert = b[by_expert]
    place = jnp.arange(s) - (jnp.cumsum(counts) - counts)[expert]
    buffer = jnp.zeros((e, s, d)).at[expert, place].set(a[by_expert])
    return jnp.einsum("esd,edf->esf", buffer, w)[expert, place][jnp.argsort(by_expert)]


def moe_ragged_dot(w: Array, a: Array, b: Array) -> Array:
    by_expert = jnp.argsort(b)
    out = lax.ragged_dot(a[by_expert], w, jnp.bincount(b, length=w.shape[0]).astype(jnp.int32))
    return out[jnp.argsort(by_expert)]


def moe_inputs(experts: int, routes: tuple[int, ...]) -> tuple[Array, Array, Array]:
    kw, ka, kb = jax.random.split(jax.random.key(0), 3)
    w = jax.random.normal(kw, (experts, 64, 128))
    return w, jax.random.normal(ka, (1024, 64)), jax.random.randint(kb, routes, 0, experts)


@twin
def p2_1_moe_local() -> Values:
    with jax.set_mesh(mesh(X=8)):
        for moe in [moe_scan, moe_sorted, moe_ragged_dot]:
            yield jax.jit(moe)(*moe_inputs(16, (1024,)))


def moe_all_gather(w: Array, a: Array, b: Array) -> Array:
    """Every device sees all tokens, and answers for its own experts."""
    first = lax.axis_index("X") * w.shape[0]
    a, b = (lax.all_gather(x, "X", tiled=True) for x in (a, b))
    return lax.psum_scatter(moe_scan(w, a, b - first), "X", tiled=True)


def moe_all_to_all(w: Array, a: Array, b: Array) -> Array:
    """A few tokens for each device at a time, until the one with most has no more."""
    s, (experts, _, f) = a.shape[0], w.shape
    n, first = lax.axis_size("X"), lax.axis_index("X") * experts
    chunk = min(max(s // n, 1), 64)
    by_expert = jnp.argsort(b)
    a, b = a[by_expert], b[by_expert]
    count = jnp.bincount(b // experts, length=n)
    start, most = jnp.cumsum(count) - count, lax.pmax(count.max(), "X")
    send = lambda x: lax.all_to_all(x, "X", 0, 0, tiled=True)

    def turn(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        i, out = carry
        there = jnp.arange(chunk) + i
        at = jnp.where(there < count[:, None], there + start[:, None], s).reshape(n * chunk)
        to = jnp.where(at < s, b[jnp.minimum(at, s - 1)], n * experts)
        y = moe_scan(w, send(a[jnp.minimum(at, s - 1)]), send(to) - first)
        return i + chunk, out.at[at].set(send(y), mode="drop")

    out = lax.pcast(jnp.zeros((s, f)), tuple(sorted(jax.typeof(a @ w[0]).mat.varying)), to="varying")
    _, out = lax.while_loop(lambda carry: carry[0] < most, turn, (jnp.int32(0), out))
    return out[jnp.argsort(by_expert)]


@twin
def p2_3_moe_sharded() -> Values:
    for x, y in [(8, 1), (4, 2)]:
        w, a, routes = moe_inputs(16, (1024, 2))
        with jax.set_mesh(mesh(X=x, Y=y)):
            # XLA has no ragged_all_to_all on CPUs: the last variant's values are the first one's.
            for moe in [moe_all_gather, moe_all_to_all, moe_all_gather]:
                over_y = lambda w, a, b: moe(w, lax.all_gather(a, "Y", axis=1, tiled=True), b)
                run = mapped(over_y, (P("X", None, "Y"), P("X", "Y"), P("X")), P("X", "Y"))
                yield run(w, a, routes[:, 0])
                yield run(w, jnp.repeat(a, 2, axis=0), routes.reshape(-1)).reshape(1024, 2, 128).mean(1)


# ── problems 3 and 4


def allreduce_matmul(a: Array, w: Array) -> Array:
    """A[B_X, D_Y] · W[D_Y, F] -> Out[B_X, F], in tiles."""
    return jnp.concatenate([lax.psum(a @ tile, "Y") for tile in jnp.split(w, 8, axis=1)], axis=1)


def reduce_scatter_matmul(tmp: Array, w: Array) -> Array:
    """Tmp[B_X, F_Y] · W[F_Y, D] -> Out[B_X, D_Y]: a partial sum visits every device."""
    n, me, chunk = lax.axis_size("Y"), lax.axis_index("Y"), w.shape[1] // lax.axis_size("Y")
    part = lambda owner: tmp @ lax.dynamic_slice_in_dim(w, owner * chunk, chunk, axis=1)
    acc = part((me + n - 1) % n)
    for i in range(1, n):
        acc = lax.ppermute(acc, "Y", ring(1)) + part((me + n - 1 - i) % n)
    return acc


def bidirectional(tmp: Array, w: Array) -> Array:
    """The same, half of each sum up the ring and half down."""
    n, me, half = lax.axis_size("Y"), lax.axis_index("Y"), w.shape[1] // lax.axis_size("Y") // 2
    part = lambda owner, side: tmp @ lax.dynamic_slice_in_dim(w, owner % n * 2 * half + side * half, half, axis=1)
    up, down = part(me + n - 1, 0), part(me + 1, 1)
    for i in range(1, n):
        up = lax.ppermute(up, "Y", ring(1)) + part(me + n - 1 - i, 0)
        down = lax.ppermute(down, "Y", ring(-1)) + part(me + 1 + i, 1)
    return jnp.concatenate([up, down], axis=1)


SUMMED = (P("X", "Y"), P("Y", None))


@twin
def p3_transformer_block() -> Values:
    with jax.set_mesh(mesh(X=4, Y=2)):
        a, w = normals(0, (256, 512), (512, 1024), dtype=jnp.bfloat16)
        for f, out in [(allreduce_matmul, P("X", None)), (reduce_scatter_matmul, P("X", "Y"))]:
            yield jax.jit(jnp.matmul)(a, w)
            yield from [mapped(f, SUMMED, out)(a, w)] * 4
        x, w_in, w_out = normals(1, (256, 512), (512, 2048), (2048, 512), dtype=jnp.bfloat16)
        w_in, w_out = w_in / 32, w_out / 32
        yield jax.jit(lambda x, w_in, w_out: jax.nn.gelu(x @ w_in) @ w_out)(x, w_in, w_out)
        block = lambda x, w_in, w_out: reduce_scatter_matmul(jax.nn.gelu(allgather_matmul(x, w_in)), w_out)
        specs = (P("X", "Y"), P(None, "Y"), P("Y", None))
        yield from [mapped(block, specs, P("X", "Y"))(x, w_in, w_out)] * 4


@twin
def p4_bidirectional() -> Values:
    with jax.set_mesh(mesh(X=4, Y=2)):
        a, w = normals(0, (256, 512), (512, 1024), dtype=jnp.bfloat16)
        reduced = lambda a, w: lax.all_gather(bidirectional(a, w), "Y", axis=1, tiled=True, to="invarying")
        for f, out in [(bidirectional, P("X", "Y")), (reduced, P("X", None))]:
            yield from [mapped(f, SUMMED, out)(a, w)] * 4
            yield jax.jit(jnp.matmul)(a, w)


# ── comparison


def difference(ours: np.ndarray, expected: Array) -> str | None:
    """What differs; None: nothing that rounding does not explain."""
    tolerance = TOLERANCES[str(expected.dtype)]
    if ours.shape != expected.shape:
        return f"ours is of shape {ours.shape}, JAX's of {expected.shape}"
    a, b = ours.astype(np.float64), np.asarray(expected).astype(np.float64)
    farthest = float(np.abs(a - b).max(initial=0))
    allowed = tolerance * float(np.abs(b).max(initial=0))
    return f"{farthest:.3g} apart, {allowed:.3g} is allowed" if farthest > allowed else None


def compare(folder: Path) -> tuple[int, list[str]]:
    """The number of values, and what is wrong with them."""
    files, expected = sorted(folder.glob("*.npy")), list(TWINS[folder.name]())
    wrong = [] if len(files) == len(expected) else [f"{len(files)} values of ours, {len(expected)} of JAX's"]
    for file, value in zip(files, expected):
        found = difference(np.load(file), value)
        wrong += [f"{file.stem}: {found}"] if found else []
    return len(expected), wrong


def main() -> int:
    """Compares the examples that are named."""
    folder, *names = sys.argv[1:]
    failures = 0
    for name in names:
        count, wrong = compare(Path(folder) / name)
        failures += len(wrong)
        print(f"{name}: {count} values, " + (", ".join(wrong) if wrong else "as JAX's"))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
