//===- DecomposeTest.cpp - compositions equal their operations ------------===//
//
// Every operation that can be decomposed, and the composition of primitive
// operations that decompose() builds, on the same values.
//
//===----------------------------------------------------------------------===//

#include "stretto/Dialect/Stretto/Transforms/Decompose.h"
#include "OpSamples.h"

using namespace stretto;
using namespace stretto::interp;

/// Replaces the operation of @f by its composition; false when it has none.
static bool decomposeBody(SegmentOp segment) {
  auto op = mlir::dyn_cast<Decomposable>(segment.getBody().front().front());
  if (!op)
    return false;
  mlir::OpBuilder builder(op);
  llvm::SmallVector<mlir::Value> values = op.decompose(builder);
  if (values.empty())
    return false;
  op->replaceAllUsesWith(values);
  op->erase();
  return true;
}

/// Does the composition of `sample` give what the operation gives? Nothing when
/// the operation has none.
static std::optional<bool> isEqual(const Sample &sample, double scalar) {
  TestProgram program(
      oneOp(sample.arguments, sample.op, sample.types, sample.results),
      registerDecomposableModels);
  auto segment = program.find<SegmentOp>("f");
  TensorVector arguments;
  for (auto [i, type] : llvm::enumerate(segment.getArgumentTypes()))
    arguments.push_back(sampleValue(type, i, scalar));
  TensorVector want = program.run(arguments);
  if (!decomposeBody(segment))
    return std::nullopt;
  EXPECT_TRUE(mlir::succeeded(mlir::verify(program.get()))) << program.errors;
  TensorVector got = program.run(arguments);
  if (got.size() != want.size())
    return false;
  for (auto [x, y] : llvm::zip(got, want))
    if (y.isFloat())
      expectNear(x, y.getFloats());
    else
      expectInts(x, y.getInts());
  return true;
}

static void checkAll(const std::vector<Sample> &samples, int expected) {
  int decomposed = 0;
  for (const Sample &sample : samples) {
    SCOPED_TRACE(sample.name);
    std::optional<bool> equal = isEqual(sample, 1);
    if (!equal)
      continue;
    ++decomposed;
    EXPECT_TRUE(*equal);
    EXPECT_TRUE(*isEqual(sample, 0)); // an optimizer whose `ok` is 0
  }
  EXPECT_GE(decomposed, expected);
}

/// The sample on 16-bit values; what is f32 then keeps its type.
static Sample in16Bits(Sample sample) {
  auto replace = [](std::string &text, llvm::StringRef from,
                    llvm::StringRef to) {
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;
         at += to.size())
      text.replace(at, from.size(), to);
  };
  for (std::string *text : {&sample.arguments, &sample.op, &sample.types}) {
    replace(*text, "xf32>", "xbf16>");
    replace(*text, "<f32>", "<bf16>");
    if (llvm::StringRef(sample.name).starts_with("cross_entropy"))
      replace(*text, "<4x3xbf16>", "<4x3xf32>");
    if (llvm::StringRef(sample.name).starts_with("attention")) {
      replace(*text, "<4x4x3xbf16>", "<4x4x3xf32>");
      replace(*text, "<4x4x4x3xbf16>", "<4x4x4x3xf32>");
    }
  }
  return sample;
}

TEST(Decompose, CompositionsOf16BitOperationsEqualThem) {
  std::vector<Sample> samples;
  for (const Sample &sample : fusedSamples())
    samples.push_back(in16Bits(sample));
  checkAll(samples, 9);
}

TEST(Decompose, CompositionsEqualTheirOperations) {
  checkAll(elementwiseSamples(), 2); // silu, gelu
  checkAll(movementSamples(), 10);
  checkAll(fusedSamples(), 9);
}
