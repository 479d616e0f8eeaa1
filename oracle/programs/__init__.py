"""The corpus: one module for each family of programs, each with a `FAMILY` that lists them."""

from importlib import import_module

from harness import Program

FAMILIES = [
    "dense",
    "attention",
    "norms",
    "indexing",
    "control",
    "sorting",
    "convolution",
    "reshapes",
    "uneven",
    "randoms",
    "shard_maps",
    "partial_manual",
    "explicit",
    "gradients",
    "chapter",
    "linalg",
]


def all_programs() -> list[Program]:
    """Every program of every family, in a fixed order."""
    return [program for name in FAMILIES for program in import_module(f"programs.{name}").FAMILY.programs]
