# test_gradients.py - gradients of gemmtune.torch with PyTorch itself on the stub driver: against PyTorch's
# own, and with everything that may look at a product or change it: hooks, modes, compilers, transforms.
# Skipped, with the reason, where PyTorch is not installed; numbers are small and whole, so sums are exact.
import os
import sys
import threading
import unittest
import warnings

try:
    import torch
    import torch.utils._python_dispatch
    import torch.utils.checkpoint

    reason = "" if hasattr(torch.library, "custom_op") else "PyTorch is older than 2.4"
    if "stub" not in os.environ.get("GEMMTUNE_LIBCUDA", ""):
        reason = "GEMMTUNE_LIBCUDA does not name the stub driver"
except (ImportError, AttributeError):
    torch, reason = None, "PyTorch is not installed"

if not reason:
    import on_stub

    on_stub.begin()
    import gemmtune.torch as gt

    class Seen(torch.utils._python_dispatch.TorchDispatchMode):
        """Notes the names of the operators."""

        def __init__(self):
            super().__init__()
            self.names = []

        def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
            self.names.append(operator.name())
            return operator(*args, **(kwargs or {}))


def whole(*shape, grad=False):
    return torch.randint(-3, 4, shape).float().requires_grad_(grad)


@unittest.skipIf(reason, reason)
class Gradients(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)
        torch.set_float32_matmul_precision("highest")
        gt.use_tables(None)
        on_stub.state["capturing"] = False
        self.left = gt.counts["pytorch"]

    def results(self, function, operands, weight):
        """The product and the gradients of the operands that want one."""
        result = function(*operands)
        wanted = [t for t in operands if t is not None and t.requires_grad]
        return (result.detach(), *torch.autograd.grad(result, wanted, weight(result)))

    def same(self, ours, theirs, operands, weight=None, left=0):
        """Twice: the second time by what the first one kept."""
        weight = weight or (lambda y: torch.arange(y.numel()).reshape(y.shape) % 5 - 2.0)
        expected = self.results(theirs, operands, weight)
        for _ in range(2):
            for x, y in zip(self.results(ours, operands, weight), expected):
                self.assertEqual(x.shape, y.shape)
                self.assertTrue(torch.equal(x, y))
        self.assertEqual(gt.counts["pytorch"], self.left + left)

    def test_matmul(self):
        for shapes in (((8, 12), (12, 16)), ((3, 8, 12), (3, 12, 16)), ((2, 4, 12), (12, 16)), ((2, 2, 4, 12), (12, 16))):
            for wanted in ((True, True), (True, False), (False, True)):
                operands = [whole(*s, grad=w) for s, w in zip(shapes, wanted)]
                with self.subTest(shapes=shapes, wanted=wanted):
                    self.same(gt.matmul, torch.matmul, operands)

    def test_linear(self):
        for shape in ((8, 12), (2, 4, 12), (12,)):
            for bias in (None, whole(16, grad=True), whole(16)):
                x, w = whole(*shape, grad=True), whole(16, 12, grad=True)
                with self.subTest(shape=shape):
                    self.same(gt.linear, torch.nn.functional.linear, (x, w, bias))

    def test_layouts(self):
        a, b = whole(12, 8).T.requires_grad_(), whole(16, 12).T.requires_grad_()
        self.same(gt.matmul, torch.matmul, (a, b))
        a = whole(8, 24)[:, ::2].requires_grad_()  # copied
        self.same(gt.matmul, torch.matmul, (a, whole(12, 16, grad=True)))
        self.same(gt.matmul, torch.matmul, (whole(3, 12, 8).mT.requires_grad_(), whole(3, 12, 16, grad=True)))
        x = whole(4, 2, 12).transpose(0, 1).requires_grad_()  # rows that cannot be counted through
        self.same(gt.linear, torch.nn.functional.linear, (x, whole(16, 12, grad=True), None))

    def test_gradients_of_every_layout(self):
        """An expanded one (of a sum), a transposed one, one of rows with gaps, one out of line."""
        weights = (
            lambda y: torch.ones(()).expand(y.shape),
            lambda y: whole(*y.shape[:-2], y.shape[-1], y.shape[-2]).mT,
            lambda y: torch.ones(*y.shape[:-1], 40)[..., : y.shape[-1]],
            lambda y: torch.ones(y.numel() + 1)[1:].view(y.shape),
            None,
        )
        for weight in weights:
            kept = {}

            def once(y):
                return kept.setdefault("weight", weight(y))

            how = once if weight else None
            self.same(gt.matmul, torch.matmul, (whole(8, 12, grad=True), whole(12, 16, grad=True)), how)
            kept.clear()
            operands = whole(2, 4, 12, grad=True), whole(16, 12, grad=True), whole(16, grad=True)
            self.same(gt.linear, torch.nn.functional.linear, operands, how)
            kept.clear()

    def test_empty(self):
        self.same(gt.matmul, torch.matmul, (whole(0, 12, grad=True), whole(12, 16, grad=True)), left=6)

    def test_twice(self):
        """Gradients of gradients, and one graph gone through again."""
        a, b = whole(8, 12, grad=True), whole(12, 16, grad=True)
        x, w, bias = whole(2, 4, 12, grad=True), whole(16, 12, grad=True), whole(16, grad=True)

        def second(function, *operands):
            y = function(*operands)
            first = torch.autograd.grad((y * y).sum(), operands, create_graph=True)
            return torch.autograd.grad(sum((g * g).sum() for g in first), operands)

        for ours, theirs, operands in (
            (gt.matmul, torch.matmul, (a, b)), (gt.linear, torch.nn.functional.linear, (x, w, bias)),
        ):
            for found, expected in zip(second(ours, *operands), second(theirs, *operands)):
                torch.testing.assert_close(found, expected)
        y = gt.matmul(a, b)
        again = [torch.autograd.grad(y, a, torch.ones_like(y), retain_graph=True)[0] for _ in range(3)]
        self.assertTrue(torch.equal(again[0], again[2]))

    def test_changed_operand(self):
        a, b = whole(8, 12, grad=True), whole(12, 16)
        y = gt.matmul(a, b)
        b.add_(1)
        with self.assertRaisesRegex(RuntimeError, "inplace"):
            y.sum().backward()

    def test_hooks_of_saved_tensors(self):
        """What comes back may lie in another way."""
        def unpack(t):
            return t.mT.contiguous().mT if t.dim() == 2 else t

        def ours(a, b):
            with torch.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
                return gt.matmul(a, b)

        a, b = whole(8, 12, grad=True), whole(12, 16, grad=True)
        self.same(gt.matmul, torch.matmul, (a, b))
        self.same(ours, torch.matmul, (a, b))
        self.same(gt.matmul, torch.matmul, (a, b))

    def test_checkpoints(self):
        x, w = whole(8, 12, grad=True), whole(16, 12, grad=True)
        for reentrant in (True, False):
            y = torch.utils.checkpoint.checkpoint(gt.linear, x, w, use_reentrant=reentrant)
            y.backward(torch.ones_like(y))
            self.assertTrue(torch.equal(x.grad, torch.ones(8, 16) @ w))
            self.assertTrue(torch.equal(w.grad, torch.ones(16, 8) @ x))
            x.grad = w.grad = None

    def test_precision_at_the_time_of_the_gradient(self):
        a, b = whole(8, 12, grad=True), whole(12, 16, grad=True)
        y = gt.matmul(a, b)
        torch.set_float32_matmul_precision("high")
        torch.autograd.grad(y, (a, b), torch.ones_like(y))
        (forms,) = [known.gradients for known in gt._known.values()]
        self.assertEqual([form[-1] for form in forms], ["high"])

    def test_modes_see_the_gradients(self):
        a, b = whole(8, 12, grad=True), whole(12, 16, grad=True)
        for inside in (False, True):
            y = gt.matmul(a, b)
            with Seen() as seen:
                if inside:
                    y = gt.matmul(a, b)
                torch.autograd.grad(y, (a, b), torch.ones_like(y))
            self.assertEqual(seen.names.count("gemmtune::matmul"), 2 + inside)

    def test_capture(self):
        """While a graph is captured, a gradient that was never computed is PyTorch's."""
        a, b = whole(8, 12, grad=True), whole(12, 20, grad=True)
        y = gt.matmul(a, b)
        on_stub.state["capturing"] = True
        found = torch.autograd.grad(y, (a, b), torch.ones_like(y))
        self.assertEqual(gt.counts["pytorch"], self.left + 2)
        on_stub.state["capturing"] = False
        self.assertTrue(torch.equal(found[0], torch.ones_like(y) @ b.mT))
        self.left += 2
        self.same(gt.matmul, torch.matmul, (a, b))
        on_stub.state["capturing"] = True
        self.same(gt.matmul, torch.matmul, (a, b))

    def test_threads(self):
        a, b = whole(8, 12), whole(12, 16)
        expected, wrong = torch.ones(8, 16) @ b.mT, []

        def work(transposed):
            for _ in range(50):
                x = (a.mT.contiguous().mT if transposed else a.clone()).requires_grad_()
                y = gt.matmul(x, b)
                grad = torch.ones(16, 8).mT if transposed else torch.ones(8, 16)
                if not torch.equal(torch.autograd.grad(y, x, grad)[0], expected):
                    wrong.append(1)

        threads = [threading.Thread(target=work, args=(i % 2 == 0,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_compile(self):
        def step(x, w, bias):
            return gt.matmul(gt.linear(x, w, bias), w)

        compiled = torch.compile(step, backend="aot_eager", fullgraph=True)
        before = gt.counts["gemmtune"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.same(compiled, step, (whole(8, 12, grad=True), whole(16, 12, grad=True), whole(16, grad=True)))
        self.assertGreater(gt.counts["gemmtune"], before)

    def test_transforms(self):
        """torch.func and forward-mode gradients: PyTorch's own product."""
        a, b, w, bias = whole(8, 12), whole(12, 16), whole(16, 12), whole(16)
        ones = torch.ones(8, 16)
        self.assertTrue(torch.equal(torch.func.grad(lambda x: gt.matmul(x, b).sum())(a), ones @ b.mT))
        self.assertTrue(torch.equal(torch.func.grad(lambda x: gt.linear(x, w, bias).sum())(a), ones @ w))
        stack = whole(5, 8, 12)
        self.assertTrue(torch.equal(torch.func.vmap(lambda x: gt.matmul(x, b))(stack), stack @ b))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _, tangent = torch.func.jvp(lambda x: gt.matmul(x, b), (a,), (a,))
        self.assertTrue(torch.equal(tangent, a @ b))
        with torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.make_dual(a, a)
            tangent = torch.autograd.forward_ad.unpack_dual(gt.matmul(dual, b)).tangent
        self.assertTrue(torch.equal(tangent, a @ b))
        self.assertEqual(gt.counts["pytorch"], self.left + 5)

    def test_trace(self):
        """A trace has the operator, not one product's result."""
        b = whole(12, 16)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            traced = torch.jit.trace(lambda x: gt.matmul(x, b), (whole(8, 12),))
        a = whole(8, 12)
        self.assertTrue(torch.equal(traced(a), a @ b))

    def test_operator_is_well_formed(self):
        a, b = whole(8, 12, grad=True), whole(12, 16, grad=True)
        tests = ("test_schema", "test_faketensor", "test_autograd_registration")
        torch.library.opcheck(torch.ops.gemmtune.matmul.default, (a, b), test_utils=tests)
        w = whole(16, 12, grad=True)
        torch.library.opcheck(torch.ops.gemmtune.linear.default, (a, w, whole(16, grad=True)), test_utils=tests)

    def test_inductor(self):
        """Code that Inductor has cached calls the candidate by name, before anything is tuned in this process."""
        gt.use_in_inductor()
        from torch._inductor.select_algorithm import extern_kernels

        a, b, out = whole(8, 12), whole(12, 16), torch.empty(8, 16)
        extern_kernels.external_matmul(a, b, out=out)
        self.assertTrue(torch.equal(out, a @ b))
        self.assertEqual(gt.counts["pytorch"], self.left)


if __name__ == "__main__":
    sys.exit(not unittest.main(exit=False, verbosity=2).result.wasSuccessful())
