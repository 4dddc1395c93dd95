//===- ProgramsTest.cpp - steps, models and what must be refused ----------===//

#include "TestProgram.h"

using namespace stretto;
using namespace stretto::interp;

TEST(Steps, MicroBatchesCarryValuesInOrderAndIndexTheirBody) {
  TestProgram program(R"(
stretto.segment @add(%x: tensor<2xf32>, %acc: tensor<2xf32>) -> (tensor<2xf32>) attributes {direction = "forward"} {
  %two = stretto.constant 2.0 : tensor<f32>
  %double = stretto.mul %acc, %two : tensor<2xf32>, tensor<f32> -> tensor<2xf32>
  %sum = stretto.add %x, %double : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  stretto.yield %sum : tensor<2xf32>
}
stretto.step @train(%x: tensor<3x2xf32> {stretto.binding = "input:x"}) -> (tensor<2xf32> {stretto.binding = "output:y"}) {
  %z = stretto.zeros : tensor<2xf32>
  %r = stretto.microbatches 3 inputs(%x) carried(%z) : (tensor<3x2xf32>, tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%xi: tensor<2xf32>, %acc: tensor<2xf32>):
    %s = stretto.invoke @add(%xi, %acc) instance "a" : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    stretto.yield %s : tensor<2xf32>
  }
  stretto.yield %r : tensor<2xf32>
})");
  NamedValues bindings;
  bindings["input:x"] = {reals({3, 2}, {1, 2, 3, 4, 5, 6})};
  auto results = runStep(program.find<StepOp>("train"), bindings, 1, 1);
  ASSERT_TRUE(mlir::succeeded(results)) << program.errors;
  // ((1 * 2) + 3) * 2 + 5 and ((2 * 2) + 4) * 2 + 6.
  expectNear((*results)["output:y"][0], {15, 22});
}

TEST(Steps, ALocalizedStepRunsOnTheRanksOfItsMesh) {
  TestProgram program(R"(
module attributes {stretto.mesh = #stretto.mesh<dp = 2>} {
stretto.segment @sum(%x: tensor<2xf32>) -> (tensor<f32>) attributes {direction = "forward"} {
  %s = stretto.reduce sum %x dims [0] : tensor<2xf32> -> tensor<f32>
  %a = stretto.all_reduce %s {group = #stretto.group<mesh<dp = 2>, {dp}>, kind = #stretto<reduce_kind sum>} : tensor<f32> -> tensor<f32>
  stretto.yield %a : tensor<f32>
}
stretto.step @train(%x: tensor<2xf32> {stretto.binding = "input:x", stretto.dist = #stretto.dist<mesh<dp = 2>, [{dp}]>}) -> (tensor<f32> {stretto.binding = "output:y"}) {
  %s = stretto.invoke @sum(%x) instance "a" : (tensor<2xf32>) -> tensor<f32>
  stretto.yield %s : tensor<f32>
}})");
  NamedValues bindings;
  bindings["input:x"] = {reals({2}, {1, 2}), reals({2}, {3, 4})};
  auto results = runStep(program.find<StepOp>("train"), bindings, 1, 1);
  ASSERT_TRUE(mlir::succeeded(results)) << program.errors;
  for (int rank : {0, 1})
    expectNear((*results)["output:y"][rank], {10});
}

TEST(Steps, AMissingBindingIsNamed) {
  TestProgram program(R"(
stretto.step @train(%x: tensor<2xf32> {stretto.binding = "param:w"}) -> (tensor<2xf32> {stretto.binding = "param:w"}) {
  stretto.yield %x : tensor<2xf32>
})");
  EXPECT_TRUE(mlir::failed(
      runStep(program.find<StepOp>("train"), NamedValues(), 1, 1)));
  EXPECT_NE(program.errors.find("param:w"), std::string::npos)
      << program.errors;
  NamedValues wrong;
  wrong["param:w"] = {Tensor::floats({3})};
  EXPECT_TRUE(
      mlir::failed(runStep(program.find<StepOp>("train"), wrong, 1, 1)));
  EXPECT_NE(program.errors.find("argument #0 is given 3 reals"),
            std::string::npos)
      << program.errors;
}

TEST(Models, RunAsWrittenWithTiesAndLossTerms) {
  TestProgram program(R"(
stretto.layer @scale(%x: tensor<?x2xf32> dims [batch, embed], params(%w: tensor<2xf32> dims [embed] init ones)) -> tensor<?x2xf32> {
  %y = stretto.mul %x, %w : tensor<?x2xf32>, tensor<2xf32> -> tensor<?x2xf32>
  stretto.yield %y : tensor<?x2xf32>
}
stretto.layer @head(%x: tensor<?x2xf32> dims [batch, embed], params(%w: tensor<2xf32> dims [embed])) -> (tensor<f32>, tensor<f32>, tensor<?x2xf32>) {
  %y = stretto.mul %x, %w : tensor<?x2xf32>, tensor<2xf32> -> tensor<?x2xf32>
  %s = stretto.reduce sum %y dims [0, 1] : tensor<?x2xf32> -> tensor<f32>
  %c = stretto.constant 4.0 : tensor<f32>
  stretto.yield %s, %c, %y : tensor<f32>, tensor<f32>, tensor<?x2xf32>
}
stretto.model @m(%x: tensor<?x2xf32> dims [batch, embed]) {
  %h0 = stretto.call @scale(%x) scope "layers.0" : (tensor<?x2xf32>) -> tensor<?x2xf32>
  %h1 = stretto.call @scale(%h0) scope "layers.1" : (tensor<?x2xf32>) -> tensor<?x2xf32>
  %s, %c, %y = stretto.call @head(%h1) scope "head" bind {w = "layers.0.w"} : (tensor<?x2xf32>) -> (tensor<f32>, tensor<f32>, tensor<?x2xf32>)
  stretto.loss %s, %c weight 0.5 : tensor<f32>, tensor<f32>
  stretto.output "y" %y : tensor<?x2xf32>
})");
  ModelOp model = program.find<ModelOp>("m");
  Machine machine(program.get(), MeshAttr(), 1, 1);
  NamedValues inputs, parameters;
  inputs["x"] = {reals({2, 2}, {1, 2, 3, 4})};
  parameters["layers.0.w"] = {reals({2}, {2, 3})};
  EXPECT_TRUE(mlir::failed(machine.run(model, inputs, parameters)));
  EXPECT_NE(program.errors.find("parameter layers.1.w was not given"),
            std::string::npos)
      << program.errors;
  parameters["layers.1.w"] = {reals({2}, {1, 10})};
  auto result = machine.run(model, inputs, parameters);
  ASSERT_TRUE(mlir::succeeded(result)) << program.errors;
  // x * w0 * w1 * w0 = x * (4, 90).
  expectNear(result->outputs["y"][0], {4, 180, 12, 360});
  ASSERT_EQ(result->losses.size(), 1u);
  EXPECT_NEAR(result->losses[0].sum[0].getFloats()[0], 556, 1e-12);
  EXPECT_NEAR(result->loss(), 0.5 * 556 / 4, 1e-12);
}

TEST(Programs, WhatWasNotPlannedIsRefused) {
  TestProgram program(
      "module attributes {stretto.mesh = #stretto.mesh<dp = 2>} {" +
      oneOp("%x: tensor<2xf32>",
            "stretto.reshard %x : tensor<2xf32> -> tensor<2xf32>",
            "tensor<2xf32>") +
      "}");
  Machine machine(program.get(), MeshAttr(), 1, 1);
  EXPECT_TRUE(mlir::failed(
      machine.call(program.find<SegmentOp>("f"), {{reals({2}, {1, 2})}})));
  EXPECT_NE(program.errors.find("has no reference evaluation"),
            std::string::npos)
      << program.errors;
}

/// What running `op` on `arguments` complains of.
static std::string complaint(const std::string &types, const std::string &op,
                             const std::string &results, int numResults,
                             llvm::ArrayRef<Tensor> arguments) {
  TestProgram program(oneOp(types, op, results, numResults));
  llvm::SmallVector<RankTensors> values;
  for (const Tensor &argument : arguments)
    values.push_back({argument});
  Machine machine(program.get(), MeshAttr(), 1, 1);
  EXPECT_TRUE(mlir::failed(machine.call(program.find<SegmentOp>("f"), values)));
  return program.errors;
}

TEST(Programs, WhatVerifiersLeaveOpenIsDiagnosed) {
  EXPECT_NE(complaint("%x: tensor<2xi32>",
                      "stretto.softmax %x {dim = 0 : i64} : tensor<2xi32> -> "
                      "tensor<2xi32>",
                      "tensor<2xi32>", 1, {Tensor::ints({2})})
                .find("operand #0 must be real"),
            std::string::npos);
  EXPECT_NE(complaint("", "stretto.constant 1.0 : tensor<65536x65536xf32>",
                      "tensor<65536x65536xf32>", 1, {})
                .find("too large for the reference"),
            std::string::npos);
}

TEST(Programs, RunTimeShapesMustAgree) {
  TestProgram program(oneOp("%a: tensor<?x2xf32>, %b: tensor<?x2xf32>",
                            "stretto.add %a, %b : tensor<?x2xf32>, "
                            "tensor<?x2xf32> -> tensor<?x2xf32>",
                            "tensor<?x2xf32>"));
  Machine machine(program.get(), MeshAttr(), 1, 1);
  EXPECT_TRUE(mlir::failed(
      machine.call(program.find<SegmentOp>("f"),
                   {{Tensor::floats({3, 2})}, {Tensor::floats({2, 2})}})));
  EXPECT_NE(program.errors.find("does not align"), std::string::npos)
      << program.errors;
}
