//===- GoodProgram.h - a Program with every kind of command -----*- C++ -*-===//
//
// The Program that tests make faults in, and the seed of the fuzzer's corpus.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TEST_UNIT_RUNTIME_GOODPROGRAM_H
#define STRETTO_TEST_UNIT_RUNTIME_GOODPROGRAM_H

#include "ProgramBuilder.h"

#include "stretto/Runtime/AttentionWorkspace.h"

namespace stretto::runtime::test {

inline GemmT goodGemm() {
  GemmT gemm;
  gemm.m = 4, gemm.n = 8, gemm.k = 2;
  gemm.a_row = 2, gemm.a_col = 1;
  gemm.b_row = 8, gemm.b_col = 1;
  gemm.c_row = 8, gemm.c_col = 1;
  gemm.batch = {3};
  gemm.a_batch = {8}, gemm.b_batch = {0}, gemm.c_batch = {32};
  return gemm;
}

inline AttentionT goodAttention() {
  AttentionT attention;
  attention.batch = 1, attention.q_len = 16, attention.kv_len = 16;
  attention.heads = 2, attention.kv_heads = 1, attention.head_dim = 4;
  attention.causal = true;
  attention.scale = 0.5;
  return attention;
}

constexpr uint64_t workspace =
    attentionWorkspaceBytes({true, 1, 16, 16, 2, 1, 4, true});

inline CollectiveT goodCollective(CollectiveKind kind) {
  CollectiveT collective;
  collective.kind = kind;
  collective.outer = 2, collective.inner = 4;
  return collective;
}

// Commands of the one segment, by index.
enum {
  Kernel,
  Product,
  Forward,
  Backward,
  Reduce,
  Gather,
  Filled,
  Copied,
  Recorded,
  Waited
};

inline ProgramT good() {
  ProgramT program;
  program.version = programVersion;
  addAxis(program, "dp", 2);
  addAxis(program, "tp", 4);
  addGroup(program, {AxisRef(1, 1, 4)});
  program.kernels = {"kernel"};
  program.streams = 2;
  addRegion(program, Region::Parameters, 4096);
  addRegion(program, Region::Activations, 4096);
  addRegion(program, Region::Scratch, 65536);
  SegmentT &segment = addSegment(program, "layer");
  addArgument(segment, 1024);
  addArgument(segment, 1024, Access::ReadWrite);
  segment.scratch_bytes = 65536;
  LaunchT launch;
  launch.scalars = list(scalar(1, {{Symbol::AxisIndex, 2, AxisRef(1, 2, 2)}}));
  addCommand(segment, std::move(launch), argument(0, 1024),
             argument(1, 512, Access::Write, 512));
  addCommand(segment, goodGemm(), argument(0, 96), argument(0, 64),
             local(0, 384, Access::Write));
  addCommand(segment, goodAttention(), argument(0, 512), argument(0, 256),
             argument(0, 256), local(0, 512, Access::Write),
             local(512, 128, Access::Write),
             local(1024, workspace, Access::Write));
  AttentionT backward = goodAttention();
  backward.backward = true;
  addCommand(segment, std::move(backward), argument(0, 512), argument(0, 256),
             argument(0, 256), local(0, 512), local(512, 128), local(640, 512),
             local(2048, 512, Access::Write), local(2560, 256, Access::Write),
             local(2816, 256, Access::Write),
             local(4096, workspace, Access::Write));
  addCommand(segment, goodCollective(CollectiveKind::AllReduce),
             argument(1, 32), argument(1, 32, Access::Write));
  addCommand(segment, goodCollective(CollectiveKind::AllGather),
             argument(0, 32), local(0, 128, Access::Write));
  addCommand(segment, FillT(), local(0, 1024, Access::Write));
  addCommand(segment, CopyT(), argument(0, 64), local(0, 64, Access::Write));
  addCommand(segment, RecordT());
  addCommand(segment, WaitT()).stream = 1;
  FunctionT &function = addFunction(program, "train");
  function.inputs.push_back(binding("x",
                                    list(dimension(30, 32, {AxisRef(0, 1, 2)})),
                                    list(slot(Region::Activations, 0, 64))));
  CallT &call = addCall(function, 0, slot(Region::Parameters, 0, 1024),
                        slot(Region::Activations, 64, 1024));
  call.scratch = slot(Region::Scratch, 0, 65536);
  auto parameter = std::make_unique<ParameterT>();
  parameter->name = "w";
  parameter->dims = list(dimension(6, 8, {AxisRef(1, 1, 4)}));
  parameter->parameter = slot(Region::Parameters, 0, 64);
  parameter->gradient = slot(Region::Activations, 0, 64);
  parameter->moments = list(slot(Region::Activations, 64, 64));
  program.parameters.push_back(std::move(parameter));
  return program;
}

} // namespace stretto::runtime::test

#endif // STRETTO_TEST_UNIT_RUNTIME_GOODPROGRAM_H
