"""Exports the programs of `traffic/` for `cargo xtask communication programs`.

For each program `<family>/<name>` the folder receives
    .mlir   the program with all shardings of its arguments and results, as jax.jit(f).lower(...).as_text() writes it
    .hlo    the optimized HLO text that XLA's CPU compiler makes of it for eight devices

A program that XLA does not compile has no .hlo file but a .error file with the reason.

    python oracle/communication.py --seed 1 --family vision --out target/oracle/communication
"""

import argparse
import sys
from pathlib import Path

import harness
import jax
from jax.sharding import NamedSharding

import traffic


def shardings(mesh: jax.sharding.Mesh, specs: object) -> object:
    """The shardings of a tree of PartitionSpecs."""
    return jax.tree.map(lambda spec: NamedSharding(mesh, spec), specs, is_leaf=harness.is_spec)


def lower(case: traffic.Case) -> jax.stages.Lowered:
    """The program with fixed shardings of all arguments and results."""
    specs = jax.tree.map(lambda arg: arg.spec, case.args, is_leaf=harness.is_arg)
    shape = lambda arg: jax.ShapeDtypeStruct(arg.shape, harness.DTYPES[arg.dtype])
    jitted = jax.jit(
        case.function,
        in_shardings=shardings(case.mesh, specs),
        out_shardings=shardings(case.mesh, case.out),
        keep_unused=True,
    )
    return jitted.lower(*jax.tree.map(shape, case.args, is_leaf=harness.is_arg))


def export(label: str, recipe: traffic.Recipe, seed: int, folder: Path) -> bool:
    """Writes the files of one program. Returns False, and prints why, if it cannot even be traced."""
    path = folder / label
    path.parent.mkdir(parents=True, exist_ok=True)
    for extension in (".mlir", ".hlo", ".error"):
        path.with_suffix(extension).unlink(missing_ok=True)
    try:
        lowered = lower(recipe(traffic.Draw(f"{seed}/{label}")))
    except Exception as error:
        print(f"FAILED {label}: {type(error).__name__}: {str(error)[:600]}", file=sys.stderr)
        return False
    path.with_suffix(".mlir").write_text(lowered.as_text())
    try:
        path.with_suffix(".hlo").write_text(lowered.compile().as_text())
    except Exception as error:
        path.with_suffix(".error").write_text(f"{type(error).__name__}: {str(error)[:600]}\n")
    return True


def main() -> int:
    """Exports what the command line asks for; 1 if a program could not be traced."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")
    parser.add_argument("--seed", type=int, default=1, help="the seed of the sizes")
    parser.add_argument("--family", action="append", required=True, help="a family (may be repeated)")
    parser.add_argument("--only", default="", help="only programs whose family/name contains this")
    parser.add_argument("--sample", action="store_true", help="only the first program of each family")
    arguments = parser.parse_args()
    count = 1 if arguments.sample else None
    recipes = [item for family in arguments.family for item in traffic.programs(family)[:count]]
    wanted = [item for item in recipes if arguments.only in item[0]]
    exported = [export(label, recipe, arguments.seed, arguments.out) for label, recipe in wanted]
    print(f"{sum(exported)} of {len(exported)} programs exported", file=sys.stderr)
    return 0 if all(exported) else 1


if __name__ == "__main__":
    sys.exit(main())
