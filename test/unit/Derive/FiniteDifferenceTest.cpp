//===- FiniteDifferenceTest.cpp - adjoints against differences ------------===//
//
// Every operation's adjoint, through the derived training step, against central
// differences of the loss in f64. Each case is a layer around one operation:
// its result is weighted with random numbers and summed.
//
//===----------------------------------------------------------------------===//

#include "GradientCheck.h"
#include "llvm/ADT/StringExtras.h"
#include <random>

using namespace stretto;
using namespace stretto::test;
using interp::NamedValues;
using interp::Tensor;

namespace {
enum class Domain { Normal, Positive };

struct Case {
  std::string name;
  std::vector<std::string> params; // "2x3xf32": %p0, %p1, ...
  std::vector<std::string> ints;   // "2x3xi32": %i0, ... below indexBound
  std::string body;                // defines %r
  std::string result;              // type of %r
  Domain domain = Domain::Normal;
  int64_t indexBound = 5;
};

void PrintTo(const Case &test, std::ostream *os) { *os << test.name; }

std::string tensor(const std::string &type) { return "tensor<" + type + ">"; }

unsigned rankOf(const std::string &type) {
  return unsigned(llvm::StringRef(type).count('x'));
}

std::string allDims(unsigned rank) {
  std::vector<std::string> dims;
  for (unsigned i = 0; i < rank; ++i)
    dims.push_back(std::to_string(i));
  return "[" + llvm::join(dims, ", ") + "]";
}

/// The model around the operation of `test`. `precision`: entries of the
/// recipe.
std::string moduleOf(const Case &test, const std::string &precision = "") {
  std::string inputs = "%w: " + tensor(test.result) + ", %c: tensor<1xf32>";
  std::string names = "%w, %c";
  std::string types = tensor(test.result) + ", tensor<1xf32>";
  for (size_t i = 0; i < test.ints.size(); ++i) {
    std::string name = "%i" + std::to_string(i);
    inputs += ", " + name + ": " + tensor(test.ints[i]);
    names += ", " + name;
    types += ", " + tensor(test.ints[i]);
  }
  std::vector<std::string> params;
  for (size_t i = 0; i < test.params.size(); ++i)
    params.push_back("%p" + std::to_string(i) + ": " + tensor(test.params[i]) +
                     " init zeros");
  std::string r = tensor(test.result);
  return "module attributes {stretto.recipe = {global_batch = 1 : i64" +
         precision +
         "}} {\n"
         "stretto.layer @op(" +
         inputs + ", params(" + llvm::join(params, ", ") +
         ")) -> (tensor<f32>, tensor<f32>) {\n" + test.body +
         "\n%weighted = stretto.mul %r, %w : " + r + ", " + r + " -> " + r +
         "\n%sum = stretto.reduce sum %weighted dims " +
         allDims(rankOf(test.result)) + " : " + r + " -> tensor<f32>\n" +
         "%count = stretto.reduce sum %c dims [0] : tensor<1xf32> -> "
         "tensor<f32>\n"
         "stretto.yield %sum, %count : tensor<f32>, tensor<f32>\n}\n"
         "stretto.model @m(" +
         inputs + ") {\n%s, %n = stretto.call @op(" + names +
         ") scope \"op\" : (" + types +
         ") -> (tensor<f32>, tensor<f32>)\n"
         "stretto.loss %s, %n weight 1.0 : tensor<f32>, tensor<f32>\n}\n}\n";
}

class AdjointTest : public ::testing::TestWithParam<Case> {
protected:
  /// Random parameters and weights, everything else zero, the count one.
  NamedValues randomValues() {
    NamedValues values;
    std::mt19937_64 engine(17);
    std::normal_distribution<double> normal;
    derived.forEachArgument("train", [&](llvm::StringRef binding,
                                         llvm::ArrayRef<int64_t> shape) {
      if (binding.starts_with("input:i")) {
        Tensor tensor = Tensor::ints(shape);
        for (int64_t &value : tensor.writeInts())
          value = int64_t(engine() % uint64_t(GetParam().indexBound));
        values[binding.str()] = {tensor};
        return;
      }
      Tensor tensor = Tensor::floats(shape, binding == "input:c" ? 1.0 : 0.0);
      if (binding.starts_with("param:") || binding == "input:w")
        for (double &value : tensor.writeFloats()) {
          value = normal(engine);
          if (GetParam().domain == Domain::Positive)
            value = std::abs(value) + 0.5;
        }
      values[binding.str()] = {tensor};
    });
    return values;
  }

  DerivedModule derived;
};

TEST_P(AdjointTest, EqualsFiniteDifferences) {
  ASSERT_TRUE(derived.derive(moduleOf(GetParam()))) << moduleOf(GetParam());
  NamedValues values = randomValues();
  double largest = expectGradientsEqualDifferences(derived, values);
  EXPECT_GT(largest, 1e-3) << "the case differentiates nothing";
}

/// The interpreter does not round, so that a layer in bf16 has the same
/// derivatives, whatever types its gradients are kept in.
TEST_P(AdjointTest, EqualsFiniteDifferencesInBf16) {
  for (const char *precision :
       {", compute = \"bf16\"", ", compute = \"bf16\", gradients = \"bf16\"",
        ", gradients = \"bf16\""}) {
    SCOPED_TRACE(precision);
    ASSERT_TRUE(derived.derive(moduleOf(GetParam(), precision)));
    expectGradientsEqualDifferences(derived, randomValues());
  }
}

//===----------------------------------------------------------------------===//
// Cases
//===----------------------------------------------------------------------===//

Case unary(const std::string &op, const std::string &type,
           Domain domain = Domain::Normal, const std::string &attrs = "") {
  std::string t = tensor(type);
  return {op + attrs + " " + type,
          {type},
          {},
          "%r = stretto." + op + " %p0 " + attrs + " : " + t + " -> " + t,
          type,
          domain};
}

Case binary(const std::string &op, const std::string &lhs,
            const std::string &rhs, Domain domain = Domain::Normal) {
  std::string result = rankOf(lhs) >= rankOf(rhs) ? lhs : rhs;
  return {op + " " + lhs + " " + rhs,
          {lhs, rhs},
          {},
          "%r = stretto." + op + " %p0, %p1 : " + tensor(lhs) + ", " +
              tensor(rhs) + " -> " + tensor(result),
          result,
          domain};
}

Case einsum(const std::string &spec, const std::string &lhs,
            const std::string &rhs, const std::string &result) {
  return {"einsum " + spec,
          {lhs, rhs},
          {},
          "%r = stretto.einsum \"" + spec + "\" %p0, %p1 : " + tensor(lhs) +
              ", " + tensor(rhs) + " -> " + tensor(result),
          result};
}

std::vector<Case> elementwiseCases() {
  std::vector<Case> cases;
  for (const char *type : {"4xf32", "2x3xf32", "f32"}) {
    for (const char *op :
         {"neg", "exp", "tanh", "sigmoid", "erf", "silu", "gelu"})
      cases.push_back(unary(op, type));
    for (const char *op : {"log", "sqrt", "rsqrt"})
      cases.push_back(unary(op, type, Domain::Positive));
    cases.push_back(unary("gelu", type, Domain::Normal, "{tanh}"));
  }
  for (const char *op : {"add", "sub", "mul", "maximum", "minimum"}) {
    cases.push_back(binary(op, "2x3xf32", "2x3xf32"));
    cases.push_back(binary(op, "2x4x3xf32", "3xf32"));
    cases.push_back(binary(op, "4x3xf32", "2x4x3xf32"));
    cases.push_back(binary(op, "2x3xf32", "f32"));
  }
  cases.push_back(binary("div", "2x3xf32", "2x3xf32", Domain::Positive));
  cases.push_back(binary("div", "2x4x3xf32", "3xf32", Domain::Positive));
  cases.push_back(binary("div", "3xf32", "2x3xf32", Domain::Positive));
  cases.push_back(
      unary("dropout", "4x6xf32", Domain::Normal, "{p = 0.25 : f64}"));
  cases.push_back(unary("mask_pad", "2x5xf32", Domain::Normal,
                        "{dim = 1 : i64, size = 3 : i64, value = 7.0 : f64}"));
  cases.push_back({"convert",
                   {"2x3xf32"},
                   {},
                   "%d = stretto.convert %p0 : tensor<2x3xf32> -> "
                   "tensor<2x3xf64>\n%e = stretto.exp %d : tensor<2x3xf64> -> "
                   "tensor<2x3xf64>\n%r = stretto.convert %e : "
                   "tensor<2x3xf64> -> tensor<2x3xf32>",
                   "2x3xf32"});
  for (const char *onFalse : {"2x3xf32", "3xf32", "f32"})
    cases.push_back(
        {std::string("select ") + onFalse,
         {"2x3xf32", onFalse},
         {"3xi32"},
         "%two = stretto.constant 2.0 : tensor<i32>\n"
         "%p = stretto.compare lt %i0, %two : tensor<3xi32>, tensor<i32> -> "
         "tensor<3xi1>\n%r = stretto.select %p, %p0, %p1 : tensor<3xi1>, "
         "tensor<2x3xf32>, " +
             tensor(onFalse) + " -> tensor<2x3xf32>",
         "2x3xf32"});
  return cases;
}

std::vector<Case> structuredCases() {
  std::vector<Case> cases = {
      einsum("a b, b c -> a c", "2x3xf32", "3x4xf32", "2x4xf32"),
      einsum("a b, c b -> c a", "2x3xf32", "4x3xf32", "4x2xf32"),
      einsum("b s e, e h d -> b s h d", "2x3x4xf32", "4x2x3xf32",
             "2x3x2x3xf32"),
      einsum("b s h d, h d e -> b s e", "2x3x2x2xf32", "2x2x4xf32",
             "2x3x4xf32"),
      einsum("b i d, b j d -> b i j", "2x3x4xf32", "2x2x4xf32", "2x3x2xf32"),
      einsum("a, b -> b a", "2xf32", "3xf32", "3x2xf32"),
      einsum("a b, a b -> a", "2x3xf32", "2x3xf32", "2xf32"),
      {"transpose",
       {"2x3x4xf32"},
       {},
       "%r = stretto.transpose %p0 perm [2, 0, 1] : tensor<2x3x4xf32> -> "
       "tensor<4x2x3xf32>",
       "4x2x3xf32"},
      {"broadcast",
       {"2x3xf32"},
       {},
       "%r = stretto.broadcast %p0 dims [1, 2] : tensor<2x3xf32> -> "
       "tensor<4x2x3xf32>",
       "4x2x3xf32"},
      {"broadcast inner",
       {"2x3xf32"},
       {},
       "%r = stretto.broadcast %p0 dims [0, 2] : tensor<2x3xf32> -> "
       "tensor<2x4x3xf32>",
       "2x4x3xf32"},
      {"embedding",
       {"5x3xf32"},
       {"2x4xi32"},
       "%r = stretto.embedding %p0, %i0 : tensor<5x3xf32>, tensor<2x4xi32> -> "
       "tensor<2x4x3xf32>",
       "2x4x3xf32"},
      {"embedding of a vector",
       {"5xf32"},
       {"7xi32"},
       "%r = stretto.embedding %p0, %i0 : tensor<5xf32>, tensor<7xi32> -> "
       "tensor<7xf32>",
       "7xf32"}};
  for (const char *kind : {"sum", "max", "min"}) {
    cases.push_back({std::string("reduce ") + kind,
                     {"2x3x4xf32"},
                     {},
                     std::string("%r = stretto.reduce ") + kind +
                         " %p0 dims [1] : tensor<2x3x4xf32> -> tensor<2x4xf32>",
                     "2x4xf32"});
    cases.push_back({std::string("reduce all ") + kind,
                     {"2x3xf32"},
                     {},
                     std::string("%r = stretto.reduce ") + kind +
                         " %p0 dims [0, 1] : tensor<2x3xf32> -> tensor<f32>",
                     "f32"});
  }
  return cases;
}

/// One operation on %p0 (2x6) and, when `others` says so, on more.
Case movement(const std::string &name, const std::string &op,
              const std::string &result,
              const std::vector<std::string> &others = {},
              const std::vector<std::string> &ints = {},
              const std::string &before = "", const std::string &moreTypes = "",
              const std::string &names = "%r",
              const std::string &moreResults = "") {
  std::vector<std::string> params = {"2x6xf32"};
  std::string types = tensor(params[0]);
  for (const std::string &other : others) {
    params.push_back(other);
    types += ", " + tensor(other);
  }
  return {name, params, ints,
          before + names + " = stretto." + op + " : " + types + moreTypes +
              " -> " + tensor(result) + moreResults,
          result};
}

std::vector<Case> movementCases() {
  const std::string start =
      "%i = stretto.reduce sum %i0 dims [0] : tensor<1xi32> -> tensor<i32>\n";
  return {
      movement("reshape", "reshape %p0", "3x4xf32"),
      movement("slice",
               "slice %p0 dims [0, 1] starts [1, 1] limits [2, 6] strides [1, "
               "2]",
               "1x3xf32"),
      movement("pad",
               "pad %p0 with 3.0 dims [0, 1] low [1, -1] high [0, 2] interior "
               "[0, 2]",
               "3x17xf32"),
      movement("concat", "concat %p0, %p1, %p0 dim 1", "2x14xf32", {"2x2xf32"},
               {}, "", ", tensor<2x6xf32>"),
      movement("window",
               "window %p0 {dim = 1 : i64, start = -2 : i64, stride = 3 : i64, "
               "dilation = 2 : i64}",
               "2x5xf32"),
      movement("dynamic_slice", "dynamic_slice %p0[%i] dims [1]", "2x3xf32", {},
               {"1xi32"}, start, ", tensor<i32>"),
      movement("dynamic_update_slice",
               "dynamic_update_slice %p0, %p1[%i] dims [1]", "2x6xf32",
               {"2x3xf32"}, {"1xi32"}, start, ", tensor<i32>"),
      movement("gather", "gather %p0, %i0 dim 1", "2x4x3xf32", {}, {"4x3xi32"},
               "", ", tensor<4x3xi32>"),
      movement("gather batch", "gather %p0, %i0 dim 1 {batch_dims = 1 : i64}",
               "2x3xf32", {}, {"2x3xi32"}, "", ", tensor<2x3xi32>"),
      {"scatter_add",
       {"2x3xf32"},
       {"3xi32"},
       "%r = stretto.scatter_add %i0, %p0 dim 1 : tensor<3xi32>, "
       "tensor<2x3xf32> -> tensor<2x5xf32>",
       "2x5xf32"},
      movement("top_k", "top_k %p0 {dim = 1 : i64, k = 3 : i64}", "2x3xf32", {},
               {}, "", "", "%r, %where", ", tensor<2x3xi32>"),
      movement("top_k major", "top_k %p0 {dim = 0 : i64, k = 1 : i64}",
               "1x6xf32", {}, {}, "", "", "%r, %where", ", tensor<1x6xi32>"),
      movement("reduce init", "reduce sum %p0 dims [1] {init = 5.0 : f64}",
               "2xf32")};
}

Case attention(const std::string &name, const std::string &q,
               const std::string &kv, const std::string &attrs) {
  std::string lse = "2x4x3xf32";
  return {"attention " + name,
          {q, kv, kv},
          {},
          "%r, %lse = stretto.attention %p0, %p1, %p2 {" + attrs +
              "scale = 0.5 : f64} : " + tensor(q) + ", " + tensor(kv) + ", " +
              tensor(kv) + " -> " + tensor(q) + ", " + tensor(lse),
          q};
}

Case crossEntropy(const std::string &smoothing, bool lse) {
  return {"cross_entropy " + smoothing + (lse ? " lse" : ""),
          {"2x3x5xf32"},
          {"2x3xi32"},
          std::string(lse ? "%loss, %r" : "%r, %lse") +
              " = stretto.cross_entropy %p0, %i0 {smoothing = " + smoothing +
              " : f64} : tensor<2x3x5xf32>, tensor<2x3xi32> -> "
              "tensor<2x3xf32>, tensor<2x3xf32>",
          "2x3xf32"};
}

std::vector<Case> fusedCases() {
  std::vector<Case> cases = {
      unary("softmax", "2x5xf32", Domain::Normal, "{dim = 1 : i64}"),
      unary("softmax", "3x2x4xf32", Domain::Normal, "{dim = 0 : i64}"),
      attention("causal", "2x3x4x2xf32", "2x3x4x2xf32", "causal, "),
      attention("full", "2x3x4x2xf32", "2x3x4x2xf32", ""),
      attention("grouped", "2x3x4x2xf32", "2x3x2x2xf32", "causal, "),
      attention("longer keys", "2x3x4x2xf32", "2x5x1x2xf32", "causal, "),
      attention("dropout", "2x3x4x2xf32", "2x3x2x2xf32",
                "causal, p = 0.25 : f64, "),
      crossEntropy("0.0", false),
      crossEntropy("0.1", false),
      crossEntropy("0.1", true)};
  for (const char *shape : {"2x3x6xf32", "4x3xf32", "5xf32"}) {
    std::string text = shape;
    size_t last = text.rfind('x', text.size() - 5);
    std::string vector =
        last == std::string::npos ? text : text.substr(last + 1);
    cases.push_back(
        {"layer_norm " + text,
         {text, vector, vector},
         {},
         "%r = stretto.layer_norm %p0, %p1, %p2 {eps = 1.0e-5 : f64} : " +
             tensor(text) + ", " + tensor(vector) + ", " + tensor(vector) +
             " -> " + tensor(text),
         text});
    cases.push_back({"rms_norm " + text,
                     {text, vector},
                     {},
                     "%r = stretto.rms_norm %p0, %p1 {eps = 1.0e-5 : f64} : " +
                         tensor(text) + ", " + tensor(vector) + " -> " +
                         tensor(text),
                     text});
  }
  for (const char *attrs : {"", "{transposed}", "{base = 50.0 : f64}"})
    cases.push_back({std::string("rope ") + attrs,
                     {"2x3x2x4xf32"},
                     {"2x3xi32"},
                     std::string("%r = stretto.rope %p0, %i0 ") + attrs +
                         " : tensor<2x3x2x4xf32>, tensor<2x3xi32> -> "
                         "tensor<2x3x2x4xf32>",
                     "2x3x2x4xf32"});
  return cases;
}

std::string testName(const ::testing::TestParamInfo<Case> &info) {
  std::string name;
  for (char c : info.param.name)
    name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name + "_" + std::to_string(info.index);
}

INSTANTIATE_TEST_SUITE_P(Elementwise, AdjointTest,
                         ::testing::ValuesIn(elementwiseCases()), testName);
INSTANTIATE_TEST_SUITE_P(Structured, AdjointTest,
                         ::testing::ValuesIn(structuredCases()), testName);
INSTANTIATE_TEST_SUITE_P(Movement, AdjointTest,
                         ::testing::ValuesIn(movementCases()), testName);
INSTANTIATE_TEST_SUITE_P(Fused, AdjointTest, ::testing::ValuesIn(fusedCases()),
                         testName);
} // namespace
