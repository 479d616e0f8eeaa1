"""How functions to differentiate are written down, and how their arguments are drawn."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

DTYPES = {
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "c64": np.dtype(np.complex64),
    "c128": np.dtype(np.complex128),
}
REAL = ("f32", "bf16", "f64")
WIDE = ("f32", "f64")
COMPLEX = ("c64", "c128")
ANY = ("f32", "bf16", "f64", "c64", "c128")
EXACT = ("f32", "f64", "c64", "c128")


class Draw:
    """Draws the sizes and the values of arguments. Draws with equal `structure` seeds have equal sizes."""

    def __init__(self, dtype: str, structure: Sequence[int], values: Sequence[int]):
        self.name = dtype
        self.dtype = DTYPES[dtype]
        self.choice = np.random.default_rng(structure)
        self.rng = np.random.default_rng(values)

    def pick(self, options: Sequence[Any]) -> Any:
        """One of the options, the same for each element of a batch."""
        return options[int(self.choice.integers(len(options)))]

    def shape(self, rank: int | None = None) -> tuple[int, ...]:
        """A shape of small sizes, some of them 1."""
        rank = int(self.choice.integers(0, 4)) if rank is None else rank
        return tuple(int(n) for n in self.choice.choice([1, 2, 3, 4, 5], rank))

    def between(self, low: float, high: float, *shape: int) -> np.ndarray:
        """Numbers in an interval; both parts of complex ones."""
        real = self.rng.uniform(low, high, shape)
        if self.dtype.kind == "c":
            return np.asarray(real + 1j * self.rng.uniform(low, high, shape)).astype(self.dtype)
        return np.asarray(real).astype(self.dtype)

    def normal(self, *shape: int) -> np.ndarray:
        """Numbers that are positive or negative, none of them close to zero or far from one."""
        part = lambda: self.rng.uniform(0.2, 1.6, shape) * self.rng.choice([-1.0, 1.0], shape)
        if self.dtype.kind == "c":
            return np.asarray(part() + 1j * part()).astype(self.dtype)
        return np.asarray(part()).astype(self.dtype)

    def positive(self, *shape: int) -> np.ndarray:
        """Positive numbers."""
        return self.between(0.3, 2.3, *shape)

    def distinct(self, *shape: int) -> np.ndarray:
        """Numbers no two of which are equal, in any of the types."""
        size = int(np.prod(shape))
        numbers = (self.rng.permutation(size) - size / 2 + 0.25) / max(1, size // 8)
        return np.asarray(numbers.reshape(shape)).astype(self.dtype)

    def tied(self, *shape: int) -> np.ndarray:
        """Numbers of which many are equal."""
        return np.asarray(self.rng.integers(-2, 3, shape) / 2.0).astype(self.dtype)

    def below(self, limit: int, *shape: int) -> np.ndarray:
        """Indices."""
        return np.asarray(self.rng.integers(0, limit, shape)).astype(np.int32)

    def coins(self, *shape: int) -> np.ndarray:
        """Booleans."""
        return np.asarray(self.rng.integers(0, 2, shape)).astype(bool)

    def definite(self, n: int, *batch: int) -> np.ndarray:
        """Hermitian matrices that are positive definite."""
        a = self.rng.standard_normal((*batch, n, n))
        if self.dtype.kind == "c":
            a = a + 1j * self.rng.standard_normal((*batch, n, n))
        return (a @ np.conj(np.swapaxes(a, -1, -2)) / n + 2 * np.eye(n)).astype(self.dtype)

    def triangle(self, n: int, *batch: int) -> np.ndarray:
        """Matrices whose triangles have a diagonal away from zero."""
        return self.normal(*batch, n, n) / 2 + (2 * np.eye(n)).astype(self.dtype)


Make = Callable[[Draw], tuple]


@dataclass(frozen=True)
class Entry:
    """A function to differentiate. `make` returns it with its arguments."""

    name: str
    make: Make
    dtypes: tuple[str, ...]
    reverse: bool = True
    """False if JAX differentiates the function in forward mode only."""
    second: bool = True
    """False if the function is not differentiated twice."""
    platforms: tuple[str, ...] = ("cpu", "tpu")
    """Where JAX lowers the function to StableHLO, and not to custom calls."""
    sum: bool = True
    """False if the function returns one real scalar, whose gradient is taken as it is."""


class Catalogue:
    """A list of entries, filled by its `entry` decorator."""

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}

    def add(self, name: str, make: Make, dtypes: tuple[str, ...] = REAL, **options: Any) -> None:
        """Adds an entry."""
        assert name not in self.entries, name
        self.entries[name] = Entry(name, make, dtypes, **options)

    def entry(self, dtypes: tuple[str, ...] = REAL, **options: Any) -> Callable[[Make], Make]:
        """Decorator: adds the function as an entry of the same name."""

        def register(make: Make) -> Make:
            self.add(make.__name__.rstrip("_"), make, dtypes, **options)
            return make

        return register
