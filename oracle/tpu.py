"""What libtpu's compiler expects of products and of the chapter's matmul on TPU v5e. No TPU is needed.

    pip install libtpu==0.0.51         (into an environment with `requirements.txt`; it has a licence of its own)
    python oracle/tpu.py FOLDER --seed 1 --count 200

Draws products and compiles each for one chip. Writes their programs to FOLDER and prints a JSON line for each: the
file, a name, and the cycles that the compiler expects. Then prints, for the chapter's matmul with an all-gather and as
a collective matmul, the cycles that its scheduler for overlap expects. `cargo xtask tpu` calls this and compares the
numbers with the simulator's.
"""

import argparse
import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

# Without these, libtpu looks for a TPU, and only one process may load it.
os.environ |= {"TPU_SKIP_MDS_QUERY": "1", "JAX_PLATFORMS": "cpu", "TPU_WORKER_HOSTNAMES": "localhost"}
os.environ |= {"TPU_ACCELERATOR_TYPE": "v5litepod-8", "ALLOW_MULTIPLE_LIBTPU_LOAD": "1"}
LOG = {"TPU_STDERR_LOG_LEVEL": "0", "TPU_MIN_LOG_LEVEL": "0", "TPU_VMODULE": "latency_hiding_scheduler=10"}

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import topologies
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

TYPES = [("bfloat16", "bfloat16"), ("bfloat16", "float32"), ("int8", "int32")]
# The exponents of the sizes.
SMALLEST, LARGEST = 3, 13
# The flops of a product.
LEAST, MOST = 2**21, 2**39


def topology():
    """Eight chips of TPU v5e."""
    return topologies.get_topology_desc("v5e:2x4", platform="tpu")


def draw_sizes(rng: random.Random) -> tuple[int, int, int]:
    """The sizes m, k and n of a product."""
    while True:
        sizes = tuple(2 ** rng.randint(SMALLEST, LARGEST) for _ in range(3))
        if LEAST <= 2 * sizes[0] * sizes[1] * sizes[2] <= MOST:
            return sizes


def products(folder: Path, seed: int, count: int) -> None:
    """Compiles products for one chip, and prints what they take."""
    rng = random.Random(seed)
    chip = NamedSharding(Mesh(topology().devices[:1], ("x",)), P())
    for number in range(count):
        (m, k, n), (of, to) = draw_sizes(rng), TYPES[number % len(TYPES)]
        operands = [jax.ShapeDtypeStruct(shape, of, sharding=chip) for shape in [(m, k), (k, n)]]
        product = jax.jit(lambda a, b, to=to: jnp.matmul(a, b, preferred_element_type=to))
        lowered = product.lower(*operands)
        cycles = re.findall(r'"estimated_cycles":"(\d+)"', lowered.compile().as_text())
        file = folder / f"{number}.mlir"
        file.write_text(lowered.as_text())
        name = f"{m} x {k} x {n}, {of} to {to}"
        print(json.dumps({"file": str(file), "name": name, "cycles": sum(map(int, cycles))}), flush=True)


def collective_matmul(lhs: jax.Array, rhs: jax.Array) -> jax.Array:
    """Multiplies one chunk of `lhs` while the next one is sent around the ring."""
    n, me, chunk, total = lax.axis_size("Y"), lax.axis_index("Y"), lhs.shape[1], None
    for i in range(n):
        following = lax.ppermute(lhs, "Y", [(j, (j - 1) % n) for j in range(n)]) if i + 1 < n else None
        part = lhs @ lax.dynamic_slice_in_dim(rhs, (me + i) % n * chunk, chunk)
        total = part if total is None else total + part
        lhs = following
    return total


def compile_variant(name: str) -> None:
    """Compiles one variant of the chapter's matmul."""
    mesh = topologies.make_mesh(topology(), (2, 4), ("X", "Y"))
    specs = (P("X", "Y"), P(None, "Y"))
    mapped = jax.shard_map(collective_matmul, mesh=mesh, in_specs=specs, out_specs=P("X", "Y"))
    function = mapped if name == "collective_matmul" else lambda a, w: a @ w
    shapes = zip([(1024, 2048), (2048, 8192)], specs)
    args = [jax.ShapeDtypeStruct(shape, jnp.int32, sharding=NamedSharding(mesh, spec)) for shape, spec in shapes]
    jax.jit(function, out_shardings=NamedSharding(mesh, P("X", "Y"))).lower(*args).compile()


def variant(name: str) -> None:
    """Prints the cycles that the scheduler expects for a variant, from its log."""
    command = [sys.executable, __file__, "--variant", name]
    log = subprocess.run(command, env=os.environ | LOG, capture_output=True, text=True, check=True).stderr
    # It estimates the program before and after it has ordered it.
    cycles = re.findall(r"latency_hiding_scheduler.*Total cycles: (\d+)", log)[-1]
    print(json.dumps({"variant": name, "cycles": int(cycles)}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("target/tpu"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--variant", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.variant:
        return compile_variant(options.variant)
    options.folder.mkdir(parents=True, exist_ok=True)
    products(options.folder, options.seed, options.count)
    for name in ["blocking", "collective_matmul"]:
        variant(name)


if __name__ == "__main__":
    main()
