//===- TestProgram.h - run IR text in a test --------------------*- C++ -*-===//
//
// A parsed module and shorthands to run its segments on one rank or on the
// ranks of a mesh, so that a test reads: text, values in, values out.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TEST_UNIT_INTERPRETER_TESTPROGRAM_H
#define STRETTO_TEST_UNIT_INTERPRETER_TESTPROGRAM_H

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "stretto/Interpreter/Interpreter.h"

#include <gtest/gtest.h>
#include <random>

namespace stretto::interp {

inline Tensor reals(llvm::ArrayRef<int64_t> shape, std::vector<double> data) {
  return Tensor::of(shape, std::move(data));
}
inline Tensor integers(llvm::ArrayRef<int64_t> shape,
                       std::vector<int64_t> data) {
  return Tensor::of(shape, std::move(data));
}
/// Standard normal draws from a fixed generator.
inline Tensor randoms(llvm::ArrayRef<int64_t> shape, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal;
  Tensor result = Tensor::floats(shape);
  for (double &x : result.writeFloats())
    x = normal(engine);
  return result;
}

class TestProgram {
public:
  explicit TestProgram(llvm::StringRef text,
                       llvm::function_ref<void(mlir::DialectRegistry &)>
                           registerMore = nullptr) {
    mlir::DialectRegistry registry;
    registry.insert<StrettoDialect>();
    registerEvaluableModels(registry);
    if (registerMore)
      registerMore(registry);
    context.appendDialectRegistry(registry);
    context.loadDialect<StrettoDialect>();
    context.getDiagEngine().registerHandler(
        [this](mlir::Diagnostic &diagnostic) {
          errors += diagnostic.str() + "\n";
        });
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module) << errors;
  }

  mlir::ModuleOp get() { return *module; }
  template <typename OpT> OpT find(llvm::StringRef name) {
    return module->lookupSymbol<OpT>(name);
  }

  /// Runs segment @name on every rank of `mesh` (null: one rank).
  llvm::SmallVector<RankTensors>
  run(llvm::StringRef name, llvm::ArrayRef<RankTensors> arguments,
      MeshAttr mesh, uint64_t seed = 1, uint64_t step = 1,
      llvm::StringRef instance = "", int64_t microbatch = 0) {
    Machine machine(*module, mesh, seed, step);
    auto results =
        machine.call(find<SegmentOp>(name), arguments, instance, microbatch);
    EXPECT_TRUE(mlir::succeeded(results)) << errors;
    return mlir::succeeded(results) ? *results
                                    : llvm::SmallVector<RankTensors>();
  }

  /// Runs segment @f on one rank.
  TensorVector run(llvm::ArrayRef<Tensor> arguments) {
    llvm::SmallVector<RankTensors> values;
    for (const Tensor &argument : arguments)
      values.push_back({argument});
    TensorVector results;
    for (RankTensors &result : run("f", values, MeshAttr()))
      results.push_back(result[0]);
    return results;
  }

  MeshAttr mesh() {
    return module->getOperation()->getAttrOfType<MeshAttr>(attr::mesh);
  }

  std::string errors;

private:
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// A module with one segment @f of one operation: `signature` as in
/// "(%a: tensor<2xf32>) -> tensor<2xf32>", `op` without result names, `types`
/// the result types.
inline std::string oneOp(const std::string &arguments, const std::string &op,
                         const std::string &types, int results = 1) {
  std::string names = "%r:" + std::to_string(results), yields;
  for (int i = 0; i < results; ++i)
    yields += (i ? ", %r#" : "%r#") + std::to_string(i);
  if (results == 1)
    names = "%r", yields = "%r";
  return "stretto.segment @f(" + arguments + ") -> (" + types +
         ") attributes {direction = \"forward\"} {\n " + names + " = " + op +
         "\n stretto.yield " + yields + " : " + types + "\n}\n";
}

inline void expectNear(const Tensor &got, llvm::ArrayRef<double> want,
                       double tolerance = 1e-12) {
  ASSERT_EQ(got.getNumElements(), int64_t(want.size()));
  for (size_t i = 0; i < want.size(); ++i)
    EXPECT_NEAR(got.getFloats()[i], want[i], tolerance) << "element " << i;
}

inline void expectInts(const Tensor &got, llvm::ArrayRef<int64_t> want) {
  EXPECT_EQ(got.getInts(), want);
}

/// d(sum weights * f)/d(arguments[which]) by central differences.
template <typename Fn>
Tensor finiteDifference(Fn f, TensorVector arguments, unsigned which,
                        const Tensor &weights, double h = 1e-5) {
  auto value = [&]() {
    Tensor out = f(arguments);
    double sum = 0;
    for (auto [y, w] : llvm::zip(out.getFloats(), weights.getFloats()))
      sum += y * w;
    return sum;
  };
  Tensor gradient = Tensor::floats(arguments[which].getShape());
  for (int64_t i = 0; i < gradient.getNumElements(); ++i) {
    double x = arguments[which].getFloats()[i];
    arguments[which].writeFloats()[i] = x + h;
    double above = value();
    arguments[which].writeFloats()[i] = x - h;
    double below = value();
    arguments[which].writeFloats()[i] = x;
    gradient.writeFloats()[i] = (above - below) / (2 * h);
  }
  return gradient;
}

} // namespace stretto::interp

#endif // STRETTO_TEST_UNIT_INTERPRETER_TESTPROGRAM_H
