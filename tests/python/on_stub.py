# on_stub.py - for tests of gemmtune.torch with PyTorch itself and without a GPU: the stub driver's device
# memory is that of this process, so PyTorch's own tensors on the CPU take the place of those on a GPU.
import types

import torch

state = {"capturing": False}


def begin():
    """Before gemmtune.torch is imported."""
    torch.Tensor.is_cuda = property(lambda self: True)
    torch.cuda.is_current_stream_capturing = lambda: state["capturing"]
    torch.cuda.current_stream = lambda device=None: types.SimpleNamespace(cuda_stream=0)
    torch._C._cuda_getCurrentRawStream = lambda device: 0
