//===- GradientCheck.h - gradients against differences ----------*- C++ -*-===//
//
// Compares the gradients of a derived training step with fourth-order central
// differences of its loss, in f64.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TEST_UNIT_DERIVE_GRADIENTCHECK_H
#define STRETTO_TEST_UNIT_DERIVE_GRADIENTCHECK_H

#include "DerivedModule.h"
#include "gtest/gtest.h"
#include <cmath>

namespace stretto::test {

inline double lossAt(DerivedModule &derived,
                     const interp::NamedValues &values) {
  auto results = derived.run("train", values);
  EXPECT_TRUE(mlir::succeeded(results));
  return mlir::succeeded(results) ? (*results)["output:loss"][0].getFloats()[0]
                                  : NAN;
}

/// The derivative of the loss by one element of `binding`; the error is of the
/// order of h^4 and of rounding / h.
inline double difference(DerivedModule &derived,
                         const interp::NamedValues &values,
                         const std::string &binding, size_t element) {
  constexpr double h = 1e-3;
  auto at = [&](double offset) {
    interp::NamedValues moved = values;
    moved[binding][0].writeFloats()[element] += offset;
    return lossAt(derived, moved);
  };
  return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
}

/// Every element of every gradient. Returns the largest derivative seen.
inline double expectGradientsEqualDifferences(DerivedModule &derived,
                                              const interp::NamedValues &values,
                                              double tolerance = 1e-8) {
  auto results = derived.run("train", values);
  EXPECT_TRUE(mlir::succeeded(results));
  double largest = 0;
  if (failed(results))
    return largest;
  for (auto &[binding, value] : *results) {
    llvm::StringRef name = binding;
    if (!name.consume_front("grad:"))
      continue;
    llvm::ArrayRef<double> gradient = value[0].getFloats();
    for (size_t element = 0; element < gradient.size(); ++element) {
      double expected =
          difference(derived, values, "param:" + name.str(), element);
      EXPECT_NEAR(gradient[element], expected,
                  tolerance * std::max(1.0, std::abs(expected)))
          << name.str() << " element " << element;
      largest = std::max(largest, std::abs(expected));
    }
  }
  return largest;
}

} // namespace stretto::test

#endif // STRETTO_TEST_UNIT_DERIVE_GRADIENTCHECK_H
