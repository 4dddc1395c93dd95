//===- CompileKernelsTest.cpp - the compiler's own promises ---------------===//

#include "stretto/Conversion/CompileKernels.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "stretto/Dialect/Stretto/IR/StrettoOps.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace stretto;

namespace {

class CompileKernels : public testing::Test {
protected:
  CompileKernels() : context(MLIRContext::Threading::DISABLED) {
    context.loadDialect<StrettoDialect>();
    context.getDiagEngine().registerHandler(
        [&](Diagnostic &d) { errors += d.str() + "\n"; });
  }
  FailureOr<KernelLibrary> compile(StringRef text, KernelOptions options = {}) {
    module = parseSourceString<ModuleOp>(text, &context);
    if (!module)
      return failure();
    return compileKernels(*module, options);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::string errors;
};

const char *twoKernels = R"(
stretto.kernel @second(%x: tensor<64xf32>) -> tensor<64xf32> {
  %y = stretto.tanh %x : tensor<64xf32> -> tensor<64xf32>
  stretto.yield %y : tensor<64xf32>
}
stretto.kernel @first(%x: tensor<4096xf32>, %s: tensor<f32>) -> (tensor<4096xf32>, tensor<f32>) {
  %y = stretto.exp %x : tensor<4096xf32> -> tensor<4096xf32>
  %r = stretto.reduce sum %y dims [0] : tensor<4096xf32> -> tensor<f32>
  stretto.yield %y, %r : tensor<4096xf32>, tensor<f32>
})";

TEST_F(CompileKernels, NamesAreInModuleOrderAndTheImageIsAnObject) {
  auto library = compile(twoKernels);
  ASSERT_TRUE(succeeded(library)) << errors;
  EXPECT_EQ(library->names, (std::vector<std::string>{"second", "first"}));
  EXPECT_EQ(library->image.substr(0, 4), "\x7f"
                                         "ELF");
}

TEST_F(CompileKernels, TheSameKernelsGiveTheSameBytes) {
  auto one = compile(twoKernels), two = compile(twoKernels);
  ASSERT_TRUE(succeeded(one) && succeeded(two)) << errors;
  EXPECT_EQ(one->image, two->image);
}

TEST_F(CompileKernels, AnotherProcessorNeedsOtherFeatures) {
  KernelOptions options;
  options.cpu = "x86-64-v3";
  auto v3 = compile(twoKernels, options);
  ASSERT_TRUE(succeeded(v3)) << errors;
  EXPECT_NE(v3->cpuFeatures.find("avx2"), std::string::npos);
  EXPECT_EQ(v3->cpuFeatures.find("avx512"), std::string::npos);
  options.cpu = "x86-64";
  auto v1 = compile(twoKernels, options);
  ASSERT_TRUE(succeeded(v1)) << errors;
  EXPECT_EQ(v1->cpuFeatures.find("avx"), std::string::npos);
}

TEST_F(CompileKernels, LoopsAreVectorisedForTheWidestRegisters) {
  KernelOptions options;
  options.cpu = "x86-64-v4";
  std::string ir;
  options.llvmIR = &ir;
  ASSERT_TRUE(succeeded(compile(twoKernels, options))) << errors;
  EXPECT_NE(ir.find("<16 x float>"), std::string::npos);
  // No run-time checks for overlap, no assumption that NaN does not occur.
  EXPECT_EQ(ir.find("vector.memcheck"), std::string::npos);
  EXPECT_EQ(ir.find("nnan"), std::string::npos);
  EXPECT_EQ(ir.find("ninf"), std::string::npos);
  EXPECT_EQ(ir.find(" fast "), std::string::npos);
}

TEST_F(CompileKernels, AnUnknownProcessorIsAnError) {
  KernelOptions options;
  options.cpu = "z80";
  EXPECT_TRUE(failed(compile(twoKernels, options)));
  EXPECT_NE(errors.find("unknown processor 'z80'"), std::string::npos)
      << errors;
}

TEST_F(CompileKernels, AKernelThatIsNoneIsAnError) {
  EXPECT_TRUE(failed(compile(R"(
stretto.kernel @k(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %t = stretto.transpose %x perm [1, 0] : tensor<8x8xf32> -> tensor<8x8xf32>
  %s = stretto.add %x, %t : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  stretto.yield %s : tensor<8x8xf32>
})")));
  EXPECT_NE(errors.find("a tensor meets its own transpose"), std::string::npos)
      << errors;
}

TEST_F(CompileKernels, AModuleWithoutKernelsIsAnEmptyLibrary) {
  auto library = compile("");
  ASSERT_TRUE(succeeded(library)) << errors;
  EXPECT_TRUE(library->names.empty());
  EXPECT_FALSE(library->image.empty());
}

} // namespace
