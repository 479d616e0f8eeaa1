"""Programs whose communication is compared with that of XLA, one module for each family.

A program is a recipe: a function that takes a `Draw`, which chooses sizes, and returns a `Case`. All arguments and
results have fixed shardings over a mesh of eight devices. Each module has a `FAMILY` with its recipes.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from harness import Arg, P, mesh
from jax.sharding import Mesh, PartitionSpec


class Draw:
    """Draws sizes. Equal seeds give equal sizes."""

    def __init__(self, seed: str):
        self._random = random.Random(seed)

    def of(self, *choices: Any) -> Any:
        """One of the choices."""
        return self._random.choice(choices)

    def times(self, unit: int, least: int, most: int) -> int:
        """A multiple of `unit`, between `least` and `most` times."""
        return unit * self._random.randint(least, most)

    def grid(self) -> Mesh:
        """A mesh of two axes `x` and `y`, 2x4 or 4x2."""
        rows = self.of(2, 4)
        return mesh(x=rows, y=8 // rows)


def line() -> Mesh:
    """A mesh of one axis `x` of eight devices."""
    return mesh(x=8)


def cube() -> Mesh:
    """A mesh of three axes `x`, `y` and `z` of two devices each."""
    return mesh(x=2, y=2, z=2)


@dataclass(frozen=True)
class Case:
    """A function with the types and shardings of its arguments and results."""

    mesh: Mesh
    function: Callable
    args: tuple[Any, ...]
    out: Any


Recipe = Callable[[Draw], Case]


def case(on: Mesh, function: Callable, *args: Any, out: Any) -> Case:
    """A case. `out` is the spec of the result, or a tree of specs."""
    return Case(on, function, args, out)


def f32(shape: tuple[int, ...], *spec: Any) -> Arg:
    """An f32 argument with a sharding for each dimension; missing ones are not sharded."""
    return Arg(shape, "f32", P(*spec))


def i32(shape: tuple[int, ...], *spec: Any) -> Arg:
    """An i32 argument, as `f32`."""
    return Arg(shape, "i32", P(*spec))


class Family:
    """The recipes of a family, filled by its `program` decorator."""

    def __init__(self, name: str):
        self.name = name
        self.recipes: list[tuple[str, Recipe]] = []

    def program(self, recipe: Recipe) -> Recipe:
        """Decorator: registers a recipe under its function's name."""
        self.recipes.append((f"{self.name}/{recipe.__name__}", recipe))
        return recipe

    def variants(self, **choices: Any) -> Callable:
        """Decorator: registers a recipe once for each keyword, with its value as the second argument."""

        def register(recipe: Callable) -> Callable:
            for name, value in choices.items():
                bound = lambda draw, value=value: recipe(draw, value)
                self.recipes.append((f"{self.name}/{recipe.__name__}_{name}", bound))
            return recipe

        return register


def programs(family: str) -> list[tuple[str, Recipe]]:
    """The labels and recipes of a family."""
    return import_module(f"traffic.{family}").FAMILY.recipes
