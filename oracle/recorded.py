"""Tables of values that JAX computes, under `testdata`: `name | the values`, floats by their bits.

A script works the values out anew and compares them, or with `--write` makes the table anew. Sums and elementary functions
depend on the processor, so values are the same if they differ by at most 1e-5 of the largest value of their case, or by the
part of it that the script allows for that case.
"""

import sys
from pathlib import Path

import numpy as np


def words(x) -> str:
    """The bits of each value, as hexadecimal numbers of the values' width."""
    x = np.asarray(x).ravel()
    if x.dtype == np.bool_:
        x = x.astype(np.uint32)
    size = x.dtype.itemsize
    return " ".join(f"{w:0{2 * size}x}" for w in x.view(f"u{size}"))


def floats(text: str) -> np.ndarray:
    """The floats of a list of words: f32, or bf16 if the words have four digits."""
    texts = text.split(" ")
    bits = np.array([int(w, 16) for w in texts], np.uint32)
    return (bits << (16 if len(texts[0]) == 4 else 0)).astype(np.uint32).view(np.float32)


def is_same(a: str, b: str, part: float) -> bool:
    x, y = floats(a), floats(b)
    return x.shape == y.shape and bool(np.all(np.abs(x - y) <= part * max(np.abs(x).max(), np.abs(y).max())))


def record(table: Path, title: str, script: str, lines, parts: dict[str, float] = {}) -> int:
    """Compares the table with the lines, or writes it if `--write` is an argument of the command.

    `parts` has the cases in which another part of the largest value than 1e-5 is allowed.
    """
    lines = list(lines)
    if "--write" in sys.argv:
        table.write_text(f"# {title}: made by `oracle/{script} --write`.\n" + "\n".join(lines) + "\n")
        print(f"{len(lines)} cases")
        return 0
    recorded = [line for line in table.read_text().splitlines() if not line.startswith("#")]
    names = lambda lines: [line.split(" | ")[0] for line in lines]
    if names(recorded) != names(lines):
        print("the table has other cases")
        return 1
    pairs = [(a.split(" | "), b.split(" | ")) for a, b in zip(recorded, lines)]
    wrong = [a[0] for a, b in pairs if not is_same(a[1], b[1], parts.get(a[0], 1e-5))]
    print(f"{len(lines)} cases, {len(wrong)} differ" + "".join(f"\n{name}" for name in wrong))
    return 1 if wrong else 0
