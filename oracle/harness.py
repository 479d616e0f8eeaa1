"""What the exporting scripts share: eight CPU devices, seeded inputs, files.

Import this module before jax: it asks XLA for eight virtual CPU devices, which works only before jax starts.
"""

import os

DEVICE_COUNT = 8
# XLA keeps bf16 values in f32 between operations where it can. What is compared must be rounded where the program says so;
# what is timed runs as users run it.
ROUND_AS_WRITTEN = "" if "ORACLE_AS_USERS_RUN_IT" in os.environ else "--xla_allow_excess_precision=false"
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={DEVICE_COUNT} {ROUND_AS_WRITTEN}".strip()
os.environ["JAX_PLATFORMS"] = "cpu"

import subprocess
import sys
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import ml_dtypes
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

import shardy

P = PartitionSpec

# Locations have paths relative to the repository or to site-packages, so that files compare across machines.
jax.config.update("jax_hlo_source_file_canonicalization_regex", r".*/site-packages/|.*/(?=oracle/)")

DTYPES = {
    "bf16": ml_dtypes.bfloat16,
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    "i8": np.int8,
    "i32": np.int32,
    "i64": np.int64,
    "u32": np.uint32,
    "bool": np.bool_,
    "c64": np.complex64,
    "c128": np.complex128,
}


def mesh(explicit: Sequence[str] = (), **axis_sizes: int) -> Mesh:
    """A mesh over the virtual devices; its axes are Auto except for those named in `explicit`."""
    types = tuple(AxisType.Explicit if name in explicit else AxisType.Auto for name in axis_sizes)
    return jax.make_mesh(tuple(axis_sizes.values()), tuple(axis_sizes), axis_types=types)


# Draws: functions from (rng, shape) to values, converted to the argument's dtype afterwards.


def dyadic(rng: np.random.Generator, shape: Sequence[int]) -> np.ndarray:
    """Values k/8 with |k| <= 16: exact in bf16, and so are their short sums of products in f32, in any order."""
    return rng.integers(-16, 17, shape) / 8


def complex_dyadic(rng: np.random.Generator, shape: Sequence[int]) -> np.ndarray:
    """Complex numbers with dyadic parts."""
    return dyadic(rng, shape) + 1j * dyadic(rng, shape)


def coins(rng: np.random.Generator, shape: Sequence[int]) -> np.ndarray:
    """Booleans."""
    return rng.integers(0, 2, shape).astype(bool)


def below(limit: int) -> Callable:
    """A draw of integers in [0, limit)."""
    return lambda rng, shape: rng.integers(0, limit, shape)


def distinct(rng: np.random.Generator, shape: Sequence[int]) -> np.ndarray:
    """A permutation of 0..n-1, minus half of it: values without ties, for sorting."""
    size = int(np.prod(shape))
    return rng.permutation(size).reshape(shape) - size // 2


def positive(rng: np.random.Generator, shape: Sequence[int]) -> np.ndarray:
    """Dyadic values in [1/8, 2]."""
    return rng.integers(1, 17, shape) / 8


def normal(scale: float) -> Callable:
    """A draw of normals with standard deviation `scale`."""
    return lambda rng, shape: rng.standard_normal(shape) * scale


def default_draw(dtype: str) -> Callable:
    """The draw used where an argument names none."""
    if dtype in ("bf16", "f16", "f32", "f64"):
        return dyadic
    return {"bool": coins, "c64": complex_dyadic, "c128": complex_dyadic}.get(dtype, below(16))


@dataclass(frozen=True)
class Arg:
    """One argument of a program: its global type, its sharding and how its values are drawn."""

    shape: tuple[int, ...]
    dtype: str
    spec: PartitionSpec = P()
    draw: Callable | None = None

    def value(self, rng: np.random.Generator) -> np.ndarray:
        """The seeded global value."""
        draw = self.draw or default_draw(self.dtype)
        return np.asarray(draw(rng, self.shape)).astype(DTYPES[self.dtype])


@dataclass(frozen=True)
class Program:
    """A function with everything needed to lower it, run it and write it down.

    `out` is jit's `out_shardings` as PartitionSpecs, or None to leave it to the compiler.
    `args` is a tuple whose leaves are `Arg`s; their flattened order is the order of `arg0`, `arg1`, ... in the files.
    """

    family: str
    name: str
    function: Callable
    mesh: Mesh
    args: tuple[Any, ...]
    out: Any = None
    x64: bool = False
    locations: bool = False
    sample: bool = False
    donate: tuple[int, ...] = field(default=())

    @property
    def label(self) -> str:
        """`family/name`, which is also the program's path in a corpus; the name alone if there is no family."""
        return "/".join(filter(None, [self.family, self.name]))

    def values(self) -> tuple[Any, ...]:
        """Seeded inputs with the structure of `args`; they depend on the label only."""
        rng = np.random.default_rng(zlib.crc32(self.label.encode()))
        return jax.tree.map(lambda arg: arg.value(rng), self.args, is_leaf=is_arg)

    def place(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """The values as sharded arrays."""
        put = lambda arg, value: jax.device_put(value, NamedSharding(self.mesh, arg.spec))
        return jax.tree.map(put, self.args, values, is_leaf=is_arg)

    def jit(self) -> Callable:
        """The function under `jax.jit`, with `out` as its output shardings."""
        options = {"keep_unused": True, "donate_argnums": self.donate}
        if self.out is not None:
            to_sharding = lambda spec: NamedSharding(self.mesh, spec)
            options["out_shardings"] = jax.tree.map(to_sharding, self.out, is_leaf=is_spec)
        return jax.jit(self.function, **options)


def is_arg(leaf: Any) -> bool:
    """True for the leaves of `Program.args`."""
    return isinstance(leaf, Arg)


def is_spec(leaf: Any) -> bool:
    """True for the leaves of `Program.out`."""
    return isinstance(leaf, PartitionSpec)


class Family:
    """A named list of programs, filled by its `program` decorator."""

    def __init__(self, name: str):
        self.name = name
        self.programs: list[Program] = []

    def program(self, on: Mesh, *args: Any, **options: Any) -> Callable:
        """Decorator: registers a function as a program on mesh `on` with these arguments."""

        def register(function: Callable) -> Callable:
            self.programs.append(Program(self.name, function.__name__, function, on, args, **options))
            return function

        return register


def export_program(program: Program, folder: Path) -> Path:
    """Writes `<label>.mlir`, `.in.npz` and `.out.npz` under `folder`; the outputs are JAX's own."""
    path = folder / program.label
    path.parent.mkdir(parents=True, exist_ok=True)
    with jax.enable_x64(program.x64), jax.set_mesh(program.mesh):
        values = program.values()
        lowered = program.jit().lower(*program.place(values))
        result = lowered.compile()(*program.place(values))
        path.with_suffix(".mlir").write_text(lowered.as_text(debug_info=program.locations))
        save_arrays(path.with_suffix(".in.npz"), "arg", jax.tree.leaves(values))
        save_arrays(path.with_suffix(".out.npz"), "out", jax.tree.leaves(result))
    return path.with_suffix(".mlir")


def save_arrays(path: Path, prefix: str, arrays: Sequence[Any]) -> None:
    """Saves arrays as `<prefix>0`, `<prefix>1`, ... (bf16 is written as `V2`, as numpy does for ml_dtypes)."""
    np.savez(path, **{f"{prefix}{i}": np.asarray(array) for i, array in enumerate(arrays)})


def record_program(module: Path) -> bool:
    """Writes Shardy's answers next to an exported module: `.shardy.mlir` and `.final.mlir`."""
    return all([record_kind(module, kind) for kind in shardy.RECORDINGS])


def record_kind(module: Path, kind: str) -> bool:
    """Records one answer in a process of its own, because jaxlib may abort; a failure is printed."""
    target = module.with_suffix(f".{kind}.mlir")
    command = [sys.executable, shardy.__file__, "--record", kind, module, "-o", target]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"FAILED {kind} of {module}: {done.stderr.strip()[-300:]}", file=sys.stderr)
    return done.returncode == 0
