# torch.py - stands in for PyTorch where it is not installed: as much of it as gemmtune.torch touches when no
# mode or compiler looks on, with tensors in the "device memory" of the stub driver.  Of gradients it has what
# a Function's forward and backward see; tests take the part of the engine.
import contextlib
import ctypes
import types

__version__ = "2.99.standin"
float32, float16, float64, bfloat16, int8, int32, uint8 = (
    type(name, (), {"__repr__": lambda self, name=name: f"torch.{name}"})()
    for name in ("float32", "float16", "float64", "bfloat16", "int8", "int32", "uint8")
)
_SIZES = {float32: 4, float64: 8, uint8: 1, int8: 1, int32: 4, float16: 2, bfloat16: 2}
_state = {"precision": "highest", "grad": True, "modes": 0, "capturing": False, "traced": None,
          "stream": 0, "made": [], "autocast": None, "deterministic": False}


def _strides(shape):
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


class Tensor:
    is_cuda, requires_grad = True, False

    def __init__(self, shape, dtype=float32, strides=None, memory=None, offset=0):
        self.shape, self.dtype, self.strides = tuple(shape), dtype, strides or _strides(shape)
        self.memory = memory or ctypes.create_string_buffer(self.numel() * _SIZES[dtype] + 512)
        self.address = -(-ctypes.addressof(self.memory) // 256) * 256 + offset
        self.device = types.SimpleNamespace(index=0)
        self.stream = _state["stream"]  # that the allocator takes its memory for

    def __add__(self, other):
        assert self.is_contiguous()
        total = Tensor(self.shape, self.dtype)
        for i in range(self.numel()):
            column = (i % self.shape[1],) if other.shape else ()
            total.cells()[i] = self.cells()[i] + other.at(*column)
        return total

    def numel(self):
        count = 1
        for size in self.shape:
            count *= size
        return count

    def cells(self):
        return (ctypes.c_float * max(self.numel(), 1)).from_address(self.address)

    def view(self, shape, strides):
        other = Tensor(shape, self.dtype, strides, self.memory)
        other.address, other.device = self.address, self.device
        return other

    def at(self, *index):
        at = sum(i * s for i, s in zip(index, self.strides))
        return ctypes.c_float.from_address(self.address + 4 * at).value

    def stride(self, dim=None):
        return self.strides if dim is None else self.strides[dim]

    def size(self, dim):
        return self.shape[dim]

    def dim(self):
        return len(self.shape)

    def get_device(self):
        return self.device.index

    def element_size(self):
        return _SIZES[self.dtype]

    def data_ptr(self):
        return self.address

    def is_floating_point(self):
        return "float" in repr(self.dtype)

    def to(self, dtype):
        return Tensor(self.shape, dtype)

    def new_empty(self, *shape, dtype=None):
        return Tensor(shape, dtype or self.dtype)

    def is_contiguous(self):
        return self.strides == _strides(self.shape)

    def sum(self, dim):
        assert dim == 0 and self.dim() == 2
        total = Tensor(self.shape[1:])
        for j in range(self.shape[1]):
            total.cells()[j] = sum(self.at(i, j) for i in range(self.shape[0]))
        return total

    def t(self):
        return self.view(self.shape[::-1], self.strides[::-1])

    mT = property(t)

    def contiguous(self):
        copy = Tensor(self.shape, self.dtype)
        columns = self.shape[1]
        for i in range(self.shape[0]):
            for j in range(columns):
                copy.cells()[i * columns + j] = self.at(i, j)
        return copy

    def reshape(self, *shape):
        shape = list(shape[0] if isinstance(shape[0], tuple) else shape)
        if -1 in shape:
            rest = -1
            for size in shape:
                rest *= size
            shape[shape.index(-1)] = self.numel() // rest
        assert self.strides == _strides(self.shape)
        return self.view(shape, None)


class Function:
    """The result knows what made it: made_by is the function and its context."""

    @classmethod
    def apply(cls, *arguments):
        context = types.SimpleNamespace(
            needs_input_grad=tuple(getattr(a, "requires_grad", False) for a in arguments)
        )
        context.save_for_backward = lambda *tensors: setattr(context, "saved_tensors", tensors)
        _state["grad"] = False
        result = cls.forward(context, *arguments)
        _state["grad"] = True
        result.made_by = cls, context
        return result


def empty(shape, dtype=float32, device=None):
    tensor = Tensor(shape, dtype)
    _state["made"].append((dtype, tensor.stream))
    return tensor


def matmul(a, b):
    d = Tensor((a.shape[0], b.shape[1]), a.dtype)
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            d.cells()[i * b.shape[1] + j] = sum(a.at(i, p) * b.at(p, j) for p in range(a.shape[1]))
    return d


class _Op:
    """What torch.library.custom_op makes of a function."""

    def __init__(self, function):
        self.function = function

    def __call__(self, *arguments):
        _state["dispatched"] = _state.get("dispatched", 0) + 1
        return self.function(*arguments)

    def register_fake(self, function):
        return function

    def register_autograd(self, backward, setup_context):
        pass


library = types.SimpleNamespace(custom_op=lambda name, mutates_args: _Op)
nn = types.SimpleNamespace(
    Parameter=type("Parameter", (Tensor,), {}), Module=object, Linear=type("Linear", (), {}),
    functional=types.SimpleNamespace(linear=lambda x, weight, bias: matmul(x, weight.t()) + bias),
)
compiler = types.SimpleNamespace(is_compiling=lambda: False)
autograd = types.SimpleNamespace(Function=Function, forward_ad=types.SimpleNamespace(_current_level=-1))
_C = types.SimpleNamespace(
    _len_torch_dispatch_stack=lambda: _state["modes"],
    _are_functorch_transforms_active=lambda: False,
    _get_tracing_state=lambda: _state["traced"],
    _cuda_getCurrentRawStream=lambda device: 0,
)


@contextlib.contextmanager
def _on(stream):
    before, _state["stream"] = _state["stream"], stream.cuda_stream
    yield
    _state["stream"] = before


cuda = types.SimpleNamespace(
    is_available=lambda: False,
    is_current_stream_capturing=lambda: _state["capturing"],
    current_stream=lambda device: types.SimpleNamespace(cuda_stream=_state["stream"]),
    default_stream=lambda device: types.SimpleNamespace(cuda_stream=0),
    ExternalStream=lambda stream, device: types.SimpleNamespace(cuda_stream=stream),
    stream=_on,
)


def get_float32_matmul_precision():
    return _state["precision"]


def are_deterministic_algorithms_enabled():
    return _state["deterministic"]


def is_grad_enabled():
    return _state["grad"]


def is_autocast_enabled(device):
    return _state["autocast"] is not None


def get_autocast_dtype(device):
    return _state["autocast"]
