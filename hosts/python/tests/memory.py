"""Tensors made with ctypes, which share their memory by DLPack in each of its ways: old capsules, versioned ones
and the C exchange interface. So the tests need no library of tensors."""

import ctypes as C
import sys

CPU, CUDA = 1, 2
READ_ONLY, IS_COPIED = 1, 2
CODES = {"i": 0, "u": 1, "f": 2, "bf": 4, "c": 5, "b": 6, "e4m3": 10, "e5m2": 12, "e4m3fnuz": 11}


class Device(C.Structure):
    _fields_ = [("type", C.c_int32), ("id", C.c_int32)]


class DataType(C.Structure):
    _fields_ = [("code", C.c_uint8), ("bits", C.c_uint8), ("lanes", C.c_uint16)]


class DLTensor(C.Structure):
    _fields_ = [("data", C.c_void_p), ("device", Device), ("ndim", C.c_int32), ("dtype", DataType),
                ("shape", C.POINTER(C.c_int64)), ("strides", C.POINTER(C.c_int64)), ("byte_offset", C.c_uint64)]


class Managed(C.Structure):
    _fields_ = [("tensor", DLTensor), ("context", C.c_void_p), ("deleter", C.c_void_p)]


class Versioned(C.Structure):
    _fields_ = [("major", C.c_uint32), ("minor", C.c_uint32), ("context", C.c_void_p), ("deleter", C.c_void_p),
                ("flags", C.c_uint64), ("tensor", DLTensor)]


_new_capsule = C.pythonapi.PyCapsule_New
_new_capsule.restype = C.py_object
_new_capsule.argtypes = [C.c_void_p, C.c_char_p, C.c_void_p]


class Tensor:
    """A tensor over a ctypes array. Subclasses add the ways to share it."""

    def __init__(self, array, dtype, shape=None, strides=None, offset=0, device=(CPU, 0), flags=0, major=1):
        shape = (len(array),) if shape is None else shape
        kind = dtype.rstrip("0123456789") if dtype[0] != "e" else dtype
        bits = int(dtype[len(kind):] or 8)
        self.array = array
        self.shape = (C.c_int64 * max(len(shape), 1))(*shape)
        self.strides = None if strides is None else (C.c_int64 * max(len(strides), 1))(*strides)
        self.tensor = DLTensor(C.addressof(array), Device(*device), len(shape),
                               DataType(CODES[kind], bits, 1), self.shape,
                               C.cast(self.strides, C.POINTER(C.c_int64)) if strides is not None else None, offset)
        self.managed = Managed(self.tensor, None, None)
        self.versioned = Versioned(major, 3, None, None, flags, self.tensor)

    def __dlpack_device__(self):
        return self.tensor.device.type, self.tensor.device.id


class Old(Tensor):
    """Knows no versions."""

    def __dlpack__(self, stream=None):
        self.stream = stream
        return _new_capsule(C.addressof(self.managed), b"dltensor", None)


class New(Tensor):
    def __dlpack__(self, *, stream=None, max_version=None):
        self.stream = stream
        assert max_version is not None and max_version[0] >= 1
        return _new_capsule(C.addressof(self.versioned), b"dltensor_versioned", None)


_tensor_fn = C.PYFUNCTYPE(C.c_int, C.py_object, C.POINTER(DLTensor))
_stream_fn = C.PYFUNCTYPE(C.c_int, C.c_int32, C.c_int32, C.POINTER(C.c_void_p))
_managed_fn = C.PYFUNCTYPE(C.c_int, C.py_object, C.POINTER(C.c_void_p))
streams_asked = []
reads = {"lent": 0, "owned": 0}  # tensors read by the C interface, without and with an owner
STREAM = 0x1230  # that of CUDA tensors, by the C interface


@_tensor_fn
def _fill(o, out):
    reads["lent"] += 1
    C.memmove(out, C.addressof(o.tensor), C.sizeof(DLTensor))
    return 0


@_managed_fn
def _manage(o, out):
    reads["owned"] += 1
    out[0] = C.addressof(o.versioned)
    return 0


@_stream_fn
def _stream(type, id, out):
    streams_asked.append((type, id))
    out[0] = STREAM
    return 0


class Exchange(C.Structure):
    _fields_ = [("major", C.c_uint32), ("minor", C.c_uint32), ("older", C.c_void_p), ("allocate", C.c_void_p),
                ("managed", C.c_void_p), ("to_object", C.c_void_p), ("tensor", C.c_void_p),
                ("stream", C.c_void_p)]


def _address(function):
    return C.cast(function, C.c_void_p).value


_NAME = b"dlpack_exchange_api"  # capsules keep the address
_api = Exchange(1, 3, None, None, _address(_manage), None, _address(_fill), _address(_stream))
_slow = Exchange(1, 3, None, None, _address(_manage), None, None, _address(_stream))
_future = Exchange(2, 0, C.addressof(_api), None, None, None, None, None)


class Exchanging(Tensor):
    """By the C interface, in a capsule."""

    __dlpack_c_exchange_api__ = _new_capsule(C.addressof(_api), _NAME, None)


class ExchangingByNumber(Tensor):
    """As DLPack 1.2 had it."""

    __c_dlpack_exchange_api__ = C.addressof(_api)


class ExchangingSlowly(Tensor):
    """Without the function for tensors that are not owned."""

    __dlpack_c_exchange_api__ = _new_capsule(C.addressof(_slow), _NAME, None)


class FromTheFuture(Tensor):
    """Of a major version that nobody knows yet, with an older one beside."""

    __dlpack_c_exchange_api__ = _new_capsule(C.addressof(_future), _NAME, None)


def reads_of(function):
    """How a call reads tensors by the C interface."""
    reads.update(lent=0, owned=0)
    function()
    return reads["lent"], reads["owned"]


WAYS = (Old, New, Exchanging, ExchangingByNumber, ExchangingSlowly, FromTheFuture)


def floats(*values):
    return (C.c_float * len(values))(*values)


def rss():
    """Kilobytes of this process in memory."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def has_proc():
    return sys.platform == "linux"
