"""Exports the corpus: JAX programs with shardings, their inputs and JAX's results, and Shardy's recorded answers.

For each program `<family>/<name>` the folder receives
    .mlir           what jax.jit(f).lower(...).as_text() gives
    .in.npz         arg0, arg1, ...: global inputs
    .out.npz        out0, out1, ...: JAX's global results on eight virtual devices
    .shardy.mlir    Shardy's module after import and propagation, before export (see shardy.py)
    .final.mlir     Shardy's module after its whole propagation pipeline

    python oracle/corpus.py                     # everything, into target/oracle/corpus
    python oracle/corpus.py --sample            # the small checked-in part, into testdata/corpus
"""

import argparse
import sys
from pathlib import Path

from harness import Program, export_program, record_program
from programs import all_programs


def export(program: Program, folder: Path) -> Path | None:
    """Exports one program; a failure is printed and skipped, so that one bad program does not hide the others."""
    try:
        return export_program(program, folder)
    except Exception as error:
        print(f"FAILED {program.label}: {type(error).__name__}: {str(error)[:300]}", file=sys.stderr)
        return None


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="folder to write to")
    parser.add_argument("--sample", action="store_true", help="only the programs marked as samples")
    parser.add_argument("--only", default="", help="only programs whose family/name contains this")
    parser.add_argument("--no-record", action="store_true", help="do not run Shardy")
    parser.add_argument("--list", action="store_true", help="print the programs' names and stop")
    return parser.parse_args()


def main() -> int:
    """Exports and records what the command line asks for; 1 if anything failed."""
    arguments = parse_arguments()
    folder = arguments.out or Path("testdata/corpus" if arguments.sample else "target/oracle/corpus")
    programs = [p for p in all_programs() if arguments.only in p.label and (p.sample or not arguments.sample)]
    if arguments.list:
        print("\n".join(program.label for program in programs))
        return 0
    modules = [export(program, folder) for program in programs]
    good = [module for module in modules if module is not None]
    recorded = [record_program(module) for module in good if not arguments.no_record]
    print(f"{len(good)} of {len(programs)} programs exported, {sum(recorded)} of {len(recorded)} recorded, in {folder}")
    return 0 if len(good) == len(programs) and all(recorded) else 1


if __name__ == "__main__":
    sys.exit(main())
