"""Python's `safetensors` and numpy against our files, in both directions.

    python oracle/checkpoints.py write DIR    # writes theirs.safetensors
    python oracle/checkpoints.py check DIR    # compares what we have made of it

We read `theirs.safetensors`, and write its tensors to `ours.safetensors`, to `ours.npz`, and to the folder `ours`, a
checkpoint of several files from arrays that are split over a mesh. All of them must have the same bytes as theirs.
"""

import json
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
from safetensors import deserialize, safe_open
from safetensors.numpy import save_file

NUMPY = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64".split()
ML_DTYPES = "bfloat16 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu".split()
# Python's reader for numpy has no names for these, so that their bytes are compared.
ONLY_BYTES = [name for name in ML_DTYPES if name.startswith("float8")]


def tensors() -> dict[str, np.ndarray]:
    """Tensors of every type of the format, in several shapes, one of them empty."""
    dtypes = {name: np.dtype(name) for name in NUMPY} | {name: np.dtype(getattr(ml_dtypes, name)) for name in ML_DTYPES}
    numbers = np.arange(1, 41).reshape(5, 8)
    made = {f"layers.{i}.{name}": numbers.astype(dtype) for i, (name, dtype) in enumerate(dtypes.items())}
    return made | {
        "scalar": np.array(3.5, np.float32),
        "empty": np.zeros((0, 3), np.float32),
        "odd name: \"ü\"\n": np.array([-0.0, np.nan, np.inf], np.float64),
    }


def raw(path: Path) -> dict[str, tuple]:
    """The type, the shape and the bytes of each tensor of a file, as the library reads them."""
    return {name: (t["dtype"], t["shape"], bytes(t["data"])) for name, t in deserialize(path.read_bytes())}


def index(folder: Path) -> tuple[dict, dict[str, tuple]]:
    """The index of a checkpoint, and its tensors."""
    found = json.loads((folder / "model.safetensors.index.json").read_text())
    files = {file: raw(folder / file) for file in set(found["weight_map"].values())}
    return found, {name: files[file][name] for name, file in found["weight_map"].items()}


def check(folder: Path) -> None:
    """Fails if one of our files differs from theirs."""
    theirs, values = raw(folder / "theirs.safetensors"), tensors()
    assert raw(folder / "ours.safetensors") == theirs
    found, ours = index(folder / "ours")
    assert ours == theirs
    assert found["metadata"]["total_size"] == sum(len(data) for _, _, data in theirs.values())
    assert len(set(found["weight_map"].values())) > 2
    for name, file in found["weight_map"].items():
        if not any(dtype in name for dtype in ONLY_BYTES):
            with safe_open(folder / "ours" / file, "np") as opened:
                value = opened.get_tensor(name)
                assert opened.metadata() == {"format": "pt"}
            assert value.dtype == values[name].dtype and value.tobytes() == values[name].tobytes(), name
    with np.load(folder / "ours.npz") as arrays:
        assert set(arrays.files) == set(values)
        for name, value in values.items():
            found = arrays[name]
            assert found.shape == value.shape and found.dtype.itemsize == value.dtype.itemsize, name
            assert found.tobytes() == value.tobytes(), name
    print(f"checkpoints: {len(theirs)} tensors of {len(NUMPY + ML_DTYPES)} types are the same in all files")


if __name__ == "__main__":
    action, folder = sys.argv[1], Path(sys.argv[2])
    if action == "write":
        save_file(tensors(), folder / "theirs.safetensors")
    else:
        check(folder)
