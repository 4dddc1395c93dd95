//===- FusedPatternsTest.cpp - groups of operations, compiled -------------===//

#include "KernelHarness.h"
#include "gtest/gtest.h"

namespace {

const int sizes[] = {1, 33, 97};

std::string replaceAll(std::string text, const std::string &from,
                       const std::string &to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;
       at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

/// Runs the text with N replaced by every size.
void expectSameSizes(const std::string &text, RunOptions options = {},
                     const std::string &mesh = "") {
  for (int size : sizes)
    expectSame(replaceAll(text, "N", std::to_string(size)), options, mesh);
}

TEST(Rows, SoftmaxOverEveryDimension) {
  for (const char *dim : {"0", "1", "2"})
    expectSameSizes(replaceAll(R"(
stretto.segment @f(%x: tensor<4x3xNxf32>) -> tensor<4x3xNxf32> attributes {direction = "forward"} {
  %y = stretto.softmax %x {dim = D : i64} : tensor<4x3xNxf32> -> tensor<4x3xNxf32>
  stretto.yield %y : tensor<4x3xNxf32>
})",
                               "D", dim),
                    {2e-6, 0, 5, 0, 8, 1});
}

TEST(Rows, NormsAndTheirGradients) {
  expectSameSizes(R"(
stretto.segment @f(%x: tensor<4x3xNxf32>, %r: tensor<4x3xNxf32>, %g: tensor<Nxf32>, %b: tensor<Nxf32>) -> (tensor<4x3xNxf32>, tensor<4x3xNxf32>, tensor<4x3xNxf32>) attributes {direction = "forward"} {
  %h = stretto.add %x, %r : tensor<4x3xNxf32>, tensor<4x3xNxf32> -> tensor<4x3xNxf32>
  %y = stretto.layer_norm %h, %g, %b {eps = 1.0e-2 : f64} : tensor<4x3xNxf32>, tensor<Nxf32>, tensor<Nxf32> -> tensor<4x3xNxf32>
  %z = stretto.rms_norm %h, %g {eps = 1.0e-2 : f64} : tensor<4x3xNxf32>, tensor<Nxf32> -> tensor<4x3xNxf32>
  stretto.yield %h, %y, %z : tensor<4x3xNxf32>, tensor<4x3xNxf32>, tensor<4x3xNxf32>
})",
                  {5e-6, 0, 5, 0, 1, 1});
  expectSameSizes(R"(
stretto.segment @f(%x: tensor<4x3xNxf32>, %g: tensor<Nxf32>, %dy: tensor<4x3xNxf32>, %dr: tensor<4x3xNxf32>, %ag: tensor<Nxf32>, %ab: tensor<Nxf32>)
    -> (tensor<4x3xNxf32>, tensor<Nxf32> {stretto.alias = 4 : i64}, tensor<Nxf32> {stretto.alias = 5 : i64}, tensor<4x3xNxf32>, tensor<Nxf32>) attributes {direction = "backward"} {
  %dx, %dg, %db = stretto.layer_norm_grad %x, %g, %dy {eps = 1.0e-2 : f64} : tensor<4x3xNxf32>, tensor<Nxf32>, tensor<4x3xNxf32> -> tensor<4x3xNxf32>, tensor<Nxf32>, tensor<Nxf32>
  %d = stretto.add %dr, %dx : tensor<4x3xNxf32>, tensor<4x3xNxf32> -> tensor<4x3xNxf32>
  %ng = stretto.add %ag, %dg : tensor<Nxf32>, tensor<Nxf32> -> tensor<Nxf32>
  %nb = stretto.add %ab, %db : tensor<Nxf32>, tensor<Nxf32> -> tensor<Nxf32>
  %dx2, %dg2 = stretto.rms_norm_grad %x, %g, %dy {eps = 1.0e-2 : f64} : tensor<4x3xNxf32>, tensor<Nxf32>, tensor<4x3xNxf32> -> tensor<4x3xNxf32>, tensor<Nxf32>
  stretto.yield %d, %ng, %nb, %dx2, %dg2 : tensor<4x3xNxf32>, tensor<Nxf32>, tensor<Nxf32>, tensor<4x3xNxf32>, tensor<Nxf32>
})",
                  {2e-5});
}

TEST(Rows, CrossEntropyWithMaskAndSums) {
  expectSameSizes(R"(
stretto.segment @f(%x: tensor<4x3xNxf32>, %l: tensor<4x3xi32>, %m: tensor<4x3xf32>, %acc: tensor<f32>) -> (tensor<f32> {stretto.alias = 3 : i64}, tensor<4x3xf32>, tensor<4x3xf32>) attributes {direction = "forward"} {
  %loss, %lse = stretto.cross_entropy %x, %l {smoothing = 0.1 : f64} : tensor<4x3xNxf32>, tensor<4x3xi32> -> tensor<4x3xf32>, tensor<4x3xf32>
  %w = stretto.mul %loss, %m : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<4x3xf32>
  %s = stretto.reduce sum %w dims [0, 1] : tensor<4x3xf32> -> tensor<f32>
  %n = stretto.add %acc, %s : tensor<f32>, tensor<f32> -> tensor<f32>
  stretto.yield %n, %lse, %loss : tensor<f32>, tensor<4x3xf32>, tensor<4x3xf32>
})",
                  {5e-6, 0, 40, 0, 1, 1});
  expectSameSizes(R"(
stretto.segment @f(%x: tensor<4x3xNxf32>, %l: tensor<4x3xi32>, %lse: tensor<4x3xf32>, %m: tensor<4x3xf32>, %seed: tensor<f32>) -> tensor<4x3xNxf32> attributes {direction = "backward"} {
  %d = stretto.mul %m, %seed : tensor<4x3xf32>, tensor<f32> -> tensor<4x3xf32>
  %dx = stretto.cross_entropy_grad %x, %l, %lse, %d {smoothing = 0.1 : f64, vocabulary = 150 : i64, offset = #stretto.offset<mesh<tp = 2>, [tp * N]>} : tensor<4x3xNxf32>, tensor<4x3xi32>, tensor<4x3xf32>, tensor<4x3xf32> -> tensor<4x3xNxf32>
  stretto.yield %dx : tensor<4x3xNxf32>
})",
                  {5e-6, 0, 150, 0, 1, 1}, "tp = 2");
}

TEST(Rows, QueryNormThenRope) {
  expectSame(R"(
stretto.segment @f(%x: tensor<2x5x3x8xf32>, %b: tensor<3x8xf32>, %g: tensor<8xf32>, %p: tensor<2x5xi32>) -> (tensor<2x5x3x8xf32>, tensor<2x5x3x8xf32>) attributes {direction = "forward"} {
  %h = stretto.add %x, %b : tensor<2x5x3x8xf32>, tensor<3x8xf32> -> tensor<2x5x3x8xf32>
  %n = stretto.rms_norm %h, %g {eps = 1.0e-5 : f64} : tensor<2x5x3x8xf32>, tensor<8xf32> -> tensor<2x5x3x8xf32>
  %y = stretto.rope %n, %p {base = 10000.0 : f64} : tensor<2x5x3x8xf32>, tensor<2x5xi32> -> tensor<2x5x3x8xf32>
  %e = stretto.exp %y : tensor<2x5x3x8xf32> -> tensor<2x5x3x8xf32>
  stretto.yield %y, %e : tensor<2x5x3x8xf32>, tensor<2x5x3x8xf32>
})",
             {5e-6, 0, 1000, 0, 1, 1});
}

/// What is rotated before its head dimension is padded or cut is rotated by its
/// own half: gradients of norms and biases of heads that rest sharded.
TEST(Rows, RopeWhoseSumIsPadded) {
  expectSame(R"(
stretto.segment @f(%x: tensor<2x3x1x2xf32>, %dy: tensor<2x3x1x2xf32>, %p: tensor<2x3xi32>) -> tensor<3xf32> attributes {direction = "backward"} {
  %r = stretto.rope %dy, %p {base = 10000.0 : f64, transposed} : tensor<2x3x1x2xf32>, tensor<2x3xi32> -> tensor<2x3x1x2xf32>
  %m = stretto.mul %x, %r : tensor<2x3x1x2xf32>, tensor<2x3x1x2xf32> -> tensor<2x3x1x2xf32>
  %s = stretto.reduce sum %m dims [0, 1, 2] : tensor<2x3x1x2xf32> -> tensor<2xf32>
  %q = stretto.pad_extent %s : tensor<2xf32> -> tensor<3xf32>
  stretto.yield %q : tensor<3xf32>
})",
             {2e-6, 0, 1000});
  expectSame(R"(
stretto.segment @f(%x: tensor<2x3x4x6xf32>, %p: tensor<2x3xi32>) -> (tensor<4x8xf32>, tensor<2x3x5x6xf32>) attributes {direction = "backward"} {
  %r = stretto.rope %x, %p {base = 100.0 : f64} : tensor<2x3x4x6xf32>, tensor<2x3xi32> -> tensor<2x3x4x6xf32>
  %s = stretto.reduce sum %r dims [0, 1] : tensor<2x3x4x6xf32> -> tensor<4x6xf32>
  %q = stretto.pad_extent %s : tensor<4x6xf32> -> tensor<4x8xf32>
  %h = stretto.pad_extent %r : tensor<2x3x4x6xf32> -> tensor<2x3x5x6xf32>
  stretto.yield %q, %h : tensor<4x8xf32>, tensor<2x3x5x6xf32>
})",
             {2e-6, 0, 1000});
}

TEST(Rows, RopeWhoseSumIsSharded) {
  expectSame(R"(
stretto.segment @f(%x: tensor<2x3x4x6xf32>, %p: tensor<2x3xi32>) -> tensor<4x3xf32> attributes {direction = "backward"} {
  %r = stretto.rope %x, %p {base = 100.0 : f64} : tensor<2x3x4x6xf32>, tensor<2x3xi32> -> tensor<2x3x4x6xf32>
  %s = stretto.reduce sum %r dims [0, 1] : tensor<2x3x4x6xf32> -> tensor<4x6xf32>
  %q = stretto.shard_slice %s {dim = 1 : i64, group = #stretto.group<mesh<dp = 2>, {dp}>} : tensor<4x6xf32> -> tensor<4x3xf32>
  stretto.yield %q : tensor<4x3xf32>
})",
             {2e-6, 0, 1000}, "dp = 2");
}

/// The padded dimension is one that a sum inside runs over.
TEST(Rows, PaddedToTheExtentOfAnInnerSum) {
  expectSame(R"(
stretto.segment @f(%y: tensor<2x3xf32>, %w: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) attributes {direction = "forward"} {
  %u = stretto.mul %y, %w : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
  %t = stretto.tanh %w : tensor<3xf32> -> tensor<3xf32>
  %s = stretto.reduce sum %u dims [1] : tensor<2x3xf32> -> tensor<2xf32>
  %p = stretto.pad_extent %s : tensor<2xf32> -> tensor<3xf32>
  %z = stretto.add %p, %t : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  stretto.yield %z, %t : tensor<3xf32>, tensor<3xf32>
})");
  expectSame(R"(
stretto.segment @f(%y: tensor<2x3xf32>, %w: tensor<3xf32>, %v: tensor<4xf32>) -> tensor<3x4xf32> attributes {direction = "forward"} {
  %u = stretto.mul %y, %w : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
  %p = stretto.pad_extent %u : tensor<2x3xf32> -> tensor<3x4xf32>
  %wb = stretto.broadcast %w dims [0] : tensor<3xf32> -> tensor<3x4xf32>
  %z = stretto.add %p, %wb : tensor<3x4xf32>, tensor<3x4xf32> -> tensor<3x4xf32>
  stretto.yield %z : tensor<3x4xf32>
})");
}

TEST(Columns, BiasGradientBesideItsGelu) {
  expectSameSizes(R"(
stretto.segment @f(%x: tensor<4x3xNxf32>, %b: tensor<Nxf32>, %dy: tensor<4x3xNxf32>, %acc: tensor<Nxf32>) -> (tensor<4x3xNxf32>, tensor<Nxf32> {stretto.alias = 3 : i64}, tensor<Nxf32>) attributes {direction = "backward"} {
  %h = stretto.add %x, %b : tensor<4x3xNxf32>, tensor<Nxf32> -> tensor<4x3xNxf32>
  %t = stretto.tanh %h : tensor<4x3xNxf32> -> tensor<4x3xNxf32>
  %d = stretto.mul %t, %dy : tensor<4x3xNxf32>, tensor<4x3xNxf32> -> tensor<4x3xNxf32>
  %s = stretto.reduce sum %d dims [0, 1] : tensor<4x3xNxf32> -> tensor<Nxf32>
  %n = stretto.add %acc, %s : tensor<Nxf32>, tensor<Nxf32> -> tensor<Nxf32>
  %m = stretto.reduce max %d dims [0, 1] : tensor<4x3xNxf32> -> tensor<Nxf32>
  stretto.yield %d, %n, %m : tensor<4x3xNxf32>, tensor<Nxf32>, tensor<Nxf32>
})",
                  {2e-6, 0, 5, 0, 1, 1});
}

TEST(Columns, ASumOverOneRowIsThatRow) {
  expectSame(R"(
stretto.segment @f(%x: tensor<1x1000003xf32>, %acc: tensor<1000003xf32>) -> (tensor<1000003xf32> {stretto.alias = 1 : i64}) attributes {direction = "backward"} {
  %e = stretto.exp %x : tensor<1x1000003xf32> -> tensor<1x1000003xf32>
  %s = stretto.reduce sum %e dims [0] : tensor<1x1000003xf32> -> tensor<1000003xf32>
  %t = stretto.tanh %s : tensor<1000003xf32> -> tensor<1000003xf32>
  %n = stretto.add %acc, %t : tensor<1000003xf32>, tensor<1000003xf32> -> tensor<1000003xf32>
  stretto.yield %n : tensor<1000003xf32>
})",
             {2e-6, 0, 5, 0, 1, 1});
}

TEST(Columns, PositionsRepeatOverTheBatch) {
  expectSameSizes(R"(
stretto.segment @f(%t: tensor<7xNxf32>, %i: tensor<4x3xi32>, %p: tensor<3xNxf32>, %b: tensor<Nxf32>) -> tensor<4x3xNxf32> attributes {direction = "forward"} {
  %e = stretto.embedding %t, %i : tensor<7xNxf32>, tensor<4x3xi32> -> tensor<4x3xNxf32>
  %q = stretto.add %p, %b : tensor<3xNxf32>, tensor<Nxf32> -> tensor<3xNxf32>
  %y = stretto.add %e, %q : tensor<4x3xNxf32>, tensor<3xNxf32> -> tensor<4x3xNxf32>
  stretto.yield %y : tensor<4x3xNxf32>
})",
                  {2e-6, 0, 7});
  expectSameSizes(R"(
stretto.segment @f(%dy: tensor<4x3xNxf32>, %acc: tensor<3xNxf32>) -> (tensor<3xNxf32> {stretto.alias = 1 : i64}) attributes {direction = "backward"} {
  %s = stretto.reduce sum %dy dims [0] : tensor<4x3xNxf32> -> tensor<3xNxf32>
  %n = stretto.add %acc, %s : tensor<3xNxf32>, tensor<3xNxf32> -> tensor<3xNxf32>
  stretto.yield %n : tensor<3xNxf32>
})");
}

const char *adamw = R"(
stretto.segment @f(%p: tensor<3xNxf32>, %g: tensor<3xNxf32>, %m: tensor<3xNxf32>, %w: tensor<3xNxf32>, %h: tensor<4xf32>, %s: tensor<f32>, %ok0: tensor<f32>)
   -> (tensor<3xNxf32> {stretto.alias = 0 : i64}, tensor<3xNxf32> {stretto.alias = 2 : i64}, tensor<3xNxf32>) attributes {direction = "update"} {
  %v = stretto.mul %w, %w : tensor<3xNxf32>, tensor<3xNxf32> -> tensor<3xNxf32>
  %h2 = stretto.mul %h, %h : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %ok = stretto.constant OK : tensor<f32>
  %a, %b, %c = stretto.adamw %p, %g, %m, %v, %h2, %s, %ok {beta1 = 0.9 : f64, beta2 = 0.95 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64} : (tensor<3xNxf32>, tensor<3xNxf32>, tensor<3xNxf32>, tensor<3xNxf32>, tensor<4xf32>, tensor<f32>, tensor<f32>) -> (tensor<3xNxf32>, tensor<3xNxf32>, tensor<3xNxf32>)
  stretto.yield %a, %b, %c : tensor<3xNxf32>, tensor<3xNxf32>, tensor<3xNxf32>
})";

TEST(Optimizers, AdamWInPlaceAndWhenTheStepIsBad) {
  expectSameSizes(replaceAll(adamw, "OK", "1.0"), {5e-6});
  expectSameSizes(replaceAll(adamw, "OK", "0.0"), {1e-7});
  expectSameSizes(R"(
stretto.segment @f(%p: tensor<3xNxf32>, %g: tensor<3xNxf32>, %m: tensor<3xNxf32>, %h: tensor<4xf32>, %s: tensor<f32>)
   -> (tensor<3xNxf32> {stretto.alias = 0 : i64}, tensor<3xNxf32> {stretto.alias = 2 : i64}) attributes {direction = "update"} {
  %ok = stretto.constant 1.0 : tensor<f32>
  %a, %b = stretto.sgd %p, %g, %m, %h, %s, %ok {momentum = 0.9 : f64, weight_decay = 0.1 : f64} : (tensor<3xNxf32>, tensor<3xNxf32>, tensor<3xNxf32>, tensor<4xf32>, tensor<f32>, tensor<f32>) -> (tensor<3xNxf32>, tensor<3xNxf32>)
  stretto.yield %a, %b : tensor<3xNxf32>, tensor<3xNxf32>
})");
}

TEST(Scalars, FinishOfAStep) {
  expectSame(R"(
stretto.segment @f(%sum: tensor<f32>, %n: tensor<f32>, %sq: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) attributes {direction = "finish"} {
  %zero = stretto.constant 0.0 : tensor<f32>
  %one = stretto.constant 1.0 : tensor<f32>
  %inf = stretto.constant 3.0e38 : tensor<f32>
  %eps = stretto.constant 1.0e-6 : tensor<f32>
  %some = stretto.compare gt %n, %zero : tensor<f32>, tensor<f32> -> tensor<i1>
  %q = stretto.div %one, %n : tensor<f32>, tensor<f32> -> tensor<f32>
  %inv = stretto.select %some, %q, %zero : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
  %loss = stretto.mul %sum, %inv : tensor<f32>, tensor<f32> -> tensor<f32>
  %s2 = stretto.mul %sq, %sq : tensor<f32>, tensor<f32> -> tensor<f32>
  %norm = stretto.sqrt %s2 : tensor<f32> -> tensor<f32>
  %d = stretto.add %norm, %eps : tensor<f32>, tensor<f32> -> tensor<f32>
  %c = stretto.div %one, %d : tensor<f32>, tensor<f32> -> tensor<f32>
  %scale = stretto.minimum %one, %c : tensor<f32>, tensor<f32> -> tensor<f32>
  %fin = stretto.compare lt %norm, %inf : tensor<f32>, tensor<f32> -> tensor<i1>
  %ok = stretto.convert %fin : tensor<i1> -> tensor<f32>
  stretto.yield %loss, %norm, %scale, %ok : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
})",
             {2e-6, 0, 5, 0, 1, 1});
}

TEST(Norms, SquaresOfSeveralGradientsAddUp) {
  expectSame(R"(
stretto.segment @f(%a: tensor<33x97xf32>, %b: tensor<97xf32>, %b2: tensor<97xf32>, %n: tensor<f32>) -> (tensor<97xf32>, tensor<f32> {stretto.alias = 3 : i64}) attributes {direction = "reduce"} {
  %g = stretto.add %b, %b2 : tensor<97xf32>, tensor<97xf32> -> tensor<97xf32>
  %q = stretto.mul %a, %a : tensor<33x97xf32>, tensor<33x97xf32> -> tensor<33x97xf32>
  %s = stretto.reduce sum %q dims [0, 1] : tensor<33x97xf32> -> tensor<f32>
  %r = stretto.mul %g, %g : tensor<97xf32>, tensor<97xf32> -> tensor<97xf32>
  %t = stretto.reduce sum %r dims [0] : tensor<97xf32> -> tensor<f32>
  %n1 = stretto.add %n, %s : tensor<f32>, tensor<f32> -> tensor<f32>
  %n2 = stretto.add %n1, %t : tensor<f32>, tensor<f32> -> tensor<f32>
  stretto.yield %g, %n2 : tensor<97xf32>, tensor<f32>
})");
}

} // namespace
