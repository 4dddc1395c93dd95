//===- ProgramTest.cpp - what a Program must satisfy ----------------------===//
//
// A good Program with every kind of command is loaded; then one thing after the
// other is made wrong in it and must be refused with the reason; then its bytes
// are damaged at random, which must never do more than be refused.
//
//===----------------------------------------------------------------------===//

#include "GoodProgram.h"

#include <functional>
#include <gtest/gtest.h>
#include <random>

namespace stretto::runtime::test {
namespace {

TEST(Program, AGoodOneLoads) {
  auto program = load(good());
  ASSERT_TRUE(program) << program.message();
  EXPECT_EQ((*program)->mesh().numRanks(), 8);
  EXPECT_EQ((*program)->regionBytes(Region::Scratch), 65536u);
  EXPECT_EQ((*program)->regionBytes(Region::Gradients), 0u);
  EXPECT_NE((*program)->findFunction("train"), nullptr);
  EXPECT_EQ((*program)->findFunction("eval"), nullptr);
  EXPECT_NE((*program)->findParameter("w"), nullptr);
  std::string bytes = serialize(good());
  EXPECT_EQ((*program)->hash(), xxh3(bytes));
}

TEST(Program, CallsOfTwoStreamsLoad) {
  ProgramT program = good();
  CallT &first = *program.functions[0]->calls[0];
  for (uint16_t stream : {1, 0}) {
    auto call = std::make_unique<CallT>(first);
    call->stream = stream;
    call->after = {uint32_t(1 - stream)};
    program.functions[0]->calls.push_back(std::move(call));
  }
  auto loaded = load(program);
  EXPECT_TRUE(loaded) << loaded.message();
}

struct Fault {
  const char *reason; // part of the message
  std::function<void(ProgramT &)> apply;
};

/// A dimension as the parameter's, for its gradient or moments.
DimensionT &restApart(ProgramT &p,
                      std::vector<std::unique_ptr<DimensionT>> &dims) {
  dims.push_back(std::make_unique<DimensionT>(*p.parameters[0]->dims[0]));
  return *dims.back();
}

GemmT &gemm(ProgramT &p) {
  return *p.segments[0]->commands[Product]->payload.AsGemm();
}
AttentionT &attention(ProgramT &p) {
  return *p.segments[0]->commands[Forward]->payload.AsAttention();
}
CollectiveT &collective(ProgramT &p) {
  return *p.segments[0]->commands[Reduce]->payload.AsCollective();
}
/// A permutation of the group's members, `by` further on.
void shift(ProgramT &p, int64_t by) {
  collective(p).kind = CollectiveKind::Permute;
  collective(p).to = p.groups[0]->axes;
  collective(p).shift = by;
}
LaunchT &launch(ProgramT &p) {
  return *p.segments[0]->commands[Kernel]->payload.AsLaunch();
}
OperandT &at(ProgramT &p, int command, int index) {
  return *p.segments[0]->commands[command]->operands[index];
}
void dropOperand(ProgramT &p, int command) {
  p.segments[0]->commands[command]->operands.pop_back();
}
CallT &call(ProgramT &p) { return *p.functions[0]->calls[0]; }
/// A second call, on stream 1, and a third after the `calls`, on stream 0.
void callAfter(ProgramT &p, std::vector<uint32_t> calls) {
  p.functions[0]->calls.push_back(std::make_unique<CallT>(call(p)));
  p.functions[0]->calls.back()->stream = 1;
  p.functions[0]->calls.push_back(std::make_unique<CallT>(call(p)));
  p.functions[0]->calls.back()->after = std::move(calls);
}

const Fault faults[] = {
    {"version", [](auto &p) { p.version = 2; }},
    {"has 0 streams, 1 to 256", [](auto &p) { p.streams = 0; }},
    {"has 257 streams", [](auto &p) { p.streams = 257; }},
    {"size 0", [](auto &p) { p.mesh[0]->size = 0; }},
    {"ranks", [](auto &p) { p.mesh[0]->size = p.mesh[1]->size = 1u << 31; }},
    {"no mesh axis 2", [](auto &p) { p.groups[0]->axes[0] = {2, 1, 2}; }},
    {"does not divide", [](auto &p) { p.groups[0]->axes[0] = {1, 1, 3}; }},
    {"does not divide", [](auto &p) { p.groups[0]->axes[0] = {1, 0, 4}; }},
    {"does not divide", [](auto &p) { p.groups[0]->axes[0] = {1, 1, 0}; }},
    {"used twice", [](auto &p) { p.groups[0]->axes.push_back({1, 2, 2}); }},
    {"more than 64 axes", [](auto &p) { p.groups[0]->axes.resize(65, {0, 1, 1}); }},
    {"given twice", [](auto &p) { addRegion(p, Region::Scratch, 1); }},
    {"no region 99", [](auto &p) { p.regions[0]->region = Region(99); }},
    {"too large", [](auto &p) { p.regions[0]->bytes = UINT64_MAX - 8; }},
    {"two of this name", [](auto &p) { addSegment(p, "layer"); }},
    {"two of this name", [](auto &p) { addFunction(p, "train"); }},
    {"no kernel 1", [](auto &p) { launch(p).kernel = 1; }},
    {"no symbol", [](auto &p) { launch(p).scalars[0]->terms[0]->symbol = Symbol(9); }},
    {"no mesh axis", [](auto &p) { launch(p).scalars[0]->terms[0]->axis.reset(); }},
    {"no argument 2", [](auto &p) { at(p, Kernel, 0).index = 2; }},
    {"no space", [](auto &p) { at(p, Kernel, 0).space = Space(7); }},
    {"no access", [](auto &p) { at(p, Kernel, 0).access = Access(0); }},
    {"read-only", [](auto &p) { at(p, Kernel, 0).access = Access::Write; }},
    {"leaves the 1024 bytes", [](auto &p) { at(p, Kernel, 0).bytes = 1025; }},
    {"leaves the 1024 bytes", [](auto &p) { at(p, Kernel, 1).offset = UINT64_MAX - 63; }},
    {"leaves the 65536 bytes", [](auto &p) { at(p, Filled, 0).offset = 65536; }},
    {"not a multiple of 64", [](auto &p) { at(p, Kernel, 1).offset = 32; }},
    {"not aligned", [](auto &p) { at(p, Product, 1).offset = 2; }},
    {"has 2 operands, needs 3", [](auto &p) { dropOperand(p, Product); }},
    {"A has 96 bytes, 128 are needed", [](auto &p) { gemm(p).batch[0] = 4; }},
    {"A has 96 bytes", [](auto &p) { gemm(p).m = 5; }},
    {"B has 64 bytes", [](auto &p) { gemm(p).b_row = 9; }},
    {"C has 384 bytes", [](auto &p) { gemm(p).c_col = 2; }},
    {"A has 96 bytes", [](auto &p) { gemm(p).k = INT64_MAX; }},
    {"sizes must be", [](auto &p) { gemm(p).n = 0; }},
    {"sizes must be", [](auto &p) { gemm(p).a_row = -1; }},
    {"sizes must be", [](auto &p) { gemm(p).c_batch[0] = -32; }},
    {"batch strides", [](auto &p) { gemm(p).a_batch.clear(); }},
    {"not declared ReadWrite", [](auto &p) { gemm(p).accumulate = true; }},
    {"element type", [](auto &p) { gemm(p).dtype = DType(50); }},
    {"element type", [](auto &p) { gemm(p).c_dtype = DType(50); }},
    {"C has 384 bytes, 768 are", [](auto &p) { gemm(p).c_dtype = DType::F64; }},
    {"has 1 element types for 2", [](auto &p) { launch(p).types = {DType::BF16}; }},
    {"operand 1: its element type", [](auto &p) { launch(p).types = {DType::BF16, DType(50)}; }},
    {"a size of",
     [](auto &p) { attention(p).q_len = int64_t(1) << 31; }},
    {"a size of 0", [](auto &p) { attention(p).head_dim = 0; }},
    {"q has 512 bytes", [](auto &p) { attention(p).batch = 2; }},
    {"k has 256 bytes", [](auto &p) { attention(p).kv_len = 17; }},
    {"do not divide", [](auto &p) { attention(p).kv_heads = 3; }},
    {"positions of all shards", [](auto &p) { attention(p).queries = -1; }},
    {"positions of all shards",
     [](auto &p) { attention(p).keys = int64_t(1) << 41; }},
    {"0 blocks of keys", [](auto &p) { attention(p).blocks = 0; }},
    {"out has 512 bytes", [](auto &p) { attention(p).blocks = 2; }},
    {"dropout", [](auto &p) { attention(p).dropout = 1; }},
    {"dropout", [](auto &p) { attention(p).dropout = std::nan(""); }},
    {"not supported", [](auto &p) { attention(p).dtype = DType::F16; }},
    {"lse has 64 bytes, 128 are",
     [](auto &p) {
       attention(p).dtype = DType::BF16;
       at(p, Forward, 4).bytes = 64;
     }},
    {"has 6 operands, needs 10", [](auto &p) { attention(p).backward = true; }},
    {"workspace has", [](auto &p) { at(p, Forward, 5).bytes = 64; }},
    {"workspace: offset", [](auto &p) { at(p, Forward, 5).offset = 1028; }},
    {"lse has", [](auto &p) { at(p, Backward, 4).bytes = 124; }},
    {"no group 1", [](auto &p) { collective(p).group = 1; }},
    {"does not exist", [](auto &p) { collective(p).kind = CollectiveKind(5); }},
    {"not of the axes", [](auto &p) { collective(p).kind = CollectiveKind::Permute; }},
    {"only a permutation", [](auto &p) { collective(p).to = {{0, 1, 2}}; }},
    {"shift 1 must be at least 0 and less than 1", [](auto &p) { collective(p).shift = 1; }},
    {"shift 4 must be at least 0 and less than 4", [](auto &p) { shift(p, 4); }},
    {"shift -1 must", [](auto &p) { shift(p, -1); }},
    {"does not exist", [](auto &p) { collective(p).reduce = ReduceKind(4); }},
    {"must be at least 1", [](auto &p) { collective(p).inner = 0; }},
    {"source has 32 bytes", [](auto &p) { collective(p).outer = 3; }},
    {"source has 32 bytes, 128 are", [](auto &p) { collective(p).kind = CollectiveKind::ReduceScatter; }},
    {"destination has 32 bytes, 128 are", [](auto &p) { collective(p).kind = CollectiveKind::AllGather; }},
    {"source has 32 bytes", [](auto &p) { collective(p).outer = INT64_MAX; }},
    {"destination has 60 bytes", [](auto &p) { at(p, Copied, 1).bytes = 60; }},
    {"no command before", [](auto &p) { p.segments[0]->commands[Waited]->payload.AsWait()->event = 1; }},
    {"stream 2 of 2", [](auto &p) { p.segments[0]->commands[0]->stream = 2; }},
    {"no segment 1", [](auto &p) { call(p).segment = 1; }},
    {"gives 1 arguments", [](auto &p) { call(p).arguments.pop_back(); }},
    {"scratch: has no memory", [](auto &p) { call(p).scratch.reset(); }},
    {"leaves region Scratch", [](auto &p) { call(p).scratch->offset = 64; }},
    {"has 64 bytes, 1024 are", [](auto &p) { call(p).arguments[0]->bytes = 64; }},
    {"multiple of 64", [](auto &p) { call(p).arguments[0]->offset = 4; }},
    {"of them alive", [](auto &p) { p.regions[0]->live = 4097; }},
    {"call 0 (): stream 2 of 2", [](auto &p) { call(p).stream = 2; }},
    {"starts after call 0, which does not come before", [](auto &p) { call(p).after = {0}; }},
    {"call 2 (): starts after call 2, which does not come before", [](auto &p) { callAfter(p, {1, 2}); }},
    {"starts after call 0, which is on the same stream 0", [](auto &p) { callAfter(p, {0}); }},
    {"starts after call 1 and call 1, which is not", [](auto &p) { callAfter(p, {1, 1}); }},
    {"micro-batch -1", [](auto &p) { call(p).microbatch = -1; }},
    {"does not divide by its 2 shards", [](auto &p) { p.functions[0]->inputs[0]->dims[0]->padded = 31; }},
    {"padded to 29", [](auto &p) { p.functions[0]->inputs[0]->dims[0]->padded = 29; }},
    {"a dimension of size -1", [](auto &p) { p.functions[0]->inputs[0]->dims[0]->size = -1; }},
    {"has 64 bytes, 128 are", [](auto &p) { p.functions[0]->inputs[0]->dims[0]->padded = 64; }},
    {"element type", [](auto &p) { p.functions[0]->inputs[0]->dtype = DType(8); }},
    {"has no memory", [](auto &p) { p.functions[0]->inputs[0]->slots.clear(); }},
    {"has no memory", [](auto &p) { p.parameters[0]->parameter.reset(); }},
    {"gradient: has 64 bytes, 128 are", [](auto &p) {
       p.parameters[0]->dims[0]->padded = 128;
       p.parameters[0]->parameter->bytes = 128;
     }},
    {"gradient: has 64 bytes, 128 are", [](auto &p) { restApart(p, p.parameters[0]->gradient_dims).padded = 128; }},
    {"moment: has 64 bytes, 128 are", [](auto &p) { restApart(p, p.parameters[0]->moment_dims).padded = 128; }},
    {"moments: dimension 0 has 7 elements, that of its parameter", [](auto &p) { restApart(p, p.parameters[0]->moment_dims).size = 7; }},
    {"gradient: it has 2 dimensions, its parameter 1", [](auto &p) {
       restApart(p, p.parameters[0]->gradient_dims);
       restApart(p, p.parameters[0]->gradient_dims).axes.clear();
     }},
    {"moment: [64, +64) leaves", [](auto &p) { p.regions[1]->bytes = 96; p.functions.clear(); }},
};

TEST(Program, EveryFaultIsRefusedWithItsReason) {
  for (const Fault &fault : faults) {
    ProgramT program = good();
    fault.apply(program);
    auto loaded = load(program);
    EXPECT_EQ(loaded.code(), Code::Rejected) << fault.reason;
    EXPECT_NE(loaded.message().find(fault.reason), std::string::npos)
        << "wanted '" << fault.reason << "', got: " << loaded.message();
  }
}

TEST(Program, ErrorsSayWhere) {
  ProgramT program = good();
  at(program, Copied, 1).bytes = 60;
  EXPECT_EQ(load(program).message(),
            "segment 'layer': command 7 (here): destination has 60 bytes, 64 "
            "are needed");
}

TEST(Program, WhatIsNotAProgramIsRefused) {
  std::string bytes = serialize(good());
  auto loadPrefix = [&](size_t size) {
    return runtime::Program::load(Bytes(bytes.data(), size));
  };
  constexpr size_t padding = 8; // the last bytes may mean nothing
  for (size_t size = 0; size + padding < bytes.size(); ++size)
    EXPECT_EQ(loadPrefix(size).code(), Code::Rejected) << size;
  EXPECT_TRUE(loadPrefix(bytes.size()));
}

/// Touches everything that the executor reads.
void walk(const runtime::Program &program) {
  int64_t last = program.mesh().numRanks() - 1;
  if (auto *groups = program.table().groups())
    for (auto *group : *groups)
      program.mesh().memberIndex(last, group->axes());
  if (auto *parameters = program.table().parameters())
    for (auto *parameter : *parameters)
      for (auto *dims : {parameter->dims(), gradientDims(*parameter),
                         momentDims(*parameter)})
        program.mesh().box(last, dims);
}

TEST(Program, DamagedBytesNeverDoHarm) {
  const std::string bytes = serialize(good());
  int refused = 0;
  for (uint32_t seed = 0; seed < 20000; ++seed) {
    std::mt19937 random(seed);
    std::string damaged = bytes;
    for (uint32_t i = 0; i <= random() % 4; ++i)
      damaged[random() % damaged.size()] = char(random());
    auto program =
        runtime::Program::load(Bytes(damaged.data(), damaged.size()));
    if (program)
      walk(**program);
    else
      ++refused;
  }
  EXPECT_GT(refused, 5000);
}

} // namespace
} // namespace stretto::runtime::test
