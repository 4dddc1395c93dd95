//===- RandomGraphsTest.cpp - random segments, compiled -------------------===//
//
// Segments of random operations on tensors over subsets of three dimensions,
// with accumulators in place: whatever groups, nests and temporaries come out,
// the results are the interpreter's.
//
//===----------------------------------------------------------------------===//

#include "KernelHarness.h"
#include "gtest/gtest.h"
#include <map>
#include <random>
#include <vector>

namespace {

class Generator {
public:
  explicit Generator(unsigned seed) : random(seed) {
    const int choices[] = {1, 2, 3, 5, 8, 17, 33, 70};
    for (char letter : {'B', 'S', 'C'})
      extents[letter] = choices[pick(8)];
    extents['D'] = extents['C'] + 3; // C padded
  }

  std::string segment() {
    for (const char *dims : {"BSC", "BSC", "SC", "C", "C", "BS", ""})
      argument(dims);
    std::string accC = argument("C"), accS = argument("");
    values.resize(values.size() - 2); // accumulators are for the end
    unsigned count = 6 + pick(16);
    for (unsigned i = 0; i < count; ++i)
      step();
    std::string results, types, yields;
    auto yield = [&](const Value &value, const std::string &attributes) {
      results += (results.empty() ? "" : ", ") + type(value.dims) + attributes;
      types += (types.empty() ? "" : ", ") + type(value.dims);
      yields += (yields.empty() ? "" : ", ") + value.name;
    };
    for (int i = 0; i < 4; ++i)
      yield(
          values[values.size() - 1 - pick(std::min<size_t>(values.size(), 8))],
          "");
    yield(accumulate({accC, "C"}), " {stretto.alias = 7 : i64}");
    yield(accumulate({accS, ""}), " {stretto.alias = 8 : i64}");
    return "stretto.segment @f(" + arguments + ") -> (" + results +
           ") attributes {direction = \"backward\"} {\n" + body +
           "  stretto.yield " + yields + " : " + types + "\n}";
  }

private:
  struct Value {
    std::string name, dims;
  };

  unsigned pick(unsigned limit) { return random() % limit; }
  Value any() { return values[pick(values.size())]; }

  std::string type(const std::string &dims,
                   const std::string &element = "f32") {
    std::string text = "tensor<";
    for (char letter : dims)
      text += std::to_string(extents[letter]) + "x";
    return text + element + ">";
  }

  std::string argument(const std::string &dims) {
    std::string name = "%a" + std::to_string(values.size());
    arguments += (arguments.empty() ? "" : ", ") + name + ": " + type(dims);
    values.push_back({name, dims});
    return name;
  }

  std::string fresh() { return "%v" + std::to_string(next++); }

  Value emit(const std::string &dims, const std::string &text,
             const std::string &types, const std::string &element = "f32") {
    Value value{fresh(), dims};
    body += "  " + value.name + " = stretto." + text + " : " + types + " -> " +
            type(dims, element) + "\n";
    return value;
  }

  Value unary(const std::string &op, const Value &x,
              const std::string &attributes = "") {
    return emit(x.dims, op + " " + x.name + attributes, type(x.dims));
  }
  Value binary(const std::string &op, const Value &x, const Value &y) {
    return emit(x.dims.size() >= y.dims.size() ? x.dims : y.dims,
                op + " " + x.name + ", " + y.name,
                type(x.dims) + ", " + type(y.dims));
  }
  Value constant(double value) {
    Value result{fresh(), ""};
    body += "  " + result.name + " = stretto.constant " +
            std::to_string(value) + " : tensor<f32>\n";
    return result;
  }
  Value reduce(const std::string &kind, const Value &x, unsigned mask) {
    std::string kept, dims;
    double count = 1;
    for (unsigned i = 0; i < x.dims.size(); ++i)
      if (mask >> i & 1) {
        dims += (dims.empty() ? "" : ", ") + std::to_string(i);
        count *= extents[x.dims[i]];
      } else {
        kept += x.dims[i];
      }
    Value sum =
        emit(kept, "reduce " + kind + " " + x.name + " dims [" + dims + "]",
             type(x.dims));
    return kind == "sum" ? binary("mul", sum, constant(1 / count)) : sum;
  }

  /// A partner for pointwise operations: one's dimensions end with the other's.
  Value partner(const Value &x) {
    std::vector<Value> fitting;
    for (const Value &y : values) {
      const std::string &big = x.dims.size() > y.dims.size() ? x.dims : y.dims;
      const std::string &small =
          x.dims.size() > y.dims.size() ? y.dims : x.dims;
      if (big.compare(big.size() - small.size(), small.size(), small) == 0)
        fitting.push_back(y);
    }
    return fitting[pick(fitting.size())];
  }

  void step() {
    Value x = any();
    switch (pick(12)) {
    case 0:
    case 1: {
      const char *ops[] = {"tanh", "sigmoid", "neg", "erf", "gelu", "silu"};
      values.push_back(unary(ops[pick(6)], x));
      return;
    }
    case 2:
      values.push_back(unary("exp", unary("tanh", x)));
      return;
    case 3:
    case 4:
    case 5: {
      const char *ops[] = {"add", "sub", "mul", "maximum"};
      values.push_back(unary("tanh", binary(ops[pick(4)], x, partner(x))));
      return;
    }
    case 6:
    case 7:
      if (!x.dims.empty())
        values.push_back(reduce(pick(3) ? "sum" : "max", x,
                                1 + pick((1u << x.dims.size()) - 1)));
      return;
    case 8:
      return broadcast(x);
    case 9:
      return normalise(x);
    case 10: {
      Value y = partner(x);
      if (x.dims.size() < y.dims.size())
        std::swap(x, y);
      Value c = emit(x.dims, "compare lt " + x.name + ", " + y.name,
                     type(x.dims) + ", " + type(y.dims), "i1");
      values.push_back(
          emit(x.dims, "select " + c.name + ", " + x.name + ", " + y.name,
               type(x.dims, "i1") + ", " + type(x.dims) + ", " + type(y.dims)));
      return;
    }
    case 11:
      return rearrange(x);
    }
  }

  void broadcast(const Value &x) {
    std::string all = "BSC", dims;
    size_t from = 0;
    for (char letter : x.dims) {
      size_t at = all.find(letter, from);
      if (at == std::string::npos)
        return; // not in order
      dims += (dims.empty() ? "" : ", ") + std::to_string(at);
      from = at + 1;
    }
    if (x.dims.size() < 3)
      values.push_back(emit(
          "BSC", "broadcast " + x.name + " dims [" + dims + "]", type(x.dims)));
  }

  void normalise(const Value &x) {
    if (x.dims.empty())
      return;
    if (x.dims.back() == 'C' && pick(2))
      values.push_back(
          emit(x.dims, "layer_norm " + x.name + ", %a3, %a4 {eps = 0.1 : f64}",
               type(x.dims) + ", " + type("C") + ", " + type("C")));
    else
      values.push_back(
          unary("softmax", x,
                " {dim = " + std::to_string(pick(x.dims.size())) + " : i64}"));
  }

  void rearrange(const Value &x) {
    if (!x.dims.empty() && x.dims.back() == 'C' && pick(2))
      return pad(x);
    if (x.dims.size() < 2)
      return;
    if (pick(2)) {
      std::string dims(x.dims.rbegin(), x.dims.rend()), permutation;
      for (size_t i = x.dims.size(); i-- > 0;)
        permutation += (permutation.empty() ? "" : ", ") + std::to_string(i);
      values.push_back(
          emit(dims, "transpose " + x.name + " perm [" + permutation + "]",
               type(x.dims)));
      return;
    }
    std::string list;
    for (char letter : x.dims)
      list += (list.empty() ? "" : ", ") + std::to_string(extents[letter]);
    values.push_back(unary("dropout", x,
                           " {p = 0.25 : f64, op_id = " + std::to_string(next) +
                               " : i64, extents = array<i64: " + list +
                               ">, sample_dim = 0 : i64}"));
  }

  /// Padded, changed, cut again; the padded sum is a value of its own.
  void pad(const Value &x) {
    std::string padded = x.dims.substr(0, x.dims.size() - 1) + "D";
    Value wide =
        unary("exp", emit(padded, "pad_extent " + x.name, type(x.dims)));
    if (pick(2))
      values.push_back(reduce("sum", wide, 1u << (padded.size() - 1)));
    values.push_back(emit(x.dims, "pad_extent " + wide.name, type(padded)));
    values.back() = unary("tanh", values.back());
  }

  Value accumulate(const Value &acc) {
    std::vector<Value> fitting;
    for (const Value &y : values)
      if (y.dims.size() > acc.dims.size() &&
          (acc.dims.empty() || y.dims.back() == acc.dims.back()))
        fitting.push_back(y);
    Value x = fitting[pick(fitting.size())];
    unsigned mask = (1u << (x.dims.size() - acc.dims.size())) - 1;
    return binary("add", acc, reduceRaw(x, mask));
  }
  /// The plain sum, as gradients are accumulated.
  Value reduceRaw(const Value &x, unsigned mask) {
    std::string dims;
    for (unsigned i = 0; i < x.dims.size(); ++i)
      if (mask >> i & 1)
        dims += (dims.empty() ? "" : ", ") + std::to_string(i);
    std::string kept = x.dims.substr(countOf(mask));
    return emit(kept, "reduce sum " + x.name + " dims [" + dims + "]",
                type(x.dims));
  }
  static unsigned countOf(unsigned mask) { return __builtin_popcount(mask); }

  std::mt19937 random;
  std::map<char, int> extents;
  std::vector<Value> values;
  std::string arguments, body;
  unsigned next = 0;
};

TEST(RandomGraphs, CompiledEqualsInterpreted) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    // Every fourth without vector extensions.
    expectSame(Generator(seed).segment(),
               {3e-5, 0, 5, 0, 1, -1, seed % 4 ? "host" : "x86-64", 0.1});
    if (testing::Test::HasFailure())
      return;
  }
}

} // namespace
