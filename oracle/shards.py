"""Cuts global arrays into what each device of a per-device program takes, and puts the devices' results together.

The layout stands on the arguments and results of `@main` as `shardwise partition` prints it (its dense form has no
shardings any more): `sdy.sharding` says how, and `shardwise.global_type` what the whole is (without it the whole is as
large as the part). Shards are ceil-division blocks; where a dimension does not divide evenly, the last ones are padded with zeros, and cut again when they are
put together. The process with number k is the device at position k of the mesh, or the device with id k if the mesh
lists its ids.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy

from shardy import find_main, make_context

GLOBAL_TYPE = "shardwise.global_type"


@dataclass(frozen=True)
class Grid:
    """A mesh: its axes with their sizes, major to minor, and the position of each process."""

    axes: dict[str, int]
    positions: tuple[int, ...]

    def coordinates(self, process: int) -> dict[str, int]:
        """Where a process stands on each axis."""
        index = np.unravel_index(self.positions[process], tuple(self.axes.values())) if self.axes else ()
        return {name: int(i) for name, i in zip(self.axes, index)}


@dataclass(frozen=True)
class AxisPart:
    """An axis or a part of it: the `size` positions that remain after `before` more major ones."""

    name: str
    before: int
    size: int

    def coordinate(self, coordinates: dict[str, int], axis_size: int) -> int:
        """The position along this part."""
        return coordinates[self.name] // (axis_size // (self.before * self.size)) % self.size


@dataclass(frozen=True)
class Layout:
    """How one global array lies on a grid."""

    shape: tuple[int, ...]
    local_shape: tuple[int, ...]
    dims: tuple[tuple[AxisPart, ...], ...]

    def box(self, grid: Grid, process: int) -> tuple[slice, ...]:
        """The part of the global array that a process holds; may be shorter than the local shape, or empty."""
        coordinates = grid.coordinates(process)
        return tuple(self.block(d, coordinates, grid) for d in range(len(self.shape)))

    def block(self, dim: int, coordinates: dict[str, int], grid: Grid) -> slice:
        """The part of one dimension."""
        index, count, size = 0, prod(part.size for part in self.dims[dim]), self.shape[dim]
        for part in self.dims[dim]:
            index = index * part.size + part.coordinate(coordinates, grid.axes[part.name])
        width = -(-size // count)
        return slice(min(index * width, size), min((index + 1) * width, size))

    def cut(self, whole: np.ndarray, grid: Grid, process: int) -> np.ndarray:
        """What a process takes."""
        if whole.shape != self.shape:
            raise ValueError(f"an array of shape {list(whole.shape)} for a layout of {list(self.shape)}")
        part = whole[self.box(grid, process)]
        out = np.zeros(self.local_shape, whole.dtype)
        out[tuple(slice(0, n) for n in part.shape)] = part
        return out

    def join(self, parts: list[np.ndarray], grid: Grid) -> np.ndarray:
        """The global array; processes that hold the same part must hold equal bytes."""
        whole = np.zeros(self.shape, parts[0].dtype)
        seen: dict[str, int] = {}
        for process, part in enumerate(parts):
            box = self.box(grid, process)
            own = part[tuple(slice(0, s.stop - s.start) for s in box)]
            first = seen.setdefault(str(box), process)
            if first != process and own.tobytes() != whole[box].tobytes():
                raise ValueError(f"processes {first} and {process} hold the same part with different values")
            whole[box] = own
        return whole


def read(text: str) -> tuple[Grid, list[Layout], list[Layout]]:
    """The grid, and the layouts of the arguments and of the results."""
    with make_context():
        module = ir.Module.parse(signature_text(text))
        grid = read_grid(module)
        return grid, *read_layouts(module, grid)


def signature_text(text: str) -> str:
    """The meshes, and `@main` as a declaration: jaxlib cannot read all operations of our own."""
    meshes = [line for line in text.splitlines() if line.strip().startswith("sdy.mesh ")]
    head = re.search(r"func\.func (?:public )?(@main\(.*\)) \{$", text, re.MULTILINE)
    if head is None:
        raise ValueError("the text has no function @main on one line")
    declaration = "func.func private " + re.sub(r"%\w+: ", "", head[1])
    return "\n".join(["module {", *meshes, declaration, "}"])


def read_grid(module: ir.Module) -> Grid:
    """The module's mesh with the most devices; one process if there is none."""
    meshes = [op.operation for op in module.body.operations if op.operation.name == "sdy.mesh"]
    grids = [grid_of(sdy.MeshAttr(op.attributes["mesh"])) for op in meshes]
    return max(grids, key=lambda grid: len(grid.positions), default=Grid({}, (0,)))


def grid_of(mesh: sdy.MeshAttr) -> Grid:
    """The grid of a mesh."""
    axes = {axis.name: axis.size for axis in map(sdy.MeshAxisAttr, mesh.axes)}
    ids = list(mesh.device_ids)
    count = prod(axes.values())
    return Grid(axes, tuple(ids.index(k) for k in range(count)) if ids else tuple(range(count)))


def read_layouts(module: ir.Module, grid: Grid) -> tuple[list[Layout], list[Layout]]:
    """The layouts of the arguments and of the results of `@main`."""
    main = find_main(module)
    kind = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)
    return list(layouts(main, "arg_attrs", kind.inputs, grid)), list(layouts(main, "res_attrs", kind.results, grid))


def layouts(main: ir.Operation, name: str, types: list[ir.Type], grid: Grid) -> Iterator[Layout]:
    """One layout for each argument or result."""
    found = [ir.DictAttr(attr) for attr in ir.ArrayAttr(main.attributes[name])] if name in main.attributes else []
    for i, local in enumerate(types):
        attrs = found[i] if found else {}
        whole = ir.TypeAttr(attrs[GLOBAL_TYPE]).value if GLOBAL_TYPE in attrs else local
        sharding = sdy.TensorShardingAttr(attrs["sdy.sharding"]) if "sdy.sharding" in attrs else None
        yield layout(ir.RankedTensorType(whole), ir.RankedTensorType(local), sharding, grid)


def layout(
    whole: ir.RankedTensorType, local: ir.RankedTensorType, sharding: sdy.TensorShardingAttr | None, grid: Grid
) -> Layout:
    """A layout from its types and its sharding."""
    dims = [sdy.DimensionShardingAttr(dim).axes for dim in sharding.dimension_shardings] if sharding else []
    dims = [tuple(axis_part(axis, grid) for axis in axes) for axes in dims] or [()] * whole.rank
    return Layout(tuple(whole.shape), tuple(local.shape), tuple(dims))


def axis_part(attribute: ir.Attribute, grid: Grid) -> AxisPart:
    """An axis reference; `"x":(2)4` is the part of size 4 after the 2 major positions."""
    axis = sdy.AxisRefAttr(attribute)
    if axis.sub_axis_info is None:
        return AxisPart(axis.name, 1, grid.axes[axis.name])
    info = sdy.SubAxisInfoAttr(axis.sub_axis_info)
    return AxisPart(axis.name, info.pre_size, info.size)
