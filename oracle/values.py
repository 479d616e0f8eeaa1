"""Compares the arrays of two npz files, each dtype with its own tolerance.

    python oracle/values.py OURS.npz EXPECTED.npz

Integers and booleans must be equal. Floats and complex numbers must satisfy |a-b| <= atol + rtol*|b|, with equal
infinities and NaNs in the same places. `V2` arrays are read as bf16. Exits with 1 if names, shapes, dtypes or values
differ.
"""

import argparse
import json
import sys
from pathlib import Path

import ml_dtypes
import numpy as np

# (rtol, atol) by dtype. Sums in another order and other implementations of exp, tanh, ... stay within these.
TOLERANCES = {
    "bfloat16": (2.0**-6, 2.0**-6),
    "float16": (2.0**-9, 2.0**-9),
    "float32": (2e-5, 2e-5),
    "float64": (1e-12, 1e-12),
    "complex64": (2e-5, 2e-5),
    "complex128": (1e-12, 1e-12),
}


def load(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a file, with bf16 recognised."""
    with np.load(path) as arrays:
        return {name: typed(arrays[name]) for name in arrays.files}


def typed(array: np.ndarray) -> np.ndarray:
    """`V2` is how numpy writes ml_dtypes.bfloat16."""
    return array.view(ml_dtypes.bfloat16) if array.dtype == np.dtype("V2") else array


def wide(array: np.ndarray) -> np.ndarray:
    """The values in double precision, or complex double precision."""
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def ordered_bits(array: np.ndarray) -> np.ndarray:
    """Maps floats to integers so that neighbours differ by one, with both zeros at 0."""
    bits = array.view(f"i{array.dtype.itemsize}").astype(np.int64)
    smallest = np.int64(-(2 ** (8 * array.dtype.itemsize - 1)))
    return np.where(bits < 0, smallest - bits, bits)


def max_ulp(a: np.ndarray, b: np.ndarray) -> int:
    """The largest distance in units in the last place, over the finite elements."""
    if a.dtype.kind == "c":
        return max(max_ulp(a.real.copy(), b.real.copy()), max_ulp(a.imag.copy(), b.imag.copy()))
    finite = np.isfinite(a) & np.isfinite(b)
    if not finite.any():
        return 0
    x, y = ordered_bits(a[finite]), ordered_bits(b[finite])
    farthest = np.argmax(np.abs(x.astype(np.float64) - y.astype(np.float64)))
    return abs(int(x[farthest]) - int(y[farthest]))


def compare_arrays(a: np.ndarray, b: np.ndarray, tolerance: tuple[float, float] | None = None) -> dict:
    """The facts about two arrays: whether they agree, and how far they are apart."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return {"ok": False, "ours": f"{a.dtype}{list(a.shape)}", "expected": f"{b.dtype}{list(b.shape)}"}
    if a.dtype.kind in "biu":
        count = int((a != b).sum())
        return {"ok": count == 0, "dtype": str(a.dtype), "different_elements": count}
    rtol, atol = tolerance or TOLERANCES[str(b.dtype)]
    close = np.isclose(wide(a), wide(b), rtol=rtol, atol=atol, equal_nan=True)
    return {"ok": bool(close.all()), "dtype": str(a.dtype), "different_elements": int((~close).sum()), **errors(a, b)}


def errors(a: np.ndarray, b: np.ndarray) -> dict:
    """Largest absolute, relative and ulp errors over the elements that are finite in both."""
    finite = np.isfinite(wide(a)) & np.isfinite(wide(b))
    x, y = wide(a)[finite], wide(b)[finite]
    absolute = np.abs(x - y)
    relative = absolute[y != 0] / np.abs(y[y != 0])
    largest = lambda values: float(values.max()) if values.size else 0.0
    return {"max_abs": largest(absolute), "max_rel": largest(relative), "max_ulp": max_ulp(a, b)}


def compare_files(ours: Path, expected: Path, tolerance: tuple[float, float] | None = None) -> dict[str, dict]:
    """The facts by array name; a name that one file lacks is a difference."""
    a, b = load(ours), load(expected)
    missing = {name: {"ok": False, "missing_in": "ours" if name in b else "expected"} for name in a.keys() ^ b.keys()}
    return {**missing, **{name: compare_arrays(a[name], b[name], tolerance) for name in b if name in a}}


def main() -> int:
    """Prints one JSON line per array; 1 if any differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ours", type=Path)
    parser.add_argument("expected", type=Path)
    parser.add_argument("--rtol", type=float, help="relative tolerance for all floating-point arrays")
    parser.add_argument("--atol", type=float, default=0.0, help="absolute tolerance, used with --rtol")
    arguments = parser.parse_args()
    tolerance = None if arguments.rtol is None else (arguments.rtol, arguments.atol)
    facts = compare_files(arguments.ours, arguments.expected, tolerance)
    for name, about in facts.items():
        print(json.dumps({"array": name, **about}))
    return 0 if all(about["ok"] for about in facts.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
