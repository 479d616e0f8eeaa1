"""Answers many questions about files in one Python process, because starting jaxlib takes longer than most answers.

    python oracle/batch.py [--children N] [--limit SECONDS] < QUESTIONS

A question is a line of JSON; each is answered by a forked child, because jaxlib may abort or never end:
    {"id": 0, "kind": "values", "ours": OUT.npz, "expected": OUT.npz}
    {"id": 1, "kind": "shardings", "ours": PROPAGATED.mlir, "theirs": X.shardy.mlir}
    {"id": 2, "kind": "verify", "file": DENSE.mlir}
    {"id": 4, "kind": "lit", "file": TEST.mlir, "passes": "sdy-x,sdy-y", "prefixes": ["CHECK"], "output": OUT.mlir or null}
    {"id": 5, "kind": "passes", "passes": "sdy-x,sdy-y", "files": [[X.mlir, OURS.mlir or null], ...]}
    {"id": 6, "kind": "evaluate", "system": "interpreter" or "jax", "programs": [{"text": .., "inputs": [..]}, ...]}
    {"id": 7, "kind": "derivatives", "seed": 0, "count": 600, "positions": [20, 21], "exact": false}
    {"id": 3, "kind": "interpret", "file": DENSE.mlir, "layout": LOCAL.mlir, "inputs": IN.npz, "expected": OUT.npz}
An answer is a line too, in the order in which they are found: {"id": 0, "ok": false, "reason": "out1: ..."}; those to
"shardings" also have the counts that were compared. `interpret` takes and expects global arrays; how they lie on the
processes is read off the program's other form.
"""

import argparse
import contextlib
import io
import itertools
import json
import os
import re
import selectors
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import filecheck.finput
import filecheck.matcher
import filecheck.options
import filecheck.parser
import numpy as np

import compare
import evaluate
import shards
import shardy
import values

PROCESSES = 8


# The answers.


def answer_values(question: dict) -> dict:
    """Are the arrays of two files equal, within tolerances?"""
    return judged(values.compare_files(Path(question["ours"]), Path(question["expected"])))


def judged(facts: dict[str, dict]) -> dict:
    """The answer about arrays, with the first difference as its reason."""
    wrong = {name: about for name, about in sorted(facts.items()) if not about["ok"]}
    if not wrong:
        return {"ok": True, "reason": ""}
    name, about = next(iter(wrong.items()))
    told = ", ".join(f"{key} {short(value)}" for key, value in about.items() if key != "ok")
    return {"ok": False, "reason": f"{name}: {told}"}


def short(value: object) -> str:
    """Floats with three digits."""
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def answer_shardings(question: dict) -> dict:
    """Are all shardings equal to Shardy's?"""
    report = compare.compare_texts(Path(question["ours"]).read_text(), Path(question["theirs"]).read_text())
    kinds = {kind: {"compared": n, "equal": report.equal[kind]} for kind, n in report.compared.items()}
    by_op = Counter(entry["op"] for entry in report.different)
    reason = next(sharding_reasons(report), "")
    return {"ok": not reason, "reason": reason, "shardings": {"kinds": kinds, "different_by_op": by_op}}


def sharding_reasons(report: compare.Report) -> Iterator[str]:
    """What differs."""
    for entry in report.structure:
        yield f"structure: ours {entry['ours']}, Shardy's {entry['theirs']}"
    count = len(report.different)
    for entry in report.different:
        where = f"{entry['kind']} {entry['value']} ({entry['op']})"
        yield f"{count} differ, first {where}: ours {entry['ours']}, Shardy's {entry['theirs']}"


def answer_verify(question: dict) -> dict:
    """Does jaxlib parse and verify it?"""
    shardy.verify_text(Path(question["file"]).read_text())
    return {"ok": True, "reason": ""}


def answer_interpret(question: dict) -> dict:
    """Does the per-device program give these global values on a grid of processes?"""
    text, given = Path(question["file"]).read_text(), values.load(Path(question["inputs"]))
    grid, takes, gives = shards.read(Path(question["layout"]).read_text())
    count = len(grid.positions)
    inputs = {
        f"arg{i}_p{k}": layout.cut(given[f"arg{i}"], grid, k) for i, layout in enumerate(takes) for k in range(count)
    }
    results = shardy.interpret(text, inputs, count)
    ours = {
        f"out{i}": layout.join([results[f"out{i}_p{k}"] for k in range(count)], grid) for i, layout in enumerate(gives)
    }
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "out.npz"
        np.savez(file, **ours)
        return judged(values.compare_files(file, Path(question["expected"])))


SKIPPED = r"\n?[^\n]*"
"""What PyPI's filecheck puts in front of the pattern of a CHECK-NEXT."""


class Input(filecheck.finput.FInput):
    """Finds a CHECK-NEXT at its first place on the line, as LLVM's FileCheck; PyPI's takes the last one."""

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        if pattern.pattern.startswith(SKIPPED):
            pattern = re.compile(SKIPPED + "?" + pattern.pattern.removeprefix(SKIPPED), pattern.flags)
        return super().match(pattern)


class Matcher(filecheck.matcher.Matcher):
    """Looks for a CHECK-NOT in front of the next match, as LLVM's FileCheck; PyPI's looks into that match as well."""

    @classmethod
    def of(cls, options: filecheck.options.Options) -> "Matcher":
        given = Input(options.input_file, Path(options.input_file).read_text())
        return cls(options, given, filecheck.parser.Parser.from_opts(options))

    def capture_results(self, match, captures, op):
        start = self.ctx.negative_matches_start
        if start is not None and op.name in ("CHECK", "COUNT", "NEXT", "SAME"):
            bare = re.compile(match.re.pattern.removeprefix(SKIPPED + "?"), match.re.flags)
            here = bare.search(match.string, match.start(0)).start(0)
            for check in self.ctx.negative_matches_stack:
                self.check_not(check, filecheck.finput.InputRange(start, here))
            self.ctx.negative_matches_start, self.ctx.negative_matches_stack = None, []
        super().capture_results(match, captures, op)


def answer_lit(question: dict) -> dict:
    """Do the CHECK lines of a file hold of the given output, or of what the passes make of the file?"""
    file, output = question["file"], question["output"]
    with tempfile.TemporaryDirectory() as folder:
        if output is None:
            output = str(Path(folder) / "out.mlir")
            Path(output).write_text(shardy.transform(Path(file).read_text(), question["passes"]))
        told = io.StringIO()
        options = filecheck.options.Options(file, output, question["prefixes"])
        with contextlib.redirect_stderr(told):
            ok = Matcher.of(options).run() == 0
    return {"ok": ok, "reason": "" if ok else " ".join(told.getvalue().split())[:400]}


def answer_passes(question: dict) -> dict:
    """For each pair of a module and ours: `equal`, `unknown` if jaxlib cannot, or the first line that differs."""
    with shardy.make_context():
        verdicts = [same_after(question["passes"], Path(file), ours) for file, ours in question["files"]]
    return {"ok": True, "reason": "", "verdicts": verdicts}


def same_after(passes: str, file: Path, ours: str | None) -> str:
    """The verdict on one module."""
    try:
        module = shardy.ir.Module.parse(file.read_text())
        shardy.run_passes(module, passes)
    except (shardy.ir.MLIRError, ValueError):
        return "unknown"
    if ours is None:
        return "we refuse it"
    try:
        mine = str(shardy.ir.Module.parse(Path(ours).read_text())).splitlines()
    except shardy.ir.MLIRError as error:
        return f"jaxlib does not read ours: {first_line(str(error))}"
    theirs = str(module).splitlines()
    pairs = itertools.zip_longest(mine, theirs, fillvalue="")
    different = next(((a, b) for a, b in pairs if a != b), None)
    return f"ours {different[0].strip()}, Shardy's {different[1].strip()}" if different else "equal"


def answer_evaluate(question: dict) -> dict:
    """What another system gives for each program; `evaluate.py` says how programs and results are written."""
    found = [evaluate.evaluate(program, question["system"]) for program in question["programs"]]
    return {"ok": True, "reason": "", "values": found}


def answer_derivatives(question: dict) -> dict:
    """The cases of a seed at these positions; `derivatives.py` says how they are written."""
    import derivatives

    all = derivatives.selected(question["seed"], question["count"])
    how = derivatives.exact if question["exact"] else derivatives.case
    return {"ok": True, "reason": "", "cases": [derivatives.answered(*all[i], how) for i in question["positions"]]}


ANSWERS = {
    "derivatives": answer_derivatives,
    "evaluate": answer_evaluate,
    "passes": answer_passes,
    "lit": answer_lit,
    "values": answer_values,
    "shardings": answer_shardings,
    "verify": answer_verify,
    "interpret": answer_interpret,
}


def answer(question: dict) -> dict:
    """The answer; an exception is one too."""
    try:
        return ANSWERS[question["kind"]](question)
    except Exception as error:
        return {"ok": False, "reason": f"{type(error).__name__}: {first_line(str(error))}"}


def first_line(text: str) -> str:
    """The first line that says something."""
    lines = [line.strip() for line in text.splitlines()]
    telling = [line for line in lines if "error:" in line] or [line for line in lines if line]
    return telling[0][:300] if telling else ""


# Children.


@dataclass
class Child:
    """A forked process that is finding one answer."""

    id: int
    pid: int
    pipe: int
    errors: IO[bytes]
    deadline: float
    output: bytearray = field(default_factory=bytearray)

    def answer(self) -> dict:
        """What it wrote, or how it died. Waits for its end."""
        _, status = os.waitpid(self.pid, 0)
        os.close(self.pipe)
        with self.errors:
            self.errors.seek(0)
            told = first_line(self.errors.read().decode(errors="replace"))
        if self.output and os.waitstatus_to_exitcode(status) == 0:
            return json.loads(self.output)
        return {"ok": False, "reason": f"{how_it_died(os.waitstatus_to_exitcode(status))}: {told}"}


def how_it_died(code: int) -> str:
    """`killed by SIGABRT`, or the exit code."""
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def fork(question: dict, limit: float) -> Child:
    """Starts a child."""
    reader, writer = os.pipe()
    errors = tempfile.TemporaryFile()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        os.dup2(errors.fileno(), 2)
        os.dup2(2, 1)
        with os.fdopen(writer, "wb") as stream:
            stream.write(json.dumps(answer(question)).encode())
        os._exit(0)
    os.close(writer)
    return Child(question["id"], pid, reader, errors, time.monotonic() + limit)


def run_all(questions: list[dict], child_count: int, limit: float) -> Iterator[dict]:
    """Answers all questions, `child_count` at a time."""
    waiting = list(reversed(questions))
    with selectors.DefaultSelector() as running:
        while waiting or running.get_map():
            while waiting and len(running.get_map()) < child_count:
                child = fork(waiting.pop(), limit)
                running.register(child.pipe, selectors.EVENT_READ, child)
            for child in finished(running):
                running.unregister(child.pipe)
                yield {"id": child.id, **child.answer()}


def finished(running: selectors.BaseSelector) -> Iterator[Child]:
    """Reads what children have written; gives those that have ended or had to be stopped."""
    ready = [key.data for key, _ in running.select(timeout=0.2)]
    for child in ready:
        read = os.read(child.pipe, 1 << 16)
        child.output += read
        if not read:
            yield child
    late = [key.data for key in list(running.get_map().values()) if key.data.deadline < time.monotonic()]
    for child in late:
        if child not in ready:
            os.kill(child.pid, signal.SIGKILL)
            yield child


# The command line.


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cores = len(os.sched_getaffinity(0))
    parser.add_argument("--children", type=int, default=cores, help="how many questions at a time")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for one answer")
    return parser.parse_args()


def main() -> None:
    """Answers the questions on standard input."""
    arguments = parse_arguments()
    shardy.ensure_threads(PROCESSES)
    questions = [json.loads(line) for line in sys.stdin if line.strip()]
    if any(question.get("system") == "jax" for question in questions):
        evaluate.load_jax()  # once, before the children are forked
    if any(question["kind"] == "derivatives" for question in questions):
        import derivatives  # noqa: F401  once, as well
    for found in run_all(questions, arguments.children, arguments.limit):
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
