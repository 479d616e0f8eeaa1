"""Draws functions, their arguments and transforms, and asks JAX for the values of the transformed functions.

    python oracle/derivatives.py --seed 0 --count 600 [--only NAME] > CASES

Each line is a case: the text of the function (JAX's export of it, before any transform), the transforms as our command
takes them, inputs and JAX's results as bytes. `cargo xtask oracle --derivatives COUNT` transforms the text, runs it and
compares. The models come first, and then COUNT functions that are drawn.
"""

import argparse
import itertools
import json
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import harness  # noqa: F401  before jax: it says how XLA rounds
import jax
import jax.numpy as jnp
import numpy as np

import evaluate
from calculus import catalogue, functions, models, per_device  # noqa: F401  it adds models

BATCH = 3
"""The size of a batch."""
VERSIONS = 6
"""The number of draws of the arguments: enough for a batch of batches."""
TOLERANCES = {"f32": 1e-5, "c64": 1e-5, "bf16": 2.0**-6, "f64": 1e-12, "c128": 1e-12}
SECOND = 1e-4
"""The tolerance of f32 for derivatives of derivatives."""

# The chains of transforms, innermost first.
FIRST = [["grad"], ["jvp"], ["vjp"], ["vmap"], ["grad", "vmap"], ["vmap", "vjp"], ["jvp", "vmap"], ["vmap", "jvp"]]
SECOND_ORDER = [["grad", "vjp"], ["grad", "jvp"], ["jvp", "vjp"], ["jvp", "jvp"], ["vjp", "vmap", "jvp"], ["vmap", "vmap"]]
FORWARD = [["jvp"], ["vmap"], ["jvp", "vmap"], ["vmap", "jvp"], ["jvp", "jvp"]]


def is_smooth(x) -> bool:
    """True for arrays that have tangents."""
    return jnp.issubdtype(x.dtype, jnp.inexact)


def flat(result) -> tuple:
    """The arrays of a result."""
    return tuple(jax.tree.leaves(result))


@dataclass
class Subject:
    """A function from arrays to arrays, several draws of its arguments, and the requests that made it."""

    function: Callable
    versions: list[list[np.ndarray]]
    requests: list[str]
    rng: np.random.Generator

    @property
    def args(self) -> list[np.ndarray]:
        return self.versions[0]

    def smooth(self, limit: int) -> list[int]:
        """The positions of the first smooth arguments."""
        return [i for i, x in enumerate(self.args) if is_smooth(x)][:limit]

    def noise(self, like) -> np.ndarray:
        """A tangent or cotangent."""
        part = lambda: self.rng.standard_normal(like.shape)
        return np.asarray(part() + 1j * part() if like.dtype.kind == "c" else part()).astype(like.dtype)

    def results(self) -> list:
        """The shapes and types of the results."""
        return list(jax.eval_shape(self.function, *self.args))

    def then(self, name: str, limit: int) -> "Subject":
        """The function after a transform."""
        return {"grad": self.grad, "jvp": self.jvp, "vjp": self.vjp, "vmap": self.vmap}[name](limit)

    def request(self, text: str, of: list[int] | None = None) -> list[str]:
        """The requests with another one."""
        options = [f"args={'+'.join(map(str, of))}"] if of is not None else []
        options += [f"size={BATCH}"] if text == "vmap" else []
        return [*self.requests, text + "{" + ",".join(options) + "}"]

    def grad(self, limit: int) -> "Subject":
        of, inner = self.smooth(limit), self.function

        def function(*args):
            value, grads = jax.value_and_grad(lambda *args: inner(*args)[0], argnums=tuple(of))(*args)
            return (value, *grads)

        return Subject(function, self.versions, self.request("value-and-grad", of), self.rng)

    def jvp(self, limit: int) -> "Subject":
        of, inner, count = self.smooth(limit), self.function, len(self.args)

        def function(*all):
            args, tangents = list(all[:count]), all[count:]

            def partial(*some):
                whole = list(args)
                for i, x in zip(of, some):
                    whole[i] = x
                return inner(*whole)

            values, found = jax.jvp(partial, [args[i] for i in of], list(tangents))
            return (*values, *(t for y, t in zip(values, found) if is_smooth(y)))

        versions = [[*args, *(self.noise(args[i]) for i in of)] for args in self.versions]
        return Subject(function, versions, self.request("jvp", of), self.rng)

    def vjp(self, limit: int) -> "Subject":
        of, inner, count = self.smooth(limit), self.function, len(self.args)
        smooth = [y for y in self.results() if is_smooth(y)]

        def function(*all):
            args, given = list(all[:count]), iter(all[count:])

            def partial(*some):
                whole = list(args)
                for i, x in zip(of, some):
                    whole[i] = x
                return inner(*whole)

            values, pull = jax.vjp(partial, *[args[i] for i in of])
            zero = lambda y: np.zeros(y.shape, jax.dtypes.float0)
            return (*values, *pull(tuple(next(given) if is_smooth(y) else zero(y) for y in values)))

        versions = [[*args, *(self.noise(y) for y in smooth)] for args in self.versions]
        return Subject(function, versions, self.request("vjp", of), self.rng)

    def vmap(self, limit: int) -> "Subject":
        of = list(range(len(self.args)))
        if len(of) > 1 and limit == 1:
            of = sorted(int(i) for i in self.rng.choice(of, max(1, len(of) // 2), replace=False))
        inner, axes = self.function, [0 if i in of else None for i in range(len(self.args))]
        chunks = [self.versions[i : i + BATCH] for i in range(0, len(self.versions) - BATCH + 1, BATCH)]
        chunks = chunks or [[self.versions[i % len(self.versions)] for i in range(BATCH)]]
        stacked = lambda chunk, i: np.stack([args[i] for args in chunk]) if i in of else chunk[0][i]
        versions = [[stacked(chunk, i) for i in range(len(self.args))] for chunk in chunks]
        return Subject(jax.vmap(inner, in_axes=axes), versions, self.request("vmap", of), self.rng)


def as_scalar(function: Callable) -> Callable:
    """A real scalar in which all smooth results have part, each element with a weight of its own."""

    def scalar(*args):
        total = 0
        for k, y in enumerate(function(*args)):
            if not is_smooth(y):
                continue
            wide = jnp.float64 if y.dtype in (jnp.float64, jnp.complex128) else jnp.float32
            parts = [y.real, y.imag] if jnp.iscomplexobj(y) else [y]
            for part in parts:
                weights = np.cos(np.arange(part.size) + k + 0.5).reshape(part.shape).astype(wide)
                total = total + jnp.sum(part.astype(wide) * weights)
        return (total,)

    return scalar


def exact(entry: catalogue.Entry, dtype: str, chain: list[str], platform: str, seed: list[int]) -> dict:
    """A case with JAX's results in f64, from the same inputs."""
    with jax.enable_x64(True):
        subject = made(entry, dtype, chain, seed)
        wide = {"f": np.float64, "V": np.float64, "c": np.complex128}
        args = [x.astype(wide.get(x.dtype.kind, x.dtype)) for x in subject.args]
        results = jax.jit(subject.function)(*args)
        return {"name": label(entry, dtype, chain, platform), "results": [elements(x) for x in results]}


def made(entry: catalogue.Entry, dtype: str, chain: list[str], seed: list[int]) -> Subject:
    """The function after the transforms."""
    subject = drawn(entry, dtype, chain[0] == "grad", seed)
    for transform in chain:
        subject = subject.then(transform, int(subject.rng.integers(1, 4)))
    return subject


def label(entry: catalogue.Entry, dtype: str, chain: list[str], platform: str) -> str:
    """The name of a case: its function, type, transforms and platform."""
    return f"{entry.name} {dtype} {'.'.join(chain)} {platform}"


def told(error: Exception) -> str:
    """What an exception says, in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def case(entry: catalogue.Entry, dtype: str, chain: list[str], platform: str, seed: list[int]) -> dict:
    """A case: what the command is asked, and what JAX answers."""
    with jax.enable_x64(dtype in ("f64", "c128")):
        subject = drawn(entry, dtype, chain[0] == "grad", seed)
        jitted = jax.jit(subject.function, keep_unused=True)
        text = jitted.trace(*subject.args).lower(lowering_platforms=(platform,)).as_text()
        subject = made(entry, dtype, chain, seed)
        is_second = sum(t != "vmap" for t in chain) > 1
        name = label(entry, dtype, chain, platform)
        found = {"name": name, "text": text, "transforms": subject.requests}
        found["tolerance"] = SECOND if is_second and TOLERANCES[dtype] == 1e-5 else TOLERANCES[dtype]
        found["inputs"] = [elements(x) for x in subject.args]
        try:
            found["results"] = [elements(x) for x in jax.jit(subject.function)(*subject.args)]
        except Exception as error:
            found["reason"] = told(error)
        return found


def drawn(entry: catalogue.Entry, dtype: str, is_gradient: bool, seed: list[int]) -> Subject:
    """The function with its arguments."""
    draws = [catalogue.Draw(dtype, seed, [*seed, k]) for k in range(VERSIONS)]
    made = [entry.make(d) for d in draws]
    inner = made[0][0]
    function = lambda *args: flat(inner(*args))
    if is_gradient and entry.sum:
        function = as_scalar(function)
    versions = [[np.asarray(x) for x in args] for _, *args in made]
    return Subject(function, versions, [], np.random.default_rng([*seed, VERSIONS]))


def type_name(dtype: np.dtype) -> str:
    """The name of a type, as StableHLO has it."""
    names = {"b": "i1", "V": "bf16"}
    if dtype.kind == "c":
        return f"complex<f{4 * dtype.itemsize}>"
    letter = {"i": "i", "u": "ui", "f": "f"}.get(dtype.kind)
    return f"{letter}{8 * dtype.itemsize}" if letter else names[dtype.kind]


def elements(x) -> dict:
    """An array as bytes."""
    x = np.asarray(x)
    return {"dtype": type_name(x.dtype), "shape": list(x.shape), "hex": evaluate.to_hex(x)}


def choices(seed: int) -> Iterator[tuple[catalogue.Entry, str, list[str], str, list[int]]]:
    """Draws cases without end: every function in turn, each with another type, transform and platform."""
    rng = np.random.default_rng(seed)
    entries = list(functions.CATALOGUE.entries.values())
    for turn in itertools.count():
        for i in rng.permutation(len(entries)):
            entry = entries[i]
            chains = FIRST * 2 + (SECOND_ORDER if entry.second else []) if entry.reverse else FORWARD
            pick = lambda options: options[int(rng.integers(len(options)))]
            yield entry, pick(entry.dtypes), pick(chains), pick(entry.platforms), [seed, turn, int(i)]


def all_models(seed: int) -> Iterator[tuple]:
    """The gradient of each model."""
    for name, entry in models.CATALOGUE.entries.items():
        yield entry, entry.dtypes[0], ["grad"], entry.platforms[0], [seed, zlib.crc32(name.encode())]


def selected(seed: int, count: int) -> list[tuple]:
    """The models, and then as many cases of a seed."""
    return [*all_models(seed), *itertools.islice(choices(seed), count)]


def answered(entry: catalogue.Entry, dtype: str, chain: list[str], platform: str, seed: list[int], how=case) -> dict:
    """A case. Without results if JAX refuses to transform the function, and without text if it cannot export it."""
    try:
        return how(entry, dtype, chain, platform, seed)
    except Exception as error:
        return {"name": label(entry, dtype, chain, platform), "reason": told(error)}


def main() -> None:
    """Prints the cases."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=600)
    parser.add_argument("--only", default="", help="a part of the name of a function")
    parser.add_argument("--part", default="0/1", help="every n-th case: i/n")
    parser.add_argument("--models", action="store_true", help="only print the number of models")
    arguments = parser.parse_args()
    if arguments.models:
        print(len(models.CATALOGUE.entries))
        return
    i, n = map(int, arguments.part.split("/"))
    for choice in selected(arguments.seed, arguments.count)[i::n]:
        if arguments.only in choice[0].name:
            print(json.dumps(answered(*choice)), flush=True)


if __name__ == "__main__":
    main()
