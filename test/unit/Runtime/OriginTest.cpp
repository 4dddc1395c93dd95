// Where a value that is not finite began, on hand-made histories of two ranks.
#include "Origin.h"

#include "stretto/Runtime/Program_generated.h"

#include <gtest/gtest.h>

using namespace stretto;
using namespace stretto::runtime;

namespace {

constexpr uint8_t none = 0;

/// Builds what the commands of two ranks touched, bytes given in units.
class OriginOnTwoRanks : public testing::Test {
protected:
  OriginOnTwoRanks() {
    program::GroupT group;
    group.axes = {program::AxisRef(0, 1, 2)};
    builder.Finish(program::Group::Pack(builder, &group));
  }

  struct Operand {
    uint64_t begin, end;
    bool reads, writes;
    uint8_t rank0, rank1; // findings
  };
  static Operand read(uint64_t begin, uint64_t end, uint8_t rank0 = none,
                      uint8_t rank1 = none) {
    return {begin, end, true, false, rank0, rank1};
  }
  static Operand write(uint64_t begin, uint64_t end, uint8_t rank0 = none,
                       uint8_t rank1 = none) {
    return {begin, end, false, true, rank0, rank1};
  }

  TouchingCommand &add(std::initializer_list<Operand> operands) {
    TouchingCommand command;
    command.firstTouch = function.touches.size();
    command.numTouches = operands.size();
    for (const Operand &operand : operands) {
      function.touches.push_back(
          {operand.begin, operand.end, operand.reads, operand.writes});
      ofRank[0].push_back(operand.rank0);
      ofRank[1].push_back(operand.rank1);
    }
    function.commands.push_back(command);
    return function.commands.back();
  }
  void addCollective(std::initializer_list<Operand> operands) {
    TouchingCommand &command = add(operands);
    command.isCollective = true;
    command.group =
        flatbuffers::GetRoot<program::Group>(builder.GetBufferPointer())
            ->axes();
  }

  OriginSite find() const {
    std::vector<uint8_t> findings = ofRank[0];
    findings.insert(findings.end(), ofRank[1].begin(), ofRank[1].end());
    return findOrigin(Mesh({2}), function, findings);
  }
  void expect(int64_t rank, size_t command, size_t operand) const {
    OriginSite site = find();
    ASSERT_EQ(site.rank, rank);
    EXPECT_EQ(site.command, command);
    EXPECT_EQ(site.touch, function.commands[command].firstTouch + operand);
  }

  flatbuffers::FlatBufferBuilder builder;
  Touches function;
  std::vector<uint8_t> ofRank[2];
};

} // namespace

TEST_F(OriginOnTwoRanks, GoesBackThroughASumInPlaceToTheRankThatBegan) {
  add({read(0, 4), write(4, 8)});
  add({read(4, 8), write(8, 12, none, WroteNan)});
  addCollective({read(8, 12, none, ReadNan), write(8, 12, WroteNan, WroteNan)});
  add({read(8, 12, ReadNan, ReadNan), write(12, 16, WroteNan, WroteNan)});
  add({read(12, 16, ReadNan, ReadNan)});
  expect(1, 1, 1);
}

TEST_F(OriginOnTwoRanks, TheEarliestOfSeveralBeginningsIsIt) {
  add({write(0, 4, none, WroteInfinity), write(4, 8)});
  add({write(8, 12, WroteNan, none)});
  addCollective({read(0, 4, none, ReadInfinity),
                 write(12, 16, WroteInfinity, WroteInfinity)});
  add({read(12, 16, ReadInfinity, ReadInfinity), read(8, 12, ReadNan, none),
       write(16, 20, WroteNan, WroteInfinity)});
  add({read(16, 20, ReadNan, ReadInfinity)});
  // Of the NaN on rank 0 only the NaN is a reason; rank 1 has its own.
  expect(1, 0, 0);
}

TEST_F(OriginOnTwoRanks, InfinitiesThatHealExplainNothing) {
  add({write(0, 4, WroteInfinity, none)}); // the maximum over no logits
  addCollective({read(0, 4, ReadInfinity, none), write(4, 8)});
  add({read(4, 8), write(8, 12, none, WroteNan)});
  add({read(8, 12, none, ReadNan)});
  expect(1, 2, 1);
}

TEST_F(OriginOnTwoRanks, WhatWasOverwrittenExplainsNothing) {
  add({write(0, 8, WroteNan, WroteNan)});
  add({write(0, 4)});
  add({write(4, 8, WroteInfinity, none)});
  add({read(0, 8, ReadInfinity, none)});
  expect(0, 2, 0);
}

TEST_F(OriginOnTwoRanks, FindsTheWriterOfAPart) {
  add({write(0, 4)});
  add({write(4, 8, none, WroteInfinity)});
  add({write(8, 12)});
  add({read(0, 12, none, ReadInfinity)});
  expect(1, 1, 0);
}

TEST_F(OriginOnTwoRanks, ASumMayOverflowByItself) {
  addCollective({read(0, 4), write(4, 8, WroteInfinity, WroteInfinity)});
  add({read(4, 8, ReadInfinity, ReadInfinity)});
  expect(0, 0, 1);
}

TEST_F(OriginOnTwoRanks, AnAccumulatorKeepsItsFirstReason) {
  add({write(0, 4)});
  add({read(8, 12), {0, 4, true, true, WroteNan, none}});
  add({read(8, 12), {0, 4, true, true, ReadNan | WroteNan, none}});
  add({read(0, 4, ReadNan, none)});
  expect(0, 1, 1);
}

TEST_F(OriginOnTwoRanks, NeitherAConstantNorWhatNoCommandWroteIsABeginning) {
  add({write(0, 4, WroteInfinity, WroteInfinity)}).isConstant = true;
  add({read(0, 4, ReadInfinity, ReadInfinity), read(4, 8, ReadNan, none),
       write(8, 12, WroteNan, WroteInfinity)});
  add({read(8, 12, ReadNan, ReadInfinity)});
  EXPECT_EQ(find().rank, -1);
}

TEST_F(OriginOnTwoRanks, NothingIsFoundWhereAllIsFinite) {
  add({write(0, 4, WroteInfinity, none)});
  add({read(4, 8)});
  EXPECT_EQ(find().rank, -1);
}
