//===- FusedTest.cpp - norms, attention, losses, optimizers ---------------===//
//
// Forward values by hand or by loops written here; adjoints by central
// differences of the forward operation.
//
//===----------------------------------------------------------------------===//

#include "TestProgram.h"
#include "stretto/Runtime/Random.h"

#include <cmath>

using namespace stretto;
using namespace stretto::interp;

TEST(Softmax, RowsAndColumns) {
  auto softmax = [](int dim) {
    TestProgram program(
        oneOp("%x: tensor<2x2xf32>",
              "stretto.softmax %x {dim = " + std::to_string(dim) +
                  " : i64} : tensor<2x2xf32> -> tensor<2x2xf32>",
              "tensor<2x2xf32>"));
    // exp gives 1, 3, 1, 1; the shift by 800 would overflow unshifted.
    return program.run({reals({2, 2}, {800, 800 + std::log(3), 800, 800})})[0];
  };
  expectNear(softmax(1), {0.25, 0.75, 0.5, 0.5});
  expectNear(softmax(0), {0.5, 0.75, 0.5, 0.25});
}

static const char *norms = R"(
stretto.segment @ln(%x: tensor<2x4xf32>, %g: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<2x4xf32>) attributes {direction = "forward"} {
  %y = stretto.layer_norm %x, %g, %b {eps = 1.0e-3 : f64} : tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32> -> tensor<2x4xf32>
  stretto.yield %y : tensor<2x4xf32>
}
stretto.segment @lng(%x: tensor<2x4xf32>, %g: tensor<4xf32>, %dy: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) attributes {direction = "backward"} {
  %dx, %dg, %db = stretto.layer_norm_grad %x, %g, %dy {eps = 1.0e-3 : f64} : tensor<2x4xf32>, tensor<4xf32>, tensor<2x4xf32> -> tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>
  stretto.yield %dx, %dg, %db : tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>
}
stretto.segment @rms(%x: tensor<2x4xf32>, %g: tensor<4xf32>) -> (tensor<2x4xf32>) attributes {direction = "forward"} {
  %y = stretto.rms_norm %x, %g {eps = 1.0e-3 : f64} : tensor<2x4xf32>, tensor<4xf32> -> tensor<2x4xf32>
  stretto.yield %y : tensor<2x4xf32>
}
stretto.segment @rmsg(%x: tensor<2x4xf32>, %g: tensor<4xf32>, %dy: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>) attributes {direction = "backward"} {
  %dx, %dg = stretto.rms_norm_grad %x, %g, %dy {eps = 1.0e-3 : f64} : tensor<2x4xf32>, tensor<4xf32>, tensor<2x4xf32> -> tensor<2x4xf32>, tensor<4xf32>
  stretto.yield %dx, %dg : tensor<2x4xf32>, tensor<4xf32>
}
)";

/// Results of segment `name` on one rank.
static TensorVector runOne(TestProgram &program, llvm::StringRef name,
                           llvm::ArrayRef<Tensor> arguments) {
  llvm::SmallVector<RankTensors> values;
  for (const Tensor &argument : arguments)
    values.push_back({argument});
  TensorVector results;
  for (RankTensors &result : program.run(name, values, MeshAttr(), 3, 2, "i"))
    results.push_back(result[0]);
  return results;
}

TEST(Norms, ValuesByHand) {
  TestProgram program(norms);
  Tensor x = reals({2, 4}, {1, -1, 1, -1, 3, 3, 3, 3});
  Tensor gamma = reals({4}, {1, 2, 3, 4}), beta = reals({4}, {0, 0, 1, 1});
  // Row 0: mean 0, variance 1, so n = x / sqrt(1.001); row 1: n = 0.
  double s = 1 / std::sqrt(1.001);
  expectNear(runOne(program, "ln", {x, gamma, beta})[0],
             {s, -2 * s, 3 * s + 1, -4 * s + 1, 0, 0, 1, 1});
  double r = 3 / std::sqrt(9.001);
  expectNear(runOne(program, "rms", {x, gamma})[0],
             {s, -2 * s, 3 * s, -4 * s, r, 2 * r, 3 * r, 4 * r});
}

TEST(Norms, AdjointsAreDerivatives) {
  TestProgram program(norms);
  Tensor x = randoms({2, 4}, 1), gamma = randoms({4}, 2),
         beta = randoms({4}, 3), dy = randoms({2, 4}, 4);
  auto layerNorm = [&](const TensorVector &in) {
    return runOne(program, "ln", in)[0];
  };
  TensorVector got = runOne(program, "lng", {x, gamma, dy});
  for (unsigned which : {0u, 1u, 2u})
    expectNear(
        got[which],
        finiteDifference(layerNorm, {x, gamma, beta}, which, dy).getFloats(),
        1e-8);
  auto rmsNorm = [&](const TensorVector &in) {
    return runOne(program, "rms", in)[0];
  };
  got = runOne(program, "rmsg", {x, gamma, dy});
  for (unsigned which : {0u, 1u})
    expectNear(got[which],
               finiteDifference(rmsNorm, {x, gamma}, which, dy).getFloats(),
               1e-8);
}

TEST(Rope, RotatesHalvesByPositionTimesFrequency) {
  auto rope = [](const std::string &flags, const Tensor &x) {
    TestProgram program(oneOp(
        "%x: tensor<1x2x1x4xf32>, %p: tensor<1x2xi32>",
        "stretto.rope %x, %p {base = 100.0 : f64" + flags +
            "} : tensor<1x2x1x4xf32>, tensor<1x2xi32> -> tensor<1x2x1x4xf32>",
        "tensor<1x2x1x4xf32>"));
    return program.run({x, integers({1, 2}, {0, 3})})[0];
  };
  Tensor x = reals({1, 2, 1, 4}, {1, 2, 3, 4, 1, 0, 0, 1});
  // Frequencies 1 and 1/10: position 3 turns (1, 0) by 3 and (0, 1) by 0.3.
  Tensor y = rope("", x);
  expectNear(y, {1, 2, 3, 4, std::cos(3.0), -std::sin(0.3), std::sin(3.0),
                 std::cos(0.3)});
  expectNear(rope(", transposed", y), x.getFloats());
}

//===----------------------------------------------------------------------===//
// attention
//===----------------------------------------------------------------------===//

static std::string attention(const std::string &flags) {
  std::string q = "tensor<2x3x4x2xf32>", k = "tensor<2x5x2x2xf32>",
              l = "tensor<2x4x3xf32>";
  std::string attrs = " {scale = 0.7 : f64" + flags + "} : ";
  return "stretto.segment @fwd(%q: " + q + ", %k: " + k + ", %v: " + k +
         ") -> (" + q + ", " + l +
         ") attributes {direction = \"forward\"} {\n" +
         "%o, %l = stretto.attention %q, %k, %v" + attrs + q + ", " + k + ", " +
         k + " -> " + q + ", " + l + "\nstretto.yield %o, %l : " + q + ", " +
         l + "\n}\nstretto.segment @bwd(%q: " + q + ", %k: " + k +
         ", %v: " + k + ", %o: " + q + ", %l: " + l + ", %d: " + q + ") -> (" +
         q + ", " + k + ", " + k +
         ") attributes {direction = \"backward\"} {\n" +
         "%dq, %dk, %dv = stretto.attention_grad %q, %k, %v, %o, %l, %d" +
         attrs + q + ", " + k + ", " + k + ", " + q + ", " + l + ", " + q +
         " -> " + q + ", " + k + ", " + k +
         "\nstretto.yield %dq, %dk, %dv : " + q + ", " + k + ", " + k + "\n}\n";
}

/// Attention with 2 samples, 3 queries, 4 heads on 2 kv heads, 5 keys, width 2.
static Tensor naiveAttention(const Tensor &q, const Tensor &k, const Tensor &v,
                             bool causal, double p, uint64_t key,
                             uint64_t opId) {
  Tensor out = Tensor::floats({2, 3, 4, 2});
  auto at = [](const Tensor &t, int b, int i, int h, int d) {
    auto s = t.getShape();
    return t.getFloats()[((b * s[1] + i) * s[2] + h) * s[3] + d];
  };
  for (int b = 0; b < 2; ++b)
    for (int h = 0; h < 4; ++h)
      for (int i = 0; i < 3; ++i) {
        double weights[5], total = 0;
        int visible = causal ? i + 3 : 5;
        for (int j = 0; j < visible; ++j) {
          double dot = 0;
          for (int d = 0; d < 2; ++d)
            dot += at(q, b, i, h, d) * at(k, b, j, h / 2, d);
          total += weights[j] = std::exp(0.7 * dot);
        }
        for (int j = 0; j < visible; ++j) {
          uint64_t element = ((b * 4 + h) * 3 + i) * 5 + j;
          if (p > 0 &&
              random::bits24(key, element, opId) < random::dropoutThreshold(p))
            continue;
          for (int d = 0; d < 2; ++d)
            out.writeFloats()[((b * 3 + i) * 4 + h) * 2 + d] +=
                weights[j] / total / (1 - p) * at(v, b, j, h / 2, d);
        }
      }
  return out;
}

TEST(Attention, EqualsTheNaiveLoops) {
  Tensor q = randoms({2, 3, 4, 2}, 1), k = randoms({2, 5, 2, 2}, 2),
         v = randoms({2, 5, 2, 2}, 3);
  uint64_t key = random::key(3, 2, instanceKey("i"));
  TestProgram full(attention("")), causal(attention(", causal")),
      dropped(attention(", causal, p = 0.4 : f64, op_id = 9 : i64"));
  expectNear(runOne(full, "fwd", {q, k, v})[0],
             naiveAttention(q, k, v, false, 0, key, 0).getFloats());
  expectNear(runOne(causal, "fwd", {q, k, v})[0],
             naiveAttention(q, k, v, true, 0, key, 0).getFloats());
  expectNear(runOne(dropped, "fwd", {q, k, v})[0],
             naiveAttention(q, k, v, true, 0.4, key, 9).getFloats());
}

TEST(Attention, LseIsTheLogSumOfExponentials) {
  Tensor zero = Tensor::floats({2, 3, 4, 2}), k = randoms({2, 5, 2, 2}, 2);
  TestProgram causal(attention(", causal"));
  // All scores are 0: query i sees i + 3 keys.
  Tensor lse = runOne(causal, "fwd", {zero, k, k})[1];
  for (int row = 0; row < 8; ++row)
    for (int i = 0; i < 3; ++i)
      EXPECT_NEAR(lse.getFloats()[row * 3 + i], std::log(i + 3.0), 1e-14);
}

TEST(Attention, AdjointsAreDerivatives) {
  for (const char *flags :
       {"", ", causal", ", causal, p = 0.4 : f64, op_id = 9 : i64"}) {
    TestProgram program(attention(flags));
    TensorVector in = {randoms({2, 3, 4, 2}, 1), randoms({2, 5, 2, 2}, 2),
                       randoms({2, 5, 2, 2}, 3)};
    Tensor dout = randoms({2, 3, 4, 2}, 4);
    TensorVector saved = runOne(program, "fwd", in);
    TensorVector got =
        runOne(program, "bwd", {in[0], in[1], in[2], saved[0], saved[1], dout});
    auto forward = [&](const TensorVector &arguments) {
      return runOne(program, "fwd", arguments)[0];
    };
    for (unsigned which : {0u, 1u, 2u})
      expectNear(got[which],
                 finiteDifference(forward, in, which, dout).getFloats(), 1e-8);
  }
}

TEST(Attention, ShardsDropTheElementsOfTheWhole) {
  // 2 samples over dp, 4 heads over tp against the whole on one rank.
  TestProgram whole(
      attention(", p = 0.5 : f64, op_id = 4 : i64, samples = 2 : i64"));
  TestProgram parts(R"(
module attributes {stretto.mesh = #stretto.mesh<dp = 2, tp = 2>} {
stretto.segment @f(%q: tensor<1x3x2x2xf32>, %k: tensor<1x5x1x2xf32>) -> (tensor<1x3x2x2xf32>) attributes {direction = "forward"} {
  %o, %l = stretto.attention %q, %k, %k {scale = 0.7 : f64, p = 0.5 : f64, op_id = 4 : i64, heads_global = 4 : i64, samples = 2 : i64,
    batch_offset = #stretto.offset<mesh<dp = 2, tp = 2>, [dp * 1], microbatch * 2>, head_offset = #stretto.offset<mesh<dp = 2, tp = 2>, [tp * 2], microbatch * 0>}
    : tensor<1x3x2x2xf32>, tensor<1x5x1x2xf32>, tensor<1x5x1x2xf32> -> tensor<1x3x2x2xf32>, tensor<1x2x3xf32>
  stretto.yield %o : tensor<1x3x2x2xf32>
}})");
  Tensor q = randoms({2, 3, 4, 2}, 1), k = randoms({2, 5, 2, 2}, 2);
  RankTensors qs, ks;
  for (int rank = 0; rank < 4; ++rank) {
    qs.push_back(slice(slice(q, 0, rank / 2, 1), 2, rank % 2 * 2, 2));
    ks.push_back(slice(slice(k, 0, rank / 2, 1), 2, rank % 2, 1));
  }
  RankTensors got = parts.run("f", {qs, ks}, parts.mesh(), 3, 2, "i", 1)[0];
  auto want = whole.run("fwd", {{q}, {k}, {k}}, MeshAttr(), 3, 2, "i", 1)[0][0];
  for (int rank = 0; rank < 4; ++rank)
    expectNear(
        got[rank],
        slice(slice(want, 0, rank / 2, 1), 2, rank % 2 * 2, 2).getFloats());
}

//===----------------------------------------------------------------------===//
// cross entropy
//===----------------------------------------------------------------------===//

static const char *losses = R"(
stretto.segment @fwd(%x: tensor<2x4xf32>, %l: tensor<2xi32>) -> (tensor<2xf32>, tensor<2xf32>) attributes {direction = "forward"} {
  %loss, %lse = stretto.cross_entropy %x, %l {smoothing = 0.2 : f64} : tensor<2x4xf32>, tensor<2xi32> -> tensor<2xf32>, tensor<2xf32>
  stretto.yield %loss, %lse : tensor<2xf32>, tensor<2xf32>
}
stretto.segment @bwd(%x: tensor<2x4xf32>, %l: tensor<2xi32>, %lse: tensor<2xf32>, %d: tensor<2xf32>) -> (tensor<2x4xf32>) attributes {direction = "backward"} {
  %dx = stretto.cross_entropy_grad %x, %l, %lse, %d {smoothing = 0.2 : f64, vocabulary = 4 : i64} : tensor<2x4xf32>, tensor<2xi32>, tensor<2xf32>, tensor<2xf32> -> tensor<2x4xf32>
  stretto.yield %dx : tensor<2x4xf32>
}
)";

TEST(CrossEntropy, ValuesByHand) {
  TestProgram program(losses);
  double ln3 = std::log(3.0);
  // Row 0: exp gives 1, 1, 1, 3: lse = ln 6. Row 1: all equal.
  TensorVector got = runOne(
      program, "fwd",
      {reals({2, 4}, {0, 0, 0, ln3, 5, 5, 5, 5}), integers({2}, {3, 0})});
  expectNear(got[1], {std::log(6.0), 5 + std::log(4.0)});
  expectNear(got[0], {std::log(6.0) - 0.8 * ln3 - 0.05 * ln3, std::log(4.0)});
}

TEST(CrossEntropy, TheAdjointIsTheDerivative) {
  TestProgram program(losses);
  TensorVector in = {randoms({2, 4}, 1), integers({2}, {2, 0})};
  Tensor dloss = randoms({2}, 2);
  Tensor lse = runOne(program, "fwd", in)[1];
  auto forward = [&](const TensorVector &arguments) {
    return runOne(program, "fwd", arguments)[0];
  };
  expectNear(runOne(program, "bwd", {in[0], in[1], lse, dloss})[0],
             finiteDifference(forward, in, 0, dloss).getFloats(), 1e-8);
}

//===----------------------------------------------------------------------===//
// optimizers
//===----------------------------------------------------------------------===//

static const char *updates = R"(
stretto.segment @adamw(%p: tensor<1xf32>, %g: tensor<1xf32>, %m: tensor<1xf32>, %v: tensor<1xf32>, %h: tensor<4xf32>, %s: tensor<f32>, %ok: tensor<f32>) -> (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) attributes {direction = "update"} {
  %p1, %m1, %v1 = stretto.adamw %p, %g, %m, %v, %h, %s, %ok {beta1 = 0.5 : f64, beta2 = 0.75 : f64, eps = 1.0 : f64, weight_decay = 0.1 : f64}
    : (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>) -> (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>)
  stretto.yield %p1, %m1, %v1 : tensor<1xf32>, tensor<1xf32>, tensor<1xf32>
}
stretto.segment @sgd(%p: tensor<1xf32>, %g: tensor<1xf32>, %m: tensor<1xf32>, %h: tensor<4xf32>, %s: tensor<f32>, %ok: tensor<f32>) -> (tensor<1xf32>, tensor<1xf32>) attributes {direction = "update"} {
  %p1, %m1 = stretto.sgd %p, %g, %m, %h, %s, %ok {momentum = 0.5 : f64, weight_decay = 0.1 : f64}
    : (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>) -> (tensor<1xf32>, tensor<1xf32>)
  stretto.yield %p1, %m1 : tensor<1xf32>, tensor<1xf32>
}
)";

TEST(Optimizers, OneStepByHand) {
  TestProgram program(updates);
  Tensor one = Tensor::scalar(1), half = Tensor::scalar(0.5);
  // g' = 4: m' = 1 + 2 = 3, v' = 0.75 * 12 + 0.25 * 16 = 13, m'/bias1 = 6,
  // v'/bias2 = 52; p' = 10 - 0.1 (6 / (sqrt(52) + 1) + 1).
  TensorVector got =
      runOne(program, "adamw",
             {reals({1}, {10}), reals({1}, {8}), reals({1}, {2}),
              reals({1}, {12}), reals({4}, {0.1, 0.5, 0.25, 0}), half, one});
  expectNear(got[0], {10 - 0.1 * (6 / (std::sqrt(52.0) + 1) + 1)});
  expectNear(got[1], {3});
  expectNear(got[2], {13});
  // m' = 1 + 4 + 1 = 6, p' = 10 - 0.1 * 6.
  got = runOne(program, "sgd",
               {reals({1}, {10}), reals({1}, {8}), reals({1}, {2}),
                reals({4}, {0.1, 0.5, 0.25, 0}), half, one});
  expectNear(got[0], {9.4});
  expectNear(got[1], {6});
}

TEST(Optimizers, NothingMovesWhenTheGradientIsNotFinite) {
  TestProgram program(updates);
  Tensor one = Tensor::scalar(1), zero = Tensor::scalar(0);
  TensorVector got =
      runOne(program, "adamw",
             {reals({1}, {10}), reals({1}, {INFINITY}), reals({1}, {2}),
              reals({1}, {12}), reals({4}, {0.1, 0.5, 0.25, 0}), one, zero});
  expectNear(got[0], {10});
  expectNear(got[1], {2});
  expectNear(got[2], {12});
}
