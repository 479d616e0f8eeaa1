"""Tests of the oracle's own tools: python -m unittest discover -s oracle"""

import json
import os
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock
from pathlib import Path

import ml_dtypes
import numpy as np

import batch
import compare
import shards
import shardy
import values

MESH = 'sdy.mesh @mesh = <["x"=2, "y"=4]>'


def module(body: str) -> str:
    """A module with a mesh."""
    return "module {\n" + MESH + "\n" + body + "\n}"


def unary(op: str, result_sharding: str = "") -> str:
    """A function that applies one unary operation to a sharded argument."""
    tensor, arrow = "tensor<8x4xf32>", " -> tensor<8x4xf32>" if op.startswith("chlo") else ""
    sharding = '{sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}'
    return module(
        f"""func.func public @main(%arg0: {tensor} {sharding}) -> {tensor} {{
          %0 = {op} %arg0 {result_sharding} : {tensor}{arrow}
          return %0 : {tensor}
        }}"""
    )


def interpret_in_new_process(text: str, inputs: dict, process_count: int) -> dict:
    """What `shardy.py --interpret` writes."""
    with tempfile.TemporaryDirectory() as folder:
        file, given, written = (Path(folder) / name for name in ("program.mlir", "in.npz", "out.npz"))
        file.write_text(text)
        np.savez(given, **inputs)
        command = [sys.executable, shardy.__file__, "--interpret", file, "--inputs", given, "--outputs", written]
        subprocess.run([*command, "--processes", str(process_count)], check=True)
        return values.load(written)


class ShardyTest(unittest.TestCase):
    """Passes, rules for chlo, verification."""

    def test_chlo_ops_propagate(self):
        self.assertIn('[{"x", ?}, {?}]', shardy.record(unary("chlo.erf"), "shardy"))

    def test_factor_names(self):
        self.assertEqual([shardy.factor_name(i) for i in (0, 17, 18, 19)], ["i", "z", "z_1", "z_2"])

    def test_verification_refuses(self):
        with self.assertRaises(Exception):
            shardy.verify_text(unary("stablehlo.sine").replace('{"x"}', '{"nowhere"}'))


class InterpreterTest(unittest.TestCase):
    """Per-device programs on a grid of processes."""

    def test_all_reduce_of_bf16_on_eight_processes(self):
        text = module(
            """func.func public @main(%arg0: tensor<2xbf16>) -> (tensor<2xbf16>, tensor<ui32>) {
              %0 = "stablehlo.all_reduce"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
                   replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, use_global_device_ids}> ({
              ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
                %s = stablehlo.add %a, %b : tensor<bf16>
                stablehlo.return %s : tensor<bf16>
              }) : (tensor<2xbf16>) -> tensor<2xbf16>
              %1 = stablehlo.partition_id : tensor<ui32>
              return %0, %1 : tensor<2xbf16>, tensor<ui32>
            }"""
        )
        inputs = {f"arg0_p{k}": np.array([k, 1.5], ml_dtypes.bfloat16) for k in range(8)}
        outputs = interpret_in_new_process(text, inputs, 8)
        for k in range(8):
            expected = np.array([6 if k < 4 else 22, 6], ml_dtypes.bfloat16)
            np.testing.assert_array_equal(outputs[f"out0_p{k}"], expected)
            self.assertEqual(outputs[f"out1_p{k}"], k)

    def test_complex_and_bool_cross_the_boundary(self):
        types = "tensor<2x2xcomplex<f32>>, tensor<3xi1>"
        text = module(
            f"""func.func public @main(%arg0: tensor<2x2xcomplex<f32>>, %arg1: tensor<3xi1>) -> ({types}) {{
              %0 = stablehlo.multiply %arg0, %arg0 : tensor<2x2xcomplex<f32>>
              %1 = stablehlo.not %arg1 : tensor<3xi1>
              return %0, %1 : {types}
            }}"""
        )
        z = np.array([[1 + 2j, 3], [1j, -1]], np.complex64)
        flags = np.array([True, False, True])
        outputs = shardy.interpret(text, {"arg0_p0": z, "arg1_p0": flags}, 1)
        np.testing.assert_array_equal(outputs["out0_p0"], z * z)
        np.testing.assert_array_equal(outputs["out1_p0"], ~flags)


class CompareTest(unittest.TestCase):
    """Structural comparison of shardings."""

    OURS = '{sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>}'

    def test_equal_up_to_openness(self):
        theirs = shardy.record(unary("stablehlo.sine"), "shardy")
        ours = unary("stablehlo.sine", self.OURS).replace(
            "-> tensor<8x4xf32> {", '-> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {', 1
        )
        self.assertEqual(compare.compare_texts(ours, theirs).percent, 100.0)
        self.assertLess(compare.compare_texts(ours, theirs, strict=True).percent, 100.0)

    def test_missing_sharding_is_a_difference(self):
        report = compare.compare_texts(unary("stablehlo.sine"), shardy.record(unary("stablehlo.sine"), "shardy"))
        self.assertEqual([entry["op"] for entry in report.different if entry["kind"] == "value"], ["stablehlo.sine"])

    def test_other_operation_is_a_difference_of_structure(self):
        report = compare.compare_texts(unary("stablehlo.sine"), unary("stablehlo.cosine"))
        self.assertEqual(len(report.structure), 1)


class ValuesTest(unittest.TestCase):
    """Comparison of arrays."""

    def test_ulps(self):
        a = np.array([1.0, -0.0, -1e-45], np.float32)
        b = np.array([np.nextafter(np.float32(1), np.float32(2)), 0.0, 1e-45], np.float32)
        self.assertEqual([values.max_ulp(a[i : i + 1], b[i : i + 1]) for i in range(3)], [1, 0, 2])

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            a, b = Path(folder) / "a.npz", Path(folder) / "b.npz"
            x = np.array([1, 2], ml_dtypes.bfloat16)
            np.savez(a, out0=x, out1=np.array([1, 2]))
            np.savez(b, out0=x, out1=np.array([1, 3]), out2=x)
            facts = values.compare_files(a, b)
        self.assertEqual(
            {name: about["ok"] for name, about in facts.items()}, {"out0": True, "out1": False, "out2": False}
        )

    def test_nans_must_agree(self):
        x = np.array([np.nan, np.inf], np.float32)
        self.assertTrue(values.compare_arrays(x, x)["ok"])
        self.assertFalse(values.compare_arrays(x, np.array([0, np.inf], np.float32))["ok"])


# A per-device program on the mesh x=2, y=4: 7 rows over x, 6 columns over the minor half of y; the sum over the columns.
LOCAL = module(
    "func.func public @main("
    '%arg0: tensor<4x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y":(2)2}]>, '
    "shardwise.global_type = tensor<7x6xf32>}) "
    '-> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>, shardwise.global_type = tensor<7xf32>}) {'
    """
         %zero = stablehlo.constant dense<0.0> : tensor<f32>
         %0 = stablehlo.reduce(%arg0 init: %zero) applies stablehlo.add across dimensions = [1]
              : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
         %1 = "stablehlo.all_reduce"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
              replica_groups = dense<[[0, 1], [2, 3], [4, 5], [6, 7]]> : tensor<4x2xi64>, use_global_device_ids}> ({
         ^bb0(%a: tensor<f32>, %b: tensor<f32>):
           %s = stablehlo.add %a, %b : tensor<f32>
           stablehlo.return %s : tensor<f32>
         }) : (tensor<4xf32>) -> tensor<4xf32>
         return %1 : tensor<4xf32>
       }"""
)


class ShardsTest(unittest.TestCase):
    """Cutting and joining."""

    def test_uneven_and_sub_axes(self):
        grid, (given,), _ = shards.read(LOCAL)
        whole = np.arange(42.0).reshape(7, 6)
        parts = [given.cut(whole, grid, k) for k in range(8)]
        np.testing.assert_array_equal(parts[3], whole[:4, 3:])
        np.testing.assert_array_equal(parts[4], np.pad(whole[4:, :3], ((0, 1), (0, 0))))
        np.testing.assert_array_equal(given.join(parts, grid), whole)

    def test_disagreement(self):
        grid, _, (result,) = shards.read(LOCAL)
        with self.assertRaisesRegex(ValueError, "processes 0 and 1"):
            result.join([np.full(4, k, np.float32) for k in range(8)], grid)


class BatchTest(unittest.TestCase):
    """Many questions in one process."""

    def ask(self, folder: Path, *questions: dict) -> list[dict]:
        """The answers, in the order of the questions."""
        (folder / "good.mlir").write_text(LOCAL)
        (folder / "bad.mlir").write_text("module {")
        whole = np.arange(42, dtype=np.float32).reshape(7, 6)
        np.savez(folder / "in.npz", arg0=whole)
        np.savez(folder / "out.npz", out0=whole.sum(axis=1))
        np.savez(folder / "wrong.npz", out0=whole.sum(axis=1) + 1)
        lines = [json.dumps({"id": i, **question}) for i, question in enumerate(questions)]
        command = [sys.executable, batch.__file__, "--children", "1"]
        done = subprocess.run(command, cwd=folder, input="\n".join(lines), capture_output=True, text=True, check=True)
        return sorted(map(json.loads, done.stdout.splitlines()), key=lambda answer: answer["id"])

    def test_answers(self):
        run = {"kind": "interpret", "file": "good.mlir", "layout": "good.mlir", "inputs": "in.npz", "expected": "out.npz"}
        questions = [
            run,
            {**run, "expected": "wrong.npz"},
            {"kind": "verify", "file": "good.mlir"},
            {"kind": "verify", "file": "bad.mlir"},
            {"kind": "values", "ours": "out.npz", "expected": "wrong.npz"},
            {"kind": "shardings", "ours": "good.mlir", "theirs": "good.mlir"},
        ]
        with tempfile.TemporaryDirectory() as folder:
            answers = self.ask(Path(folder), *questions)
        self.assertEqual([answer["ok"] for answer in answers], [True, False, True, False, False, True], answers)
        self.assertIn("out0", answers[1]["reason"])

    def test_a_child_may_die_or_hang(self):
        odd = {"die": lambda _: os.abort(), "hang": lambda _: time.sleep(60)}
        with unittest.mock.patch.object(batch, "ANSWERS", odd):
            answers = batch.run_all([{"id": 0, "kind": "die"}, {"id": 1, "kind": "hang"}], child_count=2, limit=0.5)
            reasons = {answer["id"]: answer["reason"] for answer in answers}
        self.assertIn("SIGABRT", reasons[0])
        self.assertIn("SIGKILL", reasons[1])


if __name__ == "__main__":
    unittest.main()
