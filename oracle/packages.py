"""Exports the programs of `packages/`: calls of real packages that are written with JAX.

    python3.11 -m venv VENV && VENV/bin/pip install --no-deps -r oracle/packages.txt
    VENV/bin/python oracle/packages.py FOLDER
    VENV/bin/python oracle/packages.py FOLDER --only brax    # those whose package, module or name contains this

Writes `NAME.mlir`, `NAME.in.npz` and `NAME.out.npz` for each, and a line for each into `FOLDER/index/MODULE.jsonl`. Each
module runs in a process of its own. A program that cannot be built is reported and left out.
"""

import os

os.environ["XLA_FLAGS"] = "--xla_allow_excess_precision=false"
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import argparse
import importlib.util
import json
import re
import subprocess
import sys
import time
import warnings
from pathlib import Path

# This file has the name of the folder: the import below must find the folder.
HERE = Path(__file__).parent
spec = importlib.util.spec_from_file_location("packages", HERE / "packages" / "__init__.py")
packages = importlib.util.module_from_spec(spec)
sys.modules["packages"] = packages
spec.loader.exec_module(packages)

import jax
import numpy as np

LARGEST_TEXT = 3 << 20
OP = re.compile(r"^\s+(?:%\S+ = )?\"?(?:stablehlo|chlo|func\.call|call)\b", re.MULTILINE)


def export(recipe: packages.Recipe, folder: Path) -> dict:
    """Writes a program, and returns what is known of it."""
    with jax.enable_x64(recipe.x64):
        function, args = packages.flatten(recipe.build())
        args = [jax.numpy.asarray(arg) for arg in args]
        lowered = jax.jit(function, keep_unused=True).lower(*args)
        text = lowered.as_text()
        if len(text) > LARGEST_TEXT:
            raise ValueError(f"the text has {len(text)} bytes")
        compiled = lowered.compile()
        results = jax.block_until_ready(compiled(*args))
        start = time.perf_counter()
        jax.block_until_ready(compiled(*args))
        elapsed = time.perf_counter() - start
    (folder / f"{recipe.name}.mlir").write_text(text)
    save(folder / f"{recipe.name}.in.npz", "arg", args)
    save(folder / f"{recipe.name}.out.npz", "out", results)
    floats = [np.asarray(x) for x in results if jax.numpy.issubdtype(x.dtype, jax.numpy.floating)]
    return {
        "name": recipe.name,
        "package": recipe.package,
        "x64": recipe.x64,
        "ops": len(OP.findall(text)),
        "bytes": len(text),
        "arguments": len(args),
        "results": len(results),
        "jax_us": round(elapsed * 1e6),
        "nans": sum(int(np.isnan(x.astype(np.float64)).sum()) for x in floats),
    }


def save(path: Path, prefix: str, arrays: list) -> None:
    """Saves arrays as `arg0` or `out0` and on; numpy writes bf16 as `V2`."""
    np.savez(path, **{f"{prefix}{i}": np.asarray(array) for i, array in enumerate(arrays)})


def export_module(module: str, only: str, folder: Path) -> int:
    """Exports the chosen programs of a module; returns how many failed."""
    warnings.simplefilter("ignore")
    failed = 0
    lines = folder / "index" / f"{module}.jsonl"
    known = {}
    if lines.exists():
        known = {line["name"]: line for line in map(json.loads, lines.read_text().splitlines())}
    recipes = packages.recipes(module)
    known = {recipe.name: known[recipe.name] for recipe in recipes if recipe.name in known}
    for recipe in recipes:
        if only not in f"{module} {recipe.package} {recipe.name}":
            continue
        known.pop(recipe.name, None)
        try:
            known[recipe.name] = export(recipe, folder)
            print(json.dumps(known[recipe.name]), flush=True)
        except Exception as error:
            failed += 1
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:300]
            print(f"FAILED {recipe.package} {recipe.name}: {reason}", flush=True)
            if os.environ.get("TRACE"):
                import traceback

                traceback.print_exc()
        lines.write_text("".join(json.dumps(line) + "\n" for line in known.values()))
    return failed


def main() -> int:
    """Exports each module in a process of its own; 1 if a program failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="only programs whose module, package or name contains this")
    parser.add_argument("--module", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    (arguments.folder / "index").mkdir(parents=True, exist_ok=True)
    if arguments.module:
        return min(export_module(arguments.module, arguments.only, arguments.folder), 1)
    status = 0
    for module in packages.MODULES:
        if arguments.only not in module and arguments.only not in (HERE / "packages" / f"{module}.py").read_text():
            continue
        command = [sys.executable, __file__, str(arguments.folder), "--only", arguments.only, "--module", module]
        done = subprocess.run(command)
        if done.returncode not in (0, 1):
            print(f"FAILED module {module}: ended with {done.returncode}", flush=True)
        status |= done.returncode != 0
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
