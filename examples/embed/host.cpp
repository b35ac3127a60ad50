/* host.cpp: a C++ program that runs a script's kernel on its own vectors, and is told what is wrong with a call.
     host [device]     the CPU engine, where none is given
     c++ -std=c++17 host.cpp $(pkg-config --cflags --libs cuttle) */
#include <cuttle.hpp>

#include <iostream>

static const char script[] = R"(
kernel("saxpy", function(a, x, y)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  if i < size(x) then y[i] = a * x[i] + y[i] end
end)
)";

int main(int argc, char **argv) try {
  const unsigned n = 1000;
  cuttle::Options options;
  options.device = argc > 1 ? argv[1] : "cpu";
  cuttle::State S(options);
  S.run(script, "=saxpy.lua");
  cuttle::Kernel saxpy = S.kernel("saxpy");

  /* Tensors live where the state's device is. */
  std::vector<float> ones(n, 1.0F), ramp(n);
  for (unsigned i = 0; i < n; i++) {
    ramp[i] = static_cast<float>(i);
  }
  cuttle::Tensor x = S.tensor<float>("1000"), y = S.tensor<float>("1000");
  x.write(ramp);
  y.write(ones);
  saxpy((n + 255) / 256, 256)(2.0F, x, y);
  std::vector<float> result = y.read<float>();
  bool ok = result[0] == 1.0F && result[999] == 1999.0F;

  /* Vectors are lent for a launch: the CPU engine works in them. */
  if (options.device == "cpu") {
    saxpy((n + 255) / 256, 256)(2.0F, ramp, ones);
    ok = ok && ones == result;
  }

  try {
    saxpy(1, 256)(2.0F, x);
    ok = false;
  } catch (const cuttle::Error &e) {
    std::cout << "as expected: " << e.what() << '\n';
  }
  std::cout << (ok ? "correct" : "wrong") << '\n';
  return ok ? 0 : 1;
} catch (const std::exception &e) {
  std::cerr << e.what() << '\n';
  return 1;
}
