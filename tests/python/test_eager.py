# test_eager.py - gemmtune.torch's way of small products on the stub driver, with a stand-in for PyTorch: what
# was run once is launched without a look at its problem, and everything that changes the problem is seen.
import ctypes
import dataclasses
import os
import sys
import unittest

import torch

import gemmtune
import gemmtune.torch as gt


def filled(*shape, salt=1):
    tensor = torch.Tensor(shape)
    for i in range(tensor.numel()):
        tensor.cells()[i] = (i * 7 + salt) % 11 - 5
    return tensor


@unittest.skipUnless(torch.__version__.endswith("standin"), "PyTorch is here: test_torch.py tests it")
class Eager(unittest.TestCase):
    def setUp(self):
        gt.use_tables(None)
        torch._state.update(
            precision="highest", grad=True, modes=0, capturing=False, traced=None, autocast=None,
            deterministic=False,
        )

    def same(self, found, a, b, bias=None):
        expected = torch.matmul(a, b)
        columns = b.shape[1]
        for i in range(a.shape[0] * columns):
            add = bias.cells()[i % columns] if bias is not None else 0
            self.assertEqual(found.cells()[i], expected.cells()[i] + add)

    def product(self, a, b):
        """Twice: the second time by what the first one kept."""
        for _ in range(2):
            self.same(gt.matmul(a, b), a, b)

    def test_kept(self):
        a, b = filled(16, 24), filled(24, 32, salt=3)
        before = dict(gt.counts)
        self.product(a, b)
        self.assertEqual(len(gt._known), 1)
        self.product(filled(16, 24, salt=5), b)
        self.assertEqual(len(gt._known), 1)
        self.assertEqual(gt.counts["gemmtune"], before["gemmtune"] + 4)
        self.assertEqual(gt.counts["pytorch"], before["pytorch"])

    def test_another_problem(self):
        """Layouts, sizes, precision and alignment are products of their own."""
        a, b = filled(16, 24), filled(24, 32, salt=3)
        self.product(a, b)
        self.product(filled(24, 16).t(), b)
        self.product(a, filled(32, 24, salt=3).t())
        self.product(filled(17, 24), b)
        wide = filled(16, 40)
        self.product(wide.view((16, 24), (40, 1)), b)
        self.product(wide.view((16, 20), (40, 2)), filled(20, 32))  # copied
        self.assertEqual(len(gt._known), 6)
        skew = torch.Tensor((16, 24), offset=4)
        for i in range(skew.numel()):
            skew.cells()[i] = i % 5 - 2
        self.product(skew, b)
        self.product(a, b)
        torch._state["precision"] = "high"
        self.product(a, b)
        self.assertEqual(len(gt._known), 7)

    def test_linear(self):
        x, weight, bias = filled(2, 8, 24), filled(32, 24, salt=3), filled(32, salt=4)
        for _ in range(2):
            y = gt.linear(x, weight, bias)
            self.assertEqual(y.shape, (2, 8, 32))
            self.same(y.reshape(16, 32), x.reshape(16, 24), weight.t(), bias)
            y = gt.linear(x, weight)
            self.same(y.reshape(16, 32), x.reshape(16, 24), weight.t())
        self.assertEqual(len(gt._known), 2)
        self.product(filled(24, 24), filled(24, 24))
        square = filled(24, 24)  # the same shapes and strides as that product's
        y = gt.linear(square, square)
        self.same(y, square, square.t())

    def test_closed_tables(self):
        a, b = filled(16, 24), filled(24, 32, salt=3)
        with gemmtune.Tables("") as tables:
            gt.use_tables(tables)
            self.product(a, b)
        with self.assertRaisesRegex(ValueError, "closed"):
            gt.matmul(a, b)

    def test_several_devices(self):
        """PyTorch says what is wrong with them."""
        a, b = filled(16, 24), filled(24, 32, salt=3)
        b.device.index = 1
        before = gt.counts["pytorch"]
        gt.matmul(a, b)
        gt.linear(a, b.t())
        self.assertEqual(gt.counts["pytorch"], before + 2)

    def test_modes_see_the_operator(self):
        a, b = filled(16, 24), filled(24, 32, salt=3)
        self.product(a, b)
        for state in {"modes": 1}, {"modes": 0, "traced": "a trace"}:
            torch._state.update(state)
            before = torch._state.get("dispatched", 0)
            self.same(gt.matmul(a, b), a, b)
            self.assertEqual(torch._state["dispatched"], before + 1)

    def gradients(self, found, grad, look=0):
        """What the engine would do with the graph of a product."""
        function, context = found.made_by
        torch._state.update(grad=False, modes=look)
        result = function.backward(context, grad)
        torch._state.update(grad=True, modes=0)
        return result[:3]

    def test_gradients(self):
        """Of plain, contiguous, transposed and expanded gradients; again by what was kept."""
        a, b, bias = filled(4, 8), filled(8, 12, salt=3), filled(12, salt=4)
        weight = filled(12, 8, salt=6)
        for tensor in (a, b, bias, weight):
            tensor.requires_grad = True
        before = dict(gt.counts)
        one = torch.Tensor((1,))
        one.cells()[0] = 2
        grads = filled(4, 12, salt=2), filled(12, 4, salt=2).t(), one.view((4, 12), (0, 0))
        for grad in (*grads, grads[0]):
            for _ in range(2):
                da, db, dbias = self.gradients(gt.matmul(a, b), grad)
                self.same(da, grad, b.t())
                self.same(db, a.t(), grad)
                self.assertIsNone(dbias)
                da, db, dbias = self.gradients(gt.linear(a, weight, bias), grad)
                self.same(da, grad, weight)
                self.same(db, grad.t(), a)
                self.assertEqual(dbias.cells()[0], sum(grad.at(i, 0) for i in range(4)))
        self.assertEqual(gt.counts["pytorch"], before["pytorch"])
        self.assertEqual(gt.counts["gemmtune"], before["gemmtune"] + 4 * 2 * 6)
        self.assertEqual([len(known.gradients) for known in gt._known.values()], [2, 2])

    def test_gradients_that_nobody_wants(self):
        a, b = filled(4, 8), filled(8, 12, salt=3)
        b.requires_grad = True
        da, db, _ = self.gradients(gt.matmul(a, b), filled(4, 12))
        self.assertIsNone(da)
        self.same(db, a.t(), filled(4, 12))

    def test_modes_see_the_gradients(self):
        a, b = filled(4, 8), filled(8, 12, salt=3)
        a.requires_grad = b.requires_grad = True
        found = gt.matmul(a, b)
        before = torch._state.get("dispatched", 0)
        da, db, _ = self.gradients(found, filled(4, 12), look=1)
        self.assertEqual(torch._state["dispatched"], before + 2)
        self.same(da, filled(4, 12), b.t())
        self.same(db, a.t(), filled(4, 12))

    def test_bias_with_gaps(self):
        """A column of a matrix, or one number that was expanded: read as they lie, by PyTorch."""
        x, weight = filled(16, 24), filled(32, 24, salt=3)
        plain = torch.matmul(x, weight.t())  # kept: its cells are no more than an address
        for bias in filled(32, 5).view((32,), (5,)), filled(1).view((32,), (0,)):
            before = gt.counts["pytorch"]
            for look in 0, 1:
                torch._state["modes"] = look
                y = gt.linear(x, weight, bias)
                self.assertEqual(y.cells()[5], plain.cells()[5] + bias.at(5))
            y = gt._linear_op(x, weight, bias)
            self.assertEqual(y.cells()[5], plain.cells()[5] + bias.at(5))
            self.assertEqual(gt.counts["pytorch"], before + 3)
            with self.assertRaisesRegex(ValueError, "bias: its elements must be contiguous"):
                gemmtune.matmul(x, weight.t(), bias=bias)

    def test_autocast_is_for_floats_on_a_gpu(self):
        a, b, bias = filled(4, 8), filled(8, 12, salt=3), filled(12)
        torch._state["autocast"] = torch.bfloat16
        self.assertIs(gt.matmul(a, b).dtype, torch.bfloat16)
        self.assertIs(gt.linear(a, b.t(), bias).dtype, torch.bfloat16)
        self.assertIs(gt._autocast(torch.Tensor((2, 2), torch.int8))[0].dtype, torch.int8)
        for tensor in a, b, bias:
            tensor.is_cuda = False
        before = gt.counts["pytorch"]
        self.same(gt.matmul(a, b), a, b)
        bt = b.t()
        bt.is_cuda = False
        self.assertIs(gt.linear(a, bt, bias).dtype, torch.float32)
        self.assertEqual(gt.counts["pytorch"], before + 2)

    def test_memory_of_tensors(self):
        """A workspace of the host, and a result where an operand lies."""
        a, out, host = filled(16, 16), torch.Tensor((16, 16)), torch.Tensor((1 << 16,), torch.uint8)
        gemmtune.matmul(a, a, out, workspace=host)
        host.is_cuda = False
        with self.assertRaisesRegex(ValueError, "not in device memory"):
            gemmtune.matmul(a, a, out, workspace=host)
        with self.assertRaisesRegex(ValueError, "out overlaps a"):
            gemmtune.matmul(a, out, a)

    def test_deterministic_algorithms(self):
        """They have no sums by atomics, whether the product was run before or not."""
        a, b = filled(15, 24), filled(24, 32, salt=3)
        _, plan = gt._compute(a, b, None, "")
        plan.answer = dataclasses.replace(plan.answer, varies=True)
        self.product(a, b)
        for deterministic in True, False:
            torch._state["deterministic"] = deterministic
            before = gt.counts["pytorch"]
            self.product(a, b)
            self.assertEqual(gt.counts["pytorch"], before + 2 * deterministic)

    def test_odd_bias(self):
        """PyTorch spreads a bias that is one number; its gradient is PyTorch's, too."""
        x, weight, bias = filled(16, 24), filled(32, 24, salt=3), filled(salt=4)
        bias.requires_grad = True
        plain = torch.matmul(x, weight.t())  # kept: its cells are no more than an address
        for look in 0, 1:
            torch._state["modes"] = look
            before = gt.counts["pytorch"]
            for _ in range(2):
                y = gt.linear(x, weight, bias)
                self.assertFalse(hasattr(y, "made_by"))
                self.assertEqual(y.cells()[5], plain.cells()[5] + bias.cells()[0])
            self.assertEqual(gt.counts["pytorch"], before + 2)
        y = gt._linear_op(x, weight, bias)  # the operator itself
        self.assertEqual(y.cells()[5], plain.cells()[5] + bias.cells()[0])
        with self.assertRaisesRegex(ValueError, "bias must be 32 elements"):
            gemmtune.matmul(x, weight.t(), bias=bias)


@unittest.skipUnless(torch.__version__.endswith("standin"), "PyTorch is here: test_torch.py tests it")
class Streams(unittest.TestCase):
    """What a product on a given stream takes and gives back must not serve another stream meanwhile."""

    shape = 16, 16, 16384  # its parts of k need a workspace

    def made(self, state, a, b, stream):
        """Multiplies; the result and the workspace, of two types, must be made for the stream."""
        state.update(stream=0x77, made=[])
        found = gemmtune.matmul(a, b, stream=stream)
        self.assertEqual(state["stream"], 0x77)
        expected = 0x77 if stream is None else 0 if stream == 1 else stream
        self.assertEqual([at for _, at in state["made"]], [expected] * 2)
        self.assertEqual(len({str(kind) for kind, _ in state["made"]}), 2)
        state["stream"] = 0
        return found

    def test_pytorch(self):
        m, n, k = self.shape
        a, b = filled(m, k), filled(k, n, salt=3)
        for stream in None, 0x77, 0x50, 0, 1:
            with self.subTest(stream=stream):
                self.made(torch._state, a, b, stream)

    def test_cupy(self):
        import cupy

        m, n, k = self.shape
        a, b = cupy.ndarray((m, k), [1.0] * (m * k)), cupy.ndarray((k, n), [2.0] * (k * n))
        for stream in None, 0x77, 0x50, 0, 1:
            with self.subTest(stream=stream):
                found = self.made(cupy._state, a, b, stream)
                self.assertEqual(found.values()[0], 2.0 * k)

    def test_cupy_is_waited_for(self):
        """Its arrays are ready on the stream that it works on, and the product is on another one."""
        import cupy

        waits = ctypes.c_int.in_dll(ctypes.CDLL(os.environ["GEMMTUNE_LIBCUDA"]), "stub_waits_count")
        a, b = cupy.ndarray((8, 8), [1.0] * 64), cupy.ndarray((8, 8), [2.0] * 64)
        for number, stream, expected in ((0x77, None, 0), (0x77, 0x77, 0), (0x77, 0x50, 2), (0, 0x50, 2), (0, 1, 0)):
            cupy._state["stream"], waits.value = number, 0
            gemmtune.matmul(a, b, stream=stream)
            self.assertEqual(waits.value, expected, (number, stream))
        cupy._state["stream"] = 0


if __name__ == "__main__":
    sys.exit(not unittest.main(exit=False, verbosity=2).result.wasSuccessful())
