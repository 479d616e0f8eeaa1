"""Short programs of packages that are written with JAX, one module for each kind of package.

A program is a function without parameters that builds what its users build (an environment, a model, a sampler) and
returns a `Case`: a call of the package's public functions, with the state and the parameters as arguments. Each module
has a `FAMILY` with its programs. The packages are imported inside the functions, so that one that is missing or does
not import takes only its own programs along.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import jax
import numpy as np

MODULES = sorted(path.stem for path in Path(__file__).parent.glob("[!_]*.py"))


@dataclass(frozen=True)
class Case:
    """A function with its arguments. Leaves of arguments that are no arrays are constants of the program."""

    function: Callable
    args: tuple[Any, ...]


@dataclass(frozen=True)
class Recipe:
    """A program that has yet to be built: `package` is the one that it shows."""

    package: str
    name: str
    build: Callable[[], Case]
    x64: bool


def case(function: Callable, *args: Any) -> Case:
    """A case."""
    return Case(function, args)


class Family:
    """The programs of a module, filled by its `program` decorator."""

    def __init__(self) -> None:
        self.recipes: list[Recipe] = []

    def program(self, package: str, x64: bool = False) -> Callable:
        """Decorator: registers a function as a program of `package`."""

        def register(build: Callable) -> Callable:
            self.recipes.append(Recipe(package, build.__name__, build, x64))
            return build

        return register


def recipes(module: str) -> list[Recipe]:
    """The programs of a module."""
    return import_module(f"packages.{module}").FAMILY.recipes


def key(seed: int = 0) -> jax.Array:
    """A key as raw words."""
    return jax.random.PRNGKey(seed)


def normal(*shape: int, seed: int = 1, scale: float = 1.0) -> np.ndarray:
    """Normals in f32, or in f64 where JAX has 64 bits."""
    dtype = np.float64 if jax.config.jax_enable_x64 else np.float32
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(dtype)


def uniform(*shape: int, seed: int = 1, low: float = 0.0, high: float = 1.0) -> np.ndarray:
    """Uniform numbers, of the same type."""
    return np.random.default_rng(seed).uniform(low, high, shape).astype(normal().dtype)


def integers(limit: int, *shape: int, seed: int = 1) -> np.ndarray:
    """Integers below `limit`."""
    return np.random.default_rng(seed).integers(0, limit, shape).astype(np.int32)


def is_array(leaf: Any) -> bool:
    """Whether a leaf is an argument of the exported program."""
    return isinstance(leaf, (jax.Array, np.ndarray, np.generic))


def raw(leaf: Any) -> Any:
    """The words of a key, and anything else as it is."""
    is_key = isinstance(leaf, jax.Array) and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return jax.random.key_data(leaf) if is_key else leaf


def flatten(case: Case) -> tuple[Callable, list[Any]]:
    """The function over flat lists of arrays, and its arguments."""
    leaves, tree = jax.tree.flatten(case.args)
    where = [i for i, leaf in enumerate(leaves) if is_array(leaf)]

    def function(*arrays: Any) -> list[Any]:
        given = list(leaves)
        for i, array in zip(where, arrays):
            given[i] = jax.random.wrap_key_data(array) if raw(leaves[i]) is not leaves[i] else array
        result = case.function(*jax.tree.unflatten(tree, given))
        return [raw(leaf) for leaf in jax.tree.leaves(result) if isinstance(leaf, (jax.Array, np.ndarray))]

    return function, [raw(leaves[i]) for i in where]
