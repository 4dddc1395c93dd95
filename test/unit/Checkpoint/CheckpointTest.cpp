#include "stretto/Runtime/Checkpoint.h"
#include "TemporaryFolder.h"
#include "stretto/Runtime/FolderLock.h"
#include "stretto/Runtime/InProcess.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <numeric>
#include <sys/resource.h>
#include <unistd.h>

using namespace stretto::runtime;
using stretto::test::readFile;
using stretto::test::TemporaryFolder;
namespace fs = std::filesystem;

namespace {

/// The pieces of one rank and their memory.
struct State {
  std::vector<Piece> pieces;
  std::vector<std::vector<float>> memory;

  void add(std::string name, std::vector<int64_t> shape, Box box, bool writes) {
    memory.emplace_back(box.localElements(), 0.0f);
    pieces.push_back({std::move(name), stretto::program::DType::F32,
                      std::move(shape), std::move(box), nullptr, writes});
    for (size_t i = 0; i < pieces.size(); ++i)
      pieces[i].data = memory[i].data();
  }
};

BoxDim shard(int64_t size, int64_t count, int64_t index) {
  int64_t extent = (size + count - 1) / count;
  int64_t begin = std::min(size, index * extent);
  return {begin, std::min(size, begin + extent), extent};
}

/// Rank (dp, tp) of dp 2 x tp 2: a table sharded on tp by rows (97 rows, padded
/// to 98), a matrix sharded on both, a replicated vector and a scalar.
State layoutA(int64_t rank) {
  int64_t dp = rank / 2, tp = rank % 2;
  State state;
  state.add("table", {97, 3}, {{shard(97, 2, tp), {0, 3, 3}}}, dp == 0);
  state.add("matrix", {4, 6}, {{shard(4, 2, dp), shard(6, 2, tp)}}, true);
  state.add("vector", {5}, {{{0, 5, 5}}}, rank == 0);
  state.add("scalar", {}, {}, rank == 0);
  return state;
}

/// Rank tp of tp 4: other dimensions sharded; the last rank of the vector holds
/// padding only.
State layoutB(int64_t tp) {
  State state;
  state.add("table", {97, 3}, {{{0, 97, 97}, shard(3, 4, tp)}}, tp < 3);
  state.add("matrix", {4, 6}, {{shard(4, 4, tp), {0, 6, 6}}}, true);
  state.add("vector", {5}, {{shard(5, 4, tp)}}, tp < 3);
  state.add("scalar", {}, {}, tp == 0);
  return state;
}

/// Element i of the global tensor is base + i.
void fillState(State &state, float base) {
  for (size_t i = 0; i < state.pieces.size(); ++i) {
    auto fill = [&](int64_t offset, int64_t index, int64_t length) {
      for (int64_t j = 0; j < length; ++j)
        state.memory[i][offset + j] = base + float(index + j);
    };
    forEachRun(state.pieces[i].box, state.pieces[i].shape, fill);
  }
}

CheckpointFacts facts(int64_t step) {
  return {"gpt", 0x1234567890abcdefull, step, 3200, 18446744073709551615ull,
          9,     0xfedcba9876543210ull, 4,    7,    2};
}

using Layout = State (*)(int64_t rank);

Status save(const std::string &root, int64_t step, Layout layout, float base) {
  return runInProcess(4, {}, [&](World &world) -> Status {
    State state = layout(world.rank());
    fillState(state, base);
    return saveCheckpoint(world, root, facts(step), state.pieces).status();
  });
}

/// Loads on every rank of a layout and compares with what save wrote.
Status loadAndCompare(const std::string &path, Layout layout, float base) {
  for (int64_t rank = 0; rank < 4; ++rank) {
    State got = layout(rank), expected = layout(rank);
    fillState(expected, base);
    STRETTO_ASSIGN(CheckpointFacts read, loadCheckpoint(path, got.pieces));
    EXPECT_EQ(got.memory, expected.memory) << "rank " << rank;
    EXPECT_EQ(read.cursor, 3200u);
    EXPECT_EQ(read.seed, 18446744073709551615ull);
    EXPECT_EQ(read.programHash, 0x1234567890abcdefull);
  }
  return Status::ok();
}

bool mentions(const Status &status, const std::string &text) {
  return status.message().find(text) != std::string::npos;
}

} // namespace

TEST(Checkpoint, LoadsOnThePlanThatSavedAndOnAnyOther) {
  TemporaryFolder folder;
  Status saved = save(folder.path("run"), 200, layoutA, 1000);
  ASSERT_TRUE(saved.isOk()) << saved.message();
  auto latest = findCheckpoint(folder.path("run"));
  ASSERT_TRUE(latest) << latest.message();
  EXPECT_EQ(*latest, folder.path("run/step-000200"));
  for (Layout layout : {layoutA, layoutB}) {
    Status status = loadAndCompare(*latest, layout, 1000);
    EXPECT_TRUE(status.isOk()) << status.message();
  }
  ASSERT_TRUE(save(folder.path("back"), 1, layoutB, 7).isOk());
  EXPECT_TRUE(
      loadAndCompare(folder.path("back/step-000001"), layoutA, 7).isOk());
}

TEST(Checkpoint, LatestFollowsAndTheSameStepIsReplaced) {
  TemporaryFolder folder;
  ASSERT_TRUE(save(folder.path(), 1, layoutA, 1).isOk());
  ASSERT_TRUE(save(folder.path(), 2, layoutA, 2).isOk());
  ASSERT_TRUE(save(folder.path(), 2, layoutA, 3).isOk());
  EXPECT_EQ(readFile(folder.path("LATEST")), "step-000002\n");
  EXPECT_TRUE(loadAndCompare(folder.path("step-000001"), layoutA, 1).isOk());
  EXPECT_TRUE(loadAndCompare(folder.path("step-000002"), layoutA, 3).isOk());
  size_t entries = std::distance(fs::directory_iterator(folder.path()), {});
  EXPECT_EQ(entries, 3u);
}

TEST(Checkpoint, ElementsAreWrittenOnce) {
  TemporaryFolder folder;
  ASSERT_TRUE(save(folder.path(), 1, layoutA, 1).isOk());
  uintmax_t bytes = 0;
  for (const auto &entry : fs::directory_iterator(folder.path("step-000001")))
    if (entry.path().extension() == ".safetensors")
      bytes += entry.file_size();
  // 97*3 + 24 + 5 + 1 floats and the headers of at most four shards.
  EXPECT_GE(bytes, 321u * 4);
  EXPECT_LT(bytes, 321u * 4 + 4 * 400);
}

TEST(Checkpoint, AnUnwrittenElementIsRefusedAtSaving) {
  TemporaryFolder folder;
  Status status = runInProcess(4, {}, [&](World &world) -> Status {
    State state = layoutA(world.rank());
    state.pieces[1].writes = world.rank() != 3;
    return saveCheckpoint(world, folder.path(), facts(1), state.pieces)
        .status();
  });
  EXPECT_FALSE(status.isOk());
  EXPECT_TRUE(mentions(status, "'matrix': 18 of 24")) << status.message();
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(Checkpoint, NamesWhatDoesNotFitTheProgram) {
  TemporaryFolder folder;
  ASSERT_TRUE(save(folder.path(), 1, layoutA, 1).isOk());
  std::string path = folder.path("step-000001");
  State state = layoutA(0);
  auto load = [&](const std::vector<Piece> &pieces) {
    auto result = loadCheckpoint(path, pieces);
    EXPECT_EQ(result.code(), Code::Rejected);
    return result.status();
  };
  std::vector<Piece> renamed = state.pieces;
  renamed[2].name = "bias";
  EXPECT_TRUE(mentions(load(renamed), "'bias' is not in the checkpoint"));
  std::vector<Piece> fewer(state.pieces.begin(), state.pieces.begin() + 3);
  EXPECT_TRUE(mentions(load(fewer), "'scalar' of the checkpoint is not"));
  std::vector<Piece> reshaped = state.pieces;
  reshaped[1].shape = {6, 4};
  EXPECT_TRUE(mentions(load(reshaped), "[4x6] in the checkpoint"));
  std::vector<Piece> retyped = state.pieces;
  retyped[2].dtype = stretto::program::DType::BF16;
  EXPECT_TRUE(mentions(load(retyped), "wants BF16"));
}

TEST(Checkpoint, EveryFlippedBitAndEveryTruncationIsSeen) {
  TemporaryFolder folder;
  ASSERT_TRUE(save(folder.path(), 1, layoutA, 1).isOk());
  std::string path = folder.path("step-000001");
  auto loads = [&] {
    bool all = true; // the four ranks together read every element
    for (int64_t rank = 0; rank < 4; ++rank) {
      State state = layoutA(rank);
      auto facts = loadCheckpoint(path, state.pieces);
      all &= facts.isOk();
      if (!facts)
        EXPECT_EQ(facts.code(), Code::Rejected) << facts.message();
    }
    return all;
  };
  ASSERT_TRUE(loads());
  for (const char *name :
       {"manifest.json", "rank-00000.safetensors", "rank-00003.safetensors"}) {
    std::string file = std::string("step-000001/") + name;
    std::string good = readFile(folder.path(file));
    for (size_t at = 0; at < good.size(); at += 1 + good.size() / 97) {
      std::string bad = good;
      bad[at] ^= 4;
      folder.write(file, bad);
      // Blanks between the words of a JSON text may become others.
      bool blank = good[at] == ' ' || good[at] == '\n';
      EXPECT_TRUE(!loads() || blank) << name << " byte " << at;
      folder.write(file, good.substr(0, at));
      EXPECT_FALSE(loads()) << name << " cut at " << at;
    }
    folder.write(file, good);
  }
  EXPECT_TRUE(loads());
  fs::remove(folder.path("step-000001/rank-00001.safetensors"));
  EXPECT_FALSE(loads());
}

TEST(Checkpoint, AFullDiskLeavesTheEarlierOneIntact) {
  TemporaryFolder folder;
  ASSERT_TRUE(save(folder.path(), 1, layoutA, 1).isOk());
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old, small;
  getrlimit(RLIMIT_FSIZE, &old);
  small = old;
  small.rlim_cur = 700; // the table does not fit
  setrlimit(RLIMIT_FSIZE, &small);
  Status status = save(folder.path(), 2, layoutA, 2);
  setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_EQ(status.code(), Code::RunFailed);
  EXPECT_TRUE(mentions(status, "step-000002.partial/rank-0000"))
      << status.message();
  EXPECT_FALSE(fs::exists(folder.path("step-000002.partial")));
  EXPECT_FALSE(fs::exists(folder.path("step-000002")));
  auto latest = findCheckpoint(folder.path());
  ASSERT_TRUE(latest) << latest.message();
  EXPECT_TRUE(loadAndCompare(*latest, layoutA, 1).isOk());
}

TEST(Checkpoint, AKillBeforeTheRenameLeavesTheEarlierOne) {
  TemporaryFolder folder;
  ASSERT_TRUE(save(folder.path(), 1, layoutA, 1).isOk());
  // What a process that was killed while saving step 2 leaves behind.
  fs::copy(folder.path("step-000001"), folder.path("step-000002.partial"));
  fs::remove(folder.path("step-000002.partial/manifest.json"));
  auto latest = findCheckpoint(folder.path());
  ASSERT_TRUE(latest);
  EXPECT_EQ(*latest, folder.path("step-000001"));
  EXPECT_TRUE(loadAndCompare(*latest, layoutB, 1).isOk());
  EXPECT_FALSE(findCheckpoint(folder.path("step-000002.partial")));
  ASSERT_TRUE(save(folder.path(), 2, layoutA, 2).isOk());
  EXPECT_TRUE(loadAndCompare(folder.path("step-000002"), layoutB, 2).isOk());
}

TEST(FolderLock, OneHolderAtATimeAndNothingIsLeftBehind) {
  TemporaryFolder folder;
  std::string root = folder.path("new/run");
  {
    auto first = FolderLock::acquire(root);
    ASSERT_TRUE(first) << first.message();
    auto second = FolderLock::acquire(root);
    EXPECT_EQ(second.code(), Code::RunFailed);
    std::string holder = "another run (process " + std::to_string(getpid());
    EXPECT_TRUE(mentions(second.status(), holder)) << second.message();
    EXPECT_TRUE(mentions(second.status(), "saves into " + root));
  }
  EXPECT_TRUE(fs::is_empty(folder.path()));
  auto third = FolderLock::acquire(root);
  EXPECT_TRUE(third) << third.message();
}

TEST(FolderLock, ADeadHolderHoldsNothing) {
  TemporaryFolder folder;
  folder.write(".lock", "process 1 on mars"); // killed: its file is still there
  auto lock = FolderLock::acquire(folder.path());
  EXPECT_TRUE(lock) << lock.message();
}

TEST(FolderLock, KeepsAFolderThatHoldsSomething) {
  TemporaryFolder folder;
  {
    auto lock = FolderLock::acquire(folder.path("run"));
    ASSERT_TRUE(lock) << lock.message();
    folder.write("run/step", "");
  }
  EXPECT_TRUE(fs::exists(folder.path("run/step")));
  EXPECT_FALSE(fs::exists(folder.path("run/.lock")));
}

TEST(Checkpoint, KeepsTheFingerprintOfTheData) {
  TemporaryFolder folder;
  ASSERT_TRUE(save(folder.path(), 1, layoutA, 1).isOk());
  auto facts = readCheckpointFacts(folder.path("step-000001"));
  ASSERT_TRUE(facts) << facts.message();
  EXPECT_EQ(facts->dataHash, 0xfedcba9876543210ull);
}

TEST(Checkpoint, KeepsWhatWasRolledBack) {
  TemporaryFolder folder;
  ASSERT_TRUE(save(folder.path(), 1, layoutA, 1).isOk());
  auto facts = readCheckpointFacts(folder.path("step-000001"));
  ASSERT_TRUE(facts) << facts.message();
  EXPECT_EQ(facts->skippedBatches, 4);
  EXPECT_EQ(facts->failedStep, 7);
  EXPECT_EQ(facts->rollBacks, 2);
}

TEST(Checkpoint, AKillWhileReplacingLosesNothing) {
  TemporaryFolder folder;
  ASSERT_TRUE(save(folder.path(), 2, layoutA, 2).isOk());
  // Killed after the old one was moved away, before the new one was in place.
  fs::rename(folder.path("step-000002"), folder.path("step-000002.replaced"));
  fs::copy(folder.path("step-000002.replaced"),
           folder.path("step-000002.partial"));
  fs::create_directory(folder.path("notes.partial")); // not ours
  auto latest = findCheckpoint(folder.path());
  ASSERT_TRUE(latest) << latest.message();
  EXPECT_TRUE(loadAndCompare(*latest, layoutB, 2).isOk());
  Status status = recoverCheckpoints(folder.path());
  ASSERT_TRUE(status.isOk()) << status.message();
  latest = findCheckpoint(folder.path());
  ASSERT_TRUE(latest) << latest.message();
  EXPECT_EQ(*latest, folder.path("step-000002"));
  EXPECT_TRUE(loadAndCompare(*latest, layoutB, 2).isOk());
  EXPECT_FALSE(fs::exists(folder.path("step-000002.partial")));
  EXPECT_FALSE(fs::exists(folder.path("step-000002.replaced")));
  EXPECT_TRUE(fs::exists(folder.path("notes.partial")));
  // Killed after the new one was in place, before the old one was removed.
  fs::copy(*latest, folder.path("step-000002.replaced"));
  ASSERT_TRUE(recoverCheckpoints(folder.path()).isOk());
  EXPECT_FALSE(fs::exists(folder.path("step-000002.replaced")));
  EXPECT_TRUE(loadAndCompare(*latest, layoutB, 2).isOk());
}

TEST(Checkpoint, AnUnwritablePlaceIsAnError) {
  TemporaryFolder folder;
  std::string file = folder.write("file", "");
  Status status = save(file, 1, layoutA, 1);
  EXPECT_EQ(status.code(), Code::RunFailed);
  EXPECT_TRUE(mentions(status, file)) << status.message();
}
