#include "TrainFixture.h"

#include <filesystem>

using namespace stretto;
using namespace stretto::runtime;
using namespace stretto::test;

/// What steps 1, 2, ... with so many counted tokens make of w.
static std::vector<double> afterCounts(std::vector<double> w,
                                       const std::vector<int> &counts) {
  Schedule schedule{0.001, 0.0001, 2, 6, "linear"};
  for (size_t t = 0; t < counts.size(); ++t)
    for (double &x : w)
      x *= 1 + counts[t] * learningRate(schedule, int64_t(t) + 1);
  return w;
}

TEST_F(Train, RollsBackToTheLastCheckpointAndPassesTheSamplesBy) {
  options.batches = batches({24, 20, 8, tooMuch, 12, 6, 10, 16});
  options.saveEvery = 2;
  options.json = true;
  for (TinyProgram tiny : plans()) {
    tiny.nonfinite = "rollback";
    options.save = folder.path("run");
    options.metrics = folder.path("metrics");
    near(parametersOf(tiny, options),
         afterCounts(initial(11), {24, 20, 12, 6, 10, 16}));
    EXPECT_NE(errors.find("warning: step 4 rolled back to step 2, skipping 2 "
                          "batches: loss inf"),
              std::string::npos)
        << errors;
    json summary = json::parse(output);
    EXPECT_EQ(summary["step"], 6);
    EXPECT_EQ(summary["rolled_back"], 1);
    EXPECT_EQ(summary["skipped_batches"], 2);
    std::vector<json> lines = metricsOf(options.metrics);
    ASSERT_EQ(lines.size(), 9u); // 4 steps, the roll back, 4 steps
    EXPECT_EQ(lines[4]["step"], 4);
    EXPECT_EQ(lines[4]["rolled_back"], 2);
    EXPECT_EQ(lines[4]["skipped_batches"], 2);
    EXPECT_EQ(lines[5]["step"], 3);
    std::filesystem::remove_all(options.save);
  }
}

TEST_F(Train, ARollBackIsResumedExactly) {
  TinyProgram tiny = plan(2, 2, 1);
  tiny.nonfinite = "rollback";
  options.batches =
      batches({24, tooMuch, 8, 5, tooMuch, 12, 6, 10, 16, 3, 4, 7});
  options.saveEvery = 2;
  options.save = folder.path("whole");
  std::vector<float> whole = parametersOf(tiny, options);
  near(whole, afterCounts(initial(11), {8, 5, 12, 6, 10, 16}));
  options.json = true;
  for (int64_t stop = 2; stop < 6; ++stop) { // before and after the second
    options.resume.clear();
    options.steps = stop;
    options.save = folder.path(concat("half", stop));
    mustRun(tiny, options);
    options.resume = options.save;
    options.steps = 6;
    EXPECT_EQ(parametersOf(tiny, options), whole) << stop;
    EXPECT_EQ(json::parse(output)["skipped_batches"], 3) << stop;
  }
}

TEST_F(Train, WithoutACheckpointItRollsBackToTheBeginning) {
  TinyProgram tiny = plan(1, 2, 1);
  tiny.nonfinite = "rollback";
  options.batches = batches({24, 20, tooMuch, 12, 6, 10});
  options.steps = 3;
  near(parametersOf(tiny, options), afterCounts(initial(11), {12, 6, 10}));
  EXPECT_NE(errors.find("there is nothing to go back to but the beginning"),
            std::string::npos)
      << errors;
}

TEST_F(Train, GivesUpWhenRollBacksDoNotGetOn) {
  TinyProgram tiny = plan(2, 1, 1);
  tiny.nonfinite = "rollback";
  int bad = tooMuch;
  options.json = true;
  options.steps = 3;
  // Twice at step 1, once at step 2, twice at step 3: it always got on.
  options.batches =
      batches({bad, bad, 24, bad, 20, 12, bad, 6, 10, bad, 16, 3, 4});
  std::vector<float> w = parametersOf(tiny, options);
  EXPECT_EQ(json::parse(output)["rolled_back"], 5);
  near(w, afterCounts(initial(11), {16, 3, 4}));
  options.batches = batches({24, 20, bad, bad, 12, bad, bad, 6, 10, 16});
  Status status = run(tiny, options);
  EXPECT_EQ(status.code(), Code::RunFailed);
  EXPECT_TRUE(mentions(status, "3 roll backs did not get past step 3"))
      << status.message();
}

TEST_F(Train, DoesNotRollBackToWhatAnotherRunSaved) {
  TinyProgram tiny = plan(1, 1, 1);
  tiny.nonfinite = "rollback";
  options.save = folder.path("run");
  options.saveEvery = 4;
  mustRun(tiny, options); // LATEST is step 6
  options.batches = batches({24, 20, tooMuch, 12, 6, 10, 16});
  options.steps = 4;
  near(parametersOf(tiny, options), afterCounts(initial(11), {12, 6, 10, 16}));
}
