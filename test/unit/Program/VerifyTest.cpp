//===- VerifyTest.cpp -----------------------------------------------------===//
//
// The static verifier accepts what the compiler writes and names what is wrong
// in Programs of two streams and in broken training steps.
//
//===----------------------------------------------------------------------===//

#include "Lowered.h"

#include "mlir/Parser/Parser.h"
#include "stretto/Program/Verify.h"
#include "gtest/gtest.h"

using namespace stretto;
using namespace stretto::test;

namespace {

std::string errorsOf(llvm::StringRef bytes) {
  Diagnostics diagnostics;
  (void)verifyProgram(bytes, diagnostics);
  return diagnostics.summary();
}

/// Errors of a module in words of the dialect `program`.
std::string errorsOfText(const std::string &text) {
  mlir::MLIRContext context;
  context.loadDialect<StrettoDialect, exec::ProgramDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return "does not parse";
  auto bytes = packProgram(*module);
  return succeeded(bytes) ? errorsOf(*bytes) : "does not serialize";
}

TEST(Verify, AcceptsALoweredStep) {
  Lowered lowered("Memory/train-step.mlir");
  ASSERT_TRUE(lowered.module);
  EXPECT_EQ(errorsOf(*packProgram(*lowered.module)), "");
}

/// Commands of one segment over an input, an output and scratch.
std::string program(const std::string &commands) {
  return R"(
module attributes {stretto.mesh = #stretto.mesh<dp = 2>} {
  program.region inputs 64
  program.region outputs 64
  program.region scratch 256
  program.segment @s(x: 64 r, y: 64 w) scratch 256 {
)" + commands +
         R"(
  }
  program.function @f {
    program.input "x" f32 [16] at (inputs[0, 64])
    program.output "y" f32 [16] at (outputs[0, 64])
    program.call @s(inputs[0, 64], outputs[0, 64]) using scratch[0, 256] instance "i"
  }
})";
}

TEST(Verify, OneStreamIsOrdered) {
  EXPECT_EQ(
      errorsOfText(program("program.copy(r arg0[0, 64], w local0[0, 64])\n"
                           "program.copy(r local0[0, 64], w arg1[0, 64])")),
      "");
}

TEST(Verify, FindsReadsOfNothing) {
  EXPECT_NE(
      errorsOfText(program("program.copy(r local0[0, 64], w arg1[0, 64])"))
          .find("reads bytes that nothing wrote: Scratch [0, 64)"),
      std::string::npos);
}

TEST(Verify, FindsReadsAcrossBuffers) {
  EXPECT_NE(
      errorsOfText(program("program.copy(r arg0[0, 64], w local0[0, 64])\n"
                           "program.copy(r arg0[0, 64], w local0[64, 64])\n"
                           "program.copy(r local0[32, 64], w arg1[0, 64])"))
          .find("written as another buffer"),
      std::string::npos);
}

TEST(Verify, FindsReadsOfAnotherValue) {
  std::string errors =
      errorsOfText(program("program.copy(r arg0[0, 64], w local0[0, 64])\n"
                           "program.copy(r local1[0, 64], w arg1[0, 64])"));
  EXPECT_NE(errors.find("written as another buffer or value"),
            std::string::npos)
      << errors;
}

TEST(Verify, FindsWorkForNothing) {
  std::string errors =
      errorsOfText(program("program.copy(r arg0[0, 64], w local0[0, 64])\n"
                           "program.copy(r arg0[0, 64], w arg1[0, 64])"));
  EXPECT_NE(errors.find("nobody reads what it writes"), std::string::npos)
      << errors;
}

TEST(Verify, FindsMissingEvents) {
  std::string write = "program.copy(r arg0[0, 64], w local0[0, 64])\n";
  std::string record = "program.record 7\n";
  std::string wait = "program.wait 7 {stream = 1 : i64}\n";
  std::string read =
      "program.copy(r local0[0, 64], w arg1[0, 64]) {stream = 1 : i64}\n";
  EXPECT_EQ(errorsOfText(program(write + record + wait + read)), "");
  EXPECT_NE(errorsOfText(program(write + read)).find("may still write"),
            std::string::npos);
  // An event recorded before the write does not help.
  EXPECT_NE(errorsOfText(program(record + write + wait + read))
                .find("may still write"),
            std::string::npos);
  // The scratch is used again while the other stream still reads it.
  EXPECT_NE(errorsOfText(program(write + record + wait + read + write))
                .find("may still read"),
            std::string::npos);
  std::string back = "program.record 8 {stream = 1 : i64}\nprogram.wait 8\n";
  EXPECT_EQ(errorsOfText(program(write + record + wait + read + back + write +
                                 "program.copy(r local0[0, 64], "
                                 "w arg1[0, 64])")),
            "");
  // Two writers.
  EXPECT_NE(errorsOfText(program(write +
                                 "program.copy(r arg0[0, 64], w local0[0, 64]) "
                                 "{stream = 1 : i64}\n"
                                 "program.copy(r arg0[0, 64], w arg1[0, 64])"))
                .find("may still write"),
            std::string::npos);
}

/// A segment that copies by way of its scratch.
const std::string copiesTwice = R"(
  program.segment @s(x: 64 r, y: 64 w) scratch 64 {
    program.copy(r arg0[0, 64], w local0[0, 64])
    program.copy(r local0[0, 64], w arg1[0, 64])
  }
)";

/// Two calls that hand over `middle`, the second with `order`.
std::string handedOver(const std::string &order,
                       const std::string &scratch = "") {
  return errorsOfText(R"(
module attributes {stretto.mesh = #stretto.mesh<dp = 2>} {
  program.region inputs 64
  program.region outputs 64
  program.region activations 256
  program.region scratch 256
)" + copiesTwice + R"(
  program.function @f {
    program.input "x" f32 [16] at (inputs[0, 64])
    program.output "y" f32 [16] at (outputs[0, 64])
    program.call @s(inputs[0, 64], activations[0, 64 : 1]) using scratch[64, 64] instance "a" stream 1
    program.call @s(activations[0, 64 : 1], outputs[0, 64]) using )" +
                      (scratch.empty() ? "scratch[128, 64]" : scratch) +
                      R"( instance "b" )" + order + R"(
  }
})");
}

TEST(Verify, CallsOfTwoStreamsAreOrderedByWhatTheyStartAfter) {
  EXPECT_EQ(handedOver("stream 1"), "");
  EXPECT_EQ(handedOver("after [0]"), "");
  std::string errors = handedOver("");
  EXPECT_NE(errors.find("call 1 (b), s:copy"), std::string::npos) << errors;
  EXPECT_NE(errors.find("another stream may still write: an event is missing: "
                        "Activations [0, 64)"),
            std::string::npos)
      << errors;
}

TEST(Verify, ScratchOfConcurrentCallsIsApart) {
  // Ordered, both may use the same; but never what an argument lies in.
  EXPECT_EQ(handedOver("after [0]", "scratch[64, 64]"), "");
  EXPECT_NE(handedOver("after [0]", "scratch[0, 64]").find("overlapping"),
            std::string::npos);
  std::string errors = errorsOfText(R"(
module attributes {stretto.mesh = #stretto.mesh<dp = 2>} {
  program.region inputs 64
  program.region outputs 128
  program.region scratch 64
)" + copiesTwice + R"(
  program.function @f {
    program.input "x" f32 [16] at (inputs[0, 64])
    program.output "y" f32 [16] at (outputs[0, 64])
    program.output "z" f32 [16] at (outputs[64, 64])
    program.call @s(inputs[0, 64], outputs[0, 64]) using scratch[0, 64] instance "a"
    program.call @s(inputs[0, 64], outputs[64, 64]) using scratch[0, 64] instance "b" stream 1
  }
})");
  EXPECT_NE(errors.find("another stream may still read"), std::string::npos)
      << errors;
  EXPECT_NE(errors.find("Scratch [0, 64)"), std::string::npos) << errors;
}

TEST(Verify, TransientRegionsAreOneMemory) {
  std::string errors = errorsOfText(R"(
module attributes {stretto.mesh = #stretto.mesh<dp = 2>} {
  program.region inputs 64
  program.region outputs 64
  program.region activations 64
  program.region gradients 64
  program.segment @s(x: 64 r, y: 64 w) scratch 0 {
    program.copy(r arg0[0, 64], w arg1[0, 64])
  }
  program.segment @add(a: 64 r, b: 64 r, y: 64 w) scratch 0 {
    program.copy(r arg0[0, 64], w arg2[0, 64])
    program.copy(r arg1[0, 64], w arg2[0, 64])
  }
  program.function @f {
    program.input "x" f32 [16] at (inputs[0, 64])
    program.output "y" f32 [16] at (outputs[0, 64])
    program.call @s(inputs[0, 64], activations[0, 64 : 1]) instance "a"
    program.call @s(inputs[0, 64], gradients[0, 64 : 2]) instance "b"
    program.call @add(activations[0, 64 : 1], gradients[0, 64 : 2], outputs[0, 64]) instance "c"
  }
})");
  EXPECT_NE(errors.find("written as another buffer or value: Activations"),
            std::string::npos)
      << errors;
}

/// What a call did on a stream that it names is known to those after it.
TEST(Verify, ACallEndsOnAllItsStreams) {
  auto errors = [](const std::string &order) {
    return errorsOfText(R"(
module attributes {stretto.mesh = #stretto.mesh<dp = 2>} {
  program.region inputs 64
  program.region outputs 64
  program.region activations 64
  program.segment @there(x: 64 r, y: 64 w) scratch 0 {
    program.copy(r arg0[0, 64], w arg1[0, 64]) {stream = 2 : i64}
  }
  program.segment @here(x: 64 r, y: 64 w) scratch 0 {
    program.copy(r arg0[0, 64], w arg1[0, 64])
  }
  program.function @f {
    program.input "x" f32 [16] at (inputs[0, 64])
    program.output "y" f32 [16] at (outputs[0, 64])
    program.call @there(inputs[0, 64], activations[0, 64 : 1]) instance "a"
    program.call @here(activations[0, 64 : 1], outputs[0, 64]) instance "b" )" +
                        order + "}}");
  };
  EXPECT_EQ(errors("stream 1 after [0]"), "");
  EXPECT_EQ(errors("stream 2"), "");
  EXPECT_NE(errors(""), "");
  EXPECT_NE(errors("stream 1"), "");
}

TEST(Verify, AStepOfTwoStreamsIsFine) {
  mlir::MLIRContext context;
  context.loadDialect<StrettoDialect, exec::ProgramDialect>();
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(
      STRETTO_TEST_DIR "/Program/overlapped.mlir", &context);
  ASSERT_TRUE(module);
  EXPECT_EQ(errorsOf(*packProgram(*module)), "");
}

TEST(Verify, EventsAreTransitive) {
  EXPECT_EQ(
      errorsOfText(program(
          "program.copy(r arg0[0, 64], w local0[0, 64])\n"
          "program.record 0\n"
          "program.wait 0 {stream = 1 : i64}\n"
          "program.record 1 {stream = 1 : i64}\n"
          "program.wait 1 {stream = 2 : i64}\n"
          "program.copy(r local0[0, 64], w arg1[0, 64]) {stream = 2 : i64}")),
      "");
}

TEST(Verify, CollectivesOfAGroupOnTwoStreamsNeedNoOrder) {
  std::string first =
      "program.collective all_reduce sum f32(r arg0[0, 64], w local0[0, 64]) "
      "over <mesh<dp = 2>, {dp}> sizes 1 x 1 x 16\n";
  std::string second =
      "program.collective all_reduce sum f32(r arg0[0, 64], w local1[64, 64]) "
      "over <mesh<dp = 2>, {dp}> sizes 1 x 1 x 16 {stream = 1 : i64}\n";
  std::string use = "program.copy(r local0[0, 64], w arg1[0, 64])\n"
                    "program.copy(r local1[64, 64], w arg1[0, 64]) "
                    "{stream = 1 : i64}\n";
  std::string errors = errorsOfText(program(first + second + use));
  EXPECT_EQ(errors.find("all_reduce"), std::string::npos) << errors;
  // What they write needs one, of course.
  EXPECT_NE(errors.find("may still write"), std::string::npos) << errors;
}

TEST(Verify, FindsOverlappingOperands) {
  EXPECT_NE(
      errorsOfText(program("program.copy(r arg0[0, 64], w local0[0, 64])\n"
                           "program.copy(r local0[0, 64], w local0[32, 64])\n"
                           "program.copy(r arg0[0, 64], w arg1[0, 64])"))
          .find("overlapping operands"),
      std::string::npos);
}

TEST(Verify, FindsWhatASegmentForgetsToWrite) {
  EXPECT_NE(errorsOfText(program("program.copy(r arg0[0, 32], w arg1[0, 32])"))
                .find("does not write all of its argument 1 'y'"),
            std::string::npos);
}

/// The lowered step, changed by `change` on the file's tables.
template <typename Change> std::string errorsOfChanged(Change change) {
  Lowered lowered("Memory/train-step.mlir");
  std::string bytes = *packProgram(*lowered.module);
  program::ProgramT table;
  program::GetProgram(bytes.data())->UnPackTo(&table);
  change(table);
  flatbuffers::FlatBufferBuilder builder;
  program::FinishProgramBuffer(builder,
                               program::Program::Pack(builder, &table));
  return errorsOf({reinterpret_cast<const char *>(builder.GetBufferPointer()),
                   builder.GetSize()});
}

program::SegmentT &segment(program::ProgramT &table, const std::string &name) {
  for (auto &segment : table.segments)
    if (segment->name == name)
      return *segment;
  ADD_FAILURE() << "no segment " << name;
  return *table.segments[0];
}

TEST(Verify, FindsAMissingGradientReduction) {
  std::string errors = errorsOfChanged([](program::ProgramT &table) {
    auto &commands = segment(table, "l.reduce").commands;
    commands.erase(commands.begin());
  });
  EXPECT_NE(
      errors.find("parameter 'l.w' has a gradient that is not summed over "
                  "mesh axis 'dp'"),
      std::string::npos)
      << errors;
}

/// A table with two uses: each backward sums its gradient over the ranks before
/// it adds it to an accumulator, and the step adds the accumulators.
std::string tiedTable(const std::string &sum) {
  return errorsOfText(R"(
module attributes {stretto.mesh = #stretto.mesh<dp = 2>} {
  stretto.kernel @k(%x: tensor<16xf32>) -> tensor<16xf32> { stretto.yield %x : tensor<16xf32> }
  stretto.kernel @keep(%x: tensor<16xf32>) -> tensor<16xf32> { stretto.yield %x : tensor<16xf32> }
  stretto.kernel @add(%x: tensor<16xf32>) -> tensor<16xf32> { stretto.yield %x : tensor<16xf32> }
  stretto.kernel @step(%x: tensor<16xf32>) -> tensor<16xf32> { stretto.yield %x : tensor<16xf32> }
  program.region parameters 64
  program.region gradients 192
  program.region inputs 32
  program.region scratch 256
  program.segment @bwd(x: 32 r, acc: 64 w) scratch 64 {
    program.launch @k(r arg0[0, 32], w local0[0, 64]) scalars []
    )" + sum + R"(
    program.launch @keep(r local0[0, 64], w arg1[0, 64]) scalars []
  }
  program.segment @reduce(a: 64 r, b: 64 r, g: 64 w) scratch 0 {
    program.launch @add(r arg0[0, 64], r arg1[0, 64], w arg2[0, 64]) scalars []
  }
  program.segment @update(g: 64 r, w: 64 rw) scratch 0 {
    program.launch @step(r arg0[0, 64], rw arg1[0, 64]) scalars []
  }
  program.parameter "w" f32 [16] at parameters[0, 64] gradient gradients[128, 64] moments ()
  program.function @train {
    program.input "x" f32 [16] on <mesh<dp = 2>, [{dp}]> at (inputs[0, 32])
    program.call @bwd(inputs[0, 32], gradients[0, 64]) using scratch[192, 64] instance "head"
    program.call @bwd(inputs[0, 32], gradients[64, 64]) using scratch[192, 64] instance "embed"
    program.call @reduce(gradients[0, 64], gradients[64, 64], gradients[128, 64]) instance "embed"
    program.call @update(gradients[128, 64], parameters[0, 64]) instance "embed"
  }
})");
}

TEST(Verify, FollowsSumsIntoAccumulators) {
  EXPECT_EQ(tiedTable("program.collective all_reduce sum f32(r local0[0, 64], "
                      "w local0[0, 64]) over <mesh<dp = 2>, {dp}> sizes 1 x 1 "
                      "x 16"),
            "");
  std::string errors = tiedTable("");
  EXPECT_NE(errors.find("not summed over mesh axis 'dp'"), std::string::npos)
      << errors;
}

TEST(Verify, FindsAMissingAndASecondUpdate) {
  auto changeLast = [](bool twice) {
    return errorsOfChanged([&](program::ProgramT &table) {
      auto &calls = table.functions[0]->calls;
      if (twice)
        calls.push_back(std::make_unique<program::CallT>(*calls.back()));
      else
        calls.pop_back();
    });
  };
  EXPECT_NE(changeLast(false).find("value is written 0 times"),
            std::string::npos);
  EXPECT_NE(changeLast(true).find("value is written 2 times"),
            std::string::npos);
}

TEST(Verify, FindsAnInputOfAnotherMicrobatch) {
  std::string errors = errorsOfChanged([](program::ProgramT &table) {
    table.functions[0]->calls[4]->microbatch = 0;
  });
  EXPECT_NE(errors.find("micro-batch 0 uses slot 1 of input 'x'"),
            std::string::npos)
      << errors;
}

} // namespace
