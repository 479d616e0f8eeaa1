"""Runs a program of one device in StableHLO's reference interpreter, or on JAX's CPU.

A program is a dict: its text, and its inputs as `{"dtype": "bf16", "shape": [2], "hex": "803f0040"}`: the bytes of the
elements, row-major, one byte for each element of a type below a byte. Results are given as the same strings of bytes.
The interpreter may abort on what it does not know.
"""

import functools

import numpy as np

import shardy


def array(value: dict) -> np.ndarray:
    """An input as numpy has it."""
    name = value["dtype"]
    stored = np.frombuffer(bytes.fromhex(value["hex"]), shardy.storage(name)).reshape(value["shape"])
    return shardy.from_storage(stored, name)


def to_hex(value: np.ndarray) -> str:
    """A result's bytes."""
    return np.ascontiguousarray(shardy.to_storage(value)).tobytes().hex()


def in_interpreter(text: str, inputs: list[np.ndarray]) -> list[np.ndarray]:
    """In the reference interpreter, on one process."""
    given = {f"arg{i}_p0": value for i, value in enumerate(inputs)}
    results = shardy.interpret(text, given, 1)
    return [results[f"out{i}_p0"] for i in range(len(results))]


@functools.cache
def load_jax() -> tuple:
    """JAX, which takes seconds to load, with 64-bit types; and the client's module."""
    import harness  # noqa: F401  before jax: it says how XLA rounds
    import jax
    from jax._src.lib import xla_client

    jax.config.update("jax_enable_x64", True)
    return jax, xla_client


def in_jax(text: str, inputs: list[np.ndarray]) -> list[np.ndarray]:
    """Compiled by XLA for the CPU."""
    jax, xla_client = load_jax()
    device = jax.devices("cpu")[0]
    program = device.client.compile_and_load(text, xla_client.DeviceList((device,)), xla_client.CompileOptions())
    results = program.execute_sharded([jax.device_put(value, device) for value in inputs])
    return [np.asarray(parts[0]) for parts in results.disassemble_into_single_device_arrays()]


RUNS = {"interpreter": in_interpreter, "jax": in_jax}


def evaluate(program: dict, system: str) -> dict:
    """What the system gives, or why it cannot."""
    inputs = [array(value) for value in program["inputs"]]
    try:
        results = RUNS[system](program["text"], inputs)
    except Exception as error:
        return {"results": None, "reason": " ".join(str(error).split())[:200]}
    return {"results": [to_hex(value) for value in results], "reason": ""}
