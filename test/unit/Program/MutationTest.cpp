//===- MutationTest.cpp - how many broken Programs are found --------------===//
//
// Breaks a valid Program in every way of a list, one at a time: drops, repeats
// and swaps commands and calls, moves offsets, changes sizes, groups and keys,
// streams and the calls to start after. Prints how many of each kind the
// verifier rejects. It may accept only mutants that compute the same: two
// independent commands swapped, a value elsewhere, an order that follows from
// others. Of what it accepts a brute-force search finds no race.
//
//===----------------------------------------------------------------------===//

#include "Lowered.h"
#include "RaceOracle.h"

#include "stretto/Program/Verify.h"
#include "gtest/gtest.h"
#include <functional>
#include <map>
#include <random>
#include <set>

using namespace stretto;
using namespace stretto::test;
using program::ProgramT;

namespace {

struct Score {
  unsigned rejected = 0, all = 0;
  unsigned racy = 0; ///< by brute force, of "drop edge"
  double share() const { return all ? double(rejected) / all : 1; }
};

class Mutator {
public:
  explicit Mutator(std::string bytes) : original(std::move(bytes)) {
    program::GetProgram(original.data())->UnPackTo(&table);
  }

  std::map<std::string, Score> run() {
    mutateSegments();
    mutateFunctions();
    mutateParameters();
    for (size_t i = 0; i < table.regions.size(); ++i)
      mutate("region size", [=](ProgramT &p) { p.regions[i]->bytes /= 2; });
    return scores;
  }

private:
  /// Applies `change` to a copy and asks the verifier.
  void mutate(const std::string &kind,
              const std::function<void(ProgramT &)> &change) {
    ProgramT copy;
    program::GetProgram(original.data())->UnPackTo(&copy);
    change(copy);
    flatbuffers::FlatBufferBuilder builder;
    program::FinishProgramBuffer(builder,
                                 program::Program::Pack(builder, &copy));
    Diagnostics diagnostics;
    bool rejected =
        failed(verifyProgram(llvm::StringRef(reinterpret_cast<const char *>(
                                                 builder.GetBufferPointer()),
                                             builder.GetSize()),
                             diagnostics));
    Score &score = scores[kind];
    ++score.all;
    score.rejected += rejected;
    const program::Program &mutant =
        *program::GetProgram(builder.GetBufferPointer());
    if (kind == "drop edge")
      score.racy += isRacy(mutant);
    if (rejected)
      return;
    if (getenv("STRETTO_SURVIVORS"))
      printf("survived: %s of %s\n", kind.c_str(), what.c_str());
    EXPECT_FALSE(isRacy(mutant)) << kind << " of " << what;
  }

  static bool isRacy(const program::Program &mutant) {
    return llvm::any_of(*mutant.functions(), [&](const auto *function) {
      return RaceOracle(mutant, *function).hasRace();
    });
  }

  void mutateSegments() {
    for (size_t s = 0; s < table.segments.size(); ++s)
      for (size_t c = 0; c < table.segments[s]->commands.size(); ++c)
        mutateCommand(s, c);
  }

  void mutateCommand(size_t s, size_t c) {
    what = table.segments[s]->commands[c]->location;
    auto commands = [=](ProgramT & p) -> auto & {
      return p.segments[s]->commands;
    };
    mutate("drop command",
           [=](ProgramT &p) { commands(p).erase(commands(p).begin() + c); });
    if (c + 1 < table.segments[s]->commands.size())
      mutate("swap commands", [=](ProgramT &p) {
        std::swap(commands(p)[c], commands(p)[c + 1]);
      });
    mutate("other stream", [=](ProgramT &p) {
      commands(p)[c]->stream = 1;
      p.streams = 2;
    });
    for (size_t o = 0; o < table.segments[s]->commands[c]->operands.size();
         ++o) {
      auto operand = [=](ProgramT & p) -> auto & {
        return *commands(p)[c]->operands[o];
      };
      mutate("operand offset", [=](ProgramT &p) { operand(p).offset += 64; });
      mutate("operand bytes", [=](ProgramT &p) { operand(p).bytes /= 2; });
      if (table.segments[s]->commands[c]->operands[o]->space ==
          program::Space::Argument)
        mutate("operand argument", [=](ProgramT &p) { operand(p).index += 1; });
      mutate("operand access", [=](ProgramT &p) {
        operand(p).access = operand(p).access == program::Access::Read
                                ? program::Access::Write
                                : program::Access::Read;
      });
    }
    if (table.segments[s]->commands[c]->payload.type !=
        program::Payload::Collective)
      return;
    auto collective = [=](ProgramT & p) -> auto & {
      return *commands(p)[c]->payload.AsCollective();
    };
    mutate("collective size", [=](ProgramT &p) { collective(p).inner += 1; });
    mutate("collective kind", [=](ProgramT &p) {
      collective(p).kind =
          collective(p).kind == program::CollectiveKind::AllGather
              ? program::CollectiveKind::AllReduce
              : program::CollectiveKind::AllGather;
    });
    mutate("collective group", [=](ProgramT &p) { // a group of one
      collective(p).group = p.groups.size();
      p.groups.push_back(std::make_unique<program::GroupT>());
    });
  }

  void mutateFunctions() {
    for (size_t f = 0; f < table.functions.size(); ++f) {
      for (size_t c = 0; c < table.functions[f]->calls.size(); ++c)
        mutateCall(f, c);
      for (size_t i = 0; i < table.functions[f]->inputs.size(); ++i)
        mutate("input slot", [=](ProgramT &p) {
          p.functions[f]->inputs[i]->slots[0]->offset += 64;
        });
      for (size_t i = 0; i < table.functions[f]->outputs.size(); ++i)
        mutate("output slot", [=](ProgramT &p) {
          p.functions[f]->outputs[i]->slots[0]->region =
              program::Region::Scratch;
        });
    }
  }

  void mutateCall(size_t f, size_t c) {
    what = table.segments[table.functions[f]->calls[c]->segment]->name + "#" +
           std::to_string(c);
    auto calls = [=](ProgramT & p) -> auto & { return p.functions[f]->calls; };
    mutate("drop call", [=](ProgramT &p) {
      calls(p).erase(calls(p).begin() + c);
      for (auto &call : calls(p)) {
        llvm::erase(call->after, c);
        for (uint32_t &before : call->after)
          before -= before > c;
      }
    });
    if (c + 1 < table.functions[f]->calls.size())
      mutate("swap calls", [=](ProgramT &p) {
        std::swap(calls(p)[c], calls(p)[c + 1]);
        renumber(calls(p), c, c + 1);
      });
    mutateOrder(f, c);
    mutate("instance key",
           [=](ProgramT &p) { calls(p)[c]->instance_key ^= 1; });
    mutate("scratch slot", [=](ProgramT &p) {
      if (calls(p)[c]->scratch)
        calls(p)[c]->scratch->bytes /= 2;
      else
        calls(p)[c]->segment = p.segments.size();
    });
    for (size_t a = 0; a < table.functions[f]->calls[c]->arguments.size();
         ++a) {
      auto slot = [=](ProgramT & p) -> auto & {
        return *calls(p)[c]->arguments[a];
      };
      mutate("slot offset", [=](ProgramT &p) { slot(p).offset += 64; });
      mutate("slot bytes", [=](ProgramT &p) { slot(p).bytes /= 2; });
      mutate("slot region", [=](ProgramT &p) {
        slot(p).region = runtime::isTransient(slot(p).region)
                             ? program::Region::Outputs
                             : program::Region::Activations;
      });
    }
  }

  using Calls = std::vector<std::unique_ptr<program::CallT>>;

  /// Calls that start after `a` start after `b`, and the other way round.
  static void renumber(Calls &calls, uint32_t a, uint32_t b) {
    for (auto &call : calls) {
      for (uint32_t &before : call->after)
        before = before == a ? b : before == b ? a : before;
      llvm::sort(call->after);
    }
  }

  /// Streams and the calls to start after, of Programs that have more than one.
  void mutateOrder(size_t f, size_t c) {
    if (table.streams < 2)
      return;
    auto call = [=](ProgramT & p) -> auto & {
      return *p.functions[f]->calls[c];
    };
    for (uint16_t stream = 0; stream < table.streams; ++stream)
      if (stream != table.functions[f]->calls[c]->stream)
        mutate("call's stream", [=](ProgramT &p) {
          call(p).stream = stream;
          dropOwnStream(p.functions[f]->calls);
        });
    const std::vector<uint32_t> &after = table.functions[f]->calls[c]->after;
    for (size_t i = 0; i < after.size(); ++i) {
      mutate("drop edge", [=](ProgramT &p) {
        call(p).after.erase(call(p).after.begin() + i);
      });
      for (int by : {-1, 1})
        mutate("move edge",
               [=](ProgramT &p) { moveEdge(p.functions[f]->calls, c, i, by); });
    }
    constexpr size_t near = 12; // of long Programs, edges from not too far
    for (uint32_t before = c > near ? c - near : 0; before < c; ++before)
      if (table.functions[f]->calls[before]->stream !=
              table.functions[f]->calls[c]->stream &&
          !llvm::is_contained(after, before))
        mutate("add edge", [=](ProgramT &p) {
          call(p).after.push_back(before);
          llvm::sort(call(p).after);
        });
  }

  /// No edge between calls of one stream: it would say what is so anyway.
  static void dropOwnStream(Calls &calls) {
    for (auto &call : calls)
      llvm::erase_if(call->after, [&](uint32_t before) {
        return calls[before]->stream == call->stream;
      });
  }

  /// To the next call of the same stream in one direction; away at the ends.
  static void moveEdge(Calls &calls, size_t c, size_t i, int by) {
    int64_t to = calls[c]->after[i];
    uint16_t stream = calls[to]->stream;
    do
      to += by;
    while (to >= 0 && to < int64_t(c) && calls[to]->stream != stream);
    std::set<uint32_t> after(calls[c]->after.begin(), calls[c]->after.end());
    after.erase(calls[c]->after[i]);
    if (to >= 0 && to < int64_t(c))
      after.insert(uint32_t(to));
    calls[c]->after.assign(after.begin(), after.end());
  }

  void mutateParameters() {
    for (size_t i = 0; i < table.parameters.size(); ++i) {
      mutate("parameter slot",
             [=](ProgramT &p) { p.parameters[i]->parameter->offset += 64; });
      if (table.parameters[i]->gradient)
        mutate("gradient slot",
               [=](ProgramT &p) { p.parameters[i]->gradient->offset += 64; });
      for (size_t m = 0; m < table.parameters[i]->moments.size(); ++m)
        mutate("moment slot",
               [=](ProgramT &p) { p.parameters[i]->moments[m]->offset += 64; });
    }
  }

  std::string original, what;
  ProgramT table;
  std::map<std::string, Score> scores;
};

/// Adds up the scores of one Program and prints them by kind.
std::map<std::string, Score> report(std::string bytes) {
  Diagnostics diagnostics;
  EXPECT_TRUE(succeeded(verifyProgram(bytes, diagnostics)))
      << diagnostics.summary();
  std::map<std::string, Score> scores = Mutator(std::move(bytes)).run();
  Score sum;
  for (auto &[kind, score] : scores) {
    printf("%-18s %5u of %5u rejected\n", kind.c_str(), score.rejected,
           score.all);
    sum.rejected += score.rejected;
    sum.all += score.all;
  }
  printf("%-18s %5u of %5u rejected\n", "all", sum.rejected, sum.all);
  EXPECT_GE(sum.all, 200u);
  // What is accepted computes the same expressions without a hazard: the same
  // commands in another order, a value in bytes that nobody else needs, or an
  // order of calls that holds without the edge or with one more.
  const std::set<std::string> mayBeHarmless = {
      "swap commands",  "swap calls",    "slot region", "slot offset",
      "operand offset", "region size",   "add edge",    "move edge",
      "drop edge",      "call's stream", "other stream"};
  for (auto &[kind, score] : scores)
    if (!mayBeHarmless.count(kind))
      EXPECT_EQ(score.rejected, score.all) << kind;
  for (const char *kind : {"slot region", "slot offset", "operand offset"})
    EXPECT_GE(scores[kind].share(), 0.9) << kind;
  return scores;
}

TEST(Mutation, BrokenStepsAreRejected) {
  Lowered lowered("Memory/train-step.mlir");
  ASSERT_TRUE(lowered.module);
  report(*packProgram(*lowered.module));
}

/// The step of two streams: every edge is needed.
TEST(Mutation, BrokenOrderIsRejected) {
  mlir::MLIRContext context;
  context.loadDialect<StrettoDialect, exec::ProgramDialect>();
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(
      STRETTO_TEST_DIR "/Program/overlapped.mlir", &context);
  ASSERT_TRUE(module);
  std::map<std::string, Score> scores = report(*packProgram(*module));
  EXPECT_EQ(scores["drop edge"].rejected, scores["drop edge"].all);
  EXPECT_EQ(scores["drop edge"].racy, scores["drop edge"].all);
  EXPECT_GE(scores["drop edge"].all, 9u);
  // One more edge can only be superfluous.
  EXPECT_EQ(scores["add edge"].rejected, 0u);
}

/// Bytes from anywhere are rejected or read; they never crash a reader. (What
/// the loader accepts is read back into words as well.)
TEST(Mutation, FlippedBytesNeverCrash) {
  Lowered lowered("Memory/train-step.mlir");
  ASSERT_TRUE(lowered.module);
  mlir::ScopedDiagnosticHandler silence(
      &lowered.context, [](mlir::Diagnostic &) { return mlir::success(); });
  std::string good = *packProgram(*lowered.module);
  std::mt19937 random(11);
  unsigned read = 0, verified = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string bytes = good;
    for (unsigned flips = 1 + random() % 3; flips > 0; --flips)
      bytes[random() % bytes.size()] = char(random());
    Diagnostics diagnostics;
    verified += succeeded(verifyProgram(bytes, diagnostics));
    read += bool(deserializeProgram(&lowered.context, bytes));
  }
  printf("of 4000: %u read, %u verified\n", read, verified);
  EXPECT_GT(read, 0u);
  EXPECT_LE(verified, read);
}

/// STRETTO_PROGRAM names a module in words of the dialect `program`.
TEST(Mutation, BrokenProgramsAreRejected) {
  const char *file = getenv("STRETTO_PROGRAM");
  if (!file)
    GTEST_SKIP() << "STRETTO_PROGRAM is not set";
  mlir::MLIRContext context;
  context.loadDialect<StrettoDialect, exec::ProgramDialect>();
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(file, &context);
  ASSERT_TRUE(module);
  report(*packProgram(*module));
}

} // namespace
