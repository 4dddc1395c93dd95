//===- OpSamples.h - one small instance of every operation ------*- C++ -*-===//
//
// Operations on tiny shapes, with dimensions that divide by two and dimensions
// that do not, and values for their operands: what tests of a property of every
// operation run over.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TEST_UNIT_INTERPRETER_OPSAMPLES_H
#define STRETTO_TEST_UNIT_INTERPRETER_OPSAMPLES_H

#include "TestProgram.h"

#include <cmath>

namespace stretto::interp {

struct Sample {
  std::string name;
  std::string arguments; // "%a: ..., %b: ..."
  std::string op;
  std::string types;
  int results = 1;
};

/// A value for operand `index` of a sample. Reals are positive, for log and
/// sqrt; scalars are `scalar`; integers are below 7.
inline Tensor sampleValue(mlir::Type operandType, unsigned index,
                          double scalar = 1) {
  auto type = mlir::cast<mlir::RankedTensorType>(operandType);
  if (!mlir::isa<mlir::FloatType>(type.getElementType())) {
    Tensor ids = Tensor::ints(type.getShape());
    for (auto [i, id] : llvm::enumerate(ids.writeInts()))
      id = type.getElementType().isInteger(1) ? i % 3 == 0 : (i * 5 + 1) % 7;
    return ids;
  }
  if (type.getRank() == 0)
    return Tensor::scalar(scalar);
  Tensor reals = randoms(type.getShape(), 10 + index);
  for (double &x : reals.writeFloats())
    x = std::abs(x) + 0.5;
  return reals;
}

inline std::string f32(const std::string &shape) {
  return "tensor<" + shape + "xf32>";
}

/// "x op y" on full shapes, and with a vector and a scalar on the right.
inline void addBinary(std::vector<Sample> &samples, const std::string &name) {
  std::string full = f32("4x3x2");
  for (const std::string &other : {full, f32("2"), std::string("tensor<f32>")})
    samples.push_back(
        {name + std::to_string(samples.size()),
         "%a: " + full + ", %b: " + other,
         "stretto." + name + " %a, %b : " + full + ", " + other + " -> " + full,
         full});
}

inline std::vector<Sample> elementwiseSamples() {
  std::vector<Sample> samples;
  std::string t = f32("4x3");
  for (const char *name : {"neg", "exp", "log", "sqrt", "rsqrt", "tanh",
                           "sigmoid", "erf", "silu", "gelu"})
    samples.push_back(
        {name, "%x: " + t,
         std::string("stretto.") + name + " %x : " + t + " -> " + t, t});
  samples.push_back({"gelu_tanh", "%x: " + t,
                     "stretto.gelu %x {tanh} : " + t + " -> " + t, t});
  for (const char *name : {"add", "sub", "mul", "div", "maximum", "minimum"})
    addBinary(samples, name);
  samples.push_back({"compare", "%a: " + t + ", %b: " + f32("3"),
                     "stretto.compare lt %a, %b : " + t + ", " + f32("3") +
                         " -> tensor<4x3xi1>",
                     "tensor<4x3xi1>"});
  samples.push_back({"select",
                     "%c: tensor<4x3xi1>, %a: " + t + ", %b: tensor<f32>",
                     "stretto.select %c, %a, %b : tensor<4x3xi1>, " + t +
                         ", tensor<f32> -> " + t,
                     t});
  samples.push_back({"convert", "%x: tensor<4x3xi32>",
                     "stretto.convert %x : tensor<4x3xi32> -> " + t, t});
  samples.push_back(
      {"convert_rounding_parts", "%x: " + t,
       "stretto.convert %x {rounds_parts} : " + t + " -> tensor<4x3xbf16>",
       "tensor<4x3xbf16>"});
  samples.push_back(
      {"dropout", "%x: " + t,
       "stretto.dropout %x {p = 0.5 : f64, op_id = 1 : i64, extents "
       "= array<i64: 4, 3>, sample_dim = 0 : i64} : " +
           t + " -> " + t,
       t});
  samples.push_back(
      {"mask_pad", "%x: " + t,
       "stretto.mask_pad %x {dim = 0 : i64, size = 3 : i64, value = "
       "7.0 : f64} : " +
           t + " -> " + t,
       t});
  samples.push_back(
      {"mask_zero", "%x: " + t,
       "stretto.mask_pad %x {dim = 0 : i64, size = 3 : i64, value = "
       "0.0 : f64} : " +
           t + " -> " + t,
       t});
  return samples;
}

inline std::vector<Sample> structuredSamples() {
  std::vector<Sample> samples;
  samples.push_back(
      {"einsum", "%a: tensor<4x2x3xf32>, %b: tensor<2x3x4xf32>",
       "stretto.einsum \"m b k, b k n -> n b m\" %a, %b : "
       "tensor<4x2x3xf32>, tensor<2x3x4xf32> -> tensor<4x2x4xf32>",
       "tensor<4x2x4xf32>"});
  samples.push_back({"einsum_wide",
                     "%a: tensor<4x3xbf16>, %b: tensor<3x4xbf16>",
                     "stretto.einsum \"m k, k n -> m n\" %a, %b : "
                     "tensor<4x3xbf16>, tensor<3x4xbf16> -> tensor<4x4xf32>",
                     "tensor<4x4xf32>"});
  samples.push_back({"einsum_outer", "%a: tensor<4xf32>, %b: tensor<3xf32>",
                     "stretto.einsum \"i, j -> i j\" %a, %b : tensor<4xf32>, "
                     "tensor<3xf32> -> tensor<4x3xf32>",
                     "tensor<4x3xf32>"});
  for (const char *kind : {"sum", "max", "min", "prod"})
    samples.push_back(
        {std::string("reduce_") + kind, "%x: tensor<4x3x2xf32>",
         std::string("stretto.reduce ") + kind +
             " %x dims [0, 2] : tensor<4x3x2xf32> -> tensor<3xf32>",
         "tensor<3xf32>"});
  samples.push_back({"broadcast", "%x: tensor<3xf32>",
                     "stretto.broadcast %x dims [1] : tensor<3xf32> -> "
                     "tensor<4x3x2xf32>",
                     "tensor<4x3x2xf32>"});
  samples.push_back(
      {"transpose", "%x: tensor<4x3x2xf32>",
       "stretto.transpose %x perm [2, 0, 1] : tensor<4x3x2xf32> -> "
       "tensor<2x4x3xf32>",
       "tensor<2x4x3xf32>"});
  samples.push_back({"iota", "%x: tensor<4x3xf32>",
                     "stretto.iota %x {dim = 1 : i64} : tensor<4x3xf32> -> "
                     "tensor<4x3xi32>",
                     "tensor<4x3xi32>"});
  samples.push_back({"embedding", "%t: tensor<7x4xf32>, %i: tensor<4x3xi32>",
                     "stretto.embedding %t, %i : tensor<7x4xf32>, "
                     "tensor<4x3xi32> -> tensor<4x3x4xf32>",
                     "tensor<4x3x4xf32>"});
  samples.push_back({"embedding_grad",
                     "%i: tensor<4x3xi32>, %d: tensor<4x3x4xf32>",
                     "stretto.embedding_grad %i, %d : tensor<4x3xi32>, "
                     "tensor<4x3x4xf32> -> tensor<7x4xf32>",
                     "tensor<7x4xf32>"});
  std::string t = f32("4x3");
  samples.push_back({"constrain", "%x: " + t,
                     "stretto.constrain %x <[{?}, {?}]> : " + t + " -> " + t,
                     t});
  samples.push_back({"propagation_barrier", "%x: " + t,
                     "stretto.propagation_barrier none %x : " + t + " -> " + t,
                     t});
  samples.push_back({"shard_alike", "%a: " + t + ", %b: " + t,
                     "stretto.shard_alike(%a, %b) : (" + t + ", " + t +
                         ") -> (" + t + ", " + t + ")",
                     t + ", " + t, 2});
  return samples;
}

inline std::vector<Sample> movementSamples() {
  std::vector<Sample> samples;
  auto add = [&](const std::string &name, const std::string &arguments,
                 const std::string &op, const std::string &from,
                 const std::string &to, int results = 1) {
    samples.push_back({name, arguments,
                       "stretto." + op + " : " + from + " -> " + to, to,
                       results});
  };
  std::string x = f32("4x6"), i = "tensor<i32>";
  add("reshape_split", "%x: " + x, "reshape %x", x, f32("4x3x2"));
  add("reshape_merge", "%x: " + x, "reshape %x", x, f32("24"));
  add("reshape_both", "%x: " + x, "reshape %x", x, f32("8x3"));
  add("reshape_common_part", "%x: " + x, "reshape %x", x, f32("6x4"));
  add("slice", "%x: " + x,
      "slice %x dims [1] starts [1] limits [6] strides [2]", x, f32("4x3"));
  add("pad", "%x: " + x,
      "pad %x with 2.5 dims [1] low [1] high [2] interior [1]", x, f32("4x14"));
  add("pad_zero", "%x: " + x,
      "pad %x with 0.0 dims [0, 1] low [-1, 0] high [0, 1] interior [0, 0]", x,
      f32("3x7"));
  add("concat", "%x: " + x + ", %y: " + f32("4x1"), "concat %x, %y dim 1",
      x + ", " + f32("4x1"), f32("4x7"));
  add("window", "%x: " + x, "window %x {dim = 1 : i64, start = -3 : i64}", x,
      f32("4x9"));
  add("window_stride", "%x: " + x,
      "window %x {dim = 1 : i64, start = 1 : i64, stride = 2 : i64}", x,
      f32("4x3"));
  add("window_dilation", "%x: " + x,
      "window %x {dim = 1 : i64, start = -1 : i64, dilation = 2 : i64}", x,
      f32("4x12"));
  add("dynamic_slice", "%x: " + x + ", %i: " + i,
      "dynamic_slice %x[%i] dims [1]", x + ", " + i, f32("4x3"));
  add("dynamic_slice_two", "%x: " + x + ", %i: " + i + ", %j: " + i,
      "dynamic_slice %x[%i, %j] dims [0, 1]", x + ", " + i + ", " + i,
      f32("2x5"));
  add("dynamic_update_slice", "%x: " + x + ", %u: " + f32("4x3") + ", %i: " + i,
      "dynamic_update_slice %x, %u[%i] dims [1]",
      x + ", " + f32("4x3") + ", " + i, x);
  add("gather", "%x: " + x + ", %n: tensor<3xi32>", "gather %x, %n dim 1",
      x + ", tensor<3xi32>", f32("4x3"));
  add("gather_batch", "%x: " + x + ", %n: tensor<4x3xi32>",
      "gather %x, %n dim 1 {batch_dims = 1 : i64}", x + ", tensor<4x3xi32>",
      f32("4x3"));
  add("scatter_add", "%n: tensor<3xi32>, %u: " + f32("4x3"),
      "scatter_add %n, %u dim 1", "tensor<3xi32>, " + f32("4x3"), x);
  add("scatter_add_batch", "%n: tensor<4x3xi32>, %u: " + f32("4x3"),
      "scatter_add %n, %u dim 1 {batch_dims = 1 : i64}",
      "tensor<4x3xi32>, " + f32("4x3"), x);
  add("top_k", "%x: " + x, "top_k %x {dim = 1 : i64, k = 2 : i64}", x,
      f32("4x2") + ", tensor<4x2xi32>", 2);
  add("top_k_indices", "%x: " + x + ", %n: tensor<4x6xi32>",
      "top_k %x, %n {dim = 1 : i64, k = 2 : i64}", x + ", tensor<4x6xi32>",
      f32("4x2") + ", tensor<4x2xi32>", 2);
  for (const char *kind : {"max", "min"})
    add(std::string("arg_") + kind, "%x: " + x,
        std::string("arg_reduce ") + kind + " %x dim 1", x, "tensor<4xi32>");
  for (const char *kind : {"sum", "max", "min", "prod"})
    add(std::string("reduce_init_") + kind, "%x: " + x,
        std::string("reduce ") + kind + " %x dims [1] {init = 1.25 : f64}", x,
        f32("4"));
  for (const char *kind : {"and", "or"})
    add(std::string("reduce_") + kind, "%x: tensor<4x6xi1>",
        std::string("reduce ") + kind + " %x dims [1]", "tensor<4x6xi1>",
        "tensor<4xi1>");
  return samples;
}

inline std::vector<Sample> fusedSamples() {
  std::string x = f32("4x3x4"), v = f32("4");
  std::vector<Sample> samples;
  samples.push_back({"softmax", "%x: " + x,
                     "stretto.softmax %x {dim = 1 : i64} : " + x + " -> " + x,
                     x});
  samples.push_back({"layer_norm", "%x: " + x + ", %g: " + v + ", %b: " + v,
                     "stretto.layer_norm %x, %g, %b {eps = 0.1 : f64} : " + x +
                         ", " + v + ", " + v + " -> " + x,
                     x});
  samples.push_back(
      {"layer_norm_grad", "%x: " + x + ", %g: " + v + ", %d: " + x,
       "stretto.layer_norm_grad %x, %g, %d {eps = 0.1 : f64} : " + x + ", " +
           v + ", " + x + " -> " + x + ", " + v + ", " + v,
       x + ", " + v + ", " + v, 3});
  samples.push_back({"rms_norm", "%x: " + x + ", %g: " + v,
                     "stretto.rms_norm %x, %g {eps = 0.1 : f64} : " + x + ", " +
                         v + " -> " + x,
                     x});
  samples.push_back({"rms_norm_grad", "%x: " + x + ", %g: " + v + ", %d: " + x,
                     "stretto.rms_norm_grad %x, %g, %d {eps = 0.1 : f64} : " +
                         x + ", " + v + ", " + x + " -> " + x + ", " + v,
                     x + ", " + v, 2});
  samples.push_back(
      {"rope", "%x: tensor<4x3x2x4xf32>, %p: tensor<4x3xi32>",
       "stretto.rope %x, %p : tensor<4x3x2x4xf32>, tensor<4x3xi32> "
       "-> tensor<4x3x2x4xf32>",
       "tensor<4x3x2x4xf32>"});
  std::string labels = "tensor<4x3xi32>", rows = f32("4x3"),
              logits = f32("4x3x7");
  samples.push_back({"cross_entropy", "%x: " + logits + ", %l: " + labels,
                     "stretto.cross_entropy %x, %l {smoothing = 0.1 : f64} : " +
                         logits + ", " + labels + " -> " + rows + ", " + rows,
                     rows + ", " + rows, 2});
  samples.push_back(
      {"cross_entropy_grad",
       "%x: " + logits + ", %l: " + labels + ", %s: " + rows + ", %d: " + rows,
       "stretto.cross_entropy_grad %x, %l, %s, %d {smoothing = 0.1 : "
       "f64, vocabulary = 7 : i64} : " +
           logits + ", " + labels + ", " + rows + ", " + rows + " -> " + logits,
       logits});
  std::string q = f32("4x3x4x2"), k = f32("4x3x2x2"), lse = f32("4x4x3");
  std::string flags = " {causal, scale = 0.7 : f64, p = 0.3 : f64, op_id = 2 : "
                      "i64, samples = 4 : i64} : ";
  samples.push_back({"attention", "%q: " + q + ", %k: " + k + ", %v: " + k,
                     "stretto.attention %q, %k, %v" + flags + q + ", " + k +
                         ", " + k + " -> " + q + ", " + lse,
                     q + ", " + lse, 2});
  std::string keys = f32("4x8x2x2");
  samples.push_back({"attention_blocks",
                     "%q: " + q + ", %k: " + keys + ", %v: " + keys,
                     "stretto.attention %q, %k, %v {blocks = 4 : i64, " +
                         flags.substr(2) + q + ", " + keys + ", " + keys +
                         " -> tensor<4x4x3x4x2xf32>, tensor<4x4x4x3xf32>",
                     "tensor<4x4x3x4x2xf32>, tensor<4x4x4x3xf32>", 2});
  samples.push_back({"attention_grad",
                     "%q: " + q + ", %k: " + k + ", %v: " + k + ", %o: " + q +
                         ", %l: " + lse + ", %d: " + q,
                     "stretto.attention_grad %q, %k, %v, %o, %l, %d" + flags +
                         q + ", " + k + ", " + k + ", " + q + ", " + lse +
                         ", " + q + " -> " + q + ", " + k + ", " + k,
                     q + ", " + k + ", " + k, 3});
  std::string p = f32("4x3"), scalar = "tensor<f32>", hyper = f32("4");
  std::string four = p + ", " + p + ", " + p + ", " + p;
  samples.push_back(
      {"adamw",
       "%p: " + p + ", %g: " + p + ", %m: " + p + ", %v: " + p +
           ", %h: " + hyper + ", %s: " + scalar + ", %k: " + scalar,
       "stretto.adamw %p, %g, %m, %v, %h, %s, %k {beta1 = 0.5 : f64, "
       "beta2 = 0.7 : f64, eps = 0.1 : f64, weight_decay = 0.1 : "
       "f64} : (" +
           four + ", " + hyper + ", " + scalar + ", " + scalar + ") -> (" + p +
           ", " + p + ", " + p + ")",
       p + ", " + p + ", " + p, 3});
  samples.push_back(
      {"sgd",
       "%p: " + p + ", %g: " + p + ", %m: " + p + ", %h: " + hyper +
           ", %s: " + scalar + ", %k: " + scalar,
       "stretto.sgd %p, %g, %m, %h, %s, %k {momentum = 0.5 : f64, "
       "weight_decay = 0.1 : f64} : (" +
           p + ", " + p + ", " + p + ", " + hyper + ", " + scalar + ", " +
           scalar + ") -> (" + p + ", " + p + ")",
       p + ", " + p, 2});
  return samples;
}

} // namespace stretto::interp

#endif // STRETTO_TEST_UNIT_INTERPRETER_OPSAMPLES_H
