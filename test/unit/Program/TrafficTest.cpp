//===- TrafficTest.cpp ----------------------------------------------------===//
//
// Predicted bytes against counting what a direct algorithm reads, element by
// element, and against the closed forms where sizes divide.
//
//===----------------------------------------------------------------------===//

#include "Lowered.h"

#include "stretto/Program/Memory.h"
#include "stretto/Program/Traffic.h"
#include "gtest/gtest.h"

using namespace stretto;
using namespace stretto::test;
using program::CollectiveKind;

namespace {

const program::Collective &make(flatbuffers::FlatBufferBuilder &builder,
                                CollectiveKind kind, int64_t outer,
                                int64_t middle, int64_t inner) {
  builder.Clear();
  builder.Finish(
      program::CreateCollective(builder, kind, 0, program::ReduceKind::Sum,
                                program::DType::F32, outer, middle, inner));
  return *flatbuffers::GetRoot<program::Collective>(builder.GetBufferPointer());
}

TEST(Traffic, AllReduceCountsElementByElement) {
  flatbuffers::FlatBufferBuilder builder;
  for (int64_t members : {1, 2, 3, 4, 7})
    for (int64_t elements : {1, 2, 12, 13, 97}) {
      const auto &reduce =
          make(builder, CollectiveKind::AllReduce, 1, 1, elements);
      std::vector<uint64_t> read(members); // elements, from each by others
      auto ownerOf = [&](int64_t element) {
        int64_t owner = 0;
        while (elements * (owner + 1) / members <= element)
          ++owner;
        return owner;
      };
      for (int64_t element = 0; element < elements; ++element)
        for (int64_t other = 0; other < members; ++other)
          if (other != ownerOf(element)) {
            ++read[other];            // the owner reads it to reduce
            ++read[ownerOf(element)]; // and others copy the sum
          }
      for (int64_t k = 0; k < members; ++k)
        EXPECT_EQ(bytesSent(reduce, members, k), 4 * read[k])
            << members << " members, " << elements << " elements, " << k;
    }
}

TEST(Traffic, ClosedForms) {
  flatbuffers::FlatBufferBuilder builder;
  for (int64_t n : {2, 4, 8}) {
    uint64_t whole = 4 * 3 * n * 5 * 2; // bytes of [3, n, 5, 2] f32
    EXPECT_EQ(bytesSent(make(builder, CollectiveKind::AllReduce, 3, 1, n * 10),
                        n, n - 1),
              2 * (n - 1) * whole / n);
    EXPECT_EQ(
        bytesSent(make(builder, CollectiveKind::AllGather, 3, 1, 10), n, 0),
        (n - 1) * whole / n);
    EXPECT_EQ(
        bytesSent(make(builder, CollectiveKind::ReduceScatter, 3, 1, 10), n, 0),
        (n - 1) * whole / n);
    EXPECT_EQ(bytesSent(make(builder, CollectiveKind::AllToAll, 3, 5, 2), n, 0),
              (n - 1) * whole / n);
  }
}

TEST(Traffic, APermutationSendsItsBlockOrKeepsIt) {
  flatbuffers::FlatBufferBuilder builder;
  const auto &permute = make(builder, CollectiveKind::Permute, 3, 1, 10);
  EXPECT_EQ(bytesSent(permute, 4, /*member=*/2, /*sender=*/1), 4u * 30);
  EXPECT_EQ(bytesSent(permute, 4, /*member=*/2, /*sender=*/2), 0u);
}

TEST(Traffic, OfALoweredStep) {
  Lowered lowered("Memory/train-step.mlir");
  ASSERT_TRUE(lowered.module);
  std::string bytes = *serializeProgram(*lowered.module);
  auto loaded =
      runtime::Program::load(runtime::Bytes(bytes.data(), bytes.size()));
  ASSERT_TRUE(loaded) << loaded.message();
  auto rows = predictTraffic(**loaded, *(*loaded)->findFunction("train"), 0);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].group, "dp");
  EXPECT_EQ(rows[0].calls, 2u);
  // The gradient [8, 8] and the loss: of one element, rank 0 reduces nothing
  // and sends its own.
  EXPECT_EQ(rows[0].bytes, 8u * 8 * 4 + 4);
  auto list = listCollectives(**loaded, 0);
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].cause, "w over dp");
  std::string text;
  llvm::raw_string_ostream os(text);
  printTraffic(os, **loaded);
  EXPECT_EQ(text, "{\"bytes_per_step\":["
                  "{\"rank\":0,\"function\":\"train\",\"kind\":\"AllReduce\","
                  "\"group\":\"dp\",\"calls\":2,\"bytes\":260},"
                  "{\"rank\":1,\"function\":\"train\",\"kind\":\"AllReduce\","
                  "\"group\":\"dp\",\"calls\":2,\"bytes\":260}]}\n");
}

TEST(Memory, OfALoweredStep) {
  Lowered lowered("Memory/train-step.mlir");
  ASSERT_TRUE(lowered.module);
  auto rows = memoryOf(*lowered.module);
  EXPECT_EQ(rows[size_t(program::Region::Gradients)].bytes, 384u);
  // Scratch lies where activations are dead.
  EXPECT_EQ(arenaBytes(rows), 256u + 256 + 384 + 320 + 64 + 256);
  EXPECT_EQ(rows[size_t(program::Region::Activations)].bytes, 384u + 256);
  EXPECT_EQ(rows[size_t(program::Region::Activations)].held(), 256u);
  EXPECT_EQ(fragmentationBytes(rows), 0u);
  std::string text;
  llvm::raw_string_ostream os(text);
  printMemory(os, rows);
  EXPECT_NE(text.find("gradients            384 B   25.0 %"), std::string::npos)
      << text;
}

} // namespace
