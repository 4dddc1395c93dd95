//===- Samples.h - operations on extents that n divides ---------*- C++ -*-===//
//
// One small instance of every operation. Every extent divides by the number of
// ranks, so that each placement exists without padding. In the texts $n is the
// number of ranks, $m two, $q four and $p five times that.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TEST_UNIT_RULES_SAMPLES_H
#define STRETTO_TEST_UNIT_RULES_SAMPLES_H

#include <string>
#include <vector>

namespace stretto::rules {

struct Sample {
  std::string name;      // of the table's line
  std::string arguments; // types, "; "-separated
  std::string op;        // "name %0, %1 {…}"
  std::string results;   // types, "; "-separated
};

inline std::vector<Sample> samples() {
  const std::string x = "$nx$mxf32", v = "$mxf32", s = "f32", i = "i32",
                    rows = "$nxf32", cube = "$nx$mx$qxf32";
  std::vector<Sample> all;
  auto add = [&](const std::string &name, const std::string &arguments,
                 const std::string &op, const std::string &results) {
    all.push_back({name, arguments, op, results});
  };
  for (const char *name : {"neg", "exp", "log", "sqrt", "rsqrt", "tanh",
                           "sigmoid", "erf", "silu", "gelu"})
    add(name, x, std::string(name) + " %0", x);
  for (const char *name : {"add", "sub", "mul", "div", "maximum", "minimum"}) {
    std::string op = std::string(name) + " %0, %1";
    add(name, x + "; " + x, op, x);
    add(std::string(name) + ", vector", x + "; " + v, op, x);
    add(std::string(name) + ", scalar", x + "; " + s, op, x);
  }
  add("compare", x + "; " + x, "compare lt %0, %1", "$nx$mxi1");
  add("select", "$nx$mxi1; " + x + "; " + x, "select %0, %1, %2", x);
  add("convert", "$nx$mxi32", "convert %0", x);
  add("dropout", x,
      "dropout %0 {p = 0.5 : f64, op_id = 1 : i64, extents = array<i64: $n, "
      "$m>, sample_dim = 0 : i64}",
      x);
  add("constant", "", "constant 2.0", x);
  add("einsum", "$nx$qx$mxf32; $nx$mx$qxf32",
      "einsum \"b m k, b k n -> n b m\" %0, %1", "$qx$nx$qxf32");
  add("einsum, outer", "$nxf32; $mxf32", "einsum \"i, j -> i j\" %0, %1", x);
  for (const char *kind : {"sum", "max", "min", "prod"}) {
    std::string op = std::string("reduce ") + kind + " %0 dims [0, 2]";
    add(std::string("reduce ") + kind, cube, op, v);
    add(std::string("reduce ") + kind + ", init", cube,
        op + " {init = 1.5 : f64}", v);
  }
  for (const char *kind : {"and", "or"})
    add(std::string("reduce ") + kind, "$nx$mxi1",
        std::string("reduce ") + kind + " %0 dims [1]", "$nxi1");
  add("broadcast", v, "broadcast %0 dims [1]", "$nx$mx$nxf32");
  add("transpose", cube, "transpose %0 perm [2, 0, 1]", "$qx$nx$mxf32");
  add("iota", x, "iota %0 {dim = 1 : i64}", "$nx$mxi32");
  add("reshape, split", "$qx$mxf32", "reshape %0", "$nx4x$mxf32");
  add("reshape, merge", "$nx2x$mxf32", "reshape %0", "$mx$mxf32");
  add("reshape, same parts", "$mx$qxf32", "reshape %0", "$qx$mxf32");
  add("slice", "$nx$qxf32",
      "slice %0 dims [1] starts [1] limits [$q] strides [2]", x);
  add("pad", x, "pad %0 with 2.5 dims [1] low [$n] high [1] interior [1]",
      "$nx$pxf32");
  add("concat", x + "; " + x + "; $nx$nxf32", "concat %0, %1, %2 dim 1",
      "$nx$pxf32");
  add("window", x, "window %0 {dim = 1 : i64, start = -1 : i64}", "$nx$qxf32");
  add("dynamic_slice", x + "; " + i, "dynamic_slice %0[%1] dims [1]",
      "$nx$nxf32");
  add("dynamic_update_slice", x + "; $nx$nxf32; " + i,
      "dynamic_update_slice %0, %1[%2] dims [1]", x);
  add("gather", x + "; $qxi32", "gather %0, %1 dim 1", "$nx$qxf32");
  add("gather, batch", x + "; $nx$qxi32",
      "gather %0, %1 dim 1 {batch_dims = 1 : i64}", "$nx$qxf32");
  add("scatter_add", "$qxi32; $nx$qxf32", "scatter_add %0, %1 dim 1", x);
  add("scatter_add, batch", "$nx$qxi32; $nx$qxf32",
      "scatter_add %0, %1 dim 1 {batch_dims = 1 : i64}", x);
  add("top_k", "$nx$qxf32", "top_k %0 {dim = 1 : i64, k = 2 : i64}",
      "$nx2xf32; $nx2xi32");
  add("arg_reduce", x, "arg_reduce max %0 dim 1", "$nxi32");
  add("embedding", "$mx$nxf32; $nx$mxi32", "embedding %0, %1", "$nx$mx$nxf32");
  add("embedding_grad", "$nx$mxi32; $nx$mx$nxf32", "embedding_grad %0, %1",
      "$mx$nxf32");
  add("softmax", cube, "softmax %0 {dim = 1 : i64}", cube);
  add("layer_norm", x + "; " + v + "; " + v,
      "layer_norm %0, %1, %2 {eps = 0.1 : f64}", x);
  add("layer_norm_grad", x + "; " + v + "; " + x,
      "layer_norm_grad %0, %1, %2 {eps = 0.1 : f64}", x + "; " + v + "; " + v);
  add("rms_norm", x + "; " + v, "rms_norm %0, %1 {eps = 0.1 : f64}", x);
  add("rms_norm_grad", x + "; " + v + "; " + x,
      "rms_norm_grad %0, %1, %2 {eps = 0.1 : f64}", x + "; " + v);
  add("rope", "$nx$mx$nx$mxf32; $nx$mxi32", "rope %0, %1", "$nx$mx$nx$mxf32");
  add("cross_entropy", "$nx$mxf32; $nxi32",
      "cross_entropy %0, %1 {smoothing = 0.1 : f64}", rows + "; " + rows);
  add("cross_entropy_grad", "$nx$mxf32; $nxi32; " + rows + "; " + rows,
      "cross_entropy_grad %0, %1, %2, %3 {smoothing = 0.1 : f64, vocabulary = "
      "$m : i64}",
      x);
  // Heads so wide that the scores are fewer than what would be gathered.
  const std::string q = "$nx$mx$mx$qxf32", k = "$nx$mx$nx$qxf32",
                    lse = "$nx$mx$mxf32", flags = "scale = 0.2 : f64}";
  for (const std::string &causal : {std::string("causal, "), std::string()}) {
    std::string suffix = causal.empty() ? "" : ", causal";
    add("attention" + suffix, q + "; " + k + "; " + k,
        "attention %0, %1, %2 {" + causal + flags, q + "; " + lse);
    add("attention_grad" + suffix,
        q + "; " + k + "; " + k + "; " + q + "; " + lse + "; " + q,
        "attention_grad %0, %1, %2, %3, %4, %5 {" + causal + flags,
        q + "; " + k + "; " + k);
  }
  add("sgd", x + "; " + x + "; " + x + "; 4xf32; f32; f32",
      "sgd %0, %1, %2, %3, %4, %5 {momentum = 0.5 : f64, weight_decay = 0.1 : "
      "f64}",
      x + "; " + x);
  add("adamw", x + "; " + x + "; " + x + "; " + x + "; 4xf32; f32; f32",
      "adamw %0, %1, %2, %3, %4, %5, %6 {beta1 = 0.5 : f64, beta2 = 0.7 : "
      "f64, eps = 0.1 : f64, weight_decay = 0.1 : f64}",
      x + "; " + x + "; " + x);
  return all;
}

} // namespace stretto::rules

#endif // STRETTO_TEST_UNIT_RULES_SAMPLES_H
