"""Array functions that JAX differentiates, with arguments at which they are smooth or follow a convention."""

import jax
import jax.numpy as jnp
import jax.scipy as jsp
import numpy as np
from jax import lax, nn

from calculus.catalogue import ANY, COMPLEX, EXACT, REAL, WIDE, Catalogue, Draw

CATALOGUE = Catalogue()
add, entry = CATALOGUE.add, CATALOGUE.entry

# Functions of one array, with the interval from which its elements are drawn.

UNARY = {
    "sin": (jnp.sin, -3, 3, ANY),
    "cos": (jnp.cos, -3, 3, ANY),
    "tan": (jnp.tan, -1.2, 1.2, ANY),
    "arcsin": (jnp.arcsin, -0.9, 0.9, REAL),
    "arccos": (jnp.arccos, -0.9, 0.9, REAL),
    "arctan": (jnp.arctan, -2, 2, REAL),
    "sinh": (jnp.sinh, -2, 2, ANY),
    "cosh": (jnp.cosh, -2, 2, ANY),
    "tanh": (jnp.tanh, -2, 2, ANY),
    "arcsinh": (jnp.arcsinh, -2, 2, REAL),
    "arccosh": (jnp.arccosh, 1.3, 3, REAL),
    "arctanh": (jnp.arctanh, -0.9, 0.9, REAL),
    "exp": (jnp.exp, -2, 2, ANY),
    "exp2": (jnp.exp2, -2, 2, REAL),
    "expm1": (jnp.expm1, -2, 2, ANY),
    "log": (jnp.log, 0.3, 3, ANY),
    "log2": (jnp.log2, 0.3, 3, REAL),
    "log10": (jnp.log10, 0.3, 3, REAL),
    "log1p": (jnp.log1p, -0.5, 3, ANY),
    "sqrt": (jnp.sqrt, 0.3, 3, ANY),
    "rsqrt": (lax.rsqrt, 0.3, 3, ANY),
    "cbrt": (jnp.cbrt, 0.3, 3, REAL),
    "logistic": (lax.logistic, -3, 3, ANY),
    "square": (jnp.square, -2, 2, ANY),
    "reciprocal": (jnp.reciprocal, 0.3, 2, ANY),
    "negative": (jnp.negative, -2, 2, ANY),
    "abs": (jnp.abs, 0.2, 2, ANY),
    "abs_of_zeros": (lambda x: jnp.abs(x * 0), 0.2, 2, REAL),
    "sign": (jnp.sign, -2, 2, REAL),
    "floor": (jnp.floor, -3, 3, REAL),
    "ceil": (jnp.ceil, -3, 3, REAL),
    "round": (jnp.round, -3, 3, REAL),
    "trunc": (jnp.trunc, -3, 3, REAL),
    "modf": (lambda x: jnp.modf(x), 0.2, 3, REAL),
    "sinc": (jnp.sinc, 0.3, 3, REAL),
    "nan_to_num": (jnp.nan_to_num, -2, 2, REAL),
    "deg2rad": (jnp.deg2rad, -100, 100, REAL),
    "reduce_precision": (lambda x: lax.reduce_precision(x, 8, 10), -2, 2, WIDE),
    "integer_pow": (lambda x: x**5, -1.5, 1.5, ANY),
    "negative_pow": (lambda x: x**-3, 0.5, 1.5, ANY),
    "real_pow": (lambda x: x**1.7, 0.5, 1.5, ANY),
    "erf": (lax.erf, -2, 2, REAL),
    "erfc": (lax.erfc, -2, 2, REAL),
    "erf_inv": (lax.erf_inv, -0.9, 0.9, REAL),
    "lgamma": (lax.lgamma, 0.3, 4, REAL),
    "lgamma_negative": (lax.lgamma, -0.8, -0.2, WIDE),
    "digamma": (lax.digamma, 0.3, 4, REAL),
    "trigamma": (lambda x: jsp.special.polygamma(1, x), 0.5, 4, WIDE),
    "zeta": (lambda x: jsp.special.zeta(3.5, x), 0.5, 3, WIDE),
    "bessel_i0e": (lax.bessel_i0e, 0.2, 3, WIDE),
    "bessel_i1e": (lax.bessel_i1e, 0.2, 3, WIDE),
    "i0": (jsp.special.i0, 0.2, 2, WIDE),
    "logit": (jsp.special.logit, 0.2, 0.8, WIDE),
    "entr": (jsp.special.entr, 0.2, 2, WIDE),
    "ndtr": (jsp.special.ndtr, -2, 2, WIDE),
    "log_ndtr": (jsp.special.log_ndtr, -2, 2, WIDE),
    "ndtri": (jsp.special.ndtri, 0.2, 0.8, WIDE),
    "multigammaln": (lambda x: jsp.special.multigammaln(x, 2), 1.5, 4, WIDE),
    "gammainc_of_x": (lambda x: jsp.special.gammainc(1.7, x), 0.3, 3, WIDE),
    "betainc_of_x": (lambda x: jsp.special.betainc(1.5, 2.5, x), 0.2, 0.8, WIDE),
    "real": (jnp.real, -2, 2, COMPLEX),
    "imag": (jnp.imag, -2, 2, COMPLEX),
    "conj": (jnp.conj, -2, 2, COMPLEX),
    "angle": (jnp.angle, 0.3, 2, COMPLEX),
    "abs_squared": (lambda z: (z * jnp.conj(z)).real, -2, 2, COMPLEX),
    "relu": (nn.relu, -2, 2, REAL),
    "relu6": (nn.relu6, -2, 7, REAL),
    "sigmoid": (nn.sigmoid, -3, 3, REAL),
    "softplus": (nn.softplus, -3, 3, REAL),
    "soft_sign": (nn.soft_sign, 0.2, 3, REAL),
    "silu": (nn.silu, -3, 3, REAL),
    "mish": (nn.mish, -3, 3, WIDE),
    "log_sigmoid": (nn.log_sigmoid, -3, 3, REAL),
    "leaky_relu": (nn.leaky_relu, -2, 2, REAL),
    "elu": (nn.elu, -2, 2, REAL),
    "celu": (nn.celu, -2, 2, WIDE),
    "selu": (nn.selu, -2, 2, WIDE),
    "gelu": (nn.gelu, -2, 2, WIDE),
    "gelu_exact": (lambda x: nn.gelu(x, approximate=False), -2, 2, WIDE),
    "hard_tanh": (nn.hard_tanh, -2, 2, REAL),
    "hard_sigmoid": (nn.hard_sigmoid, -2, 2, WIDE),
    "squareplus": (nn.squareplus, -2, 2, WIDE),
    "convert_f32": (lambda x: x.astype(jnp.float32) * 3, -2, 2, ("f32", "bf16", "f64")),
    "convert_bf16": (lambda x: x.astype(jnp.bfloat16), -2, 2, ("f32", "bf16")),
    "to_complex": (lambda x: lax.complex(x, x * x), -2, 2, WIDE),
    "stop_gradient": (lambda x: x * lax.stop_gradient(x), -2, 2, REAL),
    "checkpoint": (jax.checkpoint(lambda x: jnp.sin(jnp.sin(x))), -2, 2, WIDE),
    "barrier": (lambda x: lax.optimization_barrier(x * 2) * x, -2, 2, REAL),
}


def elementwise(function, low: float, high: float):
    """The entry of a function of one array."""
    return lambda d: (function, d.between(low, high, *d.shape()))


for name, (function, low, high, dtypes) in UNARY.items():
    add(name, elementwise(function, low, high), dtypes)

# Functions of two arrays of the same shape.

BINARY = {
    "add": (jnp.add, ANY),
    "subtract": (jnp.subtract, ANY),
    "multiply": (jnp.multiply, ANY),
    "divide": (jnp.divide, ANY),
    "power": (jnp.power, ANY),
    "maximum": (jnp.maximum, REAL),
    "minimum": (jnp.minimum, REAL),
    "arctan2": (jnp.arctan2, REAL),
    "hypot": (jnp.hypot, REAL),
    "logaddexp": (jnp.logaddexp, WIDE),
    "logaddexp2": (jnp.logaddexp2, WIDE),
    "remainder": (jnp.remainder, WIDE),
    "rem": (lax.rem, WIDE),
    "copysign": (jnp.copysign, REAL),
    "heaviside": (jnp.heaviside, WIDE),
    "complex_of_parts": (lax.complex, WIDE),
    "xlogy": (jsp.special.xlogy, WIDE),
    "xlog1py": (jsp.special.xlog1py, WIDE),
    "betaln": (jsp.special.betaln, WIDE),
    "rel_entr": (jsp.special.rel_entr, WIDE),
    "kl_div": (jsp.special.kl_div, WIDE),
}


def of_two(function):
    """The entry of a function of two arrays."""

    def make(d: Draw):
        shape = d.shape()
        return function, d.positive(*shape), d.positive(*shape)

    return make


for name, (function, dtypes) in BINARY.items():
    add(name, of_two(function), dtypes)


@entry(ANY)
def broadcasting_product(d):
    return lambda x, y: x * y[:, None] + x[0], d.normal(3, 4), d.normal(3)


@entry(REAL)
def maximum_of_equal(d):
    return jnp.maximum, d.tied(3, 4), d.tied(3, 4)


@entry(REAL)
def clamp(d):
    return lax.clamp, np.asarray(-0.5, d.dtype), d.normal(3, 4), np.asarray(0.6, d.dtype)


@entry(REAL)
def clip_by_arrays(d):
    return jnp.clip, d.normal(3, 4), d.between(-1, -0.5, 3, 4), d.between(0.5, 1, 3, 4)


@entry(ANY)
def where(d):
    return jnp.where, d.coins(3, 4), d.normal(3, 4), d.normal(3, 4)


@entry(ANY)
def select_n(d):
    return lambda i, a, b, c: lax.select_n(i, a, b, c), d.below(3, 2, 3), *(d.normal(2, 3) for _ in range(3))


@entry(WIDE, second=False)
def gammainc_of_a(d):
    return jsp.special.gammainc, d.between(0.6, 2, 3), d.between(0.6, 2, 3)


@entry(WIDE)
def zeta_of_q(d):
    return lambda q: jsp.special.zeta(2.5, q), d.between(0.6, 2, 4)


# Reductions and cumulative operations.

REDUCTIONS = {
    "sum": (jnp.sum, ANY),
    "mean": (jnp.mean, ANY),
    "prod": (jnp.prod, ANY),
    "max": (jnp.max, REAL),
    "min": (jnp.min, REAL),
    "var": (jnp.var, WIDE),
    "std": (jnp.std, WIDE),
    "logsumexp": (nn.logsumexp, WIDE),
    "softmax": (nn.softmax, REAL),
    "log_softmax": (nn.log_softmax, REAL),
    "standardize": (nn.standardize, WIDE),
    "cumsum": (jnp.cumsum, ANY),
    "cumprod": (jnp.cumprod, EXACT),
    "cummax": (lax.cummax, REAL),
    "cummin": (lax.cummin, REAL),
    "cumlogsumexp": (lax.cumlogsumexp, WIDE),
    "median": (jnp.median, WIDE),
    "nanmean": (jnp.nanmean, WIDE),
    "ptp": (jnp.ptp, WIDE),
    "sort": (jnp.sort, REAL),
    "diff": (jnp.diff, WIDE),
    "gradient": (jnp.gradient, WIDE),
    "flip": (jnp.flip, ANY),
    "linalg_norm": (jnp.linalg.norm, EXACT),
    "trapezoid": (jsp.integrate.trapezoid, WIDE),
    "unwrap": (jnp.unwrap, WIDE),
}


def along_axis(function):
    """The entry of a function that works along an axis."""

    def make(d: Draw):
        axis = d.pick([0, 1, 2])
        draw = d.normal if d.dtype.kind == "c" else d.distinct
        return lambda x: function(x, axis=axis), draw(3, 4, 2)

    return make


for name, (function, dtypes) in REDUCTIONS.items():
    add(name, along_axis(function), dtypes)


@entry(ANY)
def sum_of_all(d):
    return jnp.sum, d.normal(*d.shape())


@entry(REAL)
def max_of_equal(d):
    return lambda x: jnp.max(x, axis=1), d.tied(3, 5)


@entry(REAL)
def min_over_two_axes(d):
    return lambda x: jnp.min(x, axis=(0, 2)), d.distinct(3, 2, 4)


@entry(WIDE)
def prod_with_zero(d):
    x = d.normal(2, 4)
    x[0, 1] = 0
    return lambda x: jnp.prod(x, axis=1), x


@entry(REAL)
def argmax_read(d):
    return lambda x: jnp.take_along_axis(x, jnp.argmax(x, axis=1)[:, None], axis=1), d.distinct(3, 5)


@entry(WIDE)
def variance_of_all(d):
    return jnp.var, d.normal(3, 4)


@entry(WIDE)
def quantile(d):
    return lambda x: jnp.quantile(x, jnp.array([0.2, 0.7], x.dtype), axis=0), d.distinct(5, 3)


@entry(WIDE)
def average(d):
    return lambda x, w: jnp.average(x, axis=0, weights=w), d.normal(4, 3), d.positive(4)


@entry(ANY)
def reversed_cumsum(d):
    return lambda x: lax.cumsum(x, axis=1, reverse=True), d.normal(3, 4)


@entry(WIDE)
def reversed_cumprod(d):
    return lambda x: lax.cumprod(x, axis=0, reverse=True), d.normal(4, 3)


@entry(WIDE)
def reduce_with_two_results(d):
    def function(x, y):
        plus = lambda a, b: (a[0] + b[0], a[1] + b[1])
        return lax.reduce((x, y), (jnp.zeros((), x.dtype), jnp.zeros((), y.dtype)), plus, (1,))

    return function, d.normal(3, 4), d.normal(3, 4)


@entry(WIDE)
def reduce_with_initial_value(d):
    return lambda x, i: lax.reduce(x, i, lax.add, (0,)), d.normal(3, 4), d.normal()


@entry(WIDE)
def reduce_max_with_initial_value(d):
    return lambda x: jnp.max(x, axis=0, initial=0.5), d.distinct(3, 4)


# Sorting.


@entry(REAL)
def sort_descending(d):
    return lambda x: jnp.sort(x, axis=0, descending=True), d.distinct(5, 3)


@entry(REAL)
def sort_by_key(d):
    return lambda k, v: lax.sort((k, v), dimension=1, num_keys=1), d.distinct(3, 5), d.normal(3, 5)


@entry(REAL)
def sort_by_two_keys(d):
    return lambda i, k, v: lax.sort((i, k, v), dimension=0, num_keys=2)[1:], d.below(2, 6), d.distinct(6), d.normal(6)


@entry(REAL)
def argsort_read(d):
    return lambda x, y: y[jnp.argsort(x)], d.distinct(6), d.normal(6)


@entry(REAL)
def top_k(d):
    return lambda x: lax.top_k(x, 2), d.distinct(3, 5)


@entry(REAL)
def sort_of_equal(d):
    return lambda x: jnp.sort(x, axis=1), d.tied(3, 6)


# Movement.

MOVEMENT = {
    "transpose": lambda x: jnp.transpose(x, (2, 0, 1)),
    "reshape": lambda x: x.reshape(4, 6),
    "ravel": jnp.ravel,
    "concatenate": lambda x: jnp.concatenate([x, 2 * x, x[:1]], axis=0),
    "stack": lambda x: jnp.stack([x, x * x], axis=1),
    "tile": lambda x: jnp.tile(x, (2, 1, 2)),
    "repeat": lambda x: jnp.repeat(x, 3, axis=1),
    "pad_constant": lambda x: jnp.pad(x, ((1, 2), (0, 1), (0, 0))),
    "pad_edge": lambda x: jnp.pad(x, ((1, 1), (2, 0), (0, 0)), mode="edge"),
    "pad_reflect": lambda x: jnp.pad(x, ((0, 0), (1, 2), (0, 0)), mode="reflect"),
    "pad_wrap": lambda x: jnp.pad(x, ((0, 0), (1, 2), (1, 0)), mode="wrap"),
    "pad_interior": lambda x: lax.pad(x, jnp.zeros((), x.dtype), ((1, 0, 1), (0, 2, 2), (0, 0, 0))),
    "pad_negative": lambda x: lax.pad(x, jnp.zeros((), x.dtype), ((-1, 2, 1), (1, -1, 0), (0, 0, 0))),
    "slice": lambda x: x[:, 1:3],
    "strided_slice": lambda x: x[::2, ::3, 1:],
    "reversed_slice": lambda x: x[::-1, ::-2],
    "roll": lambda x: jnp.roll(x, (1, -1), axis=(0, 1)),
    "rot90": jnp.rot90,
    "broadcast_to": lambda x: jnp.broadcast_to(x[:, None], (3, 2, 4, 2)),
    "diagonal": jnp.diagonal,
    "trace": jnp.trace,
    "tril": jnp.tril,
    "triu": lambda x: jnp.triu(x, 1),
    "split": lambda x: tuple(jnp.split(x, [1, 3], axis=1)),
    "squeeze": lambda x: x[:1].squeeze(0),
    "read_row": lambda x: x[-1, 2],
    "read_rows": lambda x: x[jnp.array([0, 2, 2, -1])],
    "read_pairs": lambda x: x[jnp.array([0, 2, 2]), jnp.array([1, 0, 3])],
    "read_mixed": lambda x: x[jnp.array([0, 2]), :, jnp.array([[1], [0]])],
    "delete": lambda x: jnp.delete(x, 1, axis=1),
    "insert": lambda x: jnp.insert(x, 1, 7.0, axis=1),
    "kron": lambda x: jnp.kron(x[0], x[1]),
    "outer": lambda x: jnp.outer(x[0], x[1]),
    "vander": lambda x: jnp.vander(x[0, :, 0], 4),
    "meshgrid": lambda x: jnp.meshgrid(x[0, 0], x[0, 1]),
}


def of_one(function):
    """The entry of a function of an array of 3 x 4 x 2 elements."""
    return lambda d: (function, d.normal(3, 4, 2))


for name, function in MOVEMENT.items():
    add(name, of_one(function), ANY if name not in ("insert",) else REAL)


@entry(ANY)
def pad_value(d):
    return lambda x, p: lax.pad(x, p, ((1, 2, 1), (-1, 1, 0))), d.normal(3, 4), d.normal()


@entry(ANY)
def diag_of_vector(d):
    return lambda x: jnp.diag(x, 1), d.normal(4)


# Gathers, scatters and dynamic slices.


@entry(ANY)
def take(d):
    mode = d.pick(["clip", "fill", "wrap"])
    return lambda x, i: jnp.take(x, i - 1, axis=1, mode=mode), d.normal(2, 4, 3), d.below(7, 3)


@entry(ANY)
def take_along_axis(d):
    return lambda x, i: jnp.take_along_axis(x, i, axis=1), d.normal(3, 5), d.below(5, 3, 2)


@entry(ANY)
def gather_windows(d):
    dims = lax.GatherDimensionNumbers(offset_dims=(1, 2), collapsed_slice_dims=(), start_index_map=(0, 1))
    return lambda x, i: lax.gather(x, i, dims, (2, 2), mode="clip"), d.normal(4, 5), d.below(4, 3, 2)


@entry(ANY)
def gather_batched(d):
    dims = lax.GatherDimensionNumbers(
        offset_dims=(2,),
        collapsed_slice_dims=(1,),
        start_index_map=(1,),
        operand_batching_dims=(0,),
        start_indices_batching_dims=(0,),
    )
    function = lambda x, i: lax.gather(x, i, dims, (1, 1, 3), mode="fill")
    return function, d.normal(2, 4, 3), d.below(6, 2, 3, 1)


def scatter_at(change, draw: str = "normal"):
    """The entry of a scatter of rows, some of them out of bounds or written twice."""

    def make(d: Draw):
        return lambda x, i, u: change(x.at[i]), getattr(d, draw)(5, 3), d.below(7, 3), d.normal(3, 3)

    def with_update(d: Draw):
        _, x, i, u = make(d)
        if draw == "distinct":
            u = (d.distinct(3, 3) + np.asarray(0.125, d.dtype)).astype(d.dtype)
        return lambda x, i, u: change(x.at[i], u), x, i, u

    return with_update


add("scatter_add", scatter_at(lambda at, u: at.add(u)), ANY)
add("scatter_subtract", scatter_at(lambda at, u: at.subtract(u)), ANY)
add("scatter_mul", scatter_at(lambda at, u: at.multiply(u, unique_indices=True)), EXACT)
add("scatter_max", scatter_at(lambda at, u: at.max(u), "distinct"), REAL)
add("scatter_min", scatter_at(lambda at, u: at.min(u), "distinct"), REAL)
add("scatter_drop", scatter_at(lambda at, u: at.add(u, mode="drop")), ANY)
add("scatter_clip", scatter_at(lambda at, u: at.add(u, mode="clip")), ANY)


@entry(ANY)
def scatter_set(d):
    return lambda x, i, u: x.at[i].set(u), d.normal(6, 3), d.rng.permutation(6)[:4].astype(np.int32), d.normal(4, 3)


@entry(ANY)
def scatter_set_same_row(d):
    i = np.array([1, 3, 1, 0], np.int32)
    return lambda x, u: x.at[i].set(u), d.normal(5, 3), d.normal(4, 3)


@entry(ANY)
def scatter_apply(d):
    i = np.array([1, 3, 0], np.int32)
    return lambda x: x.at[i].apply(jnp.sin), d.normal(5, 3)


@entry(ANY)
def scatter_set_slice(d):
    return lambda x, u: x.at[1:4, ::2].set(u), d.normal(5, 4), d.normal(3, 2)


@entry(ANY)
def scatter_add_pairs(d):
    return lambda x, i, j, u: x.at[i, j].add(u), d.normal(4, 5), d.below(4, 6), d.below(5, 6), d.normal(6)


@entry(ANY)
def segment_sum(d):
    return lambda x, i: jax.ops.segment_sum(x, i, 4), d.normal(6, 2), d.below(4, 6)


@entry(REAL)
def segment_max(d):
    return lambda x, i: jnp.where(jnp.isfinite(s := jax.ops.segment_max(x, i, 3)), s, 0), d.distinct(6, 2), d.below(3, 6)


@entry(WIDE)
def segment_prod(d):
    return lambda x: jax.ops.segment_prod(x, jnp.arange(5), 6, unique_indices=True), d.normal(5, 2)


@entry(WIDE)
def bincount_of_weights(d):
    return lambda i, w: jnp.bincount(i, weights=w, length=4), d.below(4, 7), d.normal(7)


@entry(ANY)
def dynamic_slice(d):
    return lambda x, i, j: lax.dynamic_slice(x, (i, j), (2, 3)), d.normal(4, 5), d.below(5), d.below(5)


@entry(ANY)
def dynamic_update_slice(d):
    function = lambda x, u, i, j: lax.dynamic_update_slice(x, u, (i, j))
    return function, d.normal(4, 5), d.normal(2, 3), d.below(5), d.below(5)


@entry(ANY)
def dynamic_index(d):
    return lambda x, i: lax.dynamic_index_in_dim(x, i, 1, keepdims=False), d.normal(4, 5), d.below(5)


@entry(ANY)
def dynamic_update_index(d):
    return lambda x, u, i: lax.dynamic_update_index_in_dim(x, u, i, 0), d.normal(4, 5), d.normal(5), d.below(4)


@entry(WIDE)
def interp(d):
    xs = np.sort(d.rng.uniform(0, 4, 5)).astype(d.dtype)
    return lambda x, f: jnp.interp(x, xs, f), d.between(0.5, 3.5, 4), d.normal(5)


@entry(WIDE)
def searchsorted_read(d):
    return lambda x, a: a[jnp.searchsorted(jnp.sort(a), x)] * x, d.between(-0.9, 0.9, 3), d.normal(6)


@entry(WIDE)
def map_coordinates(d):
    return lambda x, c: jsp.ndimage.map_coordinates(x, [c, c], order=1), d.normal(4, 4), d.between(0.6, 1.9, 3)


# Products.

EINSUMS = ["ij,jk->ik", "bij,bjk->bik", "bij,bjk->bki", "ij,kj->ik", "bijc,bkjc->bcik", "ij,ij->", "i,j->ij", "abc,cb->a"]


@entry(ANY)
def einsum(d):
    spec = d.pick(EINSUMS)
    sizes = dict(zip("abcijk", [2, 3, 2, 3, 4, 5]))
    left, right = (tuple(sizes[c] for c in part) for part in spec.split("->")[0].split(","))
    return lambda x, y: jnp.einsum(spec, x, y), d.normal(*left), d.normal(*right)


@entry(ANY)
def matmul(d):
    left, right = d.pick([((3, 4), (4, 2)), ((4,), (4, 2)), ((2, 3, 4), (2, 4, 3)), ((2, 3, 4), (4,))])
    return jnp.matmul, d.normal(*left), d.normal(*right)


@entry(ANY)
def dot_general(d):
    dims = d.pick([(((1,), (0,)), ((), ())), (((1, 2), (1, 2)), ((), ())), (((2,), (1,)), ((0,), (0,)))])
    shapes = {1: ((3, 4, 2), (4, 5)), 2: ((3, 4, 2), (5, 4, 2)), 3: ((2, 3, 4), (2, 4, 5))}
    (contracted, _), (batched, _) = dims
    left, right = shapes[3 if batched else len(contracted)]
    return lambda x, y: lax.dot_general(x, y, dims), d.normal(*left), d.normal(*right)


@entry(("bf16",))
def dot_with_wide_result(d):
    return lambda x, y: jnp.matmul(x, y, preferred_element_type=jnp.float32), d.normal(3, 4), d.normal(4, 2)


@entry(EXACT)
def matrix_power(d):
    return lambda x: jnp.linalg.matrix_power(x, 3), d.normal(3, 3)


@entry(WIDE)
def multi_dot(d):
    return lambda x, y, z: jnp.linalg.multi_dot([x, y, z]), d.normal(2, 3), d.normal(3, 4), d.normal(4, 2)


@entry(EXACT)
def tensordot(d):
    return lambda x, y: jnp.tensordot(x, y, axes=([1, 0], [0, 1])), d.normal(3, 4, 2), d.normal(4, 3, 5)


@entry(WIDE)
def cross(d):
    return jnp.cross, d.normal(2, 3), d.normal(2, 3)


@entry(WIDE)
def polyval(d):
    return jnp.polyval, d.normal(4), d.normal(5)


@entry(EXACT)
def determinant(d):
    n = d.pick([2, 3])
    return jnp.linalg.det, d.normal(2, n, n)


@entry(("f32", "f64", "bf16"))
def ragged_dot(d):
    sizes = np.array([[1, 2, 1], [0, 3, 1], [2, 0, 2]], np.int32)[int(d.rng.integers(3))]
    return lax.ragged_dot, d.normal(4, 3), d.normal(3, 3, 2), sizes


@entry(WIDE)
def ragged_dot_contracting(d):
    dims = lax.RaggedDotDimensionNumbers(
        dot_dimension_numbers=(((0,), (0,)), ((), ())), lhs_ragged_dimensions=[0], rhs_group_dimensions=[]
    )
    sizes = np.array([1, 2, 1], np.int32)
    return lambda x, y: lax.ragged_dot_general(x, y, sizes, dims), d.normal(4, 3), d.normal(4, 2)


# Convolutions and windows.


@entry(EXACT)
def convolve(d):
    mode = d.pick(["full", "same", "valid"])
    return lambda x, y: jnp.convolve(x, y, mode=mode), d.normal(7), d.normal(3)


@entry(REAL)
def convolution(d):
    stride, low, high = d.pick([1, 2]), d.pick([0, 1]), d.pick([0, 1, 2])
    dilate, spread = d.pick([1, 2]), d.pick([1, 2])

    def function(x, w):
        return lax.conv_general_dilated(
            x, w, (stride, 1), [(low, high), (1, 0)], lhs_dilation=(1, spread), rhs_dilation=(dilate, 1)
        )

    return function, d.normal(2, 3, 6, 4), d.normal(4, 3, 2, 2)


@entry(WIDE)
def convolution_nhwc(d):
    names = ("NHWC", "HWIO", "NHWC")
    function = lambda x, w: lax.conv_general_dilated(x, w, (1, 2), "SAME", dimension_numbers=names)
    return function, d.normal(2, 5, 4, 3), d.normal(3, 2, 3, 4)


@entry(WIDE)
def convolution_in_groups(d):
    function = lambda x, w: lax.conv_general_dilated(x, w, (1,), "SAME", feature_group_count=2)
    return function, d.normal(2, 4, 6), d.normal(6, 2, 3)


@entry(WIDE)
def convolution_in_batch_groups(d):
    function = lambda x, w: lax.conv_general_dilated(x, w, (1,), "VALID", batch_group_count=2)
    return function, d.normal(4, 3, 6), d.normal(6, 3, 3)


@entry(WIDE)
def convolution_depthwise(d):
    function = lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME", feature_group_count=3)
    return function, d.normal(2, 3, 4, 4), d.normal(3, 1, 2, 2)


@entry(WIDE)
def convolution_3d(d):
    function = lambda x, w: lax.conv_general_dilated(x, w, (1, 1, 1), "VALID")
    return function, d.normal(1, 2, 3, 4, 3), d.normal(2, 2, 2, 2, 2)


@entry(COMPLEX)
def convolution_complex(d):
    return lambda x, w: lax.conv_general_dilated(x, w, (1,), "SAME"), d.normal(2, 3, 5), d.normal(4, 3, 3)


@entry(WIDE)
def convolution_transposed(d):
    return lambda x, w: lax.conv_transpose(x, w, (2,), "SAME"), d.normal(2, 4, 3), d.normal(3, 3, 2)


@entry(WIDE)
def patches(d):
    return lambda x: lax.conv_general_dilated_patches(x, (2, 2), (1, 2), "SAME"), d.normal(1, 2, 4, 5)


def pool(x, initial, function, window, strides, padding):
    """A pooling over the two middle dimensions."""
    return lax.reduce_window(x, initial, function, (1, *window, 1), (1, *strides, 1), padding)


@entry(REAL)
def max_pool(d):
    padding = d.pick(["SAME", "VALID"])
    return lambda x: pool(x, -jnp.inf, lax.max, (2, 3), (2, 1), padding), d.distinct(2, 5, 4, 2)


@entry(WIDE)
def min_pool(d):
    return lambda x: pool(x, jnp.inf, lax.min, (2, 2), (1, 2), "SAME"), d.distinct(1, 4, 5, 2)


@entry(EXACT)
def sum_pool(d):
    padding = d.pick(["SAME", "VALID"])
    return lambda x: pool(x, 0.0, lax.add, (3, 2), (2, 1), padding), d.normal(2, 5, 4, 2)


@entry(WIDE)
def sum_pool_dilated(d):
    function = lambda x: lax.reduce_window(
        x, 0.0, lax.add, (2, 3), (1, 2), ((1, 0), (0, 2)), base_dilation=(2, 1), window_dilation=(1, 2)
    )
    return function, d.normal(4, 6)


@entry(WIDE)
def prod_pool(d):
    return lambda x: lax.reduce_window(x, 1.0, lax.mul, (2, 2), (1, 1), "VALID"), d.normal(3, 4)


@entry(WIDE)
def logsumexp_pool(d):
    return lambda x: lax.reduce_window(x, -jnp.inf, jnp.logaddexp, (2,), (1,), "VALID"), d.normal(6)


# Fourier transforms.

TRANSFORMS = {
    "fft": jnp.fft.fft,
    "ifft": jnp.fft.ifft,
    "fft2": jnp.fft.fft2,
    "ifft2": jnp.fft.ifft2,
    "fftn": jnp.fft.fftn,
    "hfft": jnp.fft.hfft,
    "irfft": jnp.fft.irfft,
    "irfft_odd": lambda x: jnp.fft.irfft(x, 5),
    "irfft2": jnp.fft.irfft2,
    "fftshift": jnp.fft.fftshift,
}
for name, function in TRANSFORMS.items():
    add(name, lambda d, function=function: (function, d.normal(2, 3, 4)), COMPLEX)
for name, function in {"rfft": jnp.fft.rfft, "rfft2": jnp.fft.rfft2, "rfftn": jnp.fft.rfftn, "ihfft": jnp.fft.ihfft}.items():
    add(name, lambda d, function=function: (function, d.normal(2, 3, d.pick([4, 5]))), WIDE)


@entry(WIDE)
def power_spectrum(d):
    return lambda x: jnp.abs(jnp.fft.rfft(x)) ** 2, d.normal(2, 6)


@entry(WIDE)
def fft_convolution(d):
    return lambda x, y: jnp.fft.irfft(jnp.fft.rfft(x) * jnp.fft.rfft(y), 6), d.normal(6), d.normal(6)


# Linear algebra that JAX lowers to StableHLO ops where the platform is a TPU.


@entry(EXACT, platforms=("tpu",))
def cholesky(d):
    return jnp.linalg.cholesky, d.definite(3, *d.pick([(), (2,)]))


@entry(EXACT, platforms=("tpu",))
def triangular_solve(d):
    left, lower, transposed = d.pick([True, False]), d.pick([True, False]), d.pick([True, False])
    unit, conjugated = d.pick([True, False]), d.pick([True, False])

    def function(a, b):
        return lax.linalg.triangular_solve(
            a,
            b,
            left_side=left,
            lower=lower,
            transpose_a=transposed,
            conjugate_a=transposed and conjugated,
            unit_diagonal=unit,
        )

    return function, d.triangle(3), d.normal(*((3, 2) if left else (2, 3)))


@entry(WIDE, platforms=("tpu",))
def cho_solve(d):
    return lambda a, b: jsp.linalg.cho_solve((jnp.linalg.cholesky(a), True), b), d.definite(3), d.normal(3, 2)


@entry(WIDE, platforms=("tpu",))
def log_determinant(d):
    return lambda a: jnp.sum(jnp.log(jnp.diagonal(jnp.linalg.cholesky(a)))), d.definite(4)


@entry(WIDE)
def linalg_norms(d):
    return lambda x: (jnp.linalg.norm(x), jnp.linalg.norm(x, 1), jnp.linalg.norm(x, jnp.inf)), d.distinct(3, 4)


# Control flow.


@entry(ANY)
def scan(d):
    def function(c, xs, w):
        def step(c, x):
            c = jnp.sin(c) * x + w
            return c, c * x

        return lax.scan(step, c, xs)

    return function, d.normal(3), d.normal(d.pick([1, 4]), 3), d.normal(3)


@entry(WIDE)
def scan_reversed(d):
    function = lambda c, xs: lax.scan(lambda c, x: (c * jnp.cos(x), c + x), c, xs, reverse=True)
    return function, d.normal(2), d.normal(4, 2)


@entry(WIDE)
def scan_unrolled(d):
    return lambda c, xs: lax.scan(lambda c, x: (c * jnp.cos(x), c + x), c, xs, unroll=2), d.normal(2), d.normal(5, 2)


@entry(WIDE)
def scan_of_nothing(d):
    return lambda c, xs: lax.scan(lambda c, x: (c * x, c + x), c, xs), d.normal(2), d.normal(0, 2)


@entry(WIDE)
def scan_with_integers(d):
    def function(c, xs, i):
        def step(c, x):
            x, i = x
            n, v = c
            return (n + i, v * x + n.astype(x.dtype)), (v, n)

        return lax.scan(step, (jnp.int32(1), c), (xs, i))

    return function, d.normal(2), d.normal(4, 2), d.below(3, 4)


@entry(WIDE)
def scan_in_scan(d):
    def function(c, xs):
        def outer(c, x):
            inner = lambda a, y: (jnp.tanh(a + y * c), a * y)
            a, ys = lax.scan(inner, c, x)
            return a * c, ys.sum(0)

        return lax.scan(outer, c, xs)

    return function, d.normal(2), d.normal(3, 2, 2)


@entry(WIDE)
def scan_with_branch(d):
    def function(c, xs):
        step = lambda c, x: (lax.cond(x[0] > 0, lambda: c * x, lambda: jnp.sin(c) + x), c)
        return lax.scan(step, c, xs)

    return function, d.normal(2), d.normal(5, 2)


@entry(WIDE)
def scan_over_weights(d):
    return lambda x, ws: lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, ws)[0], d.normal(2, 3), d.normal(4, 3, 3)


@entry(WIDE)
def fori_loop(d):
    return lambda x, w: lax.fori_loop(0, 5, lambda i, x: x * w + jnp.sin(x) * i, x), d.normal(3), d.between(-0.5, 0.5, 3)


@entry(WIDE)
def fori_loop_reads_rows(d):
    def function(x, table):
        return lax.fori_loop(1, 4, lambda i, x: x * table[i] + table[3 - i], x)

    return function, d.normal(3), d.normal(5, 3)


@entry(WIDE)
def fori_loop_writes_rows(d):
    def function(x, table):
        return lax.fori_loop(0, 3, lambda i, t: t.at[i + 1].set(jnp.sin(t[i]) * x), table)

    return function, d.normal(3), d.normal(4, 3)


@entry(WIDE, reverse=False)
def while_loop(d):
    def function(x):
        grows = lambda c: jnp.sum(c[0]) < 40
        return lax.while_loop(grows, lambda c: (c[0] * 1.5 + jnp.sin(c[0]), c[1] + 1), (x, 0))[0]

    return function, d.positive(3)


@entry(WIDE, reverse=False)
def while_loop_with_capture(d):
    function = lambda x, w: lax.while_loop(lambda y: jnp.max(y) < 30, lambda y: y * (1 + w) + x, x)
    return function, d.positive(3), d.positive(3)


@entry(ANY)
def cond(d):
    def function(p, x, y):
        return lax.cond(p, lambda x, y: (x * y, x), lambda x, y: (jnp.sin(x), y + 1), x, y)

    return function, d.coins(), d.normal(3), d.normal(3)


@entry(WIDE)
def switch(d):
    branches = [lambda x, y: x * y, lambda x, y: jnp.sin(x), lambda x, y: y * 0 + 2.0, lambda x, y: x + y * y]
    return lambda i, x, y: lax.switch(i - 1, branches, x, y), d.below(6), d.normal(3), d.normal(3)


@entry(WIDE)
def cond_on_value(d):
    function = lambda x: lax.cond(jnp.sum(x) > 0, lambda: x * x, lambda: jnp.exp(x))
    return function, d.normal(4)


@entry(WIDE)
def associative_scan(d):
    function = lambda x, y: lax.associative_scan(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (x, y))
    return function, d.normal(5, 2), d.normal(5, 2)


@entry(WIDE)
def lax_map(d):
    return lambda x, w: lax.map(lambda r: jnp.sin(r) @ w, x), d.normal(4, 3), d.normal(3)


@entry(WIDE)
def custom_rule(d):
    @jax.custom_jvp
    def function(x):
        return jnp.log1p(jnp.exp(x))

    function.defjvp(lambda x, t: (function(*x), t[0] * jax.nn.sigmoid(x[0])))
    return function, d.normal(3)


@entry(WIDE)
def nested_calls(d):
    inner = jax.jit(lambda x, y: (x * y, x + jnp.cos(y)))
    return lambda x, y: inner(inner(x, y)[1], x), d.normal(3), d.normal(3)


@entry(WIDE)
def dropout(d):
    def function(x):
        keep = jax.random.bernoulli(jax.random.key(7), 0.6, x.shape)
        return jnp.where(keep, x / 0.6, 0)

    return function, d.normal(4, 5)


@entry(WIDE)
def noise(d):
    return lambda m, s: m + s * jax.random.normal(jax.random.key(3), m.shape, m.dtype), d.normal(4), d.positive(4)


# Functions that JAX lowers to calls of libraries, which have no meaning for us.

CALLS = {
    "solve": (lambda x: jnp.linalg.solve(x, x[:, 0]), "cpu"),
    "inverse": (jnp.linalg.inv, "tpu"),
    "qr": (lambda x: jnp.linalg.qr(x)[1], "cpu"),
    "eigenvalues": (jnp.linalg.eigvalsh, "cpu"),
    "singular_values": (lambda x: jnp.linalg.svd(x, compute_uv=False), "cpu"),
    "cholesky_of_lapack": (jnp.linalg.cholesky, "cpu"),
    "triangular_solve_of_blas": (lambda x: lax.linalg.triangular_solve(x, x, left_side=True, lower=True), "cpu"),
}
for name, (function, platform) in CALLS.items():
    make = lambda d, function=function: (function, d.definite(3))
    add(name, make, ("f32",), platforms=(platform,), second=False)
