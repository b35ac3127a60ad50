/* cuttle.hpp: cuttle.h for C++17: states, kernels and tensors that close themselves, launches with any
   arguments, and exceptions. Header only: link the same library.

     cuttle::State S({.device = "cpu"});      // C++20; in C++17 fill a cuttle::Options
     S.run("kernel('scale', function(f, x) ... end)", "=scale.lua");
     std::vector<float> x(1000);
     S.kernel("scale")({4}, {256})(3.0f, x);  // memory of the host, lent for the launch

   A Kernel or Tensor keeps its state open, so they may end in any order. As in C, one thread at a time uses a
   state and what belongs to it; interrupt() may come from any thread. */
#ifndef CUTTLE_HPP
#define CUTTLE_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "cuttle.h"

namespace cuttle {

/* {====== Errors ====== */

/* What a call failed with: what() is the message, "script.lua:27: tile: ...". */
class Error : public std::runtime_error {
public:
  Error(cuttle_Status status, const std::string &message, std::string file = {}, int line = 0)
      : std::runtime_error(message), status_(status), file_(std::move(file)), line_(line) {}
  cuttle_Status status() const noexcept { return status_; }
  bool interrupted() const noexcept { return status_ == CUTTLE_INTERRUPTED; }
  bool out_of_memory() const noexcept { return status_ == CUTTLE_NOMEM; }
  const std::string &file() const noexcept { return file_; } /* of the script; "" unknown */
  int line() const noexcept { return line_; }                /* 0: unknown */

private:
  cuttle_Status status_;
  std::string file_;
  int line_;
};

/* {====== Element types and memory ====== */

namespace detail {
template <typename T> struct always_false : std::false_type {};

/* A text for C, which would end at a byte 0. */
inline const char *c_str(const std::string &text) {
  if (text.find('\0') != std::string::npos) {
    throw std::invalid_argument("cuttle: the text '" + text.substr(0, text.find('\0')) +
                                "' has a byte 0 after it; leave that out");
  }
  return text.c_str();
}
} // namespace detail

/* The element type of a C++ type. 16-bit and 8-bit floats have no C++ type here: name theirs. */
template <typename T> constexpr cuttle_DType dtype_of() {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<U, double>) {
    return CUTTLE_F64;
  } else if constexpr (std::is_same_v<U, float>) {
    return CUTTLE_F32;
  } else if constexpr (std::is_same_v<U, bool>) {
    return CUTTLE_BOOL;
  } else if constexpr (std::is_integral_v<U> && std::is_signed_v<U>) {
    return sizeof(U) == 8   ? CUTTLE_I64
           : sizeof(U) == 4 ? CUTTLE_I32
           : sizeof(U) == 2 ? CUTTLE_I16
                            : CUTTLE_I8;
  } else if constexpr (std::is_integral_v<U>) {
    return sizeof(U) == 8   ? CUTTLE_U64
           : sizeof(U) == 4 ? CUTTLE_U32
           : sizeof(U) == 2 ? CUTTLE_U16
                            : CUTTLE_U8;
  } else {
    static_assert(detail::always_false<U>::value, "name the dtype: memory(ptr, CUTTLE_F16, {n})");
  }
}

/* Memory that a launch uses, or that a tensor lends: extents, and strides in elements (none: the last mode is
   contiguous). Kernels may write it unless read_only() is called, which memory() does for a const pointer. */
class Memory {
public:
  Memory(const void *ptr, cuttle_DType dtype, std::vector<std::int64_t> shape,
         std::vector<std::int64_t> stride = {}, int device = -1)
      : ptr_(const_cast<void *>(ptr)), dtype_(dtype), shape_(std::move(shape)),
        stride_(std::move(stride)), device_(device) {
    if (!stride_.empty() && stride_.size() != shape_.size()) {
      throw std::invalid_argument("cuttle::Memory: shape and stride differ in rank");
    }
  }
  Memory &read_only() {
    is_read_only_ = true;
    return *this;
  }
  cuttle_Memory get() const noexcept {
    return cuttle_Memory{ptr_,
                         shape_.data(),
                         stride_.empty() ? nullptr : stride_.data(),
                         static_cast<std::int32_t>(shape_.size()),
                         dtype_,
                         device_,
                         is_read_only_ ? 1 : 0};
  }

private:
  void *ptr_;
  cuttle_DType dtype_;
  std::vector<std::int64_t> shape_, stride_;
  std::int32_t device_;
  bool is_read_only_ = false;
};

/* Memory of a C++ type; of a const one, kernels may only read it. `device`: -1, the host's; else the number of a
   CUDA device, on which ptr is an address. */
template <typename T>
Memory memory(T *ptr, std::vector<std::int64_t> shape, std::vector<std::int64_t> stride = {},
              int device = -1) {
  Memory m(ptr, dtype_of<T>(), std::move(shape), std::move(stride), device);
  if (std::is_const_v<T>) {
    m.read_only();
  }
  return m;
}
template <typename T>
Memory memory(T *ptr, cuttle_DType dtype, std::vector<std::int64_t> shape,
              std::vector<std::int64_t> stride = {}, int device = -1) {
  Memory m(ptr, dtype, std::move(shape), std::move(stride), device);
  if (std::is_const_v<T>) {
    m.read_only();
  }
  return m;
}

/* {====== States ====== */

struct Options {
  std::string device; /* "auto", "cpu", "cpu:8", "cuda", "cuda:1"; "": CUTTLE_DEVICE, else "auto" */
  std::function<void(std::string_view)> print; /* none: standard output */
  std::function<void(std::string_view)> log;   /* none: nobody hears notes and warnings */
  std::size_t memory_limit = 0;                /* bytes; 0: none */
  std::uint64_t instruction_limit = 0;         /* of one call; 0: none */
  bool sandbox = false;
  bool no_environment = false;
  void *cuda_context = nullptr; /* a CUcontext to work in */
  bool use_stream = false;      /* work in this CUstream */
  void *cuda_stream = nullptr;
  std::function<bool()> poll; /* asked during calls, in their thread; true stops the call */
};

class State;
class Tensor;

namespace detail {

/* One per state: owned by the state and by all that belongs to it. */
class Handle {
public:
  explicit Handle(const Options &o) : print_(o.print), log_(o.log), poll_(o.poll) {
    cuttle_Options c{};
    c.size = sizeof c;
    c.device = o.device.empty() ? nullptr : c_str(o.device);
    c.memory_limit = o.memory_limit;
    c.instruction_limit = o.instruction_limit;
    c.sandbox = o.sandbox;
    c.no_environment = o.no_environment;
    c.cuda_context = o.cuda_context;
    c.cuda_stream = o.cuda_stream;
    c.use_stream = o.use_stream;
    c.print = print_ ? &Handle::on_print : nullptr;
    c.print_ud = this;
    c.log = log_ ? &Handle::on_log : nullptr;
    c.log_ud = this;
    c.poll = poll_ ? &Handle::on_poll : nullptr;
    c.poll_ud = this;
    state_ = cuttle_open(&c);
    if (state_ == nullptr) {
      throw Error(CUTTLE_ERROR, cuttle_error(nullptr));
    }
  }
  ~Handle() { cuttle_close(state_); }
  Handle(const Handle &) = delete;
  Handle &operator=(const Handle &) = delete;

  cuttle_State *get() const noexcept { return state_; }

  /* Throws unless the call succeeded; what a callback threw comes first. */
  void check(cuttle_Status status) {
    if (thrown_) {
      std::rethrow_exception(std::exchange(thrown_, nullptr));
    }
    if (status != CUTTLE_OK) {
      fail(status);
    }
  }
  template <typename T> T *check(T *made) {
    check(made != nullptr ? CUTTLE_OK : CUTTLE_ERROR);
    return made;
  }

private:
  [[noreturn]] void fail(cuttle_Status status) const {
    int line = 0;
    const char *file = cuttle_error_place(state_, &line);
    throw Error(status, cuttle_error(state_), file == nullptr ? "" : file, line);
  }
  /* No exception may pass through C: it waits until the call has returned. */
  template <typename F> void guard(F &&f) noexcept {
    try {
      f();
    } catch (...) {
      thrown_ = thrown_ ? thrown_ : std::current_exception(); /* the first one */
    }
  }
  static void on_print(void *ud, const char *text, std::size_t len) {
    auto *h = static_cast<Handle *>(ud);
    h->guard([&] { h->print_(std::string_view(text, len)); });
  }
  static void on_log(void *ud, const char *line) {
    auto *h = static_cast<Handle *>(ud);
    h->guard([&] { h->log_(std::string_view(line)); });
  }

  static int on_poll(void *ud) {
    auto *h = static_cast<Handle *>(ud);
    bool stops = false;
    h->guard([&] { stops = h->poll_(); });
    return stops || h->thrown_ ? 1 : 0; /* what it throws ends the call */
  }

  std::function<void(std::string_view)> print_, log_;
  std::function<bool()> poll_;
  std::exception_ptr thrown_;
  cuttle_State *state_ = nullptr;
};

using Shared = std::shared_ptr<Handle>;

/* The state of an object that was not moved from. */
inline Handle &of(const Shared &handle) {
  if (handle == nullptr) {
    throw std::logic_error(
        "cuttle: the object has no state: it was moved from, or made by default");
  }
  return *handle;
}
inline cuttle_State *get(const Shared &handle) noexcept {
  return handle == nullptr ? nullptr : handle->get();
}

} // namespace detail

/* {====== Tensors ====== */

/* Memory that scripts and launches know as a tensor. It ends with the object. */
class Tensor {
public:
  Tensor() = default;
  Tensor(Tensor &&o) noexcept
      : handle_(std::move(o.handle_)), tensor_(std::exchange(o.tensor_, nullptr)) {}
  Tensor &operator=(Tensor &&o) noexcept {
    std::swap(handle_, o.handle_);
    std::swap(tensor_, o.tensor_);
    return *this;
  }
  ~Tensor() {
    if (tensor_ != nullptr) {
      cuttle_tensor_release(detail::get(handle_), tensor_);
    }
  }

  cuttle_Tensor *get() const noexcept { return tensor_; }
  explicit operator bool() const noexcept { return tensor_ != nullptr; }
  std::size_t bytes() const noexcept { return cuttle_tensor_bytes(tensor_); }

  /* Copies of all of its memory, in the order in which it lies there; `bytes` must be bytes(). A read waits for
     the launches before it. */
  void read(void *dst, std::size_t bytes) const {
    detail::of(handle_).check(cuttle_tensor_read(detail::get(handle_), tensor_, dst, bytes));
  }
  void write(const void *src, std::size_t bytes) {
    detail::of(handle_).check(cuttle_tensor_write(detail::get(handle_), tensor_, src, bytes));
  }
  template <typename T> std::vector<T> read() const {
    std::vector<T> v(bytes() / sizeof(T));
    read(v.data(), v.size() * sizeof(T));
    return v;
  }
  template <typename T> void write(const std::vector<T> &v) {
    write(v.data(), v.size() * sizeof(T));
  }

private:
  friend class State;
  Tensor(detail::Shared handle, cuttle_Tensor *tensor)
      : handle_(std::move(handle)), tensor_(tensor) {}
  detail::Shared handle_;
  cuttle_Tensor *tensor_ = nullptr;
};

/* {====== Launches ====== */

/* A number that is a constant of the kernel: each value compiles its own. */
struct Static {
  std::int64_t value;
};
inline Static constant(std::int64_t value) { return Static{value}; }

/* A number that is an i64 whatever its value. */
struct Int64 {
  std::int64_t value;
};
inline Int64 i64(std::int64_t value) { return Int64{value}; }

/* A text that is a constant of the kernel. */
struct Text {
  std::string value;
};
inline Text constant(std::string value) { return Text{std::move(value)}; }

/* A layout, as the language writes it, "(4,8):(8,1)": a constant of the kernel. */
struct Layout {
  std::string text;
};
inline Layout layout(std::string text) { return Layout{std::move(text)}; }

/* Extents in x, y and z. One that is no integer from 0 to 2^31 - 1 throws std::out_of_range. */
struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
  Dim3() = default;
  template <typename X, typename Y = int, typename Z = int,
            typename = std::enable_if_t<std::is_convertible_v<X, double>>>
  Dim3(X x_, Y y_ = 1, Z z_ = 1) : x(extent(x_)), y(extent(y_)), z(extent(z_)) {}
  operator cuttle_Dim3() const noexcept { return cuttle_Dim3{x, y, z}; }

private:
  template <typename T> static std::uint32_t extent(T n) {
    static_assert(!std::is_same_v<T, bool>, "an extent is a number");
    const double v = static_cast<double>(n);
    if (!(v >= 0 && v <= INT32_MAX && v == static_cast<double>(static_cast<std::uint32_t>(v)))) {
      throw std::out_of_range("cuttle: the extent " + std::to_string(+n) +
                              " of a grid, a block or a cluster is no integer from 0 to 2^31 - 1");
    }
    return static_cast<std::uint32_t>(v);
  }
};

namespace detail {

/* An argument, and the description of the memory that it points to. */
struct Arg {
  cuttle_Arg arg{};
  cuttle_Memory memory{};
  std::array<std::int64_t, 1> shape{};
  bool is_memory = false;

  explicit Arg(bool b) { put(CUTTLE_ARG_BOOL, b); }
  template <typename T,
            std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, int> = 0>
  explicit Arg(T i) {
    static_assert(sizeof(T) <= 8, "integers have at most 64 bits");
    if (std::is_unsigned_v<T> && sizeof(T) == 8 && i > static_cast<T>(INT64_MAX)) {
      throw std::out_of_range("cuttle: the argument " + std::to_string(i) +
                              " is over 2^63 - 1, the largest integer that a kernel gets; pass it "
                              "in a tensor");
    }
    put(CUTTLE_ARG_INT, static_cast<std::int64_t>(i));
  }
  explicit Arg(float f) {
    arg.kind = CUTTLE_ARG_FLOAT;
    arg.u.f = static_cast<double>(f);
  }
  explicit Arg(double f) {
    arg.kind = CUTTLE_ARG_F64;
    arg.u.f = f;
  }
  explicit Arg(Static s) { put(CUTTLE_ARG_STATIC, s.value); }
  explicit Arg(Int64 i) { put(CUTTLE_ARG_I64, i.value); }
  explicit Arg(const Text &t) { put(CUTTLE_ARG_TEXT, t.value); }
  explicit Arg(const Layout &l) { put(CUTTLE_ARG_LAYOUT, l.text); }
  explicit Arg(std::nullptr_t) { put(CUTTLE_ARG_NIL, 0); }
  /* A pointer would become a bool: write memory(p, {n}), or constant("text"). */
  template <typename T> explicit Arg(T *) = delete;
  explicit Arg(const Tensor &t) {
    arg.kind = CUTTLE_ARG_TENSOR;
    arg.u.tensor = t.get();
  }
  explicit Arg(const Memory &m) : memory(m.get()), is_memory(true) {}
  template <typename T> explicit Arg(std::vector<T> &v) : Arg(v.data(), v.size(), false) {}
  template <typename T> explicit Arg(const std::vector<T> &v) : Arg(v.data(), v.size(), true) {}

private:
  void put(cuttle_ArgKind kind, std::int64_t i) {
    arg.kind = kind;
    arg.u.i = i;
  }
  void put(cuttle_ArgKind kind, const std::string &text) { /* which lives as long as the call */
    arg.kind = kind;
    arg.u.text = c_str(text);
  }
  template <typename T> Arg(const T *data, std::size_t n, bool is_const) : is_memory(true) {
    static_assert(!std::is_same_v<T, bool>, "a std::vector<bool> is no array of bool");
    shape[0] = static_cast<std::int64_t>(n);
    memory.ptr = const_cast<T *>(data);
    memory.rank = 1;
    memory.dtype = dtype_of<T>();
    memory.device = -1;
    memory.is_read_only = is_const;
  }
};

} // namespace detail

/* A kernel with its grid and block: a call launches it. The CPU engine has finished when the call returns; a CUDA
   launch is on its way then, and memory that was lent for it must stay until it has ended. */
class Launch {
public:
  Launch &cluster(Dim3 c) { return options_.cluster = c, *this; }
  Launch &shared_bytes(std::uint32_t bytes) { return options_.shared_bytes = bytes, *this; }
  Launch &pdl(bool on = true) { return options_.pdl = on, *this; }
  Launch &cooperative(bool on = true) { return options_.cooperative = on, *this; }
  Launch &deterministic(bool on = true) { return options_.deterministic = on, *this; }
  Launch &print_order(cuttle_PrintOrder order) { return options_.print_order = order, *this; }
  Launch &check(unsigned what = CUTTLE_CHECK) { return options_.check = what, *this; }
  Launch &stream(void *s) { /* a CUstream */
    options_.use_stream = 1;
    options_.stream = s;
    return *this;
  }

  /* Numbers, Tensor, Memory, std::vector (lent), constant(n or text), layout(text), i64(n), and nullptr for what the
     kernel does without. A float is an f32, a double an f64, an
     integer an i32 if it fits, else an i64. */
  template <typename... Ts> void operator()(Ts &&...ts) const {
    std::array<detail::Arg, sizeof...(Ts)> own{detail::Arg(std::forward<Ts>(ts))...};
    std::array<cuttle_Arg, sizeof...(Ts) + 1> args{};
    for (std::size_t i = 0; i < own.size(); i++) {
      if (own[i].is_memory) {
        if (own[i].memory.shape == nullptr && own[i].memory.rank == 1) {
          own[i].memory.shape = own[i].shape.data();
        }
        own[i].arg = cuttle_memory(&own[i].memory);
      }
      args[i] = own[i].arg;
    }
    detail::of(handle_).check(cuttle_launch_with(detail::get(handle_), kernel_, &options_,
                                                 static_cast<int>(sizeof...(Ts)), args.data()));
  }

private:
  friend class Kernel;
  Launch(detail::Shared handle, cuttle_Kernel *kernel, Dim3 grid, Dim3 block)
      : handle_(std::move(handle)), kernel_(kernel) {
    options_.size = sizeof options_;
    options_.grid = grid;
    options_.block = block;
  }
  detail::Shared handle_;
  cuttle_Kernel *kernel_;
  cuttle_Launch options_{};
};

/* A kernel that a script defined: k(grid, block)(arguments...). */
class Kernel {
public:
  Launch operator()(Dim3 grid, Dim3 block) const { return Launch(handle_, kernel_, grid, block); }
  cuttle_Kernel *get() const noexcept { return kernel_; }

  /* The names of its parameters; "..." at the end stands for further ones. */
  std::vector<std::string> parameters() const {
    std::vector<std::string> names;
    const char *name = nullptr;
    while ((name = cuttle_kernel_parameter(detail::of(handle_).get(), kernel_,
                                           static_cast<int>(names.size())))) {
      names.emplace_back(name);
    }
    return names;
  }

private:
  friend class State;
  Kernel(detail::Shared handle, cuttle_Kernel *kernel)
      : handle_(std::move(handle)), kernel_(kernel) {}
  detail::Shared handle_;
  cuttle_Kernel *kernel_;
};

/* {====== A state ====== */

class State {
public:
  explicit State(const Options &options = {})
      : handle_(std::make_shared<detail::Handle>(options)) {}
  State(State &&) noexcept = default;
  State &operator=(State &&) noexcept = default;

  /* NULL of one that was moved from. */
  cuttle_State *get() const noexcept { return detail::get(handle_); }

  /* Runs a script. `name` is what messages call it: "=config" is shown as config. */
  void run(const std::string &text, const std::string &name = "=script") {
    detail::of(handle_).check(cuttle_dostring(get(), detail::c_str(text), detail::c_str(name)));
  }
  void run_file(const std::string &path) {
    detail::of(handle_).check(cuttle_dofile(get(), detail::c_str(path)));
  }

  /* The latest kernel of that name. */
  Kernel kernel(const std::string &name) {
    return Kernel(handle_, detail::of(handle_).check(cuttle_kernel(get(), detail::c_str(name))));
  }

  /* A tensor of its own memory, zeroed, on the state's device: tensor("f16", "(128,64):(64,1)"). */
  Tensor tensor(const std::string &dtype, const std::string &layout) {
    return Tensor(handle_, detail::of(handle_).check(cuttle_tensor_new(get(), detail::c_str(dtype),
                                                                       detail::c_str(layout))));
  }
  template <typename T> Tensor tensor(const std::string &layout) {
    return tensor(cuttle_dtype_info(dtype_of<T>())->name, layout);
  }

  /* Memory of the host as a tensor, for scripts, or for many launches. It must live until the tensor has ended and
     no script holds it. */
  Tensor lend(const Memory &memory) {
    cuttle_Memory m = memory.get();
    return Tensor(handle_,
                  detail::of(handle_).check(cuttle_tensor_lend(get(), &m, nullptr, nullptr)));
  }

  void synchronize() { detail::of(handle_).check(cuttle_synchronize(get())); }

  /* Stops what the state is doing: that call throws an Error that is interrupted(). From any thread. */
  void interrupt() const noexcept { cuttle_interrupt(get()); }

  lua_State *lua() const noexcept { return cuttle_lua(get()); }

private:
  detail::Shared handle_;
};

} // namespace cuttle

#endif
