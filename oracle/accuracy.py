"""Measures how far scalar functions are from the truth, in ulps: ours, JAX's and the reference interpreter's.

    pip install mpmath==1.3.0
    python oracle/accuracy.py --command target/release/shardwise --only erf --dtypes f32,f64

The truth is mpmath's, with 60 digits. Arguments are seeded: bits of any magnitude, numbers near 0 and 1, and near each
function's zeros and poles. An error is |value - truth| in units of the last place of the truth; `far` counts values that are
NaN, infinite or zero where they should not be (or the other way round), with an argument for example. Arguments and truths that are
subnormal are left out: XLA flushes them (`--subnormal` takes nothing else, for ours alone).
"""

import argparse
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import mpmath
import numpy as np
from mpmath import mp, mpf

import evaluate
import values

mp.dps = 60

DTYPES = {"bf16": ml_dtypes.bfloat16, "f16": np.float16, "f32": np.float32, "f64": np.float64}


def lgamma(x):
    """ln |gamma(x)|."""
    return mp.re(mp.loggamma(x))


def zeta(s, q):
    """The sum of (q + k)^-s; terms of negative q + k are added one by one."""
    first = max(0, int(mp.ceil(1 - q)))
    if first > 1000:
        return None
    first = max(first, 40 - int(q))
    z = q + first
    head = mp.fsum((q + k) ** -s for k in range(first)) + z ** (1 - s) / (s - 1) + z**-s / 2
    # Euler-Maclaurin; mpmath's own loses digits of small sums.
    term = lambda k: mp.bernoulli(2 * k) / mp.factorial(2 * k) * mp.rf(s, 2 * k - 1) * z ** (1 - s - 2 * k)
    return head + mp.fsum(term(k) for k in range(1, 40))


def polygamma(n, x):
    """The derivative of order n of digamma."""
    if n == 0:
        return mp.digamma(x)
    sums = zeta(n + 1, x)
    return None if sums is None else (-1) ** (int(n) + 1) * mp.factorial(n) * sums


def power(x, y):
    """x^y of a number that may be negative, where y is an integer."""
    if x < 0:
        return (-1) ** int(y) * (-x) ** y if y == mp.floor(y) else None
    return x**y


@dataclass(frozen=True)
class Function:
    """An op, what it should give, and where its arguments are of interest."""

    op: str
    truth: Callable
    near: tuple = ()
    within: tuple = ()
    pairs: Callable | None = None


def positive(draw: random.Random) -> float:
    """A positive number of a moderate magnitude."""
    return 2.0 ** draw.uniform(-6, 7)


def zeta_pairs(draw: random.Random) -> tuple[float, float]:
    """An exponent above 1, and where the sum starts."""
    if draw.random() < 0.2:
        return draw.randrange(2, 12), -draw.uniform(0, 20)
    return 1 + 2.0 ** draw.uniform(-10, 5), 2.0 ** draw.uniform(-8, 12)


def polygamma_pairs(draw: random.Random) -> tuple[float, float]:
    """An order and a place."""
    return draw.choice([0, 1, 1, 2, 3, 4, 5, 8, 12, 20]), positive(draw) if draw.random() < 0.8 else -draw.uniform(0, 9)


def power_pairs(draw: random.Random) -> tuple[float, float]:
    """A base and an exponent, of either sign."""
    if draw.random() < 0.3:
        return draw.uniform(-9, 9), draw.randrange(-30, 30)
    return positive(draw), draw.uniform(-20, 20)


def angle_pairs(draw: random.Random) -> tuple[float, float]:
    """A point of the plane."""
    return (draw.choice((-1, 1)) * 2.0 ** draw.uniform(-20, 20) for _ in range(2))


TURNS = [float(mp.pi / 2 * k) for k in (1, 2, 3, 4, 22, 1000, 40000)]
LGAMMA_ZEROS = [1, 2, *(float(mp.findroot(lgamma, x)) for x in (-2.46, -2.75, -3.14, -3.96, -4.04, -4.99, -5.008))]
DIGAMMA_ZEROS = [float(mp.findroot(mp.digamma, x)) for x in (1.46, -0.504, -1.573, -2.61, -3.635, -4.65, -9.7)]

FUNCTIONS = [
    Function("stablehlo.exponential", mp.exp, within=(-104, 89)),
    Function("stablehlo.exponential_minus_one", mp.expm1, within=(-20, 89)),
    Function("stablehlo.log", mp.log, near=(1,), within=(0, 10)),
    Function("stablehlo.log_plus_one", mp.log1p, near=(-1, 1), within=(-1, 10)),
    Function("stablehlo.tanh", mp.tanh, within=(-10, 10)),
    Function("stablehlo.logistic", lambda x: 1 / (1 + mp.exp(-x)), within=(-89, 89)),
    Function("stablehlo.sine", mp.sin, near=TURNS, within=(-100, 100)),
    Function("stablehlo.cosine", mp.cos, near=TURNS, within=(-100, 100)),
    Function("stablehlo.tan", mp.tan, near=TURNS, within=(-100, 100)),
    Function("stablehlo.rsqrt", lambda x: 1 / mp.sqrt(x), within=(0, 10)),
    Function("stablehlo.cbrt", lambda x: mp.sign(x) * mp.cbrt(abs(x)), within=(-10, 10)),
    Function("stablehlo.atan2", mp.atan2, pairs=angle_pairs),
    Function("stablehlo.power", power, pairs=power_pairs),
    Function("chlo.erf", mp.erf, within=(-6, 6)),
    Function("chlo.erfc", mp.erfc, within=(-6, 28)),
    Function("chlo.erf_inv", mp.erfinv, near=(1, -1), within=(-1, 1)),
    Function("chlo.lgamma", lgamma, near=(*LGAMMA_ZEROS, -1, -3), within=(-20, 20)),
    Function("chlo.digamma", mp.digamma, near=(*DIGAMMA_ZEROS, -1, -3), within=(-20, 20)),
    Function("chlo.polygamma", polygamma, pairs=polygamma_pairs),
    Function("chlo.zeta", zeta, pairs=zeta_pairs),
    Function("chlo.bessel_i1e", lambda x: mp.besseli(1, x) * mp.exp(-abs(x)), near=(8, 30), within=(-100, 100)),
    Function("chlo.sinh", mp.sinh, within=(-89, 89)),
    Function("chlo.cosh", mp.cosh, within=(-89, 89)),
    Function("chlo.asin", mp.asin, near=(1, -1), within=(-1, 1)),
    Function("chlo.acos", mp.acos, near=(1, -1), within=(-1, 1)),
    Function("chlo.atan", mp.atan, within=(-10, 10)),
    Function("chlo.asinh", mp.asinh, within=(-10, 10)),
    Function("chlo.acosh", mp.acosh, near=(1,), within=(1, 10)),
    Function("chlo.atanh", mp.atanh, near=(1, -1), within=(-1, 1)),
]


def arguments(function: Function, dtype: str, count: int, subnormal: bool) -> list[np.ndarray]:
    """Arrays of arguments, of the type."""
    draw = random.Random(f"{function.op} {dtype}")
    kind = DTYPES[dtype]
    if function.pairs:
        return [np.array(x).astype(kind) for x in zip(*(function.pairs(draw) for _ in range(count)))]
    width = np.dtype(kind).itemsize * 8
    as_bits = lambda bits: np.array(bits, f"u{width // 8}").view(kind)
    if subnormal:
        bits = [draw.getrandbits(mantissa(dtype)) | draw.getrandbits(1) << (width - 1) for _ in range(count)]
        return [as_bits(bits)]
    wide = [as_bits(draw.getrandbits(width)) for _ in range(count // 4)]
    beside = lambda place: place + draw.choice((-1, 1)) * 2.0 ** draw.uniform(-mantissa(dtype) - 3, -2)
    close = [beside(place) for place in (0, *function.near) for _ in range(count // 16)]
    inside = [draw.uniform(*function.within) for _ in range(count // 2)]
    return [np.concatenate([np.array(wide), np.array(close).astype(kind), np.array(inside).astype(kind)])]


def mantissa(dtype: str) -> int:
    """Stored bits of the fraction."""
    return ml_dtypes.finfo(DTYPES[dtype]).nmant


def truths(function: Function, args: list[np.ndarray]) -> list:
    """The exact results: NaN outside of the domain, `None` where there is none."""

    def of(point) -> mpf | None:
        if not all(np.isfinite(float(x)) for x in point):
            return None
        try:
            y = function.truth(*(mpf(float(x)) for x in point))
        except (ValueError, ZeroDivisionError, OverflowError, mpmath.libmp.NoConvergence):
            return None
        if y is None or not mp.isfinite(y):
            return None
        return mp.re(y) if mp.im(y) == 0 else mp.nan

    return [of(point) for point in zip(*args)]


def program(function: Function, args: list[np.ndarray], dtype: str) -> str:
    """The op on its arguments."""
    kind = f"tensor<{args[0].size}x{dtype}>"
    names = [f"%arg{i}" for i in range(len(args))]
    given, kinds = ", ".join(f"{n}: {kind}" for n in names), ", ".join(kind for _ in names)
    call = f'%0 = "{function.op}"({", ".join(names)}) : ({kinds}) -> {kind}'
    return f"func.func public @main({given}) -> {kind} {{\n  {call}\n  return %0 : {kind}\n}}\n"


def ours(command: str, text: str, args: list[np.ndarray]) -> np.ndarray:
    """What our command gives."""
    with tempfile.TemporaryDirectory() as folder:
        file, given, out = (Path(folder, name) for name in ("x.mlir", "in.npz", "out.npz"))
        file.write_text(text)
        stored = [a.view(np.uint16) if a.dtype == DTYPES["bf16"] else a for a in args]
        np.savez(given, **{f"arg{i}": a for i, a in enumerate(stored)})
        subprocess.run([command, "run", file, "--inputs", given, "--outputs", out], check=True, capture_output=True)
        return values.load(out)["out0"]


def others(text: str, args: list[np.ndarray], system: str) -> np.ndarray | None:
    """What another system gives."""
    try:
        return np.asarray(evaluate.RUNS[system](text, args)[0]).view(args[0].dtype)
    except Exception as error:  # a refusal is an answer
        print(f"{system}: {' '.join(str(error).split())[:150]}", file=sys.stderr)
        return None


@dataclass
class Worst:
    """The worst error so far, and where."""

    ulps: float = 0.0
    at: tuple = ()
    far: int = 0
    far_at: tuple = ()

    def see(self, got: float, truth: mpf, dtype: str, at: tuple) -> None:
        """Notes an element."""
        if mp.isnan(truth):
            if not np.isnan(got):
                self.far, self.far_at = self.far + 1, at
            return
        info = ml_dtypes.finfo(DTYPES[dtype])
        smallest, bits = mpf(float(info.smallest_normal)), mantissa(dtype)
        ulp = max(mpf(2) ** (mp.floor(mp.log(abs(truth), 2)) - bits) if truth else 0, smallest * mpf(2) ** -bits)
        limit = mpf(float(info.max)) * (1 + mpf(2) ** -(bits + 2))
        if not np.isfinite(got):
            if np.isnan(got) or abs(truth) < limit or np.sign(got) != mp.sign(truth):
                self.far, self.far_at = self.far + 1, at
            return
        if abs(truth) >= limit or (got == 0) != (abs(truth) < ulp) and abs(mpf(got) - truth) > 8 * ulp:
            self.far, self.far_at = self.far + 1, at
            return
        error = float(abs(mpf(got) - truth) / ulp)
        if error > self.ulps:
            self.ulps, self.at = error, at


def is_subnormal(x, dtype: str) -> bool:
    """Neither 0 nor a normal number."""
    return x != 0 and abs(x) < float(ml_dtypes.finfo(DTYPES[dtype]).smallest_normal)


def measure(function: Function, dtype: str, options: argparse.Namespace) -> None:
    """Prints the lines of a function and a type."""
    args = arguments(function, dtype, options.count, options.subnormal)
    expected, text = truths(function, args), program(function, args, dtype)
    found = {"ours": ours(options.command, text, args)}
    if not options.subnormal and not options.ours:
        found |= {system: others(text, args, system) for system in ("jax", "interpreter")}
    for system, results in found.items():
        worst = Worst()
        for point, truth, got in zip(zip(*args), expected, results if results is not None else ()):
            plain = tuple(float(x) for x in point)
            if truth is None or not options.subnormal and any(is_subnormal(x, dtype) for x in (*plain, truth)):
                continue
            worst.see(float(got), truth, dtype, plain)
        outcome = "refuses" if results is None else f"{worst.ulps:.2f}"
        far = f" far {worst.far} {worst.far_at}" if worst.far else ""
        print(f"{function.op:32} {dtype:5} {system:12} {outcome:>12} {worst.at}{far}", flush=True)


def main() -> int:
    """Prints a line for each function, type and system."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", default="target/release/shardwise")
    parser.add_argument("--only", default="", help="functions whose name has this in it")
    parser.add_argument("--dtypes", default=",".join(DTYPES))
    parser.add_argument("--count", type=int, default=1000, help="arguments, about")
    parser.add_argument("--ours", action="store_true", help="ours alone")
    parser.add_argument("--subnormal", action="store_true", help="subnormal arguments")
    options = parser.parse_args()
    for function in FUNCTIONS:
        if options.only in function.op:
            for dtype in options.dtypes.split(","):
                measure(function, dtype, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
