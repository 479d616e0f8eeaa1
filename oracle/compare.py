"""Compares the shardings of two forms of one program: ours against Shardy's.

    python oracle/compare.py OURS.mlir THEIRS.shardy.mlir
    python oracle/compare.py OURS_FOLDER target/oracle/corpus     # each FOLDER/x/y.mlir against x/y.shardy.mlir

The two modules need not have the same text. Both are read with jaxlib and turned into dataflow graphs in which
    - calls and named computations are replaced by their bodies, so their boundaries have no values of their own;
    - a data-flow edge is not an operation: its sharding belongs to the value that it carries;
    - sdy.constant is stablehlo.constant.
Values are then paired from the results backwards: the results of `@main` by position; when two operations of the same
name are paired, so are their operands and what their regions return. Constants may therefore be split (one of ours
against several of theirs), dead code does not count, and a sharding constraint or reshard which only one side has is
stepped over. Where the operations differ, the pair is listed under `structure` and the walk stops there.

Counted are the arguments and results of `@main` and every paired value of rank one or more. Two shardings are equal if
they have the same axes on each dimension and the same unreduced axes; `--strict` also compares which dimensions are
open and which axes are explicitly replicated. The report is JSON; the exit code is 1 below `--min-percent`.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy

from shardy import find_main, make_context

TRANSPARENT = ("sdy.sharding_constraint", "sdy.reshard", "sdy.propagation_barrier")
TERMINATORS = ("func.return", "stablehlo.return", "sdy.return")
SAME_NAME = {"sdy.constant": "stablehlo.constant"}


# Shardings.


@dataclass(frozen=True)
class Sharding:
    """A sharding without its mesh: the axes of each dimension, and whether the dimension is open."""

    dims: tuple[tuple[str, ...], ...]
    open_dims: tuple[bool, ...]
    replicated: tuple[str, ...] = ()
    unreduced: tuple[str, ...] = ()

    def key(self, strict: bool) -> tuple:
        """What must be equal."""
        return (self.dims, self.unreduced, *((self.open_dims, self.replicated) if strict else ()))

    def without(self, axes: Sequence[str]) -> "Sharding":
        """The sharding inside a manual computation over these axes."""
        keep = lambda names: tuple(name for name in names if name not in axes)
        return Sharding(tuple(map(keep, self.dims)), self.open_dims, keep(self.replicated), keep(self.unreduced))

    def __str__(self) -> str:
        dims = [", ".join([*axes, *(["?"] if is_open else [])]) for axes, is_open in zip(self.dims, self.open_dims)]
        text = "[" + ", ".join("{" + dim + "}" for dim in dims) + "]"
        for name, axes in [("replicated", self.replicated), ("unreduced", self.unreduced)]:
            text += f", {name}={{{', '.join(axes)}}}" if axes else ""
        return text


def fully_open(rank: int) -> Sharding:
    """What the absence of a sharding means."""
    return Sharding(((),) * rank, (True,) * rank)


def axis_names(axes: Sequence[ir.Attribute]) -> tuple[str, ...]:
    """Axis references as text: `x`, or `x:(1)2` for a sub-axis."""
    return tuple(str(axis).removeprefix("#sdy<axis_ref").removesuffix(">").replace('"', "") for axis in axes)


def read_sharding(attribute: ir.Attribute | None, rank: int) -> Sharding:
    """A Sharding from `#sdy.sharding`, or fully open."""
    if attribute is None:
        return fully_open(rank)
    sharding = sdy.TensorShardingAttr(attribute)
    dims = [sdy.DimensionShardingAttr(dim) for dim in sharding.dimension_shardings]
    return Sharding(
        tuple(axis_names(dim.axes) for dim in dims),
        tuple(not dim.is_closed for dim in dims),
        axis_names(sharding.replicated_axes),
        axis_names(sharding.unreduced_axes),
    )


def attribute(op: ir.Operation, name: str) -> ir.Attribute | None:
    """An attribute, or None."""
    return op.attributes[name] if name in op.attributes else None


def per_value(op: ir.Operation, name: str) -> list[ir.Attribute] | None:
    """The shardings of a `#sdy.sharding_per_value` attribute."""
    found = attribute(op, name)
    return None if found is None else list(sdy.TensorShardingPerValueAttr(found).shardings)


def rank_of(value: ir.Value) -> int:
    """The rank of a tensor; 0 for anything else."""
    return value.type.rank if isinstance(value.type, ir.RankedTensorType) else 0


# The dataflow graph.


@dataclass(eq=False)
class Node:
    """An operation; of each region, what it returns."""

    name: str
    operands: list["Value"]
    regions: list[list["Value"]] = field(default_factory=list)
    results: list["Value"] = field(default_factory=list)


@dataclass(eq=False)
class Value:
    """A value: the result `index` of `node`, or a block argument where `node` is None."""

    kind: str
    source: ir.Value
    index: int
    sharding: Sharding
    node: Node | None = None

    def describe(self) -> str:
        """The operation (or kind of argument) and the result's number."""
        return f"{self.node.name if self.node else self.kind}#{self.index}"


@dataclass
class Graph:
    """A program as a dataflow graph: the results of `@main` are what it is reached from."""

    arguments: list[Value]
    returned: list[Value]
    result_shardings: list[Sharding]


class GraphBuilder:
    """Builds the graph of a module."""

    def __init__(self, module: ir.Module):
        functions = [op.operation for op in module.body.operations if op.operation.name == "func.func"]
        self.functions = {ir.StringAttr(op.attributes["sym_name"]).value: op for op in functions}
        self.main = find_main(module)

    def build(self) -> Graph:
        """The graph of `@main`."""
        block = self.main.regions[0].blocks[0]
        shardings = self.boundary("arg_attrs", [rank_of(arg) for arg in block.arguments])
        arguments = [Value("argument", arg, i, shardings[i]) for i, arg in enumerate(block.arguments)]
        returned = self.run_block(block, dict(zip(block.arguments, arguments)))
        ranks = [rank_of(value.source) for value in returned]
        return Graph(arguments, returned, self.boundary("res_attrs", ranks))

    def boundary(self, name: str, ranks: Sequence[int]) -> list[Sharding]:
        """The shardings of main's arguments or results."""
        attrs = attribute(self.main, name)
        dicts = [ir.DictAttr(attr) for attr in ir.ArrayAttr(attrs)] if attrs is not None else [{}] * len(ranks)
        found = [attrs["sdy.sharding"] if "sdy.sharding" in attrs else None for attrs in dicts]
        return [read_sharding(attr, rank) for attr, rank in zip(found, ranks)]

    def run_block(self, block: ir.Block, env: dict) -> list[Value]:
        """Adds the block's operations to the environment; returns the values it returns."""
        for op in block.operations:
            op = op.operation
            operands = [env[operand] for operand in op.operands]
            if op.name in TERMINATORS:
                return operands
            env.update(zip(op.results, self.run_op(op, operands, env)))
        return []

    def run_op(self, op: ir.Operation, operands: list[Value], env: dict) -> list[Value]:
        """The values of an operation's results."""
        if op.name == "func.call":
            return self.inline(self.functions[ir.FlatSymbolRefAttr(op.attributes["callee"]).value], operands, {})
        if op.name == "sdy.named_computation":
            return self.inline(op, operands, env)
        if op.name == "sdy.data_flow_edge":
            return [self.apply_edge(op, operands[0])]
        node = Node(SAME_NAME.get(op.name, op.name), operands)
        node.regions = [self.run_region(op, block, env) for region in op.regions for block in region.blocks]
        shardings = self.result_shardings(op)
        node.results = [Value("value", result, i, shardings[i], node) for i, result in enumerate(op.results)]
        return node.results

    def inline(self, op: ir.Operation, operands: list[Value], env: dict) -> list[Value]:
        """The results of a function's or named computation's body on these operands."""
        block = op.regions[0].blocks[0]
        env.update(zip(block.arguments, operands))
        return self.run_block(block, env)

    def apply_edge(self, op: ir.Operation, carried: Value) -> Value:
        """Puts an edge's sharding on the value that it carries, unless that is the boundary of something inlined."""
        found = attribute(op, "sharding")
        if found is not None and carried.source == op.operands[0]:
            carried.sharding = read_sharding(found, rank_of(op.results[0]))
        return carried

    def run_region(self, op: ir.Operation, block: ir.Block, env: dict) -> list[Value]:
        """What a region returns."""
        for i, arg in enumerate(block.arguments):
            env[arg] = Value("block argument", arg, i, self.block_argument_sharding(op, i, arg))
        return self.run_block(block, env)

    def block_argument_sharding(self, op: ir.Operation, index: int, arg: ir.Value) -> Sharding:
        """Only the arguments of a manual computation have shardings: those outside, less the manual axes."""
        if op.name != "sdy.manual_computation":
            return fully_open(rank_of(arg))
        manual = [str(axis).strip('"') for axis in sdy.ManualAxesAttr(op.attributes["manual_axes"])]
        return read_sharding(per_value(op, "in_shardings")[index], rank_of(arg)).without(manual)

    def result_shardings(self, op: ir.Operation) -> list[Sharding]:
        """The shardings that an operation states for its results."""
        if op.name in TRANSPARENT and attribute(op, "sharding") is not None:
            found = [op.attributes["sharding"]]
        else:
            name = "out_shardings" if op.name == "sdy.manual_computation" else "sdy.sharding"
            found = per_value(op, name) or [None] * len(op.results)
        return [read_sharding(attr, rank_of(result)) for attr, result in zip(found, op.results)]


# Pairing.


@dataclass
class Report:
    """What was compared, and what differs."""

    compared: Counter = field(default_factory=Counter)
    equal: Counter = field(default_factory=Counter)
    different: list[dict] = field(default_factory=list)
    structure: list[dict] = field(default_factory=list)

    @property
    def percent(self) -> float:
        """The share of equal shardings."""
        total = self.compared.total()
        return 100.0 * self.equal.total() / total if total else 100.0

    def add(self, other: "Report", file: str) -> None:
        """Adds another file's report."""
        self.compared += other.compared
        self.equal += other.equal
        self.different += [{"file": file, **entry} for entry in other.different]
        self.structure += [{"file": file, **entry} for entry in other.structure]

    def to_json(self) -> dict:
        """The report, with its totals first."""
        kinds = {kind: {"compared": n, "equal": self.equal[kind]} for kind, n in self.compared.items()}
        by_op = Counter(entry["op"] for entry in self.different)
        totals = {"compared": self.compared.total(), "equal": self.equal.total(), "percent": round(self.percent, 2)}
        return {
            **totals,
            "kinds": kinds,
            "different_by_op": by_op,
            "structure": self.structure,
            "different": self.different,
        }


class Pairing:
    """Walks two graphs together."""

    def __init__(self, strict: bool):
        self.strict = strict
        self.report = Report()
        self.seen: set[tuple[int, int]] = set()

    def run(self, ours: Graph, theirs: Graph) -> Report:
        """Compares the arguments, the results and every value that the results depend on."""
        self.check_counts("arguments", ours.arguments, theirs.arguments)
        self.check_counts("results", ours.returned, theirs.returned)
        for a, b in zip(ours.arguments, theirs.arguments):
            self.compare("argument", a, a.sharding, b, b.sharding)
        results = zip(ours.returned, ours.result_shardings, theirs.returned, theirs.result_shardings)
        for a, a_sharding, b, b_sharding in results:
            self.compare("result", a, a_sharding, b, b_sharding)
        self.walk(list(zip(ours.returned, theirs.returned)))
        return self.report

    def check_counts(self, what: str, ours: list, theirs: list) -> None:
        """Different numbers of something are a difference of structure."""
        if len(ours) != len(theirs):
            self.report.structure.append({"ours": f"{len(ours)} {what}", "theirs": f"{len(theirs)} {what}"})

    def walk(self, stack: list[tuple[Value, Value]]) -> None:
        """Compares pairs and follows them backwards until there are no new ones."""
        while stack:
            a, b = self.step_over(*stack.pop())
            if (id(a), id(b)) in self.seen:
                continue
            self.seen.add((id(a), id(b)))
            stack += self.visit(a, b)

    def step_over(self, a: Value, b: Value) -> tuple[Value, Value]:
        """Skips constraints that only one side has."""
        while name_of(a) != name_of(b):
            if name_of(a) in TRANSPARENT:
                a = a.node.operands[0]
            elif name_of(b) in TRANSPARENT:
                b = b.node.operands[0]
            else:
                break
        return a, b

    def visit(self, a: Value, b: Value) -> Iterator[tuple[Value, Value]]:
        """Compares one pair; gives the pairs that it leads to."""
        if a.describe() != b.describe() or a.source.type != b.source.type:
            self.mismatch(a, b)
            return []
        if a.kind == "value" or sides_of_manual_computation(a, b):
            self.compare("value", a, a.sharding, b, b.sharding)
        return list(pairs_behind(a.node, b.node)) if a.node else []

    def mismatch(self, a: Value, b: Value) -> None:
        """Notes a difference of structure."""
        line = lambda value: f"{value.describe()} : {value.source.type}"
        self.report.structure.append({"ours": line(a), "theirs": line(b), "value": b.source.get_name()})

    def compare(self, kind: str, a: Value, a_sharding: Sharding, b: Value, b_sharding: Sharding) -> None:
        """Counts one pair of shardings; scalars have nothing to shard."""
        if rank_of(b.source) == 0:
            return
        self.report.compared[kind] += 1
        if a_sharding.key(self.strict) == b_sharding.key(self.strict):
            self.report.equal[kind] += 1
            return
        entry = {
            "kind": kind,
            "value": b.source.get_name(),
            "op": b.describe().partition("#")[0],
            "type": str(b.source.type),
        }
        self.report.different.append({**entry, "ours": str(a_sharding), "theirs": str(b_sharding)})


def name_of(value: Value) -> str:
    """The name of the value's operation; block arguments have their kind instead."""
    return value.node.name if value.node else value.kind


def sides_of_manual_computation(a: Value, b: Value) -> bool:
    """True if both values are arguments inside a manual computation."""
    inside = lambda value: value.kind == "block argument" and value.source.owner.owner.name == "sdy.manual_computation"
    return inside(a) and inside(b)


def pairs_behind(a: Node, b: Node) -> Iterator[tuple[Value, Value]]:
    """The operands of two operations, what their regions return, and their other results."""
    yield from zip(a.operands, b.operands)
    yield from zip(a.results, b.results)
    for x, y in zip(a.regions, b.regions):
        yield from zip(x, y)


# Files.


def compare_texts(ours: str, theirs: str, strict: bool = False) -> Report:
    """Compares two modules."""
    with make_context():
        a, b = ir.Module.parse(ours), ir.Module.parse(theirs)
        return Pairing(strict).run(GraphBuilder(a).build(), GraphBuilder(b).build())


def compare_folders(ours: Path, theirs: Path, strict: bool) -> Report:
    """Compares every program that both folders have."""
    total = Report()
    for path in sorted(theirs.rglob("*.shardy.mlir")):
        name = str(path.relative_to(theirs)).removesuffix(".shardy.mlir")
        candidate = ours / f"{name}.mlir"
        if candidate.exists():
            total.add(compare_texts(candidate.read_text(), path.read_text(), strict), name)
    return total


def main() -> int:
    """Prints the report; 1 if too little is equal or nothing could be compared."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ours", type=Path, help="our module with shardings, or a folder of them")
    parser.add_argument("theirs", type=Path, help="Shardy's module, or a folder with .shardy.mlir files")
    parser.add_argument("--strict", action="store_true", help="compare openness and replicated axes too")
    parser.add_argument("--min-percent", type=float, default=100.0, help="fail below this share of equal shardings")
    arguments = parser.parse_args()
    if arguments.theirs.is_dir():
        report = compare_folders(arguments.ours, arguments.theirs, arguments.strict)
    else:
        report = compare_texts(arguments.ours.read_text(), arguments.theirs.read_text(), arguments.strict)
    print(json.dumps(report.to_json(), indent=1))
    return 0 if report.compared and not report.structure and report.percent >= arguments.min_percent else 1


if __name__ == "__main__":
    sys.exit(main())
