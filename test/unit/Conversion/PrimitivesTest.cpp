//===- PrimitivesTest.cpp - every primitive operation, compiled -----------===//

#include "KernelHarness.h"
#include "gtest/gtest.h"

namespace {

/// Text of a segment with one result per added operation.
class Segment {
public:
  explicit Segment(std::string arguments) : arguments(std::move(arguments)) {}

  void add(const std::string &operation, const std::string &operandTypes,
           const std::string &type) {
    std::string name = "%r" + std::to_string(count++);
    body += "  " + name + " = stretto." + operation + " : " + operandTypes +
            " -> " + type + "\n";
    results += (results.empty() ? "" : ", ") + name;
    types += (types.empty() ? "" : ", ") + type;
  }
  std::string text() const {
    return "stretto.segment @f(" + arguments + ") -> (" + types +
           ") attributes {direction = \"forward\"} {\n" + body +
           "  stretto.yield " + results + " : " + types + "\n}";
  }

private:
  std::string arguments, body, results, types;
  int count = 0;
};

const int sizes[] = {1, 3, 33, 97};

/// Each of `ops` on a matrix of so many columns.
std::string unary(std::initializer_list<const char *> ops, int cols) {
  std::string type = "tensor<5x" + std::to_string(cols) + "xf32>";
  Segment segment("%x: " + type);
  for (std::string op : ops) {
    size_t attributes = op.find(' ');
    segment.add(op.substr(0, attributes) + " %x" +
                    (attributes == op.npos ? "" : op.substr(attributes)),
                type, type);
  }
  return segment.text();
}

TEST(Unary, FunctionsAreExactToAMillionth) {
  for (int size : sizes) {
    for (double scale : {0.01, 1.0, 6.0})
      expectSame(unary({"neg", "exp", "tanh", "sigmoid", "erf", "silu", "gelu",
                        "gelu {tanh}"},
                       size),
                 {1e-6, 0, 5, 0, scale});
    // Arguments of both signs: NaN where the function has none.
    expectSame(unary({"log", "sqrt", "rsqrt"}, size));
  }
}

TEST(Unary, ExpReachesBothEndsOfTheRange) {
  expectSame(unary({"exp"}, 33), {1e-6, 0, 5, 0, 60});
  expectSame(unary({"exp"}, 33), {1e-6, 0, 5, -90, 5});
}

TEST(Binary, AlignsTrailingDimensions) {
  for (int size : sizes) {
    std::string n = std::to_string(size) + "x";
    std::string big = "tensor<4x3x" + n + "f32>";
    for (std::string shape : {"4x3x" + n, "3x" + n, n, std::string()}) {
      std::string small = "tensor<" + shape + "f32>";
      Segment segment("%x: " + big + ", %y: " + small);
      for (std::string op :
           {"add", "sub", "mul", "div", "maximum", "minimum"}) {
        segment.add(op + " %x, %y", big + ", " + small, big);
        segment.add(op + " %y, %x", small + ", " + big, big);
      }
      expectSame(segment.text());
    }
  }
}

TEST(Reduce, AnyDimensionsAnyKind) {
  for (int size : sizes) {
    std::string n = std::to_string(size) + "x", x = "tensor<3x5x" + n + "f32>";
    struct Case {
      std::string dims, shape;
    } cases[] = {{"0", "5x" + n}, {"1", "3x" + n}, {"2", "3x5x"},  {"0, 1", n},
                 {"1, 2", "3x"},  {"0, 2", "5x"},  {"0, 1, 2", ""}};
    for (auto &c : cases) {
      Segment segment("%x: " + x);
      for (std::string kind : {"sum", "max", "min", "prod"})
        segment.add("reduce " + kind + " %x dims [" + c.dims + "]", x,
                    "tensor<" + c.shape + "f32>");
      expectSame(segment.text());
    }
  }
}

TEST(Reduce, LongSumsStayAccurate) {
  expectSame(R"(
stretto.segment @f(%x: tensor<1000x1001xf32>) -> tensor<f32> attributes {direction = "forward"} {
  %s = stretto.reduce sum %x dims [0, 1] : tensor<1000x1001xf32> -> tensor<f32>
  stretto.yield %s : tensor<f32>
})",
             {2e-7, 0, 5, 1.0, 0.3});
}

TEST(Shapes, BroadcastAndTranspose) {
  expectSame(R"(
stretto.segment @f(%x: tensor<3x97xf32>) -> (tensor<3x5x97xf32>, tensor<97x3xf32>) attributes {direction = "forward"} {
  %b = stretto.broadcast %x dims [0, 2] : tensor<3x97xf32> -> tensor<3x5x97xf32>
  %t = stretto.transpose %x perm [1, 0] : tensor<3x97xf32> -> tensor<97x3xf32>
  stretto.yield %b, %t : tensor<3x5x97xf32>, tensor<97x3xf32>
})");
  expectSame(R"(
stretto.segment @f(%x: tensor<4x3x33x2xf32>) -> tensor<33x4x2x3xf32> attributes {direction = "forward"} {
  %t = stretto.transpose %x perm [2, 0, 3, 1] : tensor<4x3x33x2xf32> -> tensor<33x4x2x3xf32>
  stretto.yield %t : tensor<33x4x2x3xf32>
})");
  // A square matrix plus its transpose cannot be one kernel.
  expectSame(R"(
stretto.segment @f(%x: tensor<33x33xf32>) -> tensor<33x33xf32> attributes {direction = "forward"} {
  %t = stretto.transpose %x perm [1, 0] : tensor<33x33xf32> -> tensor<33x33xf32>
  %s = stretto.add %x, %t : tensor<33x33xf32>, tensor<33x33xf32> -> tensor<33x33xf32>
  stretto.yield %s : tensor<33x33xf32>
})");
}

TEST(Pointwise, CompareSelectConvertIotaConstant) {
  for (const char *predicate : {"eq", "ne", "lt", "le", "gt", "ge"}) {
    std::string p = predicate;
    expectSame(
        "stretto.segment @f(%x: tensor<3x33xf32>, %i: tensor<3x33xi32>) -> "
        "(tensor<3x33xf32>, tensor<3x33xi1>, tensor<3x33xi32>) attributes "
        "{direction = \"forward\"} {\n"
        "  %z = stretto.constant 0.5 : tensor<f32>\n"
        "  %c = stretto.compare " +
            p +
            " %x, %z : tensor<3x33xf32>, tensor<f32> -> tensor<3x33xi1>\n"
            "  %k = stretto.iota %x {dim = 1 : i64} : tensor<3x33xf32> -> "
            "tensor<3x33xi32>\n"
            "  %d = stretto.compare " +
            p +
            " %k, %i : tensor<3x33xi32>, tensor<3x33xi32> -> tensor<3x33xi1>\n"
            "  %kf = stretto.convert %k : tensor<3x33xi32> -> "
            "tensor<3x33xf32>\n"
            "  %s = stretto.select %c, %x, %kf : tensor<3x33xi1>, "
            "tensor<3x33xf32>, tensor<3x33xf32> -> tensor<3x33xf32>\n"
            "  %xi = stretto.convert %x : tensor<3x33xf32> -> "
            "tensor<3x33xi32>\n"
            "  %t = stretto.select %d, %i, %xi : tensor<3x33xi1>, "
            "tensor<3x33xi32>, tensor<3x33xi32> -> tensor<3x33xi32>\n"
            "  stretto.yield %s, %d, %t : tensor<3x33xf32>, tensor<3x33xi1>, "
            "tensor<3x33xi32>\n}",
        {2e-6, 0, 40});
  }
}

/// Dropout of a shard [3, 2, n] whose samples stand in dimension `sampleDim`.
std::string dropoutOfShard(int n, int sampleDim) {
  const std::string mesh = "#stretto.offset<mesh<dp = 2, tp = 2>, [";
  std::string x = "tensor<3x2x" + std::to_string(n) + "xf32>";
  std::string columns = "tp * " + std::to_string(n) + "]>";
  std::string offsets[] = {"]>", "]>", columns}, extents[] = {"3", "2", ""};
  extents[2] = std::to_string(2 * n);
  int samples = sampleDim == 2 ? n : 3 - sampleDim;
  offsets[sampleDim] = "dp * " + std::to_string(samples) + "], microbatch * " +
                       std::to_string(2 * samples) + ">";
  extents[sampleDim] = std::to_string(2 * samples);
  std::string lists[2];
  for (int dim = 0; dim < 3; ++dim) {
    lists[0] += (dim ? ", " : "") + extents[dim];
    lists[1] += (dim ? ", " : "") + mesh + offsets[dim];
  }
  return "stretto.segment @f(%x: " + x + ") -> " + x +
         " attributes {direction = \"forward\"} {\n  %d = stretto.dropout %x "
         "{p = 0.3 : f64, op_id = 5 : i64, extents = array<i64: " +
         lists[0] + ">, sample_dim = " + std::to_string(sampleDim) +
         " : i64, offsets = [" + lists[1] + "]} : " + x + " -> " + x +
         "\n  stretto.yield %d : " + x + "\n}";
}

TEST(Random, DropoutDrawsWhatTheReferenceDraws) {
  for (int size : sizes)
    for (int sampleDim : {0, 1, 2})
      expectSame(dropoutOfShard(size, sampleDim), {}, "dp = 2, tp = 2");
}

TEST(Embedding, GathersRowsAndScattersGradients) {
  for (int size : sizes) {
    std::string n = std::to_string(size), table = "tensor<5x" + n + "xf32>",
                y = "tensor<4x3x" + n + "xf32>";
    std::string offset = "#stretto.offset<mesh<tp = 2>, [tp * 5]>";
    expectSame(
        "stretto.segment @f(%w: " + table +
            ", %ids: tensor<4x3xi32>, %dy: " + y + ", %acc: " + table +
            ") -> (" + y + ", " + table + ", " + table +
            " {stretto.alias = 3 : i64}) attributes {direction = \"forward\"} "
            "{\n"
            "  %y = stretto.embedding %w, %ids {offset = " +
            offset + "} : " + table + ", tensor<4x3xi32> -> " + y +
            "\n"
            "  %g = stretto.embedding_grad %ids, %dy {offset = " +
            offset + "} : tensor<4x3xi32>, " + y + " -> " + table +
            "\n"
            "  %h = stretto.embedding_grad %ids, %dy : tensor<4x3xi32>, " +
            y + " -> " + table +
            "\n"
            "  %s = stretto.add %acc, %h : " +
            table + ", " + table + " -> " + table +
            "\n"
            "  stretto.yield %y, %g, %s : " +
            y + ", " + table + ", " + table + "\n}",
        {2e-6, -2, 12}, "tp = 2");
  }
}

TEST(Embedding, PositionsAreRowsThatRepeatOverTheBatch) {
  expectSame(R"(
stretto.segment @f(%w: tensor<7x33xf32>, %like: tensor<4x5xi32>, %dy: tensor<4x5x33xf32>) -> (tensor<4x5x33xf32>, tensor<7x33xf32>) attributes {direction = "backward"} {
  %i = stretto.iota %like {dim = 1 : i64} : tensor<4x5xi32> -> tensor<4x5xi32>
  %y = stretto.embedding %w, %i : tensor<7x33xf32>, tensor<4x5xi32> -> tensor<4x5x33xf32>
  %g = stretto.embedding_grad %i, %dy : tensor<4x5xi32>, tensor<4x5x33xf32> -> tensor<7x33xf32>
  stretto.yield %y, %g : tensor<4x5x33xf32>, tensor<7x33xf32>
})");
}

TEST(Placement, PadSliceMaskAndKeepFirst) {
  std::string group = "#stretto.group<mesh<dp = 2, tp = 2>, {tp}>";
  expectSame(
      "stretto.segment @f(%x: tensor<4x34xf32>, %y: tensor<3x33xf32>) -> "
      "(tensor<4x17xf32>, tensor<2x34xf32>, tensor<4x40xf32>, "
      "tensor<2x30xf32>, tensor<4x34xf32>, tensor<4x34xf32>) attributes "
      "{direction = \"forward\"} {\n"
      "  %a = stretto.shard_slice %x {group = " +
          group +
          ", dim = 1 : i64, cause = \"c\"} : tensor<4x34xf32> -> "
          "tensor<4x17xf32>\n"
          "  %b = stretto.shard_slice %x {group = " +
          group +
          ", dim = 0 : i64} : tensor<4x34xf32> -> tensor<2x34xf32>\n"
          "  %c = stretto.pad_extent %y : tensor<3x33xf32> -> "
          "tensor<4x40xf32>\n"
          "  %d = stretto.pad_extent %y : tensor<3x33xf32> -> "
          "tensor<2x30xf32>\n"
          "  %e = stretto.keep_first %x {group = " +
          group +
          "} : tensor<4x34xf32> -> tensor<4x34xf32>\n"
          "  %g = stretto.mask_pad %x {dim = 1 : i64, size = 61 : i64, value = "
          "-1.0e30 : f64, offset = #stretto.offset<mesh<dp = 2, tp = 2>, [tp * "
          "34]>} : tensor<4x34xf32> -> tensor<4x34xf32>\n"
          "  stretto.yield %a, %b, %c, %d, %e, %g : tensor<4x17xf32>, "
          "tensor<2x34xf32>, tensor<4x40xf32>, tensor<2x30xf32>, "
          "tensor<4x34xf32>, tensor<4x34xf32>\n}",
      {}, "dp = 2, tp = 2");
}

TEST(Placement, SlicesAndPadsOfComputedValues) {
  expectSame(R"(
stretto.segment @f(%x: tensor<4x34xf32>, %t: tensor<9x34xf32>, %r: tensor<2x34xf32>) -> (tensor<2x17xf32>, tensor<6x50xf32>, tensor<2x34xf32>) attributes {direction = "forward"} {
  %e = stretto.exp %x : tensor<4x34xf32> -> tensor<4x34xf32>
  %a = stretto.shard_slice %e {group = #stretto.group<mesh<dp = 2, tp = 2>, {tp}>, dim = 1 : i64} : tensor<4x34xf32> -> tensor<4x17xf32>
  %b = stretto.tanh %a : tensor<4x17xf32> -> tensor<4x17xf32>
  %c = stretto.shard_slice %b {group = #stretto.group<mesh<dp = 2, tp = 2>, {dp}>, dim = 0 : i64} : tensor<4x17xf32> -> tensor<2x17xf32>
  %d = stretto.sigmoid %x : tensor<4x34xf32> -> tensor<4x34xf32>
  %p = stretto.pad_extent %d : tensor<4x34xf32> -> tensor<6x50xf32>
  %i = stretto.iota %x {dim = 0 : i64} : tensor<4x34xf32> -> tensor<4x34xi32>
  %i0 = stretto.reduce max %i dims [1] : tensor<4x34xi32> -> tensor<4xi32>
  %y = stretto.embedding %t, %i0 : tensor<9x34xf32>, tensor<4xi32> -> tensor<4x34xf32>
  %s = stretto.shard_slice %y {group = #stretto.group<mesh<dp = 2, tp = 2>, {tp}>, dim = 0 : i64} : tensor<4x34xf32> -> tensor<2x34xf32>
  %z = stretto.add %r, %s : tensor<2x34xf32>, tensor<2x34xf32> -> tensor<2x34xf32>
  stretto.yield %c, %p, %z : tensor<2x17xf32>, tensor<6x50xf32>, tensor<2x34xf32>
})",
             {2e-6, 0, 5, 0, 1, 3}, "dp = 2, tp = 2");
}

TEST(Rope, RotatesPairsAndBack) {
  for (const char *headDim : {"2", "4", "8"})
    for (const char *transposed : {"", ", transposed"}) {
      std::string x = std::string("tensor<2x5x3x") + headDim + "xf32>";
      expectSame("stretto.segment @f(%x: " + x + ", %p: tensor<2x5xi32>) -> " +
                     x +
                     " attributes {direction = \"forward\"} {\n"
                     "  %y = stretto.rope %x, %p {base = 10000.0 : f64" +
                     transposed + "} : " + x + ", tensor<2x5xi32> -> " + x +
                     "\n  stretto.yield %y : " + x + "\n}",
                 {2e-6, 0, 100000});
    }
}

/// A pair is the whole head: its dimension and others of extent 2 stay apart.
TEST(Rope, RotatesHeadsOfOnePairAmongOthersOfTwo) {
  expectSame(R"(
stretto.segment @f(%x: tensor<2x2x2x2xf32>, %g: tensor<2xf32>, %p: tensor<2x2xi32>) -> (tensor<2x2x2x2xf32>, tensor<2x2x2x2xf32>) attributes {direction = "forward"} {
  %n = stretto.rms_norm %x, %g {eps = 1.0e-5 : f64} : tensor<2x2x2x2xf32>, tensor<2xf32> -> tensor<2x2x2x2xf32>
  %y = stretto.rope %n, %p {base = 10000.0 : f64} : tensor<2x2x2x2xf32>, tensor<2x2xi32> -> tensor<2x2x2x2xf32>
  %e = stretto.exp %y : tensor<2x2x2x2xf32> -> tensor<2x2x2x2xf32>
  stretto.yield %y, %e : tensor<2x2x2x2xf32>, tensor<2x2x2x2xf32>
})",
             {5e-6, 0, 1000, 0, 1, 1});
}

TEST(Einsum, EveryFormOfProduct) {
  struct Case {
    const char *spec, *lhs, *rhs, *result;
  } cases[] = {
      {"b s e, e h d -> b s h d", "2x5x12x", "12x3x4x", "2x5x3x4x"},
      {"b s h d, h d e -> b s e", "2x5x3x4x", "3x4x12x", "2x5x12x"},
      {"b s h d, e h d -> b s e", "2x5x3x4x", "12x3x4x", "2x5x12x"},
      {"b s e, b s h d -> e h d", "2x5x12x", "2x5x3x4x", "12x3x4x"},
      {"b s e, v e -> b s v", "2x5x12x", "7x12x", "2x5x7x"},
      {"b q h d, b k h d -> b h q k", "2x5x3x4x", "2x6x3x4x", "2x3x5x6x"},
      {"b h q k, b k h d -> b q h d", "2x3x5x6x", "2x6x3x4x", "2x5x3x4x"},
      {"i j k, k j -> i", "3x5x7x", "7x5x", "3x"},
      {"i j, j i -> ", "5x7x", "7x5x", ""},
      {"i, j -> j i", "5x", "7x", "7x5x"},
      {"b i, b i -> b", "5x7x", "5x7x", "5x"},
      {"b i, b j -> b i j", "5x7x", "5x3x", "5x7x3x"},
      {"i k, k -> i", "5x7x", "7x", "5x"},
      {"i j k l, l j m -> m k i", "2x3x4x5x", "5x3x6x", "6x4x2x"}};
  for (auto &c : cases) {
    std::string l = std::string("tensor<") + c.lhs + "f32>",
                r = std::string("tensor<") + c.rhs + "f32>",
                y = std::string("tensor<") + c.result + "f32>";
    expectSame("stretto.segment @f(%a: " + l + ", %b: " + r + ", %acc: " + y +
                   ", %dead: " + y + ") -> (" + y + ", " + y +
                   " {stretto.alias = 2 : i64}, " + y +
                   ") attributes {direction = \"forward\"} {\n"
                   "  %y = stretto.einsum \"" +
                   c.spec + "\" %a, %b : " + l + ", " + r + " -> " + y +
                   "\n"
                   "  %a2 = stretto.neg %a : " +
                   l + " -> " + l +
                   "\n"
                   "  %z = stretto.einsum \"" +
                   c.spec + "\" %a2, %b : " + l + ", " + r + " -> " + y +
                   "\n"
                   "  %s = stretto.add %acc, %z : " +
                   y + ", " + y + " -> " + y +
                   "\n"
                   "  %b2 = stretto.exp %b : " +
                   r + " -> " + r +
                   "\n"
                   "  %u = stretto.einsum \"" +
                   c.spec + "\" %a, %b2 : " + l + ", " + r + " -> " + y +
                   "\n"
                   "  %v = stretto.einsum \"" +
                   c.spec + "\" %a2, %b2 : " + l + ", " + r + " -> " + y +
                   "\n"
                   "  %w = stretto.add %u, %v : " +
                   y + ", " + y + " -> " + y +
                   "\n"
                   "  %q = stretto.sub %w, %dead : " +
                   y + ", " + y + " -> " + y +
                   "\n"
                   "  stretto.yield %y, %s, %q : " +
                   y + ", " + y + ", " + y + "\n}",
               {5e-6});
  }
}

} // namespace
