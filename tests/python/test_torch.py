# test_torch.py - gemmtune in PyTorch, on a GPU: products against PyTorch's own, gradients, CUDA graphs,
# torch.compile, Inductor's choice, DLPack.  Skipped, with the reason, where there is no GPU.
import sys
import unittest

try:
    import torch

    reason = "" if torch.cuda.is_available() else "PyTorch sees no GPU"
except ImportError:
    torch, reason = None, "PyTorch is not installed"

if not reason:
    import gemmtune
    import gemmtune.torch as gt
    import torch.utils.flop_counter


@unittest.skipIf(reason, reason)
class Torch(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)
        torch.set_float32_matmul_precision("highest")

    def tensor(self, *shape, kind=None, grad=False):
        kind = kind or torch.bfloat16
        return torch.randn(*shape, device="cuda", dtype=kind).requires_grad_(grad)

    def close(self, found, a, b, bias=None):
        """Within the error of the type: against float64, relative to |a| |b|."""
        exact = a.double() @ b.double() + (0 if bias is None else bias.double())
        scale = (a.double().abs() @ b.double().abs()).clamp_min(1e-30)
        unit = {torch.float32: 2e-6, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}[found.dtype]
        self.assertLess(((found.double() - exact).abs() / scale).max().item(), unit)

    def test_types_and_layouts(self):
        before = dict(gt.counts)
        for kind in (torch.float32, torch.float16, torch.bfloat16):
            for m, n, k in ((128, 256, 512), (17, 250, 96)):
                for ta in (False, True):
                    a = self.tensor(k, m, kind=kind).mT if ta else self.tensor(m, k, kind=kind)
                    b = self.tensor(n, k, kind=kind).mT
                    with self.subTest(kind=kind, size=(m, n, k), ta=ta):
                        self.close(gt.matmul(a, b), a, b)
                        self.close(gemmtune.matmul(a, b), a, b)
        self.assertEqual(gt.counts["pytorch"], before["pytorch"])

    def test_linear(self):
        x, w, bias = self.tensor(4, 33, 256), self.tensor(512, 256), self.tensor(512)
        y = gt.linear(x, w, bias)
        self.assertEqual(tuple(y.shape), (4, 33, 512))
        self.close(y.reshape(-1, 512), x.reshape(-1, 256), w.t(), bias)

    def test_operator_itself(self):
        """What matmul() leaves out where nobody looks: the dispatcher."""
        a, b, bias = self.tensor(64, 96), self.tensor(128, 96), self.tensor(128)
        self.close(torch.ops.gemmtune.matmul(a, b.mT), a, b.mT)
        self.close(torch.ops.gemmtune.linear(a, b, bias), a, b.mT, bias)
        with torch.utils.flop_counter.FlopCounterMode(display=False):
            self.close(gt.matmul(a, b.mT), a, b.mT)

    def test_batches(self):
        a, b = self.tensor(5, 64, 96), self.tensor(5, 96, 32)
        self.close(gt.matmul(a, b), a, b)

    def test_gradients(self):
        x = self.tensor(64, 96, kind=torch.float32, grad=True)
        w, bias = self.tensor(128, 96, kind=torch.float32, grad=True), self.tensor(128, kind=torch.float32, grad=True)
        gt.linear(x, w, bias).square().sum().backward()
        found = [t.grad.clone() for t in (x, w, bias)]
        for t in (x, w, bias):
            t.grad = None
        torch.nn.functional.linear(x, w, bias).square().sum().backward()
        for ours, t in zip(found, (x, w, bias)):
            torch.testing.assert_close(ours, t.grad, rtol=1e-4, atol=1e-2)

    def test_operators_are_well_formed(self):
        a, b = self.tensor(32, 64, kind=torch.float32, grad=True), self.tensor(64, 32, kind=torch.float32, grad=True)
        torch.library.opcheck(torch.ops.gemmtune.matmul.default, (a, b),
                              test_utils=("test_schema", "test_faketensor", "test_autograd_registration"))

    def test_graph(self):
        a, b = self.tensor(256, 512), self.tensor(512, 128)
        gt.matmul(a, b)  # planned
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            d = gt.matmul(a, b)
        for _ in range(3):
            a.copy_(self.tensor(256, 512))
            graph.replay()
            torch.cuda.synchronize()
            self.close(d, a, b)

    def test_graph_of_what_was_never_run(self):
        a, b = self.tensor(248, 520), self.tensor(520, 136)
        torch.matmul(a, b)  # cuBLAS wants its handle before the capture
        torch.cuda.synchronize()
        before = gt.counts["pytorch"]
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            d = gt.matmul(a, b)
        graph.replay()
        torch.cuda.synchronize()
        self.close(d, a, b)
        self.assertEqual(gt.counts["pytorch"], before + 1)

    def test_stream(self):
        a, b = self.tensor(512, 512), self.tensor(512, 512)
        torch.cuda.synchronize()
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            d = gt.matmul(a, b)
        stream.synchronize()
        self.close(d, a, b)

    def test_compile(self):
        model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 64)).cuda().bfloat16()
        x = self.tensor(96, 256)
        expected = model(x)
        self.assertEqual(gt.use(model), 2)
        torch.testing.assert_close(model(x), expected, rtol=2e-2, atol=2e-2)
        before = gt.counts["gemmtune"]
        try:
            found = torch.compile(model, fullgraph=True)(x)
        except Exception as error:  # Inductor needs a C compiler, and Triton what the machine may lack
            if "gemmtune" in str(error):
                raise
            self.skipTest(f"torch.compile does not work here: {str(error)[:200]}")
        torch.testing.assert_close(found, expected, rtol=2e-2, atol=2e-2)
        self.assertEqual(gt.counts["gemmtune"], before + 2)

    def test_external_matmul(self):
        a, b = self.tensor(64, 128), self.tensor(128, 256)
        out = torch.empty(64, 256, device="cuda", dtype=torch.bfloat16)
        gt.external_matmul(a, b, out=out)
        self.close(out, a, b)
        gt.use_in_inductor()
        from torch._inductor import config

        self.assertIn(gt.external_matmul, config.external_matmul)

    def test_what_is_left_to_pytorch(self):
        before = gt.counts["pytorch"]
        a = torch.randn(8, 8, dtype=torch.float64, device="cuda")
        torch.testing.assert_close(gt.matmul(a, a), a @ a)
        c = torch.randn(8, 8)
        torch.testing.assert_close(gt.matmul(c, c), c @ c)
        self.assertEqual(gt.counts["pytorch"], before + 2)

    def test_dlpack(self):
        class Capsule:
            """A tensor that has nothing but DLPack."""

            def __init__(self, tensor):
                self.tensor = tensor

            def __dlpack__(self, stream=None):
                return self.tensor.__dlpack__(stream=stream)

            def __dlpack_device__(self):
                device = self.tensor.__dlpack_device__()
                return int(device[0]), device[1]

        a, b = self.tensor(64, 96), self.tensor(96, 128)
        out = torch.empty(64, 128, device="cuda", dtype=torch.bfloat16)
        space = torch.empty(1 << 24, device="cuda", dtype=torch.uint8)
        gemmtune.matmul(Capsule(a), Capsule(b), Capsule(out), workspace=space)
        torch.cuda.synchronize()
        self.close(out, a, b)


if __name__ == "__main__":
    sys.exit(not unittest.main(exit=False, verbosity=2).result.wasSuccessful())
