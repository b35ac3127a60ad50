"""Memory of any library: the ways of DLPack, element types, strides, offsets, read-only memory, devices."""

import ctypes as C
import threading

import cuttle
import memory as m
from tap import done, fails, ok, same

module = cuttle.loads("""
kernel("add", function(x, y)
  for i = threadIdx.x, size(x) - 1, blockDim.x do y[i] = x[i] + y[i] end
end)
kernel("rows", function(a, out)
  local i = threadIdx.x
  if i < size(a, 0) then
    local s = 0.0
    for j = 0, size(a, 1) - 1 do s = s + a(i, j) end
    out[i] = s
  end
end)
three = kernel("three", function(x) x[0] = cast(3, x.dtype) end)
kernel("scalar", function(x) x[0] = 7.0 end)
kernel("truth", function(x) x[0] = x[1] end)
first = kernel("first", function(list) list[1][0] = 8.0 end)
pointed = kernel("pointed", function(at) tensor_at(at[0], f32, {1})[0] = 8.0 end)
field = kernel("field", function(r) r.out[0] = 8.0 end)
""", device="cpu")


def test_ways():
    for way in m.WAYS:
        x, y = m.floats(1, 2, 3, 4), m.floats(10, 10, 10, 10)
        a, b = way(x, "f32"), way(y, "f32")
        module.add[1, 32](a, b)
        module.add[1, 32](a, b)
        same(list(y), [12.0, 14.0, 16.0, 18.0], f"{way.__name__}: in place, without a copy")
    same(m.streams_asked, [], "memory of the host asks for no stream")
    for way, want, name in ((m.Exchanging, (1, 0), "the C interface lends, without an owner"),
                            (m.ExchangingSlowly, (0, 1), "if it can")):
        same(m.reads_of(lambda: module.three[1, 1](way(m.floats(1), "f32"))), want, name)


def test_type_met_by_threads():
    """While one thread finds out what a type can do, the code that it asks lets another one use the type."""
    asked, launched = threading.Event(), threading.Event()

    class Slow(type):
        def __getattribute__(cls, name):
            if name == "__dlpack_c_exchange_api__" and not asked.is_set():
                asked.set()
                launched.wait(30)
            return type.__getattribute__(cls, name)

    class Late(m.New, metaclass=Slow):
        pass

    said = []

    def launch():
        try:
            module.scalar[1, 1](Late(m.floats(1), "f32"))
            said.append("ran")
        except Exception as error:
            said.append(str(error))

    first = threading.Thread(target=launch)
    first.start()
    asked.wait(30)
    second = cuttle.loads("kernel('k', function(x) x[0] = 7.0 end)", device="cpu")
    try:
        second.k[1, 1](Late(m.floats(1), "f32"))
        said.append("ran")
    except Exception as error:
        said.append(str(error))
    launched.set()
    first.join()
    same(said, ["ran", "ran"], "two threads meet a type at once")


def test_types():
    bits = {"f64": 0x4008000000000000, "f32": 0x40400000, "f16": 0x4200, "bf16": 0x4040, "e4m3": 0x44, "e5m2": 0x42,
            "i64": 3, "i32": 3, "i16": 3, "i8": 3, "u64": 3, "u32": 3, "u16": 3, "u8": 3}
    for dtype, want in bits.items():
        memory = (C.c_uint64 * 1)()
        module.three[1, 1](m.New(memory, dtype, (1,)))
        same(memory[0], want, dtype)
    flags = (C.c_uint8 * 2)(0, 1)
    module.truth[1, 1](m.New(flags, "b8"))
    same(list(flags), [1, 1], "bool")
    memory = (C.c_uint64 * 1)()
    module.three[1, 1](cuttle.view_as(m.New(memory, "u8", (1,)), "f8e5m2"))
    same(memory[0], 0x42, "view_as: bytes as f8e5m2")
    module.three[1, 1](cuttle.view_as(m.New(memory, "f32", (1,)), "tf32"))
    same(memory[0], 0x40400000, "view_as: f32 as tf32")
    fails(TypeError, "elements have 8 bits",
          lambda: module.three[1, 1](cuttle.view_as(m.New(memory, "f32", (1,)), "f8e5m2")), "of other sizes")
    fails(TypeError, "2 elements of f4e2m1 share a byte",
          lambda: module.three[1, 1](cuttle.view_as(m.New(memory, "u8", (1,)), "f4e2m1")), "of packed elements")
    fails(ValueError, "'f7' is not an element type", lambda: cuttle.view_as(None, "f7"), "of no type")
    fails(TypeError, "needs a tensor", lambda: module.three[1, 1](cuttle.view_as(5, "f32")), "of a number")
    fails(TypeError, "type complex with 64 bits", lambda: module.three[1, 1](m.New(memory, "c64", (1,))), "complex")
    fails(TypeError, "float8_e4m3fnuz", lambda: module.three[1, 1](m.New(memory, "e4m3fnuz", (1,))),
          "an f8 of another format")


def test_layouts():
    a, out = m.floats(*range(12)), m.floats(0, 0, 0, 0)
    module.rows[1, 32](m.New(a, "f32", (3, 4)), m.New(out, "f32", (3,)))
    same(list(out)[:3], [6.0, 22.0, 38.0], "without strides it is row-major")
    module.rows[1, 32](m.New(a, "f32", (4, 3), (1, 4)), m.New(out, "f32"))
    same(list(out), [12.0, 15.0, 18.0, 21.0], "strides count elements")
    module.rows[1, 32](m.New(a, "f32", (3, 2), (4, 1), offset=8), m.New(out, "f32", (3,)))
    same(list(out)[:3], [5.0, 13.0, 21.0], "offsets count bytes")
    module.rows[1, 32](m.New(a, "f32", (2, 3), (0, 1)), m.New(out, "f32", (2,)))
    same(list(out)[:2], [3.0, 3.0], "a stride of 0 repeats")
    module.scalar[1, 1](m.New(out, "f32", ()))
    same(out[0], 7.0, "rank 0 is one element")
    empty = m.New(out, "f32", (0,))
    empty.versioned.tensor.data = None
    module.add[1, 32](empty, empty)
    ok(True, "no elements, no memory")
    fails(ValueError, "argument 1 has stride -4 in mode 0, as a view like x[::-1] has",
          lambda: module.rows[1, 32](m.New(a, "f32", (3, 4), (-4, 1)), m.New(out, "f32")), "a negative stride")


def test_flags():
    x, y = m.floats(1, 2), m.floats(5, 5)
    module.add[1, 2](m.New(x, "f32", flags=m.READ_ONLY), m.New(y, "f32"))
    same(list(y), [6.0, 7.0], "what is read may be read-only")
    for way in (m.New, m.ExchangingSlowly):
        fails(cuttle.Error, "argument 2 (y) is read-only",
              lambda: module.add[1, 2](way(x, "f32"), way(y, "f32", flags=m.READ_ONLY)), f"what is written is not: {way.__name__}")
    same(list(y), [6.0, 7.0], "and stays as it was")
    fails(BufferError, "made a copy", lambda: module.add[1, 2](m.New(x, "f32", flags=m.IS_COPIED), m.New(y, "f32")),
          "a copy is refused")
    fails(BufferError, "DLPack 2.3", lambda: module.add[1, 2](m.New(x, "f32", major=2), m.New(y, "f32")),
          "another major version")


def test_read_only_calls():
    """Every way to write asks: functions of the language, launches and elements in functions of a script."""
    module.run("""
      function fill_it(t) fill(t, 5.0) end
      function set_it(t) t[0] = 9.0 end
      function table_it(t) copy(from_table(f32, {7, 7}), t) end
      function launch_it(t) three{grid = 1, block = 1}(t) end
      function view_it(t) three{grid = 1, block = 1}(zipped_divide(t, 1)(_, 0)) end
      function list_it(t) first{grid = 1, block = 1}({t}) end
      function address_it(t)
        pointed{grid = 1, block = 1}(from_table(u64, {t.address}))
      end
      function record_it(t) field{grid = 1, block = 1}({out = t}) end
      function read_it(t) assert(t[0] == 1.0 and tostring(t) and t:totable()) return size(t) end
    """, "=ways")
    for name in ("fill_it", "set_it", "table_it", "launch_it", "view_it", "list_it", "record_it", "address_it"):
        x = m.floats(1, 2)
        why = "in no tensor" if name == "address_it" else "read-only"
        fails(cuttle.Error, why, lambda: module.call(name, (m.New(x, "f32", flags=m.READ_ONLY),), None),
              f"{name} is refused")
        same(list(x), [1.0, 2.0], "and nothing is written")
        module.call(name, (m.New(x, "f32"),), None)
        ok(x[0] != 1.0, "memory without the flag is written")
    same(module.call("read_it", (m.New(m.floats(1, 2), "f32", flags=m.READ_ONLY),), None), [2], "reading is no writing")


def test_immutable():
    """Arrays of JAX are never written, whatever their capsules say."""
    jax = type("ArrayImpl", (m.Old,), {"__module__": "jaxlib._jax"})
    x, y = m.floats(1, 2), m.floats(5, 5)
    module.add[1, 2](jax(x, "f32"), m.New(y, "f32"))
    same(list(y), [6.0, 7.0], "an array of JAX is read")
    fails(cuttle.Error, "argument 2 (y) is read-only", lambda: module.add[1, 2](m.New(y, "f32"), jax(x, "f32")),
          "and not written")
    same(list(x), [1.0, 2.0], "at all")


def test_devices():
    x = m.floats(1)
    fails(TypeError, "device of DLPack's type 10", lambda: module.three[1, 1](m.New(x, "f32", device=(10, 0))),
          "another maker's device")
    gpu = m.New(x, "f32", device=(m.CUDA, 0))
    error = fails(cuttle.Error, "", lambda: module.add[1, 1](m.New(x, "f32"), gpu), "a device that is not here")
    if error is not None:
        same(gpu.stream, 1, "its library waits for the default stream")
    asking = m.Exchanging(x, "f32", device=(m.CUDA, 3))
    fails(cuttle.Error, "", lambda: module.three[1, 1](asking), "nor by the C interface")
    same(m.streams_asked, [(m.CUDA, 3)], "which is asked for the current stream, once")


class Broken(m.Tensor):
    def __dlpack__(self, **kwargs):
        raise BufferError("not to be shared")


class NoCapsule(m.Tensor):
    def __dlpack__(self, **kwargs):
        return 5


test_ways()
test_read_only_calls()
test_immutable()
test_type_met_by_threads()
test_types()
test_layouts()
test_flags()
test_devices()
fails(BufferError, "not to be shared", lambda: module.three[1, 1](Broken(m.floats(1), "f32")), "a library's own error")
fails(ValueError, "", lambda: module.three[1, 1](NoCapsule(m.floats(1), "f32")), "no capsule")
done()
