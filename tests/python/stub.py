# stub.py - for the tests of the Python package: arrays in the "device memory" of the stub driver, which
# is that of this process, as other libraries would hand them over.
import array
import ctypes

CODES = {"f32": ("<f4", "f", (2, 32)), "f64": ("<f8", "d", (2, 64)), "s8": ("|i1", "b", (0, 8)), "s32": ("<i4", "i", (0, 32))}


class Matrix:
    """A row-major array of numbers, aligned to 256 bytes."""

    def __init__(self, shape, values=None, kind="f32", strides=None, offset=0):
        self.typestr, self.code, self.dlpack = CODES[kind]
        self.shape, self.strides = tuple(shape), strides
        count = 1
        for size in self.shape:
            count *= size
        self.size = array.array(self.code).itemsize
        self.memory = ctypes.create_string_buffer((count + offset) * self.size + 256)
        self.address = -(-ctypes.addressof(self.memory) // 256) * 256 + offset * self.size
        if values is not None:
            data = array.array(self.code, values)
            ctypes.memmove(self.address, data.tobytes(), len(data) * self.size)
        self.count = count

    def values(self):
        return array.array(self.code, ctypes.string_at(self.address, self.count * self.size)).tolist()


class WithInterface(Matrix):
    read_only, more = False, {}  # more: the mask, the stream

    @property
    def __cuda_array_interface__(self):
        strides = self.strides and tuple(s * self.size for s in self.strides)
        return {"shape": self.shape, "typestr": self.typestr, "data": (self.address, self.read_only),
                "strides": strides, "version": 3, **self.more}


class WithDLPack(Matrix):
    """What __dlpack__ hands over, made by hand; freed: how many capsules were given back."""

    freed = 0
    device = 0
    where = 2  # CUDA's memory
    asked = None  # for which stream

    def __dlpack_device__(self):
        return (self.where, self.device)

    def __dlpack__(self, stream=None):
        from gemmtune._arrays import _Tensor

        self.asked = stream
        tensor = _Tensor()
        tensor.data, tensor.device.type, tensor.ndim = self.address, 2, len(self.shape)
        tensor.dtype.code, tensor.dtype.bits = self.dlpack
        tensor.dtype.lanes = 1
        shape = (ctypes.c_int64 * len(self.shape))(*self.shape)
        tensor.shape = shape
        if self.strides:
            strides = (ctypes.c_int64 * len(self.shape))(*self.strides)
            tensor.strides = strides
        self.kept = (tensor, shape, self.strides and strides)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return new(ctypes.addressof(tensor), b"dltensor", None)


class WithNewDLPack(WithDLPack):
    """Of DLPack 1.0, which says what may not be written."""

    read_only, major = False, 1

    def __dlpack__(self, stream=None, max_version=None):
        from gemmtune._arrays import _Versioned

        super().__dlpack__(stream)
        assert max_version == (1, 0)
        self.versioned = _Versioned(self.major, 0, None, None, int(self.read_only), self.kept[0])
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return new(ctypes.addressof(self.versioned), b"dltensor_versioned", None)


def part(whole, shape, strides=None, at=0):
    """A slice of the memory of another array, from its element `at` on."""
    view = type(whole)(shape, strides=strides)
    view.memory, view.address = whole.memory, whole.address + at * whole.size
    return view


def product(a, b, m, n, k):
    return [sum(a[i * k + p] * b[p * n + j] for p in range(k)) for i in range(m) for j in range(n)]
