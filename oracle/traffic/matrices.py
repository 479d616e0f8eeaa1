"""Linear algebra: factorizations in batches, iterations, kernels, low rank, products of many operands and types."""

import jax
import jax.numpy as jnp
from harness import Arg, P
from jax import lax

from traffic import Case, Draw, Family, case, cube, f32, i32, line

FAMILY = Family("matrices")


def typed(dtype: str, shape: tuple, *spec):
    """An argument of any type."""
    return Arg(shape, dtype, P(*spec))


def points(draw: Draw, *spec):
    """Rows of points."""
    return f32((draw.times(32, 1, 3), 16), *(spec or ("x",)))


def positive(x):
    """A batch of positive definite matrices."""
    return x @ x.swapaxes(-1, -2) / x.shape[-1] + 2 * jnp.eye(x.shape[-1])


@FAMILY.variants(batch=("x",), rows=(None, "x"), both=("x", "y"))
def cholesky(draw: Draw, spec: tuple) -> Case:
    on, x = draw.grid() if "y" in spec else line(), f32((8, 16, 16), *spec)
    return case(on, lambda x: jnp.linalg.cholesky(positive(x)), x, out=P(*spec))


@FAMILY.variants(batch=("x",), rows=(None, "x"), both=("x", "y"))
def solved(draw: Draw, spec: tuple) -> Case:
    """Systems with many right hand sides."""
    on, x = draw.grid() if "y" in spec else line(), f32((8, 16, 16), *spec)

    def run(x, b):
        factor = jnp.linalg.cholesky(positive(x))
        half = lax.linalg.triangular_solve(factor, b, left_side=True, lower=True)
        return lax.linalg.triangular_solve(factor, half, left_side=True, lower=True, transpose_a=True)

    return case(on, run, x, f32((8, 16, 8), *spec), out=P(*spec))


@FAMILY.program
def many_sides(draw: Draw) -> Case:
    """One triangular system, whose right hand sides are split."""
    run = lambda a, b: lax.linalg.triangular_solve(jnp.tril(a) + 9 * jnp.eye(32), b, left_side=True, lower=True)
    return case(line(), run, f32((32, 32), "x"), f32((32, draw.times(16, 1, 4)), None, "x"), out=P(None, "x"))


@FAMILY.variants(batch=("x",), rows=(None, "x"))
def gram_schmidt(draw: Draw, spec: tuple) -> Case:
    """Orthogonal columns, one after the other."""
    x = f32((8, 64, 4), *spec)

    def run(x):
        made = []
        for i in range(4):
            v = x[:, :, i]
            for q in made:
                v = v - q * jnp.sum(q * v, 1, keepdims=True)
            made.append(v * lax.rsqrt(jnp.sum(v**2, 1, keepdims=True) + 1e-6))
        return jnp.stack(made, 2)

    return case(line(), run, x, out=P(*spec))


@FAMILY.variants(rows=("x",), columns=(None, "x"))
def tall_orthogonal(draw: Draw, spec: tuple) -> Case:
    """Cholesky QR of a tall matrix."""
    x = f32((draw.times(64, 1, 4), 16), *spec)

    def run(x):
        r = jnp.linalg.cholesky(x.T @ x / 64 + jnp.eye(16))
        return lax.linalg.triangular_solve(r, x, left_side=False, lower=True, transpose_a=True), r

    return case(line(), run, x, out=(P(*spec), P()))


@FAMILY.variants(rows=("x",), columns=(None, "x"), tiles=("x", "y"))
def principal(draw: Draw, spec: tuple) -> Case:
    """Steps of block power iteration for the principal components."""
    on, x = draw.grid() if "y" in spec else line(), f32((draw.times(64, 1, 3), 32), *spec)
    steps = draw.of(2, 4)

    def run(x, v):
        x = x - x.mean(0)

        def step(_, v):
            v = x.T @ (x @ v)
            return v * lax.rsqrt(jnp.sum(v**2, 0) + 1e-6)

        return lax.fori_loop(0, steps, step, v)

    return case(on, run, x, f32((32, 4)), out=P())


def gaussian(x, y):
    """A kernel of all pairs."""
    apart = jnp.sum(x**2, 1)[:, None] - 2 * x @ y.T + jnp.sum(y**2, 1)
    return jnp.exp(-apart / 32)


@FAMILY.variants(rows=("x", None), tiles=("x", "y"))
def kernel(draw: Draw, spec: tuple) -> Case:
    x, y = points(draw, "x"), points(draw, spec[1])
    on = draw.grid() if "y" in spec else line()
    return case(on, gaussian, x, y, out=P(*spec))


@FAMILY.variants(rows=("x",), tiles=("x", "y"))
def kernel_sum(draw: Draw, spec: tuple) -> Case:
    """A kernel times weights, never wanted itself."""
    x = points(draw, "x")
    on = draw.grid() if "y" in spec else line()
    run = lambda x, w: gaussian(x, x) @ w
    return case(on, run, x, f32((x.shape[0], 4), *spec[1:]), out=P("x"))


@FAMILY.program
def gaussian_process(draw: Draw) -> Case:
    """The mean of a Gaussian process at split test points."""
    x, y = f32((32, 4)), f32((draw.times(32, 1, 3), 4), "x")

    def run(x, y, values):
        factor = jnp.linalg.cholesky(gaussian(x, x) + jnp.eye(32))
        half = lax.linalg.triangular_solve(factor, values, left_side=True, lower=True)
        whole = lax.linalg.triangular_solve(factor, half, left_side=True, lower=True, transpose_a=True)
        return gaussian(y, x) @ whole

    return case(line(), run, x, y, f32((32, 2)), out=P("x"))


@FAMILY.variants(rows=("x",), columns=(None, "x"), tiles=("x", "y"))
def sinkhorn(draw: Draw, spec: tuple) -> Case:
    """Rows and columns are normalized in turn, by logarithms."""
    on, x = draw.grid() if "y" in spec else line(), f32((draw.times(32, 1, 2), draw.times(32, 1, 2)), *spec)
    steps = draw.of(3, 5)

    def step(_, x):
        x = x - jax.nn.logsumexp(x, 1, keepdims=True)
        return x - jax.nn.logsumexp(x, 0, keepdims=True)

    return case(on, lambda x: jnp.exp(lax.fori_loop(0, steps, step, x)), x, out=P(*spec))


@FAMILY.variants(rows=("x",), columns=(None, "x"), tiles=("x", "y"))
def sinkhorn_scalings(draw: Draw, spec: tuple) -> Case:
    """The same with two vectors of scalings."""
    on, x = draw.grid() if "y" in spec else line(), f32((draw.times(32, 1, 2), draw.times(32, 1, 2)), *spec)

    def run(x):
        k = jnp.exp(-(x**2) / 16)

        def step(_, state):
            u = 1 / (k @ state[1] + 1e-3)
            return u, 1 / (k.T @ u + 1e-3)

        u, v = lax.fori_loop(0, 4, step, (jnp.ones(x.shape[0]), jnp.ones(x.shape[1])))
        return u[:, None] * k * v

    return case(on, run, x, out=P(*spec))


@FAMILY.variants(rows=("x",), columns=(None, "x"), tiles=("x", "y"))
def newton_inverse(draw: Draw, spec: tuple) -> Case:
    """The inverse by Newton's iteration."""
    on, a = draw.grid() if "y" in spec else line(), f32((32, 32), *spec)

    def run(a):
        a = jnp.eye(32) + a / 64
        return lax.fori_loop(0, 3, lambda _, x: 2 * x - x @ a @ x, jnp.eye(32))

    return case(on, run, a, out=P(*spec))


@FAMILY.variants(rows=("x",), columns=(None, "x"), tiles=("x", "y"))
def lanczos(draw: Draw, spec: tuple) -> Case:
    """Some steps of Lanczos, with a stack of vectors."""
    on, a = draw.grid() if "y" in spec else line(), f32((64, 64), *spec)

    def run(a, v):
        def step(state, _):
            before, v, beta = state
            w = a @ v - beta * before
            alpha = jnp.dot(w, v)
            w = w - alpha * v
            beta = jnp.sqrt(jnp.dot(w, w) + 1e-6)
            return (v, w / beta, beta), (alpha, beta)

        return lax.scan(step, (jnp.zeros(64), v, 0.0), None, 4)[1]

    return case(on, run, a, f32((64,)), out=(P(), P()))


@FAMILY.variants(rows=("x",), columns=(None, "x"), tiles=("x", "y"))
def expansion(draw: Draw, spec: tuple) -> Case:
    """A polynomial of a matrix, times a vector."""
    on, a = draw.grid() if "y" in spec else line(), f32((64, 64), *spec)

    def run(a, v):
        total, term = v, v
        for i in range(1, 5):
            term = a @ term / (64 * i)
            total = total + term
        return total

    return case(on, run, a, f32((64,), spec[0]), out=P(spec[0]))


@FAMILY.variants(
    chain=("ab,bc,cd,de->ae", (("x",), (None,), ("y",), (None, "y"))),
    mixed=("abc,cd,bde,e->ae", (("x", "y"), (None, "y"), (None, None, "y"), ("y",))),
    tucker=("abc,ia,jb,kc->ijk", (("x",), (None, "x"), ("y",), (None, "y"))),
    ring=("apq,bqr,crp->abc", (("x",), ("y",), (None, "x"))),
    cp=("ar,br,cr->abc", (("x",), ("y",), (None, "y"))),
)
def einsum(draw: Draw, problem: tuple) -> Case:
    """Sums over several operands."""
    text, specs = problem
    sizes = {letter: draw.of(16, 32) for letter in sorted(set(text) - set(",->"))}
    sides = text.split("->")
    args = [f32(tuple(sizes[c] for c in side), *spec) for side, spec in zip(sides[0].split(","), specs)]
    return case(draw.grid(), lambda *xs: jnp.einsum(text, *xs), *args, out=P("x"))


@FAMILY.variants(i8=("i8", jnp.int32), bf16=("bf16", jnp.float32), i32=("i32", jnp.int32), c64=("c64", jnp.complex64))
def contracted(draw: Draw, types: tuple) -> Case:
    """The contracted dimension is split, for several types of elements."""
    dtype, result = types
    a, b = typed(dtype, (draw.times(16, 1, 3), 64), None, "x"), typed(dtype, (64, draw.times(16, 1, 3)), "x")
    run = lambda a, b: lax.dot(a, b, preferred_element_type=result)
    return case(line(), run, a, b, out=P("x"))


@FAMILY.variants(i8=("i8", jnp.int32), bf16=("bf16", jnp.bfloat16))
def tensor_parallel(draw: Draw, types: tuple) -> Case:
    """Two products with a narrowing between them."""
    dtype, wide = types
    x, v, w = typed(dtype, (32, 64), "x"), typed(dtype, (64, 128), None, "y"), typed(dtype, (128, 64), "y")

    def run(x, v, w):
        h = lax.dot(x, v, preferred_element_type=wide)
        h = jnp.clip(h, -100, 100).astype(x.dtype)
        return lax.dot(h, w, preferred_element_type=wide)

    return case(draw.grid(), run, x, v, w, out=P("x"))


@FAMILY.program
def quantized(draw: Draw) -> Case:
    """Weights of 8 bits with a scale for each column, whose rows are split."""
    x, w = f32((draw.times(16, 1, 3), 64), "x", "y"), typed("i8", (64, 32), "y")
    run = lambda x, w, scale: x @ (w.astype(jnp.float32) * scale)
    return case(draw.grid(), run, x, w, f32((32,)), out=P("x"))


@FAMILY.program
def quantized_here(draw: Draw) -> Case:
    """Activations are quantized by the largest of each row, which is split."""
    x, w = f32((draw.times(16, 1, 3), 64), "x", "y"), typed("i8", (64, 32), "y")

    def run(x, w):
        scale = jnp.max(jnp.abs(x), 1, keepdims=True) / 127 + 1e-6
        small = jnp.round(x / scale).astype(jnp.int8)
        return lax.dot(small, w, preferred_element_type=jnp.int32) * scale

    return case(draw.grid(), run, x, w, out=P("x"))


@FAMILY.program
def quantized_gathered(draw: Draw) -> Case:
    """Split weights are gathered as 8 bits, not after they are widened."""
    x, w = f32((64, 64), "x"), typed("i8", (64, draw.times(32, 1, 3)), "x")
    run = lambda x, w, scale: x @ (w.astype(jnp.float32) * scale)
    return case(line(), run, x, w, f32((w.shape[1],)), out=P("x"))


@FAMILY.program
def narrowed_gathered(draw: Draw) -> Case:
    """Weights are rounded to bf16 before they are gathered."""
    x, w = typed("bf16", (64, 64), "x"), f32((64, draw.times(32, 1, 3)), "x")
    run = lambda x, w: (x @ w.astype(jnp.bfloat16)).astype(jnp.float32)
    return case(line(), run, x, w, out=P("x"))


@FAMILY.program
def several_dims(draw: Draw) -> Case:
    """Two batching and two contracted dimensions."""
    a = f32((4, 8, 16, draw.of(8, 16), 16), "x", None, "y")
    b = f32((4, 8, 16, a.shape[3], 8), "x", None, "y")
    run = lambda a, b: lax.dot_general(a, b, (((2, 3), (2, 3)), ((0, 1), (0, 1))))
    return case(draw.grid(), run, a, b, out=P("x", None, "y"))


@FAMILY.program
def complex_phases(draw: Draw) -> Case:
    """A product with complex phases, and the power of each element."""
    x = typed("c64", (draw.times(16, 1, 3), 32), "x", "y")
    run = lambda x, w: jnp.abs(x @ jnp.exp(1j * w)) ** 2
    return case(draw.grid(), run, x, f32((32, 16), "y"), out=P("x"))


@FAMILY.program
def kronecker(draw: Draw) -> Case:
    a, b = f32((8, draw.times(4, 1, 3)), "x"), f32((8, 8), None, "y")
    return case(draw.grid(), jnp.kron, a, b, out=P("x", "y"))


@FAMILY.program
def alternating_factors(draw: Draw) -> Case:
    """A step of alternating least squares: normal equations for each row."""
    n, m = draw.times(16, 1, 3), draw.times(16, 1, 3)

    def run(r, v):
        left = v.T @ v + jnp.eye(8)
        factor = jnp.linalg.cholesky(left)
        half = lax.linalg.triangular_solve(factor, (r @ v).T, left_side=True, lower=True)
        return lax.linalg.triangular_solve(factor, half, left_side=True, lower=True, transpose_a=True).T

    return case(draw.grid(), run, f32((n, m), "x", "y"), f32((m, 8), "y"), out=P("x"))


@FAMILY.program
def centered_kernel(draw: Draw) -> Case:
    """Kernel PCA's centring of rows and columns."""
    n = draw.times(32, 1, 3)
    run = lambda k: k - k.mean(0) - k.mean(1)[:, None] + k.mean()
    return case(draw.grid(), run, f32((n, n), "x", "y"), out=P("x", "y"))


@FAMILY.program
def gmm(draw: Draw) -> Case:
    """A step of expectation and maximization."""
    x = points(draw)

    def run(x, means, sizes):
        apart = jnp.sum((x[:, None] - means) ** 2 / (sizes**2 + 1), -1)
        share = jax.nn.softmax(-apart / 2, 1)
        total = share.sum(0)[:, None] + 1e-3
        new = share.T @ x / total
        return new, jnp.sqrt(share.T @ x**2 / total - new**2 + 1)

    return case(line(), run, x, f32((8, 16)), f32((8, 16)), out=(P(), P()))


@FAMILY.program
def normal_equations_cube(draw: Draw) -> Case:
    """Least squares of split rows and columns by gradient steps."""
    a, b = f32((draw.times(16, 1, 3), 32), ("x", "z"), "y"), f32((32, 8), "y")

    def run(a, x, b):
        return lax.fori_loop(0, 3, lambda _, x: x - 0.01 * a.T @ (a @ x - b), x)

    return case(cube(), run, a, b, f32((a.shape[0], 8), ("x", "z")), out=P("y"))


@FAMILY.program
def nearest(draw: Draw) -> Case:
    """The four nearest of split points, and the mean of their labels."""
    n = draw.times(32, 1, 3)

    def run(q, x, labels):
        apart = jnp.sum(q**2, 1)[:, None] - 2 * q @ x.T + jnp.sum(x**2, 1)
        near = lax.top_k(-apart, 4)[1]
        return labels[near].mean(1)

    return case(line(), run, f32((16, 8)), f32((n, 8), "x"), f32((n,), "x"), out=P())
