# stub.py - for the tests of the Python package: arrays in the "device memory" of the stub driver, which
# is that of this process, as other libraries would hand them over.
import array
import ctypes

CODES = {"f32": ("<f4", "f", (2, 32)), "s8": ("|i1", "b", (0, 8)), "s32": ("<i4", "i", (0, 32))}


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
    @property
    def __cuda_array_interface__(self):
        strides = self.strides and tuple(s * self.size for s in self.strides)
        return {"shape": self.shape, "typestr": self.typestr, "data": (self.address, False),
                "strides": strides, "version": 3}


class WithDLPack(Matrix):
    """What __dlpack__ hands over, made by hand; freed: how many capsules were given back."""

    freed = 0
    device = 0

    def __dlpack_device__(self):
        return (2, self.device)

    def __dlpack__(self, stream=None):
        from gemmtune._arrays import _Tensor

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


def product(a, b, m, n, k):
    return [sum(a[i * k + p] * b[p * n + j] for p in range(k)) for i in range(m) for j in range(n)]
