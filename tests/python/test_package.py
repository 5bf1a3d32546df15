# test_package.py - the Python package on the stub driver: look-ups, plans and products of arrays.  Run by
# tests/cli/wheel.sh against what is in the wheel, with nothing but the standard library.
import copy
import ctypes
import gc
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import types
import unittest

import gemmtune
from gemmtune import _arrays, _library, _matmul
from stub import Matrix, WithDLPack, WithInterface, product

M, N, K = 33, 20, 48


def values(count, salt):
    return [(i * 7 + salt) % 11 - 5 for i in range(count)]


class Interface(unittest.TestCase):
    def test_structures_are_those_of_the_header(self):
        """A C program prints sizes and offsets; the compiler is that of the tests."""
        header = os.environ.get("GEMMTUNE_HEADER")
        if not header:
            self.skipTest("GEMMTUNE_HEADER does not name the folder of gemmtune.h")
        lines, expected = [], []
        for name, struct in (("gt_problem", _library.CProblem), ("gt_options", _library.COptions),
                             ("gt_answer", _library.CAnswer), ("gt_operands", _library.COperands),
                             ("gt_err", _library.CErr)):
            lines.append(f'printf("{name} %zu\\n", sizeof(struct {name}));')
            expected.append(f"{name} {ctypes.sizeof(struct)}")
            for field, _ in struct._fields_:
                lines.append(f'printf("{field} %zu\\n", offsetof(struct {name}, {field}));')
                expected.append(f"{field} {getattr(struct, field).offset}")
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, "sizes.c")
            with open(source, "w") as file:
                file.write("#include <gemmtune.h>\n#include <stdio.h>\nint main(void) {\n"
                           + "\n".join(lines) + "\nreturn 0; }\n")
            program = os.path.join(folder, "sizes")
            subprocess.run([os.environ.get("CC", "cc"), "-I", header, source, "-o", program], check=True)
            said = subprocess.run([program], check=True, capture_output=True, text=True).stdout
        self.assertEqual(said.split("\n")[:-1], expected)

    def test_lookup(self):
        answer = gemmtune.lookup("4096x4096x4096:bf16:nt", "sm_90")
        self.assertIn(answer.tier, (gemmtune.Tier.EXACT, gemmtune.Tier.NEAR))
        self.assertTrue(answer.kernel and answer.point and len(answer.grid) == 3)
        self.assertEqual(gemmtune.lookup("4096x4096x4096:bf16:nt", 90), answer)

    def test_errors_are_sentences(self):
        with self.assertRaisesRegex(gemmtune.Error, "64x64") as caught:
            gemmtune.lookup("64x64", 90)
        self.assertEqual(caught.exception.code, -3)
        with self.assertRaisesRegex(gemmtune.Error, "/nonexistent"):
            gemmtune.Tables("/nonexistent")
        with self.assertRaisesRegex(ValueError, "sm_90"):
            gemmtune.lookup("64x64x64", "hopper")

    def test_what_c_would_cut_off(self):
        for words, device in (("64x64x64\0:bf16", None), ("64x64x64", "NVIDIA H200\0x")):
            with self.assertRaisesRegex(ValueError, "null character"):
                gemmtune.lookup(words, 90, device)
        with self.assertRaisesRegex(ValueError, "null character"):
            gemmtune.Tables("mine.db\0x")
        for arch in (2**32 + 90, "9" * 30):
            with self.assertRaisesRegex(ValueError, "outside"):
                gemmtune.lookup("64x64x64", arch)
        with gemmtune.Tables("") as tables, self.assertRaisesRegex(ValueError, "outside"):
            tables.plan("64x64x64", 2**32)

    def test_copies(self):
        """Two objects would free the same memory."""
        with gemmtune.Tables("") as tables:
            for thing in (tables, tables.plan("64x64x64")):
                for way in (copy.copy, copy.deepcopy, pickle.dumps):
                    with self.assertRaisesRegex(TypeError, "copied or pickled"):
                        way(thing)

    def test_several_devices(self):
        a, b, d = (WithDLPack((8, 8), [1] * 64) for _ in range(3))
        gemmtune.matmul(a, b, d)
        b.device = 1
        with self.assertRaisesRegex(ValueError, "several devices"):
            gemmtune.matmul(a, b, d)
        gemmtune.matmul(WithInterface((8, 8), [1] * 64), a, d)  # the first does not say where it is

    def test_device_of_a_cluster(self):
        """JAX numbers the devices of all processes in one row; CUDA's number is DLPack's."""
        both = type("Both", (WithInterface, WithDLPack), {"device": types.SimpleNamespace(id=9)})
        both.__dlpack_device__ = lambda self: (2, 0)
        a, b, d = (both((8, 8), [1] * 64) for _ in range(3))
        gemmtune.matmul(a, b, d)
        self.assertEqual(d.values(), [8] * 64)

    def test_closed_tables(self):
        with gemmtune.Tables("") as tables:
            plan = tables.plan("64x64x64")
        with self.assertRaisesRegex(ValueError, "closed"):
            tables.lookup("64x64x64", 90)
        with self.assertRaisesRegex(ValueError, "closed"):
            plan.run(1, 2, 3)

    def test_version(self):
        self.assertRegex(gemmtune.__version__, r"^\d+\.\d+\.\d+$")


class Products(unittest.TestCase):
    def multiply(self, kind, sa=None, sb=None, **more):
        """As asked, with operands stored transposed where strides say so."""
        a, b = values(M * K, 1), values(K * N, 2)
        stored_a = a if sa is None else [a[i * K + p] for p in range(K) for i in range(M)]
        stored_b = b if sb is None else [b[p * N + j] for j in range(N) for p in range(K)]
        out = kind((M, N))
        result = gemmtune.matmul(kind((M, K), stored_a, strides=sa), kind((K, N), stored_b, strides=sb),
                                 out, workspace=WithInterface((1 << 20,)), **more)
        self.assertIs(result, out)
        return out.values(), product(a, b, M, N, K)

    def test_array_interface(self):
        for sa in (None, (1, M)):
            for sb in (None, (1, K)):
                found, expected = self.multiply(WithInterface, sa, sb)
                self.assertEqual(found, expected)

    def test_dlpack(self):
        for sb in (None, (1, K)):
            found, expected = self.multiply(WithDLPack, None, sb)
            self.assertEqual(found, expected)
        gc.collect()

    def test_factors(self):
        a, b, c = values(M * K, 1), values(K * N, 2), values(M * N, 3)
        bias = values(N, 4)
        out = WithInterface((M, N))
        gemmtune.matmul(WithInterface((M, K), a), WithInterface((K, N), b), out,
                        c=WithInterface((M, N), c), alpha=2, beta=-1, workspace=WithInterface((1 << 20,)))
        plain = product(a, b, M, N, K)
        self.assertEqual(out.values(), [2 * p - q for p, q in zip(plain, c)])
        gemmtune.matmul(WithInterface((M, K), a), WithInterface((K, N), b), out,
                        bias=WithInterface((N,), bias), activation="relu", workspace=WithInterface((1 << 20,)))
        self.assertEqual(out.values(), [max(p + bias[i % N], 0) for i, p in enumerate(plain)])

    def test_misaligned(self):
        a, b = values(M * K, 1), values(K * N, 2)
        out = WithInterface((M, N), offset=1)
        gemmtune.matmul(WithInterface((M, K), a, offset=1), WithInterface((K, N), b), out,
                        workspace=WithInterface((1 << 20,)))
        self.assertEqual(out.values(), product(a, b, M, N, K))

    def test_batches(self):
        a, b = values(3 * M * K, 1), values(3 * K * N, 2)
        out = WithInterface((3, M, N))
        gemmtune.matmul(WithInterface((3, M, K), a), WithInterface((3, K, N), b), out,
                        workspace=WithInterface((1 << 20,)))
        expected = []
        for i in range(3):
            expected += product(a[i * M * K:(i + 1) * M * K], b[i * K * N:(i + 1) * K * N], M, N, K)
        self.assertEqual(out.values(), expected)

    def test_one_row_and_one_column(self):
        for m, n in ((1, N), (M, 1), (1, 1)):
            a, b = values(m * K, 1), values(K * n, 2)
            out = WithInterface((m, n))
            gemmtune.matmul(WithInterface((m, K), a), WithInterface((K, n), b), out,
                            workspace=WithInterface((1 << 20,)))
            self.assertEqual(out.values(), product(a, b, m, n, K))

    def test_refusals(self):
        a, b, out = WithInterface((M, K)), WithInterface((K, N)), WithInterface((M, N))
        column = WithInterface((1, N), strides=(1, 7))  # a row of out whose elements lie apart
        for error, said, arguments in (
            (ValueError, "inner sizes differ", (b, b, out)),
            (ValueError, "out is", (a, b, WithInterface((N, M)))),
            (ValueError, "contiguous", (WithInterface((M, K), strides=(2 * K, 2)), b, out)),
            (ValueError, "out: its rows must be contiguous", (WithInterface((1, K)), b, column)),
            (TypeError, "two types", (a, WithInterface((K, N), kind="s8"), out)),
            (TypeError, "neither __cuda_array_interface__", (a, [1.0], out)),
            (TypeError, "give out=", (a, b)),
        ):
            with self.subTest(said), self.assertRaisesRegex(error, said):
                gemmtune.matmul(*arguments)
        with self.assertRaisesRegex(ValueError, "no c"):
            gemmtune.matmul(a, b, out, beta=1)
        for activation in "bias", "relu:batch=3", "tanh":
            with self.assertRaisesRegex(ValueError, f"activation is '{activation}'; there are relu and gelu"):
                gemmtune.matmul(a, b, out, activation=activation)
        for accuracy in "low", "f32:batch=3":
            with self.assertRaisesRegex(ValueError, f"accuracy is '{accuracy}'; there are strict, f32 and tf32"):
                gemmtune.matmul(a, b, out, accuracy=accuracy)
        with self.assertRaisesRegex(ValueError, "bias: its elements must be contiguous"):
            gemmtune.matmul(a, b, out, bias=WithInterface((N,), strides=(7,)))

    def test_small_workspace(self):
        a, b = WithInterface((16, 16384)), WithInterface((16384, 16))  # parts of k need one
        small = WithInterface((1,))
        small.nbytes = 4
        with self.assertRaisesRegex(ValueError, "workspace has 4 bytes; this product needs [0-9]{3}"):
            gemmtune.matmul(a, b, WithInterface((16, 16)), workspace=small)

    def test_graph_captures_only_what_was_planned(self):
        a, b, out = WithInterface((5, 7)), WithInterface((7, 3)), WithInterface((5, 3))
        with self.assertRaisesRegex(gemmtune.Error, "before the capture"):
            gemmtune.matmul(a, b, out, may_plan=False)

    def test_threads(self):
        wrong = []

        def work():
            found, expected = self.multiply(WithInterface)
            if found != expected:
                wrong.append(1)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


    def test_threads_share_a_plan(self):
        """Of two that are made at the same moment one is kept, and the other one never launched: freed with
        its code, it could be what a captured graph launches."""
        both, found = threading.Barrier(2), []

        class Slow(gemmtune.Plan):
            def __init__(self, *arguments):
                super().__init__(*arguments)
                both.wait(60)

        def work():
            found.append(_matmul.plan_for("31x17x11:f32:nn", 0))

        _matmul.Plan = Slow
        try:
            threads = [threading.Thread(target=work) for _ in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            _matmul.Plan = gemmtune.Plan
        self.assertIs(found[0], found[1])
        self.assertIs(found[0], _matmul.plan_for("31x17x11:f32:nn", 0))


class Deployed(unittest.TestCase):
    def test_file(self):
        path = os.environ.get("GEMMTUNE_DEPLOYED")
        if not path:
            self.skipTest("GEMMTUNE_DEPLOYED names no deployed file")
        with gemmtune.Tables(path, compile=False, cubin_dir="/nonexistent") as tables:
            plan = tables.plan("64x64x64")
            a, b, d = (Matrix((64, 64), [v] * 4096) for v in (2, 3, 0))
            space = Matrix((max(plan.answer.workspace_bytes, 1),))
            plan.run(a.address, b.address, d.address, workspace=space.address)
            self.assertEqual(d.values(), [2 * 3 * 64] * 4096)
            with self.assertRaisesRegex(gemmtune.Error, "nothing else is searched"):
                tables.plan("65x64x64")
            del plan


class Torch(unittest.TestCase):
    def test_absent(self):
        try:
            import torch  # noqa: F401
        except ImportError:
            with self.assertRaises(ImportError):
                import gemmtune.torch  # noqa: F401
        else:
            self.skipTest("PyTorch is here: test_torch.py tests it")


if __name__ == "__main__":
    sys.exit(not unittest.main(exit=False, verbosity=2).result.wasSuccessful())
