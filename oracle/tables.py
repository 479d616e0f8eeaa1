"""Tables of what JAX answers, under `testdata`: a case on each line, `field | field | JAX's answer`.

A script gives `main` its cases and a function that asks JAX; the answers are worked out anew and compared, or with
`--write` the table is made anew. Import this module before jax: it asks for eight virtual devices.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import harness  # first: it sets up the devices
import jax
from jax.sharding import AxisType

TESTDATA = Path(__file__).parent.parent / "testdata"
# How the tables write dtypes.
DTYPES = {name: harness.DTYPES[name] for name in ("f32", "bf16", "i32", "bool")}
SHORT = {"float32": "f32", "bfloat16": "bf16", "int32": "i32", "bool": "bool"}

Case = tuple[str, ...]


def read(table: Path) -> Iterator[tuple[Case, str]]:
    """The cases of a table and their answers."""
    for line in table.read_text().splitlines():
        if line and not line.startswith("#"):
            *case, expected = (part.strip() for part in line.split("|"))
            yield tuple(case), expected


def main(name: str, title: str, axis_type: AxisType, cases: Iterable[Case], answer: Callable) -> int:
    """Compares the table `name` with JAX, or writes it; `answer(mesh, *case)` asks JAX. The mesh is X=4, Y=2."""
    mesh = jax.make_mesh((4, 2), ("X", "Y"), axis_types=(axis_type,) * 2)
    jax.set_mesh(mesh)
    table = TESTDATA / name
    if "--write" in sys.argv:
        lines = [" | ".join([*case, answer(mesh, *case)]) for case in dict.fromkeys(cases)]
        table.parent.mkdir(exist_ok=True)
        table.write_text(f"# {title}: made by `oracle/{Path(sys.argv[0]).name} --write`; X=4, Y=2.\n" + "\n".join(lines) + "\n")
        print(f"{len(lines)} cases")
        return 0
    answers = [(case, expected, answer(mesh, *case)) for case, expected in read(table)]
    wrong = [found for found in answers if found[1] != found[2]]
    for case, expected, found in wrong:
        print(f"{' | '.join(case)}: the table says {expected}, JAX {found}")
    print(f"{len(answers)} cases, {len(wrong)} differ")
    return 1 if wrong else 0
