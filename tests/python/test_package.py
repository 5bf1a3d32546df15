# test_package.py - the Python package on the stub driver: look-ups, plans and products of arrays.  Run by
# tests/cli/wheel.sh against what is in the wheel, with nothing but the standard library.
import copy
import ctypes
import gc
import os
import pickle
import re
import subprocess
import sys
import tempfile
import threading
import types
import unittest

import gemmtune
from gemmtune import _arrays, _library, _matmul, _memory, _names
from stub import Matrix, WithDLPack, WithInterface, WithNewDLPack, part, product

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
        for arch, said in (("sm_ninety", "sm_90"), ("ampere", "sm_86"), ("sm_70", "older"), ("Tesla V100", "older"),
                           ("gtx 1080", "older"), ("", "sm_90"), ("h1000", "sm_90")):
            with self.assertRaisesRegex(ValueError, said):
                gemmtune.lookup("64x64x64", arch)

    def test_names_of_gpus(self):
        """A name is the device asked about, as with `tune lookup --arch`."""
        problem = "4096x4096x4096:bf16:nt"
        for name in ("h100", "NVIDIA H100 80GB HBM3", "H200"):
            self.assertEqual(gemmtune.lookup(problem, name), gemmtune.lookup(problem, 90, name))
        self.assertIn("H100", gemmtune.lookup(problem, "h100").device)
        self.assertEqual(gemmtune.lookup(problem, "h20").tier, gemmtune.Tier.NEAR)
        self.assertEqual(gemmtune.lookup(problem, "h100", "NVIDIA H200"), gemmtune.lookup(problem, 90, "NVIDIA H200"))
        self.assertEqual(gemmtune.lookup(problem, "hopper"), gemmtune.lookup(problem, 90))
        self.assertEqual(gemmtune.Tables("").lookup(problem, "H200"), gemmtune.Tables("").lookup(problem, 90, "H200"))

    def test_names_are_those_of_the_command_line(self):
        for name, cc, one in (("sm_90a", 90, False), ("8.6", 86, False), ("compute_89", 89, False), ("sm90", 90, False),
                              ("rtx4090", 89, True), ("GTX 1660 Ti", 75, True), ("4070ti", 89, True),
                              ("RTX 3080 Laptop GPU", 86, True), ("NVIDIA A100-SXM4-80GB", 80, True),
                              ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 120, True), ("L40S", 89, True),
                              ("NVIDIA RTX 6000 Ada Generation", 89, True), ("RTX A6000", 86, True)):
            self.assertEqual(_names.parse(name), (cc, name if one else None))
        header = os.environ.get("GEMMTUNE_HEADER")
        if not header:
            self.skipTest("GEMMTUNE_HEADER does not name the folder of gemmtune.h")
        with open(os.path.join(header, "../tuner/console/gpu_names.c")) as file:
            source = file.read()
        families = re.findall(r'"([a-z]+)"', re.search(r"families\[\] = {(.*?)}", source).group(1))
        rows = []
        for cc, words in re.findall(r'{(?:"sm_([0-9]+)"|NULL),\s*(?:NULL|OLD|"[^"]*"(?:\s*"[^"]*")*),\s*((?:"[^"]*"\s*)+)}', source):
            rows += [(word, cc) for word in " ".join(re.findall(r'"([^"]*)"', words)).split()]
        rows += re.findall(r'{"([0-9]{2})", (?:"sm_([0-9]+)"|NULL)}', source)
        self.assertGreater(len(rows), 70)
        for word, cc in rows:
            name = word + "70" if word in ("16", "20", "30", "40", "50", "10") else word
            if cc:
                self.assertEqual(_names.parse(name), (int(cc), None if name in families else name))
            else:
                self.assertRaisesRegex(ValueError, "older|several", _names.parse, name)

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

    def test_doubles(self):
        """Neither the operands nor the factors are numbers of float32."""
        a = [x + 2.0**-40 for x in values(M * K, 1)]
        b, c = [x / 3 for x in values(K * N, 2)], values(M * N, 3)
        for kind in (WithInterface, WithDLPack):
            out = kind((M, N), kind="f64")
            gemmtune.matmul(kind((M, K), a, "f64"), kind((K, N), b, "f64"), out, c=kind((M, N), c, "f64"),
                            alpha=1 / 3, beta=1e200, workspace=WithInterface((1 << 20,)))
            for found, p, q in zip(out.values(), product(a, b, M, N, K), c):
                self.assertAlmostEqual(found, p / 3 + 1e200 * q, delta=1e-12 + abs(1e185 * q))

    def test_scales(self):
        """What a problem says of factors follows from their shape and strides."""
        def words(shape, strides, operand="a", rows=300, k=512, kind="f32"):
            return _matmul._scale(_arrays.View(4096, shape, strides, kind, 0, None), operand, rows, k)

        self.assertEqual(words((), ()), ("scale_a=tensor",))
        self.assertEqual(words((1, 1), (1, 1), "b"), ("scale_b=tensor",))
        self.assertEqual(words((300,), (1,)), ("scale_a=vector",))
        self.assertEqual(words((300, 1), (1, 1)), ("scale_a=vector",))
        self.assertEqual(words((1, 300), (300, 1), "b"), ("scale_b=vector",))
        self.assertEqual(words((300, 4), (1, 304)), ("scale_a=1x128/mn", "lsa=304"))
        self.assertEqual(words((300, 4), (4, 1)), ("scale_a=1x128/k", "lsa=4"))
        self.assertEqual(words((4, 3), (1, 4), "b"), ("scale_b=128x128/k", "lsb=4"))
        self.assertEqual(words((4, 300), (300, 1), "b"), ("scale_b=1x128/mn", "lsb=300"))
        for shape, strides in (((299,), (1,)), ((300, 5), (5, 1)), ((300, 4), (8, 2)), ((2, 300), (300, 1))):
            with self.assertRaises(_library.Unfit):
                words(shape, strides)
        with self.assertRaisesRegex(_library.Unfit, "float32"):
            words((300,), (1,), kind="bf16")

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


class Memory(unittest.TestCase):
    """What is written has memory of its own, on the device, that may be written."""

    def refused(self, said, a, b, out, **more):
        more.setdefault("workspace", WithInterface((1 << 20,)))
        with self.subTest(said), self.assertRaisesRegex(ValueError, said):
            gemmtune.matmul(a, b, out, **more)

    def test_overlaps(self):
        for kind in WithInterface, WithDLPack:
            whole, other = kind((3 * N, N), values(3 * N * N, 1)), kind((N, N), values(N * N, 2))
            a, first = part(whole, (N, N), at=N * N), kind((N, N))
            for at in 1, N * N - N, N * N, N * N + N // 2, 2 * N * N - 1:  # the first and the last element, too
                out = part(whole, (N, N), at=at)
                self.refused("out overlaps a", a, other, out)
                self.refused("out overlaps b", other, a, out)
                if at != N * N:
                    self.refused("out overlaps c.*out itself", other, other, out, c=a, beta=1)
                self.refused("out overlaps bias", other, other, a, bias=part(a, (N,), at=N * N - 1))
                self.refused("workspace overlaps out", other, other, a, workspace=part(whole, (N, N), at=at))
                for name, operands in (("a", (a, other)), ("b", (other, a))):
                    self.refused(f"workspace overlaps {name}", *operands, first, workspace=out)
                self.refused("workspace overlaps c", other, other, first, c=a, beta=1, workspace=out)
            self.refused("workspace overlaps bias", other, other, first, bias=part(whole, (N,)), workspace=whole)
            self.refused("out overlaps a", part(whole, (N, N), (1, N)), other, part(whole, (N, N)))

    def test_slices_of_one_buffer(self):
        """Columns side by side, rows in turns and neighbours do not meet; one column of them does."""
        a, b = values(N * N, 1), values(N * N, 2)
        right = product(a, b, N, N, N)
        for pitch, at in ((2 * N, N), (3 * N, N), (2 * N + 1, N), (2 * N, N - 1), (2 * N + 3, 2 * N + 2)):
            buffer = WithInterface((2 * N, 3 * N))
            left, out = part(buffer, (N, N), (pitch, 1)), part(buffer, (N, N), (pitch, 1), at)
            if pitch - N >= at >= N:
                gemmtune.matmul(fill(left, a, pitch), WithInterface((N, N), b), out,
                                workspace=WithInterface((1 << 20,)))
                found = buffer.values()
                self.assertEqual([found[at + i * pitch + j] for i in range(N) for j in range(N)], right)
            else:
                self.refused("out overlaps a", left, WithInterface((N, N), b), out)
        buffer = WithInterface((2 * N * N,))
        gemmtune.matmul(fill(part(buffer, (N, N)), a, N), WithInterface((N, N), b), part(buffer, (N, N), at=N * N),
                        workspace=WithInterface((1 << 20,)))
        self.assertEqual(buffer.values()[N * N:], right)

    def test_blocks_against_elements(self):
        """_memory.meet is right, as sets of bytes have it."""
        state = 1
        for _ in range(4000):
            forms = []
            for _ in range(2):
                numbers = []
                for _ in range(5):
                    state = state * 48271 % (2**31 - 1)
                    numbers.append(state)
                shape = [n % 4 + (n % 7 != 0) for n in numbers[:2]] + [numbers[2] % 5 + 1]
                forms.append((shape, [numbers[3] % 40, numbers[4] % 13, 1], 1 + numbers[0] % 2))
            state = state * 48271 % (2**31 - 1)
            apart = state % 120 - 60
            cells = [
                {shift + size * (i * s[0] + j * s[1] + k) + byte for i in range(n[0]) for j in range(n[1])
                 for k in range(n[2]) for byte in range(size)}
                for (n, s, size), shift in zip(forms, (0, apart))
            ]
            x, y = (_memory.block(tuple(n), tuple(s), size) for n, s, size in forms)
            self.assertEqual(_memory.meet(x, y, apart), bool(cells[0] & cells[1]), (forms, apart))

    def test_plans(self):
        plan = gemmtune.Tables("").plan(f"{N}x{N}x{N}:beta=1:epi=bias")
        whole, b, bias, space = (WithInterface((2 * N, N), values(2 * N * N, salt)) for salt in range(4))
        a, d = whole.address, whole.address + 4 * N * N
        plan.run(a, b.address, d, c_=d, bias=bias.address, workspace=space.address, beta=1)
        good = {"a": a, "b": b.address, "d": d, "c_": d, "bias": bias.address, "workspace": space.address}
        for said, changes in (("out overlaps a", {"d": d - 4}), ("out overlaps a", {"a": d}),
                              ("out overlaps b", {"b": d}), ("out overlaps c", {"c_": d + 4}),
                              ("out overlaps bias", {"bias": d})):
            with self.subTest(said), self.assertRaisesRegex(ValueError, said):
                plan.run(beta=1, **{**good, **changes})
        for name, number in (("a", 2**64), ("bias", -1), ("stream", 2**64 + 1), ("d", None)):
            with self.assertRaisesRegex(ValueError, f"{name} is {number}; addresses"):
                plan.run(**{**good, name: number})

    def test_masks(self):
        for name in "a", "b", "out", "c", "bias", "workspace":
            given = self.operands(WithInterface)
            given[name].more = {"mask": WithInterface((N, N))}
            self.refused("masked", beta=1, **given)

    def operands(self, kind):
        shapes = {"a": (N, N), "b": (N, N), "out": (N, N), "c": (N, N), "bias": (N,), "workspace": (1 << 20,)}
        return {name: kind(shape, [1.0] * (N * N if len(shape) == 2 else N)) for name, shape in shapes.items()}

    def test_read_only(self):
        for kind in WithInterface, WithNewDLPack:
            for name in "a", "b", "out", "c", "bias", "workspace":
                given = self.operands(kind)
                given[name].read_only = True
                if name in ("out", "workspace"):
                    self.refused(f"{name} is read-only", beta=1, **given)
                else:
                    gemmtune.matmul(beta=1, **given)
        given["a"].major = 2
        self.refused("DLPack 2", **given)

    def test_interfaces_that_are_none(self):
        a = WithInterface((4, 4), range(16))
        whole = a.__cuda_array_interface__
        for odd in (5, [1], "shape", {}) + tuple({k: v for k, v in whole.items() if k != key} for key in ("shape", "data", "typestr")):
            array = type("Odd", (), {"__cuda_array_interface__": odd})()
            for operands in ({"a": array, "b": a}, {"a": a, "b": a, "out": array}):
                with self.assertRaisesRegex(TypeError, "Odd is no dict with shape, typestr and data"):
                    gemmtune.matmul(**operands)

    def test_memory_of_the_host(self):
        both = type("Both", (WithInterface, WithDLPack), {})
        for kind, where in ((both, 1), (WithDLPack, 1), (WithDLPack, 3), (WithNewDLPack, 1)):
            for name in "a", "b", "out", "c", "bias", "workspace":
                given = self.operands(kind)
                given[name].where = where
                self.refused("not in device memory", beta=1, **given)
        for found in bytearray(1 << 22), types.SimpleNamespace(data_ptr=lambda: 4096, nbytes=1 << 22):
            with self.assertRaisesRegex(TypeError, "neither"):
                gemmtune.matmul(*(WithInterface((N, N)) for _ in range(3)), workspace=found)

    def test_workspaces(self):
        """Bytes of any type, side by side."""
        given = self.operands(WithDLPack)
        given["workspace"].dlpack = 1, 8
        gemmtune.matmul(beta=1, **given)
        given = self.operands(WithInterface)
        given["workspace"].typestr = "|u1"
        gemmtune.matmul(beta=1, **given)
        self.refused("workspace: its elements must be contiguous", *(WithInterface((N, N)) for _ in range(3)),
                     workspace=WithInterface((1 << 16,), strides=(2,)))

    def waits(self, stream=None, **streams):
        """The streams that were waited for, each time by which one."""
        driver = ctypes.CDLL(os.environ["GEMMTUNE_LIBCUDA"])
        count, given = ctypes.c_int.in_dll(driver, "stub_waits_count"), self.operands(WithInterface)
        for name, number in streams.items():
            given[name].more = {"stream": number}
        count.value = 0
        gemmtune.matmul(beta=1, stream=stream, **given)
        entries = (ctypes.c_void_p * 32).in_dll(driver, "stub_waits")
        self.assertEqual(given["out"].values()[0], N + 1 + 1)
        return [(entries[2 * i], entries[2 * i + 1]) for i in range(count.value)]

    def test_streams(self):
        """A product begins when its arrays are ready; on a's stream, unless another one is given."""
        self.assertEqual(self.waits(), [])
        self.assertEqual(self.waits(a=0x50, b=0x50, out=0x50), [])
        self.assertEqual(self.waits(a=1, b=0), [])
        self.assertEqual(self.waits(stream=0, b=1), [])
        self.assertEqual(self.waits(stream=0x50, a=1), [(0x50, 1)])
        self.assertEqual(self.waits(stream=0, a=2), [(1, 2)])
        self.assertEqual(self.waits(a=0x50, b=1), [(0x50, 1)])
        for name in "b", "out", "c", "bias", "workspace":
            self.assertEqual(self.waits(**{name: 0x50}), [(1, 0x50)])
            self.assertEqual(self.waits(stream=0x60, **{name: 0x50}), [(0x60, 0x50)])
        for number in -1, 2**64, "1":
            with self.assertRaisesRegex(ValueError, "stream is"):
                self.waits(b=number)

    def test_dlpack_stream(self):
        """The library that hands an array over is told for which stream."""
        for stream, asked in ((None, 1), (0, 1), (0x50, 0x50)):
            given = self.operands(WithDLPack)
            gemmtune.matmul(beta=1, stream=stream, **given)
            self.assertEqual({array.asked for array in given.values()}, {asked})



def fill(view, numbers, pitch):
    rows, columns = view.shape
    for i in range(rows):
        row = (ctypes.c_float * columns).from_address(view.address + 4 * i * pitch)
        row[:] = numbers[i * columns:(i + 1) * columns]
    return view


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
