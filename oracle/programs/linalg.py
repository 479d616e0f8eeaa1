"""Linear algebra as JAX exports it for a CPU: calls of LAPACK, of top-k selection and of sparse products.

What LAPACK leaves open, such as the signs of eigenvectors, is not compared: programs return products in which it cancels.
"""

from collections.abc import Callable, Sequence
from typing import Any

from harness import Arg, Family, P, below, mesh

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
import numpy as np
from jax import lax
from jax._src.lax import linalg as internal
from jax.experimental import sparse

FAMILY = Family("linalg")
MESH = mesh(X=4, Y=2)
COMPLEX = ("c64", "c128")


# Draws


def numbers(rng: np.random.Generator, shape: Sequence[int], dtype: str) -> np.ndarray:
    """Normals, complex for complex types."""
    x = rng.standard_normal(shape)
    return x + 1j * rng.standard_normal(shape) if dtype in COMPLEX else x


def drawn(dtype: str, change: Callable) -> Callable:
    """A draw of normals that are changed by a function."""
    return lambda rng, shape: change(numbers(rng, shape, dtype))


def adjoint(x: np.ndarray) -> np.ndarray:
    """The conjugate transposes of matrices."""
    return np.conj(np.swapaxes(x, -1, -2))


CHANGES = {
    "any": lambda x: x,
    # Condition numbers are small, so that single precision is precise.
    "regular": lambda x: 0.2 * x + 2 * np.eye(x.shape[-2], x.shape[-1]),
    "positive": lambda x: 0.2 * (x @ adjoint(x)) + 2 * np.eye(x.shape[-1]),
    "hermitian": lambda x: x + adjoint(x),
    "singular": lambda x: np.where(np.arange(x.shape[-1]) == 1, 0, x),
    "indefinite": lambda x: x + adjoint(x) - 9 * np.eye(x.shape[-1]),
    "nan": lambda x: np.where(np.arange(x.shape[-1]) == 0, np.nan, x),
}


def matrices(kind: str, dtype: str, *shape: int, spec: Any = None) -> Arg:
    """An argument of matrices of a kind; those with a batch are sharded over it."""
    spec = spec if spec is not None else P("X") if len(shape) > 2 else P()
    return Arg(shape, dtype, spec, drawn(dtype, CHANGES[kind]))


def add(name: str, function: Callable, *args: Arg, sample: bool = False) -> None:
    """Adds a program. The function itself, which may be JAX's own, keeps its name."""

    def program(*values: Any) -> Any:
        return function(*values)

    program.__name__ = name
    x64 = any(arg.dtype in ("f64", "c128", "i64") for arg in args)
    FAMILY.program(MESH, *args, x64=x64, sample=sample)(program)


def t(x: Any) -> Any:
    """The conjugate transposes."""
    return jnp.conj(jnp.swapaxes(x, -1, -2))


# Functions whose results are determined


def eigh(x):
    w, v = jnp.linalg.eigh(x)
    return w, (v * w[..., None, :]) @ t(v), t(v) @ v


def svd(full: bool) -> Callable:
    def run(x):
        u, s, vh = jnp.linalg.svd(x, full_matrices=full)
        k = s.shape[-1]
        return s, (u[..., :k] * s[..., None, :]) @ vh[..., :k, :], t(u) @ u, vh @ t(vh)

    return run


def eig(x):
    """Sums over all eigenvalues, and the residual, which do not depend on their order."""
    w, v = jnp.linalg.eig(x)
    return jnp.sum(w, -1), jnp.prod(w, -1), x.astype(v.dtype) @ v - v * w[..., None, :], jnp.linalg.norm(v, axis=-2)


def eigvals(x):
    w = jnp.linalg.eigvals(x)
    return jnp.sum(w, -1), jnp.sum(w * w, -1), jnp.prod(w, -1)


def schur(output: str) -> Callable:
    def run(x):
        s, q = jsl.schur(x, output=output)
        return q @ s @ t(q), t(q) @ q, jnp.tril(s, -2)

    return run


def hessenberg(x):
    h, q = jsl.hessenberg(x, calc_q=True)
    return h, q, q @ h @ t(q)


def tridiagonal(lower: bool) -> Callable:
    def run(x):
        packed, d, e, taus = lax.linalg.tridiagonal(x, lower=lower)
        return packed, d, e, taus

    return run


def lu(x):
    factors, pivots, order = lax.linalg.lu(x)
    return factors, pivots, order


def pivoted_qr(x):
    q, r, p = jsl.qr(x, pivoting=True, mode="economic")
    return q, r, p


def solve_rows(lower: bool, unit: bool, trans: str) -> Callable:
    return lambda a, b: jsl.solve_triangular(a, b, lower=lower, unit_diagonal=unit, trans=trans)


def from_right(a, b):
    return lax.linalg.triangular_solve(a, b, left_side=False, lower=True, transpose_a=True, conjugate_a=True)


def multiplied(left: bool, transpose: bool) -> Callable:
    def run(a, c):
        packed, taus = internal.geqrf(a)
        return internal.ormqr(packed, taus, c, left=left, transpose=transpose)

    return run


def grad_of(f: Callable) -> Callable:
    """The gradient of the sum of squares of all results that are real."""

    def loss(*x):
        leaves = jax.tree.leaves(f(*x))
        return sum(jnp.sum(jnp.real(leaf * jnp.conj(leaf))) for leaf in leaves)

    return lambda *x: jax.grad(loss)(*x)


def values_of_eigh(x):
    return jnp.linalg.eigh(x)[0]


def approximate(k: int, is_max: bool, **options: Any) -> Callable:
    select = lax.approx_max_k if is_max else lax.approx_min_k
    return lambda x: select(x, k, **options)


def sparse_product(data, indices, starts, x):
    return sparse.BCSR((data, indices, starts), shape=(4, 5)) @ x


for dtype in ("f32", "f64", "c64", "c128"):
    add(f"cholesky_{dtype}", jnp.linalg.cholesky, matrices("positive", dtype, 8, 4, 4), sample=dtype == "f32")
    add(f"lu_{dtype}", lu, matrices("any", dtype, 8, 5, 3))
    add(f"qr_{dtype}", lambda x: jnp.linalg.qr(x), matrices("any", dtype, 8, 5, 3), sample=dtype == "c64")
    add(f"qr_complete_{dtype}", lambda x: jnp.linalg.qr(x, mode="complete"), matrices("any", dtype, 5, 3))
    add(f"solve_{dtype}", jnp.linalg.solve, matrices("regular", dtype, 8, 4, 4), matrices("any", dtype, 8, 4, 2))
    add(f"eigh_{dtype}", eigh, matrices("hermitian", dtype, 8, 5, 5), sample=dtype == "f32")
    add(f"svd_{dtype}", svd(True), matrices("any", dtype, 8, 5, 3))
    add(f"svd_thin_{dtype}", svd(False), matrices("any", dtype, 8, 3, 7), sample=dtype == "c64")
    add(f"eig_{dtype}", eig, matrices("any", dtype, 8, 4, 4), sample=dtype == "f32")
    add(f"schur_{dtype}", schur("complex" if dtype in COMPLEX else "real"), matrices("any", dtype, 5, 5))
    add(f"hessenberg_{dtype}", hessenberg, matrices("any", dtype, 5, 5))
    add(f"tridiagonal_{dtype}", tridiagonal(True), matrices("hermitian", dtype, 8, 5, 5))
    add(f"tridiagonal_solve_{dtype}", lax.linalg.tridiagonal_solve,
        *[Arg((8, 6), dtype, P("X"), drawn(dtype, lambda x, c=c: 0.2 * x + c)) for c in (0, 2, 0)],
        matrices("any", dtype, 8, 6, 2))

for kind, options in {"lower": (True, False, "N"), "unit": (False, True, "N"), "adjoint": (True, False, "C")}.items():
    add(f"solve_triangular_{kind}", solve_rows(*options), matrices("regular", "c64", 4, 4), matrices("any", "c64", 4, 3))
add("solve_triangular_right", from_right, matrices("regular", "c128", 8, 4, 4), matrices("any", "c128", 8, 2, 4))
add("tridiagonal_upper", tridiagonal(False), matrices("hermitian", "c128", 5, 5))
add("pivoted_qr", pivoted_qr, matrices("any", "f64", 6, 4))
add("product_of_q", multiplied(True, True), matrices("any", "f32", 8, 4, 3), matrices("any", "f32", 8, 4, 2))
add("product_of_q_right", multiplied(False, True), matrices("any", "c128", 4, 3), matrices("any", "c128", 2, 4))
add("svd_values", lambda x: jnp.linalg.svd(x, compute_uv=False), matrices("any", "f32", 8, 6, 4))
add("svd_by_qr", lambda x: internal.svd(x, algorithm=internal.SvdAlgorithm.QR, compute_uv=False),
    matrices("any", "f64", 6, 4))
add("eigvals", eigvals, matrices("any", "f64", 8, 5, 5))
add("eigvalsh", jnp.linalg.eigvalsh, matrices("hermitian", "f32", 8, 30, 30))
add("inv_det", lambda x: (jnp.linalg.inv(x), jnp.linalg.det(x), *jnp.linalg.slogdet(x)),
    matrices("regular", "f32", 8, 4, 4), sample=True)
add("lstsq", lambda a, b: jnp.linalg.lstsq(a, b)[0], matrices("regular", "f64", 6, 3), matrices("any", "f64", 6, 2))
add("pinv_rank", lambda x: (jnp.linalg.pinv(x), jnp.linalg.matrix_rank(x)), matrices("singular", "f64", 5, 3))
add("factor_and_solve", lambda a, b: jsl.lu_solve(jsl.lu_factor(a), b), matrices("regular", "f64", 4, 4),
    matrices("any", "f64", 4))
add("positive_solve", lambda a, b: jsl.cho_solve(jsl.cho_factor(a), b), matrices("positive", "c64", 4, 4),
    matrices("any", "c64", 4, 2))
add("expm", jsl.expm, matrices("regular", "f32", 8, 4, 4))
add("sqrtm", jsl.sqrtm, matrices("positive", "f64", 4, 4))
add("polar", jsl.polar, matrices("regular", "f64", 4, 4))
add("eigh_tridiagonal", lambda d, e: jsl.eigh_tridiagonal(d, e, eigvals_only=True), Arg((6,), "f64"), Arg((5,), "f64"))
add("cholesky_fails", jnp.linalg.cholesky, matrices("indefinite", "f32", 8, 3, 3))
add("solve_singular", lambda x: lax.linalg.lu(x), matrices("singular", "f32", 3, 3))
add("nan_values", lambda x: (jnp.linalg.eigvalsh(x), jnp.linalg.svd(x, compute_uv=False), jnp.linalg.eigvals(x)),
    matrices("nan", "f32", 8, 3, 3))
add("one_by_one", lambda x: (jnp.linalg.cholesky(x), *jnp.linalg.qr(x), *eigh(x), *svd(True)(x), *eig(x)),
    matrices("positive", "c128", 8, 1, 1))
add("empty", lambda x: (*jnp.linalg.qr(x), *lax.linalg.lu(x)), Arg((8, 0, 3), "f32", P("X")))
add("no_matrices", lambda x: (jnp.linalg.cholesky(x), *jnp.linalg.eigh(x)), Arg((0, 3, 3), "f32"))

add("grad_cholesky", grad_of(jnp.linalg.cholesky), matrices("positive", "f32", 8, 3, 3))
add("grad_solve", grad_of(jnp.linalg.solve), matrices("regular", "c64", 8, 3, 3), matrices("any", "c64", 8, 3, 2))
add("grad_qr", grad_of(jnp.linalg.qr), matrices("regular", "f64", 8, 4, 3))
add("grad_eigh", grad_of(values_of_eigh), matrices("hermitian", "f64", 8, 4, 4))
add("grad_svd", grad_of(lambda x: jnp.linalg.svd(x, compute_uv=False)), matrices("any", "f64", 8, 4, 3))
add("grad_slogdet", grad_of(lambda x: jnp.linalg.slogdet(x)[1]), matrices("regular", "f32", 8, 4, 4), sample=True)
add("grad_expm", grad_of(jsl.expm), matrices("regular", "f64", 3, 3))
add("vmap_lstsq", jax.vmap(lambda a, b: jnp.linalg.lstsq(a, b)[0]), matrices("regular", "f64", 8, 5, 3),
    matrices("any", "f64", 8, 5, 2))
add("in_loop", lambda x: lax.fori_loop(0, 3, lambda _, y: jnp.linalg.inv(y) + x, x), matrices("regular", "f32", 8, 3, 3))
add("split_matrices", jnp.linalg.cholesky, matrices("positive", "f32", 8, 8, spec=P("X", "Y")))

add("approx_max", approximate(3, True), Arg((8, 100), "f32", P("X"), drawn("f32", CHANGES["any"])), sample=True)
add("approx_min", approximate(3, False, recall_target=0.9, aggregate_to_topk=False),
    Arg((60,), "f32", P(), drawn("f32", CHANGES["any"])))
INDICES = [Arg((6,), "i32", P(), lambda rng, shape: np.array([0, 3, 1, 2, 4, 0])),
           Arg((5,), "i32", P(), lambda rng, shape: np.array([0, 2, 2, 5, 6]))]
add("sparse_vector", sparse_product, Arg((6,), "f32"), *INDICES, Arg((5,), "f32"), sample=True)
add("sparse_matrix", sparse_product, Arg((6,), "c64"), *INDICES, Arg((5, 2), "c64"))
