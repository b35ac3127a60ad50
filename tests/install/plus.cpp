/* plus.cpp: cuttle.hpp on the CPU engine: arguments, memory, lives, errors. Exits with 0, or names what is wrong. */
#include <cuttle.hpp>

#include <chrono>
#include <iostream>
#include <thread>

static int failures;

static void ok(bool passed, const char *name) {
  if (!passed) {
    std::cerr << "not ok: " << name << '\n';
    failures++;
  }
}

template <typename F> static std::string message_of(F &&f) {
  try {
    f();
  } catch (const std::exception &e) {
    return e.what();
  }
  return "";
}

static const char script[] = R"(
kernel("put", function(x, i, f, d, b, n, s)
  x[0], x[1], x[2] = i, f, d
  x[3] = n
  if b then x[4] = s end
end)
kernel("add", function(x, c) x[threadIdx.x] = cast(x[threadIdx.x] + c, x.dtype) end)
kernel("constants", function(x, l, what, bias)
  x[0] = l({1, 2}) + (what == "twice" and 100 or 0)
  x[1] = bias and bias[0] or -1
end)
kernel("transpose", function(x, y)
  for i in range(size(x, 0)) do for j in range(size(x, 1)) do y[{j, i}] = x[{i, j}] end end
end)
)";

static cuttle::Options on_cpu() {
  cuttle::Options o;
  o.device = "cpu";
  return o;
}

static void test_arguments(cuttle::State &S) {
  std::vector<double> x(5);
  S.kernel("put")(1, 1)(x, -7, 0.5F, 0.1, true, cuttle::i64(1), cuttle::constant(9));
  ok(x == std::vector<double>{-7, 0.5, 0.1, 1, 9}, "numbers of all kinds");
  std::vector<float> y(2), bias{7};
  S.kernel("constants")(1, 1)(y, cuttle::layout("(4,8):(8,1)"), cuttle::constant("twice"), nullptr);
  ok(y == std::vector<float>{110, -1}, "a layout, a text, and nothing");
  S.kernel("constants")(1, 1)(y, cuttle::layout("(4,8):(1,4)"), cuttle::constant("once"), bias);
  ok(y == std::vector<float>{9, 7}, "others are other constants");
  const std::vector<float> fixed(32);
  ok(message_of([&] { S.kernel("add")(1, 32)(fixed, 1.0F); }).find("read-only") !=
         std::string::npos,
     "a const vector is not written");
  ok(message_of([&] {
       S.kernel("add")(1, 32)(UINT64_MAX, 1.0F);
     }).find("18446744073709551615 is over 2^63") != std::string::npos,
     "an integer that does not fit");
}

/* What would be cut off on its way to C, or be another number there. */
static void test_narrow(cuttle::State &S) {
  enum { BLOCK = 32 };
  std::vector<float> x(BLOCK);
  cuttle::Kernel add = S.kernel("add");
  const std::string two("4:1\0 and more", 13);
  add(static_cast<signed char>(1), BLOCK)(x, 1.0F);
  add(1.0, {BLOCK, 1})(x, 1.0F);
  ok(x[BLOCK - 1] == 2, "extents of any number types");
  for (double n : {-1.0, 1.5, 4294967297.0}) {
    ok(message_of([&] { add(n, BLOCK)(x, 1.0F); }).find("no integer from 0 to") !=
           std::string::npos,
       "a grid that is no extent");
  }
  ok(message_of([&] { add((1ULL << 32) + 1, BLOCK)(x, 1.0F); }).find("extent 4294967297") !=
         std::string::npos,
     "a grid of more than 32 bits");
  for (const std::string &message :
       {message_of([&] { S.run(two); }), message_of([&] { (void)S.kernel(two); }),
        message_of([&] { (void)S.tensor("f32", two); }),
        message_of([&] { add(1, 1)(x, cuttle::constant(two)); }),
        message_of([&] { add(1, 1)(x, cuttle::layout(two)); })}) {
    ok(message.find("the text '4:1' has a byte 0 after it") != std::string::npos,
       "a text with a byte 0");
  }
  const void *fixed = x.data();
  ok(message_of([&] {
       add(1, 1)(cuttle::memory(fixed, CUTTLE_F32, {1}), 1.0F);
     }).find("read-only") != std::string::npos,
     "a const pointer of any type is not written");
}

static void test_memory(cuttle::State &S) {
  std::vector<std::int16_t> a(6), b(6);
  for (std::int16_t i = 0; i < 6; i++) {
    a[static_cast<std::size_t>(i)] = i;
  }
  const std::int16_t *p = a.data();
  S.kernel("transpose")(1, 1)(cuttle::memory(p, {2, 3}), cuttle::memory(b.data(), {3, 2}));
  ok(b == std::vector<std::int16_t>{0, 3, 1, 4, 2, 5}, "memory with a shape, row by row");
  S.kernel("transpose")(1, 1)(cuttle::memory(p, {2, 3}, {1, 2}), cuttle::memory(b.data(), {3, 2}));
  ok(b == std::vector<std::int16_t>{0, 1, 2, 3, 4, 5}, "with strides");
  cuttle::Tensor t = S.lend(cuttle::memory(b.data(), {6}));
  S.kernel("add")(1, 6)(t, 1);
  ok(t && b[5] == 6, "lent for longer");
  ok(message_of([&] {
       (void)cuttle::memory(p, {2, 3}, {1});
     }).find("rank") != std::string::npos,
     "a rank that differs");
}

static cuttle::Tensor make_tensor() {
  cuttle::State S(on_cpu());
  S.run(script, "=plus.lua");
  cuttle::Tensor t = S.tensor<std::int32_t>("(4,8):(8,1)");
  t.write(std::vector<std::int32_t>(32, 3));
  S.kernel("add")(1, 32)(t, 1);
  return t;
}

static void test_lives() {
  cuttle::Tensor t = make_tensor(); /* its state's variable has ended */
  ok(t.bytes() == 128 && t.read<std::int32_t>()[31] == 4, "a tensor keeps its state open");
  cuttle::Tensor moved = std::move(t);
  ok(!t && moved.read<std::int32_t>()[0] == 4, "it can be moved");
  t = std::move(moved);
  ok(t.bytes() == 128 && message_of([&] { t.write(std::vector<float>(5)); }) != "",
     "and must be written whole");
}

static void test_errors(cuttle::State &S) {
  try {
    S.run("local x = 1\nerror('no')", "=bad.lua");
    ok(false, "an error is thrown");
  } catch (const cuttle::Error &e) {
    ok(e.status() == CUTTLE_ERROR && e.file() == "bad.lua" && e.line() == 2 && !e.interrupted(),
       "an error has its place");
  }
  ok(message_of([&] { (void)S.kernel("none"); }).find("no kernel called 'none'") !=
         std::string::npos,
     "a kernel that is not there");
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    S.interrupt();
  });
  try {
    S.run("while true do end", "=loop");
    ok(false, "an interrupt stops a loop");
  } catch (const cuttle::Error &e) {
    ok(e.interrupted(), "an interrupt says so");
  }
  other.join();
}

/* What was moved from throws; what it was moved to works. */
static void test_moved() {
  cuttle::State S(on_cpu());
  cuttle::Tensor t = S.tensor("f32", "4");
  cuttle::Tensor u = std::move(t);
  cuttle::State T = std::move(S);
  ok(S.get() == nullptr &&
         message_of([&] { S.run("return", "=p"); }).find("moved from") != std::string::npos,
     "a state that was moved from");
  ok(message_of([&] { S.synchronize(); }) != "" && message_of([&] { (void)S.kernel("k"); }) != "" &&
         message_of([&] { (void)S.tensor("f32", "4"); }) != "",
     "in every call");
  S.interrupt();
  ok(message_of([&] { (void)t.read<float>(); }) != "" && t.bytes() == 0, "a tensor");
  T.run("kernel('one', function(x) x[0] = 1 end)"); // messages call it "script"
  cuttle::Kernel k = T.kernel("one"), l = std::move(k);
  l(1, 1)(u);
  ok(message_of([&] { k(1, 1)(u); }) != "" && u.read<float>()[0] == 1.0f, "a kernel");
  S = std::move(T);
  S.run("return", "=p");
}

static void test_callbacks() {
  std::string heard;
  cuttle::Options o = on_cpu();
  o.print = [&](std::string_view text) {
    heard += text;
    if (text.find("throw") != std::string_view::npos) {
      throw std::logic_error("thrown by print");
    }
  };
  cuttle::State S(o);
  S.run("print('one', 2)", "=p");
  ok(heard == "one\t2\n", "print is heard");
  ok(message_of([&] { S.run("print('throw')", "=p"); }) == "thrown by print",
     "what print throws comes out of the call");
  S.run("print('on')", "=p");
  o = on_cpu();
  int asked = 0;
  o.poll = [&] {
    if (++asked == 3) {
      throw std::logic_error("thrown by poll");
    }
    return asked == 2;
  };
  cuttle::State polled(o);
  ok(message_of([&] { polled.run("while true do end", "=p"); }) != "" && asked == 2,
     "poll stops a call");
  ok(message_of([&] { polled.run("while true do end", "=p"); }) == "thrown by poll",
     "and so does what it throws");
  polled.run("kernel('named', function(a, x, ...) end)", "=p");
  const std::vector<std::string> names = {"a", "x", "..."};
  ok(polled.kernel("named").parameters() == names, "the names of a kernel's parameters");
  o = on_cpu();
  o.sandbox = true;
  o.instruction_limit = 100000;
  cuttle::State boxed(o);
  ok(message_of([&] { boxed.run("return io.open('x')", "=p"); }) != "", "a sandbox");
  ok(message_of([&] { boxed.run("while true do end", "=p"); }) != "", "a limit");
}

int main() try {
  cuttle::State S(on_cpu());
  S.run(script, "=plus.lua");
  test_arguments(S);
  test_narrow(S);
  test_memory(S);
  test_lives();
  test_errors(S);
  test_moved();
  test_callbacks();
  return failures == 0 ? 0 : 1;
} catch (const std::exception &e) {
  std::cerr << e.what() << '\n';
  return 1;
}
