//===- KernelBenchmark.cpp - speed of compiled kernels --------------------===//
//
// Prints the time of kernels on one core, next to a copy of as many bytes: of
// common patterns, or of the kernels of a local or fused module.
// usage: kernel-benchmark [--llvm-ir FILE] [--bf16] [rows cols | MODULE.mlir]
//   --bf16   the patterns on bf16, but for those that are f32 by nature
//
//===----------------------------------------------------------------------===//

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "stretto/Conversion/CompileKernels.h"
#include "stretto/Dialect/Stretto/IR/StrettoOps.h"
#include "stretto/Transforms/Fuse/Passes.h"
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <fstream>
#include <sys/mman.h>
#include <unistd.h>

using namespace mlir;
using namespace stretto;

namespace {

using KernelFn = void (*)(void *const *, const int64_t *);

struct Case {
  const char *name;
  const char *arguments; // X = rows x cols tensor, V = cols, R = rows, I = ids
  const char *results;
  const char *body;
};

const Case cases[] = {
    {"add bias, tanh gelu", "%x: X, %b: V", "X",
     "%h = stretto.add %x, %b : X, V -> X\n"
     "%y = stretto.gelu %h {tanh} : X -> X\n stretto.yield %y : X"},
    {"add bias, exact gelu", "%x: X, %b: V", "X",
     "%h = stretto.add %x, %b : X, V -> X\n"
     "%y = stretto.gelu %h : X -> X\n stretto.yield %y : X"},
    {"silu times", "%x: X, %b: X", "X",
     "%h = stretto.silu %x : X -> X\n"
     "%y = stretto.mul %h, %b : X, X -> X\n stretto.yield %y : X"},
    {"softmax", "%x: X", "X",
     "%y = stretto.softmax %x {dim = 1 : i64} : X -> X\n stretto.yield %y : X"},
    {"layer_norm", "%x: X, %g: V, %b: V", "X",
     "%y = stretto.layer_norm %x, %g, %b {eps = 1.0e-5 : f64} : X, V, V -> X\n"
     "stretto.yield %y : X"},
    {"add, rms_norm", "%x: X, %r: X, %g: V", "X, X",
     "%h = stretto.add %x, %r : X, X -> X\n"
     "%y = stretto.rms_norm %h, %g {eps = 1.0e-5 : f64} : X, V -> X\n"
     "stretto.yield %h, %y : X, X"},
    {"layer_norm_grad", "%x: X, %g: V, %d: X, %a: V, %c: V",
     "X, V {stretto.alias = 3 : i64}, V {stretto.alias = 4 : i64}",
     "%dx, %dg, %db = stretto.layer_norm_grad %x, %g, %d {eps = 1.0e-5 : f64} "
     ": "
     "X, V, X -> X, V, V\n"
     "%s = stretto.add %a, %dg : V, V -> V\n"
     "%t = stretto.add %c, %db : V, V -> V\n"
     "stretto.yield %dx, %s, %t : X, V, V"},
    {"bias gradient", "%d: X, %a: V", "V {stretto.alias = 1 : i64}",
     "%r = stretto.reduce sum %d dims [0] : X -> V\n"
     "%s = stretto.add %a, %r : V, V -> V\n stretto.yield %s : V"},
    {"sum of squares", "%x: X, %a: tensor<f32>",
     "tensor<f32> {stretto.alias = 1 : i64}",
     "%q = stretto.mul %x, %x : X, X -> X\n"
     "%r = stretto.reduce sum %q dims [0, 1] : X -> tensor<f32>\n"
     "%s = stretto.add %a, %r : tensor<f32>, tensor<f32> -> tensor<f32>\n"
     "stretto.yield %s : tensor<f32>"},
    {"cross_entropy", "%x: X, %l: I", "R, R",
     "%a, %b = stretto.cross_entropy %x, %l {smoothing = 0.1 : f64} : X, I -> "
     "R, R\n stretto.yield %a, %b : R, R"},
    {"cross_entropy_grad", "%x: X, %l: I, %e: R, %d: R", "X",
     "%y = stretto.cross_entropy_grad %x, %l, %e, %d {smoothing = 0.1 : f64, "
     "vocabulary = 2048 : i64} : X, I, R, R -> X\n stretto.yield %y : X"},
    {"dropout", "%x: X", "X",
     "%y = stretto.dropout %x {p = 0.1 : f64, op_id = 1 : i64, extents = "
     "array<i64: ROWS, COLS>, sample_dim = 0 : i64} : X -> X\n"
     "stretto.yield %y : X"},
    {"adamw",
     "%p: X, %g: X, %m: X, %v: X, %h: tensor<4xf32>, %s: tensor<f32>, %ok: "
     "tensor<f32>",
     "X {stretto.alias = 0 : i64}, X {stretto.alias = 2 : i64}, X "
     "{stretto.alias = 3 : i64}",
     "%a, %b, %c = stretto.adamw %p, %g, %m, %v, %h, %s, %ok {beta1 = 0.9 : "
     "f64, "
     "beta2 = 0.95 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64} : (X, "
     "X, X, "
     "X, tensor<4xf32>, tensor<f32>, tensor<f32>) -> (X, X, X)\n"
     "stretto.yield %a, %b, %c : X, X, X"},
    {"embedding", "%t: X, %l: I", "X",
     "%y = stretto.embedding %t, %l : X, I -> X\n stretto.yield %y : X"},
    {"embedding_grad", "%l: I, %d: X", "X",
     "%y = stretto.embedding_grad %l, %d : I, X -> X\n stretto.yield %y : X"},
    {"transpose", "%x: X", "T",
     "%y = stretto.transpose %x perm [1, 0] : X -> T\n stretto.yield %y : T"},
};

std::string replaceAll(std::string text, const std::string &from,
                       const std::string &to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;
       at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

std::string segmentText(const Case &c, int index, int64_t rows, int64_t cols,
                        const std::string &element) {
  auto fill = [&](std::string text) {
    std::string r = std::to_string(rows), n = std::to_string(cols);
    text = replaceAll(text, "ROWS", r);
    text = replaceAll(text, "COLS", n);
    text = replaceAll(text, "X", "tensor<" + r + "@" + n + "@" + element + ">");
    text = replaceAll(text, "T", "tensor<" + n + "@" + r + "@" + element + ">");
    text = replaceAll(text, "V", "tensor<" + n + "@" + element + ">");
    text = replaceAll(text, "R", "tensor<" + r + "@f32>");
    text = replaceAll(text, "I", "tensor<" + r + "@i32>");
    return replaceAll(text, "@", "x");
  };
  return "stretto.segment @s" + std::to_string(index) + "(" +
         fill(c.arguments) + ") -> (" + fill(c.results) +
         ") attributes {direction = \"forward\"} {\n" + fill(c.body) + "\n}\n";
}

bool canFuse(const std::string &text, MLIRContext &context) {
  ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) {});
  auto module = parseSourceString<ModuleOp>(text, &context);
  PassManager passes(&context);
  passes.addPass(createFusePass());
  return module && succeeded(passes.run(*module));
}

void *allocate(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  size_t bytes = (tensor.getNumElements() * 4 + 64 + 63) / 64 * 64;
  void *data = std::aligned_alloc(64, bytes);
  if (tensor.getElementType().isF32())
    for (int64_t i = 0; i < tensor.getNumElements(); ++i)
      static_cast<float *>(data)[i] =
          float((i * 2654435761u >> 8 & 0xffff) - 30000) / 20000;
  else if (tensor.getElementType().isBF16()) // in (-2, 2)
    for (int64_t i = 0; i < tensor.getNumElements(); ++i)
      static_cast<uint16_t *>(data)[i] =
          uint16_t(0x3f00 | (i * 2654435761u >> 8 & 0x80ff));
  else
    for (int64_t i = 0; i < tensor.getNumElements(); ++i)
      static_cast<int32_t *>(data)[i] = int32_t(i * 40503u % 2048);
  return data;
}

/// Processor time of this thread: other work on the machine counts little.
double now() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) * 1e9 + double(time.tv_nsec);
}

template <typename Fn> double nanoseconds(Fn fn) {
  double best = 1e30;
  for (int round = 0; round < 15; ++round) {
    double start = now();
    fn();
    best = std::min(best, now() - start);
  }
  return best;
}

/// What the kernel reads and writes, in bytes.
double trafficOf(KernelOp kernel) {
  double bytes = 0;
  auto add = [&](Type type) {
    auto tensor = cast<RankedTensorType>(type);
    bytes += double(tensor.getNumElements()) *
             ((tensor.getElementType().getIntOrFloatBitWidth() + 7) / 8);
  };
  llvm::for_each(kernel.getArgumentTypes(), add);
  llvm::for_each(kernel.getResultTypes(), add);
  return bytes;
}

double timeCopy(size_t bytes) {
  char *from =
      static_cast<char *>(std::aligned_alloc(64, (bytes / 64 + 1) * 64));
  char *to = static_cast<char *>(std::aligned_alloc(64, (bytes / 64 + 1) * 64));
  std::memset(from, 1, bytes);
  std::memset(to, 2, bytes);
  double time = nanoseconds([&] {
    std::memcpy(to, from, bytes);
    asm volatile("" : : "r"(to) : "memory");
  });
  std::free(from), std::free(to);
  return time;
}

double timeKernel(KernelOp kernel, KernelFn function) {
  SmallVector<void *> buffers;
  for (Type type : kernel.getArgumentTypes())
    buffers.push_back(allocate(type));
  for (auto [i, type] : llvm::enumerate(kernel.getResultTypes()))
    if (!kernel.getResultAttr(i, attr::alias))
      buffers.push_back(allocate(type));
  int64_t scalars[64] = {1, 2, 3};
  double time = nanoseconds([&] { function(buffers.data(), scalars); });
  llvm::for_each(buffers, std::free);
  return time;
}

void *load(const std::string &image) {
  int file = memfd_create("kernels", 0);
  if (write(file, image.data(), image.size()) != ssize_t(image.size()))
    return nullptr;
  return dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW);
}

} // namespace

int main(int argc, char **argv) {
  std::string irFile;
  if (argc > 2 && !std::strcmp(argv[1], "--llvm-ir")) {
    irFile = argv[2];
    argc -= 2, argv += 2;
  }
  bool isBf16 = argc > 1 && !std::strcmp(argv[1], "--bf16");
  if (isBf16)
    --argc, ++argv;
  int64_t rows = argc > 2 ? std::atoll(argv[1]) : 2048;
  int64_t cols = argc > 2 ? std::atoll(argv[2]) : 2048;
  DialectRegistry registry;
  registry.insert<StrettoDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  std::string text;
  for (auto [index, c] : llvm::enumerate(cases))
    if (std::string one =
            segmentText(c, index, rows, cols, isBf16 ? "bf16" : "f32");
        canFuse(one, context))
      text += one;
  auto module = argc == 2 ? parseSourceFile<ModuleOp>(argv[1], &context)
                          : parseSourceString<ModuleOp>(text, &context);
  PassManager passes(&context);
  passes.addPass(createFusePass());
  if (!module || failed(passes.run(*module)))
    return 1;
  KernelOptions options;
  std::string ir;
  options.llvmIR = irFile.empty() ? nullptr : &ir;
  auto start = std::chrono::steady_clock::now();
  auto library = compileKernels(*module, options);
  if (failed(library))
    return 1;
  if (!irFile.empty())
    std::ofstream(irFile) << ir;
  std::chrono::duration<double> compile =
      std::chrono::steady_clock::now() - start;
  std::printf("%zu kernels compiled in %.2f s for %s\n", library->names.size(),
              compile.count(), library->cpuFeatures.c_str());
  void *handle = load(library->image);
  std::printf("%-36s %10s %12s %8s %8s\n", "kernel", "us", "ns/element", "GB/s",
              "/ copy");
  for (auto kernel : module->getOps<KernelOp>()) {
    auto function = reinterpret_cast<KernelFn>(
        dlsym(handle, kernel.getSymName().str().c_str()));
    double time = timeKernel(kernel, function), bytes = trafficOf(kernel);
    int64_t largest = 1;
    for (Type type : kernel.getArgumentTypes())
      largest =
          std::max(largest, cast<RankedTensorType>(type).getNumElements());
    std::printf("%-36s %10.1f %12.3f %8.1f %8.2f\n",
                kernel.getSymName().str().c_str(), time / 1000,
                time / double(largest), bytes / time,
                time / timeCopy(size_t(bytes / 2)));
  }
}
