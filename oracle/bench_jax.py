"""Times JAX on eight virtual CPU devices; prints one JSON line for each measurement.

    python oracle/bench_jax.py
    python oracle/bench_jax.py --export target/oracle/bench     # also writes each program with its inputs and outputs
    python oracle/bench_jax.py --serve                          # measures what it is asked for, line by line

A line is {"name": ..., "median_us": ..., "min_us": ..., "runs": ...}. A run is one call with its result awaited, after
warm-up calls on the same inputs. For a program of StableHLO, it is the average of some calls that are awaited together. `transformer_compile` is tracing, lowering and compiling with empty caches; its line
has the medians of the three parts too. What is timed is exactly what `--export` writes; with `--raw` it writes each
array's bytes, as `NAME.arg0.bin`, for readers that have no npz.

A request to `--serve` is {"name": ..., "seconds": ...}, or {"name": "transformer_compile", "runs": ...}. Programs stay
compiled between requests, so that short rounds of ours and of JAX can alternate. With "text", "inputs" and "outputs" a
request names a file of StableHLO for one device, its arguments, each as {"file": ..., "dtype": ..., "shape": ...} with
numpy's name of the type, and how the names of the files start into which its results are written.
"""

import os

os.environ["ORACLE_AS_USERS_RUN_IT"] = "yes"  # read by the harness

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from harness import Arg, P, Program, below, export_program, mesh, normal

import jax
import jax.numpy as jnp
import numpy as np
from jax._src.lib import xla_client
from jaxlib import lapack

import chapter
import transformer

WARM_UPS = 3
COMPILATION = "transformer_compile"


def chapter_matmul(x: jax.Array, w: jax.Array) -> jax.Array:
    """The chapter's first example."""
    return jnp.einsum("bd,df->bf", jnp.square(x), w)


def matmul(x: jax.Array, w: jax.Array) -> jax.Array:
    """A plain product."""
    return x @ w


def add_one(x: jax.Array) -> jax.Array:
    """The cheapest call there is."""
    return x + 1


def moe_scan(w: jax.Array, a: jax.Array, b: jax.Array) -> jax.Array:
    """The chapter's mixture of experts: every expert sees every token."""

    def step(out: jax.Array, e: jax.Array) -> tuple[jax.Array, None]:
        return out + (b == e)[:, None] * (a @ w[e]), None

    return jax.lax.scan(step, jnp.zeros((a.shape[0], w.shape[2])), jnp.arange(w.shape[0]))[0]


def moe_ragged(w: jax.Array, a: jax.Array, b: jax.Array) -> jax.Array:
    """The same with `ragged_dot`, as the chapter advises."""
    by_expert = jnp.argsort(b)
    out = jax.lax.ragged_dot(a[by_expert], w, jnp.bincount(b, length=w.shape[0]))
    return out[jnp.argsort(by_expert)]


COLLECTIVES: dict[str, tuple[Callable[[jax.Array], jax.Array], P]] = {
    "all_gather": (lambda x: jax.lax.all_gather(x, "X", tiled=True), P(None)),
    "all_reduce": (lambda x: jax.lax.psum(x, "X"), P(None)),
    "reduce_scatter": (lambda x: jax.lax.psum_scatter(x, "X", tiled=True), P("X")),
    "all_to_all": (lambda x: jax.lax.all_to_all(x, "X", 0, 0, tiled=True), P("X")),
    "permute": (lambda x: jax.lax.ppermute(x, "X", [(i, (i + 1) % 8) for i in range(8)]), P("X")),
}


def collective_program(kind: str, size: str) -> Program:
    """One collective over eight devices; each has this much of the operand."""
    body, out = COLLECTIVES[kind]
    devices = mesh(X=8)
    # Unchecked: `all_gather` to a replicated result, as one uses it.
    function = jax.shard_map(body, mesh=devices, in_specs=P("X"), out_specs=out, check_vma=False)
    length = 8 * {"4k": 1 << 10, "16m": 1 << 22}[size]
    return Program("", f"{kind}_{size}", function, devices, (Arg((length,), "f32", P("X"), normal(1)),), out=out)


def moe_program(function: Callable) -> Program:
    """16 experts of 512x1024 on eight devices, for 4096 tokens."""
    args = (
        Arg((16, 512, 1024), "f32", P("X"), normal(512**-0.5)),
        Arg((4096, 512), "f32", P("X"), normal(1)),
        Arg((4096,), "i32", P("X"), below(16)),
    )
    return Program("", function.__name__, function, mesh(X=8), args, out=P("X"))


def matmul_program(dtype: str) -> Program:
    """1024x2048x8192 with the contraction sharded on one side."""
    args = (
        Arg((1024, 2048), dtype, P("X", "Y"), normal(1)),
        Arg((2048, 8192), dtype, P(None, "Y"), normal(2048**-0.5)),
    )
    return Program("", f"matmul_{dtype}", matmul, mesh(X=2, Y=4), args, out=P("X", "Y"))


SUMMED = (P("X", "Y"), P("Y", None))
COLLECTIVE_MATMULS: dict[str, tuple[Callable, tuple[P, P], P]] = {
    "all_gather": (chapter.allgather_matmul, (P("X", "Y"), P(None, "Y")), P("X", "Y")),
    "reduce_scatter": (chapter.reduce_scatter_matmul, SUMMED, P("X", "Y")),
    "all_reduce": (chapter.allreduce_matmul, SUMMED, P("X", None)),
}


def collective_matmul(kind: str, who: str) -> Program:
    """1024x2048x8192 in bf16, the communication by the compiler (`auto`) or by hand (`manual`)."""
    by_hand, specs, out = COLLECTIVE_MATMULS[kind]
    devices = mesh(X=2, Y=4)
    function = matmul if who == "auto" else jax.shard_map(by_hand, mesh=devices, in_specs=specs, out_specs=out)
    args = (
        Arg((1024, 2048), "bf16", specs[0], normal(1)),
        Arg((2048, 8192), "bf16", specs[1], normal(2048**-0.5)),
    )
    return Program("", f"{kind}_matmul_{who}", function, devices, args, out=out)


def programs() -> list[Program]:
    """The programs whose calls are timed, under the names of their measurements."""
    chapter_args = (
        Arg((8, 2048), "bf16", P("X", "Y"), normal(1)),
        Arg((2048, 8192), "bf16", P("Y", None), normal(2048**-0.5)),
    )
    return [
        Program("", "chapter", chapter_matmul, mesh(X=4, Y=2), chapter_args, out=P("X", None)),
        matmul_program("f32"),
        matmul_program("bf16"),
        transformer_program(),
        training_program(),
        Program("", "call_overhead", add_one, mesh(X=8), (Arg((8, 128), "f32", P("X", None)),)),
        moe_program(moe_scan),
        moe_program(moe_ragged),
        *[collective_matmul(kind, who) for kind in COLLECTIVE_MATMULS for who in ["auto", "manual"]],
        *[collective_program(kind, "4k") for kind in COLLECTIVES],
        *[collective_program(kind, "16m") for kind in ["all_gather", "all_to_all", "permute"]],
    ]


def transformer_program() -> Program:
    """The bench case of the transformer."""
    return transformer.program(transformer.CASES["bench"], "transformer_forward")


def training_program() -> Program:
    """A step of its training, whose arguments stay valid for the next call."""
    step = transformer.program(transformer.CASES["bench"], "transformer_train", train=True)
    return replace(step, donate=())


def timed(call: Callable, seconds: float, least: int, most: int) -> Iterator[float]:
    """Times calls, in microseconds, until the time is up; at least `least` and at most `most` of them."""
    end = time.perf_counter() + seconds
    for run in range(most):
        start = time.perf_counter()
        call()
        yield (time.perf_counter() - start) * 1e6
        if run + 1 >= least and time.perf_counter() > end:
            return


def measurement(name: str, times: list[float], **more: float) -> dict:
    """One line of output."""
    rounded = {key: round(value, 1) for key, value in more.items()}
    return {
        "name": name,
        "median_us": round(statistics.median(times), 1),
        "min_us": round(min(times), 1),
        "runs": len(times),
        **rounded,
    }


class Calls:
    """Calls of a compiled program through the ordinary jit call path."""

    def __init__(self, program: Program):
        self.program = program
        with jax.set_mesh(program.mesh):
            self.call, self.args = program.jit(), program.place(program.values())

    def time(self, seconds: float) -> dict:
        """Times calls after a few that are not counted."""
        run = lambda: jax.block_until_ready(self.call(*self.args))
        with jax.set_mesh(self.program.mesh):
            for _ in range(WARM_UPS):
                run()
            times = list(timed(run, seconds, least=10, most=10_000))
        return measurement(self.program.name, times)


class Text:
    """Calls of a program of StableHLO on the first device."""

    # As many calls are awaited together, so that one can be prepared while another runs.
    AT_ONCE = 5

    def __init__(self, request: dict):
        self.name = request["name"]
        text, device = Path(request["text"]).read_text(), jax.devices("cpu")[0]
        devices = xla_client.DeviceList((device,))
        lapack.prepare_lapack_call("potrf", np.dtype(np.float32))  # Otherwise calls of LAPACK end the process.
        self.program = device.client.compile_and_load(text, devices, xla_client.CompileOptions())
        with jax.enable_x64(True):
            self.args = [jax.device_put(read_raw(value), device) for value in request["inputs"]]
        for i, parts in enumerate(self.start()):
            Path(f"{request['outputs']}.out{i}.bin").write_bytes(np.asarray(parts[0]).tobytes())

    def start(self) -> list:
        """Starts a call, and returns its results."""
        return self.program.execute_sharded(self.args).disassemble_into_single_device_arrays()

    def run(self) -> None:
        """Starts some calls and awaits them."""
        jax.block_until_ready([self.start() for _ in range(self.AT_ONCE)])

    def time(self, seconds: float) -> dict:
        """Times a call, after a few that are not counted."""
        for _ in range(WARM_UPS):
            self.run()
        times = [us / self.AT_ONCE for us in timed(self.run, seconds, least=10, most=10_000)]
        return measurement(self.name, times)


def read_raw(value: dict) -> np.ndarray:
    """An array from its bytes."""
    return np.fromfile(value["file"], np.dtype(value["dtype"])).reshape(value["shape"])


def time_compilation(program: Program, runs: int) -> dict:
    """Times tracing, lowering and compiling, each time with empty caches."""
    parts = {"trace_us": [], "lower_us": [], "compile_us": []}
    with jax.set_mesh(program.mesh):
        args = program.place(program.values())
        for _ in range(runs):
            jax.clear_caches()
            for part, elapsed in zip(parts.values(), compile_once(program, args)):
                part.append(elapsed)
    totals = [sum(times) for times in zip(*parts.values())]
    medians = {part: statistics.median(times) for part, times in parts.items()}
    return measurement(COMPILATION, totals, **medians)


def compile_once(program: Program, args: tuple) -> tuple[float, float, float]:
    """Microseconds to trace, lower and compile."""
    start = time.perf_counter()
    traced = program.jit().trace(*args)
    after_trace = time.perf_counter()
    lowered = traced.lower()
    after_lower = time.perf_counter()
    lowered.compile()
    end = time.perf_counter()
    return (after_trace - start) * 1e6, (after_lower - after_trace) * 1e6, (end - after_lower) * 1e6


def save_raw(module: Path) -> None:
    """Writes the bytes of each array of an exported program into a file of its own, in place of the npz files."""
    for extension in ["in", "out"]:
        packed = module.with_suffix(f".{extension}.npz")
        with np.load(packed) as arrays:
            for name in arrays.files:
                module.with_suffix(f".{name}.bin").write_bytes(np.ascontiguousarray(arrays[name]).tobytes())
        packed.unlink()


def serve() -> None:
    """Answers requests on standard input."""
    known = {program.name: program for program in programs()}
    calls: dict[str, Calls | Text] = {}
    for line in sys.stdin:
        request = json.loads(line)
        name = request["name"]
        if name == COMPILATION:
            answer = time_compilation(transformer_program(), request["runs"])
        else:
            if name not in calls and "text" in request:
                calls[name] = Text(request)
            elif name not in calls:
                calls[name] = Calls(known[name])
            answer = calls[name].time(request["seconds"])
        print(json.dumps(answer), flush=True)


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="only measurements whose name contains this")
    parser.add_argument("--seconds", type=float, default=5.0, help="time for the runs of one measurement; 0 is none")
    parser.add_argument("--compilations", type=int, default=5, help="runs of transformer_compile; 0 is none")
    parser.add_argument("--export", type=Path, help="write the programs, inputs and outputs to this folder")
    parser.add_argument("--raw", action="store_true", help="with --export: write the arrays' bytes")
    parser.add_argument("--serve", action="store_true", help="measure what is asked for on standard input")
    return parser.parse_args()


def main() -> None:
    """Exports and measures what the command line asks for."""
    arguments = parse_arguments()
    if arguments.serve:
        return serve()
    selected = [program for program in programs() if arguments.only in program.name]
    for program in selected:
        if arguments.export:
            module = export_program(program, arguments.export)
            if arguments.raw:
                save_raw(module)
        if arguments.seconds > 0:
            print(json.dumps(Calls(program).time(arguments.seconds)), flush=True)
    if arguments.compilations > 0 and arguments.only in COMPILATION:
        print(json.dumps(time_compilation(transformer_program(), arguments.compilations)), flush=True)


if __name__ == "__main__":
    main()
