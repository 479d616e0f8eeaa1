"""Real Shardy and the StableHLO reference interpreter, as they ship in jaxlib: passes, verification, execution.

    python oracle/shardy.py --passes sdy-import-pipeline,canonicalize FILE.mlir
    python oracle/shardy.py --record shardy FILE.mlir -o FILE.shardy.mlir
    python oracle/shardy.py --verify FILE.mlir
    python oracle/shardy.py --interpret FILE.mlir --inputs IN.npz --outputs OUT.npz --processes 8

Only jaxlib's MLIR bindings are imported, not jax, so that a call takes well under a second. jaxlib aborts the whole
process on some inputs; run each call in a process of its own.

Shardy has no sharding rules for most `chlo` operations, and JAX's programs are full of them (XLA lowers them before it
calls Shardy). `--record` therefore attaches the rule which the op would have (pointwise; `top_k` as Shardy's rule for
`mhlo.topk`) before it runs the passes. `--passes` leaves a module as it is.
"""

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np
from jaxlib.mlir import ir, passmanager
from jaxlib.mlir._mlir_libs import _jax_mlir_ext
from jaxlib.mlir.dialects import chlo, sdy, stablehlo

# The passes of `sdy-propagation-pipeline` before propagation, as the pass manager of jaxlib 0.10.2 prints them.
# `sdy-import-pipeline` alone is not enough: it leaves calls as they are, and nothing propagates into functions.
IMPORT_PASSES = [
    "symbol-dce",
    "sdy-lift-inlined-meshes",
    "sdy-remove-size-one-axes",
    "sdy-propagate-sharding-from-func-to-call",
    "sdy-constant-or-scalar-splitter",
    "symbol-dce",
    "sdy-manual-axes-cleanup",
    "sdy-add-data-flow-edges",
    "sdy-flatten-call-graph",
    "symbol-dce",
    "sdy-import-func-calls{add-data-flow-edges-on-named-computations=true}",
    "symbol-dce",
    "sdy-apply-sharding-constraints",
    "sdy-sharding-group-import",
    "sdy-pre-order-funcs",
]

# What is recorded for each program of the corpus: the extension of the file, and the passes.
RECORDINGS = {
    "shardy": ",".join([*IMPORT_PASSES, "sdy-user-priority-propagate"]),
    "final": "sdy-propagation-pipeline",
}


# Passes on functions, which a list of passes on modules must wrap.
FUNC_PASSES = {
    "sdy-constant-or-scalar-merger",
    "sdy-drop-sharding-rules",
    "sdy-explicit-gather-scatter-batching",
    "sdy-insert-explicit-reshards",
    "sdy-pad-for-divisibility",
    "sdy-populate-op-sharding-rules",
    "sdy-remove-all-gather-reduce-scatter-for-cmv1",
    "sdy-reshard-to-collectives",
    "sdy-resolve-single-device-sharding",
    "sdy-sharding-constraint-to-reshard",
    "sdy-sink-data-flow-edges",
    "sdy-sink-func-data-flow-edges",
    "sdy-verify-unreduced-axes",
}


def make_context() -> ir.Context:
    """An MLIR context that knows func, StableHLO, CHLO, Shardy and the interpreter's dialect."""
    context = ir.Context()
    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    for register in [sdy.register_dialect, chlo.register_dialect, stablehlo.register_dialect]:
        register(context)
    stablehlo.register_interpreter_dialect(context)
    stablehlo.register_stablehlo_passes()
    return context


def walk(op: ir.Operation) -> Iterator[ir.Operation]:
    """The operation and everything inside, outer before inner, in program order."""
    yield op
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield from walk(inner.operation)


def run_passes(module: ir.Module, passes: str) -> None:
    """Runs a comma-separated list of passes on the module, in place; those on functions may stand without `func.func`."""
    wrapped = ",".join(f"func.func({p})" if p.split("{")[0] in FUNC_PASSES else p for p in passes.split(","))
    passmanager.PassManager.parse(f"builtin.module({wrapped})").run(module.operation)


def record(text: str, kind: str) -> str:
    """Shardy's answer for a module, as one of RECORDINGS."""
    with make_context():
        module = ir.Module.parse(text)
        add_chlo_rules(module)
        run_passes(module, RECORDINGS[kind])
        return str(module)


# Sharding rules for chlo.


def add_chlo_rules(module: ir.Module) -> None:
    """Gives each chlo operation the sharding rule that Shardy's registry lacks."""
    for op in walk(module.operation):
        rule = chlo_rule(op) if op.name.startswith("chlo.") else None
        if rule is not None:
            op.attributes["sdy.sharding_rule"] = ir.Attribute.parse(f"#sdy.op_sharding_rule<{rule}>")


def chlo_rule(op: ir.Operation) -> str | None:
    """The text of an operation's rule, or None if it has none."""
    operands = [shape_of(value) for value in op.operands]
    results = [shape_of(value) for value in op.results]
    if op.name == "chlo.top_k":
        return top_k_rule(operands[0])
    if operands and all(shape == operands[0] for shape in operands + results) and operands[0]:
        dims = ", ".join(factor_name(i) for i in range(len(operands[0])))
        left, right = (", ".join([f"[{dims}]"] * len(side)) for side in (operands, results))
        return f"({left})->({right}) {factor_sizes(operands[0])}"
    return None


def top_k_rule(operand: list[int]) -> str:
    """Leading dimensions pass through; the last one is needed whole."""
    lead = [factor_name(i) for i in range(len(operand) - 1)]
    last = factor_name(len(operand) - 1)
    dims = ", ".join([*lead, last])
    types = f"need_replication={{{last}}} blocked_propagation={{{last}}}"
    return f"([{dims}])->([{dims}], [{dims}]) {factor_sizes(operand)} {types}"


def factor_name(index: int) -> str:
    """Shardy's names for factors: i to z, then z_1, z_2, ..."""
    return chr(ord("i") + index) if index < 18 else f"z_{index - 17}"


def factor_sizes(sizes: Sequence[int]) -> str:
    """`{i=8, j=16}`."""
    return "{" + ", ".join(f"{factor_name(i)}={size}" for i, size in enumerate(sizes)) + "}"


def shape_of(value: ir.Value) -> list[int]:
    """The shape of a ranked tensor value."""
    return list(ir.RankedTensorType(value.type).shape)


# The StableHLO reference interpreter.


def interpret(text: str, inputs: dict[str, np.ndarray], process_count: int) -> dict[str, np.ndarray]:
    """Runs a per-device `@main` on a grid of processes; process k takes `arg{i}_p{k}` and gives `out{i}_p{k}`."""
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        run_passes(module, "func.func(chlo-legalize-to-stablehlo)")
        arg_types, result_types = signature(module)
        wrapped = ir.Module.parse(with_parallel_main(module, arg_types, result_types, process_count))
        names = [(f"arg{i}_p{k}", kind) for k in range(process_count) for i, kind in enumerate(arg_types)]
        args = [attr for name, kind in names for attr in encode(inputs[name], kind, name)]
        flat = iter([np.array(attr) for attr in stablehlo.eval_module(wrapped, args)])
        return {f"out{i}_p{k}": decode(flat, kind) for k in range(process_count) for i, kind in enumerate(result_types)}


def find_main(module: ir.Module) -> ir.Operation:
    """The function `@main`."""
    for op in module.body.operations:
        if op.operation.name == "func.func" and ir.StringAttr(op.attributes["sym_name"]).value == "main":
            return op.operation
    raise ValueError("the module has no function @main")


def signature(module: ir.Module) -> tuple[list[ir.RankedTensorType], list[ir.RankedTensorType]]:
    """The argument and result types of `@main`."""
    kind = ir.FunctionType(ir.TypeAttr(find_main(module).attributes["function_type"]).value)
    return [ir.RankedTensorType(t) for t in kind.inputs], [ir.RankedTensorType(t) for t in kind.results]


class TextFunction:
    """Writes the text of a function operation by operation."""

    def __init__(self):
        self.lines: list[str] = []
        self.count = 0

    def emit(self, body: str) -> str:
        """Adds `%n = body` and returns `%n`."""
        self.count += 1
        self.lines.append(f"    %v{self.count} = {body}")
        return f"%v{self.count}"


def with_parallel_main(
    module: ir.Module, arg_types: Sequence[ir.Type], result_types: Sequence[ir.Type], process_count: int
) -> str:
    """The module's text with `@main` renamed and a new `@main` that runs it on all processes.

    Python can neither pass complex numbers and small types to the interpreter nor read them back, so the new main takes
    and gives complex values as real and imaginary parts, and the others in what CARRIED says.
    """
    find_main(module).attributes["sym_name"] = ir.StringAttr.get("per_device")
    function = TextFunction()
    params: list[str] = []
    args = [unpack(function, params, t) for _ in range(process_count) for t in arg_types]
    types = [t for _ in range(process_count) for t in result_types]
    programs = ", ".join(["@per_device"] * process_count)
    operand_types = ", ".join(str(t) for _ in range(process_count) for t in arg_types)
    function.lines.append(
        f'    %r:{len(types)} = "interpreter.run_parallel"({", ".join(args)}) {{programs = [[{programs}]]}} '
        f": ({operand_types}) -> ({', '.join(map(str, types))})"
    )
    returned = [pair for i, t in enumerate(types) for pair in pack(function, f"%r#{i}", t)]
    values, kinds = ", ".join(v for v, _ in returned), ", ".join(k for _, k in returned)
    head = f"  func.func public @main({', '.join(params)}) -> ({kinds}) {{"
    wrapper = "\n".join([head, *function.lines, f"    return {values} : {kinds}", "  }"])
    body, _, _ = str(module).rstrip().rpartition("}")
    return f"{body}{wrapper}\n}}\n"


def unpack(function: TextFunction, params: list[str], kind: ir.RankedTensorType) -> str:
    """Declares the parameters that carry a value of this type, and returns the value's name."""
    types = carriers(kind)
    names = [f"%a{len(params) + i}" for i in range(len(types))]
    params += [f"{name}: {carrier}" for name, carrier in zip(names, types)]
    if is_complex(kind):
        return function.emit(f"stablehlo.complex {', '.join(names)} : {kind}")
    if element_name(kind) in CARRIED:
        return function.emit(f"stablehlo.{CARRIED[element_name(kind)].op} {names[0]} : ({types[0]}) -> {kind}")
    return names[0]


def pack(function: TextFunction, value: str, kind: ir.RankedTensorType) -> list[tuple[str, str]]:
    """The values (with their types) that carry `value` out of the wrapper."""
    types = carriers(kind)
    if is_complex(kind):
        return [(function.emit(f"stablehlo.{op} {value} : ({kind}) -> {t}"), t) for op, t in zip(("real", "imag"), types)]
    if element_name(kind) in CARRIED:
        op = CARRIED[element_name(kind)].op
        return [(function.emit(f"stablehlo.{op} {value} : ({kind}) -> {types[0]}"), types[0])]
    return [(value, str(kind))]


@dataclass(frozen=True)
class Carrier:
    """What carries elements that Python cannot hand over: the op that turns one into the other, and all their types."""

    op: str
    type: str
    stored: type
    python: type


def carriers_by_name() -> dict[str, Carrier]:
    """bf16 and small floats go as their bits, integers below a byte as bytes."""
    found = {"bf16": Carrier("bitcast_convert", "ui16", np.uint16, ml_dtypes.bfloat16)}
    for bits in (2, 4):
        found[f"i{bits}"] = Carrier("convert", "i8", np.int8, getattr(ml_dtypes, f"int{bits}"))
        found[f"ui{bits}"] = Carrier("convert", "ui8", np.uint8, getattr(ml_dtypes, f"uint{bits}"))
    for name in ("E3M4", "E4M3", "E4M3FN", "E4M3FNUZ", "E4M3B11FNUZ", "E5M2", "E5M2FNUZ"):
        python = getattr(ml_dtypes, f"float8_{name.lower()}")
        found[f"f8{name}"] = Carrier("bitcast_convert", "ui8", np.uint8, python)
    return found


CARRIED = carriers_by_name()
# The types of StableHLO that numpy has itself.
NUMPY = {
    "i1": np.bool_,
    **{f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"ui{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
    **{f"f{bits}": f"float{bits}" for bits in (16, 32, 64)},
    "complex<f32>": np.complex64,
    "complex<f64>": np.complex128,
}


def storage(name: str) -> np.dtype:
    """What the elements of a type lie in outside."""
    return np.dtype(CARRIED[name].stored if name in CARRIED else NUMPY[name])


def carriers(kind: ir.RankedTensorType) -> list[str]:
    """The types of the parameters that carry a value of type `kind` into the wrapper."""
    if is_complex(kind):
        return [re.sub(r"complex<(\w+)>", r"\1", str(kind))] * 2
    carrier = CARRIED.get(element_name(kind))
    return [str(ir.RankedTensorType.get(kind.shape, ir.Type.parse(carrier.type)))] if carrier else [str(kind)]


def element_name(kind: ir.RankedTensorType) -> str:
    """The element type's name."""
    return str(kind.element_type)


def is_complex(kind: ir.RankedTensorType) -> bool:
    """True for tensors of complex numbers."""
    return isinstance(kind.element_type, ir.ComplexType)


def from_storage(array: np.ndarray, name: str) -> np.ndarray:
    """The array with the type that Python has for these elements."""
    if name not in CARRIED:
        return array
    carrier = CARRIED[name]
    return array.astype(carrier.python) if carrier.op == "convert" else array.view(carrier.python)


def to_storage(array: np.ndarray) -> np.ndarray:
    """The array as it is handed over; `V2` arrays are bf16."""
    if array.dtype == np.dtype("V2"):
        return array.view(np.uint16)
    for carrier in CARRIED.values():
        if array.dtype == carrier.python:
            return array.astype(carrier.stored) if carrier.op == "convert" else array.view(carrier.stored)
    return array


def encode(array: np.ndarray, kind: ir.RankedTensorType, name: str) -> list[ir.Attribute]:
    """The attributes that carry one input."""
    if list(array.shape) != list(kind.shape):
        raise ValueError(f"{name} has shape {list(array.shape)}, the program takes {kind}")
    if is_complex(kind):
        part = ir.ComplexType(kind.element_type).element_type
        return [dense(np.ascontiguousarray(x), part) for x in (array.real, array.imag)]
    carrier = CARRIED.get(element_name(kind))
    element = ir.Type.parse(carrier.type) if carrier else kind.element_type
    stored = to_storage(array)
    return [dense(stored.view(np.uint8) if stored.dtype == np.bool_ else stored, element)]


def dense(array: np.ndarray, element: ir.Type) -> ir.Attribute:
    """The array's bits as a dense attribute of the given element type."""
    return ir.DenseElementsAttr.get(np.ascontiguousarray(array), type=element, shape=list(array.shape))


def decode(flat: Iterator[np.ndarray], kind: ir.RankedTensorType) -> np.ndarray:
    """Takes the arrays that carry one output."""
    array = next(flat).reshape(kind.shape)
    if is_complex(kind):
        whole = np.empty(array.shape, NUMPY[element_name(kind)])
        whole.real, whole.imag = array, next(flat).reshape(kind.shape)
        return whole
    return from_storage(array, element_name(kind))


def ensure_threads(process_count: int) -> None:
    """Restarts this script with many_threads.c preloaded if the machine has fewer cores than there are processes."""
    if len(os.sched_getaffinity(0)) >= process_count:
        return
    source = Path(__file__).with_name("many_threads.c")
    library = source.parents[1] / "target" / "oracle" / "many_threads.so"
    if not library.exists() or library.stat().st_mtime < source.stat().st_mtime:
        library.parent.mkdir(parents=True, exist_ok=True)
        unfinished = library.with_suffix(f".{os.getpid()}")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", unfinished, source], check=True)
        unfinished.rename(library)
    os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | {"LD_PRELOAD": str(library)})


# The command line.


def verify_text(text: str) -> None:
    """Parses and verifies; raises ir.MLIRError with the diagnostics."""
    with make_context():
        ir.Module.parse(text).operation.verify()


def transform(text: str, passes: str) -> str:
    """The module after the passes."""
    with make_context():
        module = ir.Module.parse(text)
        run_passes(module, passes)
        return str(module)


def parse_arguments() -> argparse.Namespace:
    """The command line: one action and a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--passes", help="comma-separated passes; print the module after them")
    action.add_argument("--record", choices=list(RECORDINGS), help="print Shardy's answer as the corpus records it")
    action.add_argument("--verify", action="store_true", help="parse and verify only")
    action.add_argument("--interpret", action="store_true", help="run a per-device program")
    parser.add_argument("file", help="the module; - is standard input")
    parser.add_argument("-o", "--output", type=Path, help="where to write the module instead of printing it")
    parser.add_argument("--inputs", type=Path, help="npz with arg{i}_p{k} for --interpret")
    parser.add_argument("--outputs", type=Path, help="npz to write with out{i}_p{k} for --interpret")
    parser.add_argument("--processes", type=int, default=8, help="number of processes for --interpret")
    return parser.parse_args()


def act(arguments: argparse.Namespace, text: str) -> str | None:
    """Does what the command line asks for; returns the module to print, if any."""
    if arguments.verify:
        return verify_text(text)
    if arguments.interpret:
        inputs = dict(np.load(arguments.inputs)) if arguments.inputs else {}
        return np.savez(arguments.outputs, **interpret(text, inputs, arguments.processes))
    return record(text, arguments.record) if arguments.record else transform(text, arguments.passes)


def main() -> int:
    """0 if it worked, 1 with a message if jaxlib refused the module."""
    arguments = parse_arguments()
    if arguments.interpret:
        ensure_threads(arguments.processes)
    text = sys.stdin.read() if arguments.file == "-" else Path(arguments.file).read_text()
    emit: Callable = arguments.output.write_text if arguments.output else sys.stdout.write
    try:
        result = act(arguments, text)
    except (ir.MLIRError, ValueError, KeyError) as error:
        print(f"{arguments.file}: {error}", file=sys.stderr)
        return 1
    if result is not None:
        emit(result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
