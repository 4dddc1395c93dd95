#include "TrainFixture.h"

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>

using namespace stretto;
using namespace stretto::runtime;
using namespace stretto::test;

static std::atomic<size_t> allocations{0};

// The C library lets a program put its own malloc before the library's, unless
// a sanitizer already did.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define STRETTO_SANITIZED
#endif
#endif
#ifndef STRETTO_SANITIZED
extern "C" void *__libc_malloc(size_t bytes);
extern "C" void *malloc(size_t bytes) {
  ++allocations;
  return __libc_malloc(bytes);
}
#endif

TEST_F(Train, StartsFromTheSameBitsOnEveryPlan) {
  options.steps = 0;
  std::vector<double> expected = initial(11);
  for (const TinyProgram &tiny : plans()) {
    std::vector<float> got = parametersOf(tiny, options);
    EXPECT_EQ(std::vector<double>(got.begin(), got.end()), expected);
  }
  options.seed = 12;
  EXPECT_NE(parametersOf(plan(1, 1, 1), options)[0], float(expected[0]));
}

TEST_F(Train, FollowsTheClosedFormOnEveryPlan) {
  std::vector<float> one = parametersOf(plan(1, 1, 1), options);
  near(one, trained(11, 6));
  for (const TinyProgram &tiny : plans())
    EXPECT_EQ(parametersOf(tiny, options), one) // sums of 24 ones are exact
        << tiny.dp << " " << tiny.tp << " " << tiny.microbatches;
}

TEST_F(Train, ResumesToTheSameBitsAlsoOnAnotherPlan) {
  std::vector<float> straight = parametersOf(plan(2, 2, 2), options);
  for (const TinyProgram &second : plans()) {
    TrainOptions half = options;
    half.steps = 3;
    half.save = folder.path("run");
    half.metrics = folder.path("metrics");
    mustRun(plan(2, 2, 1), half);
    half.steps.reset();
    half.resume = half.save;
    EXPECT_EQ(parametersOf(second, half), straight);
    std::vector<json> lines = metricsOf(half.metrics);
    ASSERT_EQ(lines.size(), 6u);
    for (int t = 0; t < 6; ++t)
      EXPECT_EQ(lines[t]["step"], t + 1);
    std::filesystem::remove_all(half.save);
  }
}

TEST_F(Train, WarnsWhenItGoesOnWithOtherData) {
  options.save = folder.path("run");
  options.steps = 2;
  mustRun(plan(1, 1, 1), options);
  EXPECT_EQ(errors, "");
  options.resume = options.save;
  options.steps = 3;
  mustRun(plan(2, 2, 1), options);
  EXPECT_EQ(errors, "");
  std::string text = readFile(options.data[0]);
  text[500] ^= 1;
  options.data = {folder.write("other", text)};
  options.steps = 4;
  mustRun(plan(1, 1, 1), options);
  EXPECT_NE(errors.find("warning: the data set is not the one that the "
                        "checkpoint was trained on"),
            std::string::npos)
      << errors;
  options.data = {folder.write("longer", text + "x")};
  options.steps = 5;
  mustRun(plan(1, 1, 1), options);
  EXPECT_NE(errors.find("warning: the data set has 1001 tokens, the checkpoint "
                        "was trained on one with 1000"),
            std::string::npos)
      << errors;
}

TEST_F(Train, SavesEveryNSteps) {
  options.save = folder.path("run");
  options.saveEvery = 2;
  options.steps = 5;
  mustRun(plan(1, 2, 1), options);
  for (int step : {2, 4, 5})
    EXPECT_TRUE(std::filesystem::exists(
        folder.path("run/step-00000" + std::to_string(step))));
  EXPECT_EQ(readFile(folder.path("run/LATEST")), "step-000005\n");
}

TEST_F(Train, DumpsGradientsParametersAndMoments) {
  options.data.clear();
  options.batches = batches({16, 1, 9, 0});
  options.steps = 4;
  options.dumpState = folder.path("dump");
  options.dumpEveryStep = true;
  for (const TinyProgram &tiny : plans()) {
    mustRun(tiny, options);
    std::vector<double> w = initial(11);
    const int counts[] = {16, 1, 9, 0};
    Schedule schedule{0.001, 0.0001, 2, 6, "linear"};
    for (int t = 1; t <= 4; ++t) {
      std::string path =
          folder.path("dump/step-00000" + std::to_string(t) + ".safetensors");
      std::vector<double> gradient = w;
      for (int i = 0; i < 5; ++i) {
        gradient[i] *= counts[t - 1];
        w[i] += learningRate(schedule, t) * gradient[i];
      }
      near(tensor(path, "param/w"), w);
      std::vector<float> got = tensor(path, "grad/w");
      for (int i = 0; i < 5; ++i)
        EXPECT_NEAR(got[i], gradient[i], 3e-5);
      EXPECT_EQ(tensor(path, "moment1/w"), got);
      auto header = SafetensorsFile::open(path)->header();
      EXPECT_EQ(header.metadata["loss"], std::to_string(counts[t - 1]));
    }
  }
}

TEST_F(Train, EndsWhenExplicitBatchesEnd) {
  options.batches = batches({16, 1});
  Status status = run(plan(1, 1, 1), options);
  EXPECT_EQ(status.code(), Code::Rejected);
  EXPECT_TRUE(mentions(status, "ends after 12 samples")) << status.message();
}

TEST_F(Train, RefusesAMaskThatIsNotFinite) {
  options.batches = batches({16});
  std::string bytes = readFile(options.batches);
  float nan = NAN; // the mask of sample 5 at position 3 ends the file
  std::memcpy(&bytes[bytes.size() - sizeof(nan)], &nan, sizeof(nan));
  options.batches = folder.write("batches", bytes);
  options.steps = 1;
  Status status = run(plan(2, 1, 1), options);
  EXPECT_EQ(status.code(), Code::Rejected);
  EXPECT_TRUE(mentions(status, "the mask of sample 5 at position 3 is nan"))
      << status.message();
}

TEST_F(Train, LoadsInitialParameters) {
  options.steps = 0;
  std::vector<TensorEntry> entries(1);
  entries[0] = {"w", "F32", {5}, 0, 0};
  std::vector<float> values{1, 2, 3, 4, 5};
  std::string bytes(reinterpret_cast<char *>(values.data()), 20);
  options.loadParameters =
      folder.write("p", safetensorsHeader(entries, {}) + bytes);
  EXPECT_EQ(parametersOf(plan(2, 2, 1), options), values);
  entries[0] = {"v", "F32", {5}, 0, 0};
  folder.write("p", safetensorsHeader(entries, {}) + bytes);
  Status status = run(plan(2, 2, 1), options);
  EXPECT_EQ(status.code(), Code::Rejected);
  EXPECT_TRUE(mentions(status, "no tensor 'w'")) << status.message();
}

TEST_F(Train, StopsAtANonFiniteGradientAndNamesIt) {
  options.save = folder.path("run");
  options.steps = 2;
  mustRun(plan(1, 2, 1), options);
  options.steps = 9;
  std::vector<TensorEntry> entries(1);
  entries[0] = {"w", "F32", {5}, 0, 0};
  std::vector<float> values{1, 2, 3, NAN, 5};
  options.loadParameters = folder.write(
      "p", safetensorsHeader(entries, {}) +
               std::string(reinterpret_cast<char *>(values.data()), 20));
  options.save = folder.path("run");
  Status status = run(plan(1, 2, 1), options); // rank 1 holds elements 3, 4
  EXPECT_EQ(status.code(), Code::RunFailed);
  EXPECT_TRUE(mentions(status, "rank 1: step 1")) << status.message();
  EXPECT_TRUE(mentions(status, "'param/w' is nan at element 3"))
      << status.message();
  EXPECT_EQ(readFile(folder.path("run/LATEST")), "step-000002\n");
}

TEST_F(Train, SkipsNonFiniteStepsUntilTheyDoNotEnd) {
  TinyProgram tiny = plan(1, 1, 1);
  tiny.nonfinite = "skip";
  std::vector<TensorEntry> entries(1);
  entries[0] = {"w", "F32", {5}, 0, 0};
  std::vector<float> values(5, INFINITY);
  options.loadParameters = folder.write(
      "p", safetensorsHeader(entries, {}) +
               std::string(reinterpret_cast<char *>(values.data()), 20));
  options.json = true;
  options.steps = 9;
  mustRun(tiny, options);
  EXPECT_EQ(json::parse(output)["steps_skipped"], 9);
  options.steps = 11;
  Status status = run(tiny, options);
  EXPECT_EQ(status.code(), Code::RunFailed);
  EXPECT_TRUE(mentions(status, "10 skipped steps in a row"))
      << status.message();
}

TEST_F(Train, EvaluatesAllHeldOutWindows) {
  for (TinyProgram tiny : plans()) {
    tiny.evalFraction = 0.1; // 100 tokens: 24 windows of 4, 4 batches of 6
    tiny.evalEvery = 4;
    options.metrics = folder.path("metrics");
    options.json = true;
    mustRun(tiny, options);
    json summary = json::parse(output);
    EXPECT_EQ(summary["eval_tokens"], 96);
    EXPECT_EQ(summary["eval_loss"], 24);
    EXPECT_DOUBLE_EQ(summary["eval_bits_per_byte"].get<double>(),
                     24 / std::log(2.0));
    std::vector<json> lines = metricsOf(options.metrics);
    ASSERT_EQ(lines.size(), 8u); // 6 steps, evaluations at 4 and 6
    EXPECT_EQ(lines[4]["eval_loss"], 24);
    EXPECT_EQ(lines[4]["step"], 4);
  }
}

TEST_F(Train, SamplesTheMostLikelyTokenOnEveryPlan) {
  options.steps = 0;
  options.sampleTokens = 9; // longer than the sequence
  options.temperature = 0;
  options.prompt = std::string("\1\2", 2);
  std::vector<double> w = initial(11);
  char best = char(std::max_element(w.begin(), w.end()) - w.begin());
  for (const TinyProgram &tiny : plans()) {
    mustRun(tiny, options);
    EXPECT_EQ(output, std::string(9, best) + "\n");
  }
  options.temperature = 1;
  options.seed = 5;
  mustRun(plan(1, 1, 1), options);
  std::string one = output;
  mustRun(plan(2, 2, 1), options);
  EXPECT_EQ(output, one);
  EXPECT_NE(one, std::string(9, one[0]) + "\n");
}

TEST_F(Train, WarnsWhenItSamplesFromUntrainedParameters) {
  options.sampleOnly = true;
  options.sampleTokens = 1;
  options.prompt = "\1";
  mustRun(plan(1, 1, 1), options);
  EXPECT_NE(errors.find("warning: the parameters are untrained"),
            std::string::npos);
  options.sampleOnly = false;
  options.steps = 1;
  options.save = folder.path("run");
  mustRun(plan(1, 1, 1), options);
  options.resume = options.save;
  options.sampleOnly = true;
  mustRun(plan(1, 1, 1), options);
  EXPECT_EQ(errors, "");
}

TEST_F(Train, ReportsMemoryAndBytes) {
  options.printMemory = options.printBytes = true;
  mustRun(plan(2, 2, 1), options);
  std::istringstream lines(output);
  std::string first, second;
  std::getline(lines, first);
  std::getline(lines, second);
  json memory = json::parse(first)["memory"];
  EXPECT_EQ(memory["Parameters"], 64); // 3 floats, rounded up
  EXPECT_GT(memory["total"], memory["Inputs"]);
  json bytes = json::parse(second)["bytes_per_step"];
  ASSERT_EQ(bytes.size(), 8u); // two groups on four ranks
  std::map<std::string, int> calls;
  for (const json &entry : bytes)
    calls[entry["group"].get<std::string>()] += entry["calls"].get<int>();
  EXPECT_EQ(calls, (std::map<std::string, int>{{"dp", 4}, {"tp", 4}}));
}

TEST_F(Train, AStepAllocatesNothing) {
#ifdef STRETTO_SANITIZED
  GTEST_SKIP() << "a sanitizer has its own malloc";
#endif
  options.quiet = false;
  options.metrics = folder.path("metrics");
  auto allocationsOf = [&](int64_t steps) {
    options.steps = steps;
    size_t before = allocations;
    mustRun(plan(2, 2, 2), options);
    return allocations - before;
  };
  allocationsOf(2); // what libraries keep from their first use
  size_t few = allocationsOf(20), many = allocationsOf(220);
  EXPECT_GT(few, 100u); // the counter counts
  EXPECT_EQ(many, few) << "200 more steps";
}

TEST_F(Train, TheSameBitsUnderInjectedDelays) {
  std::vector<float> straight = parametersOf(plan(2, 2, 2), options);
  options.delaySeed = 3;
  EXPECT_EQ(parametersOf(plan(2, 2, 2), options), straight);
}

TEST_F(Train, RefusesWhatCannotRun) {
  auto expect = [&](const TrainOptions &wanted, Code code, const char *text) {
    Status status = run(plan(2, 2, 1), wanted);
    EXPECT_EQ(status.code(), code) << status.message();
    EXPECT_TRUE(mentions(status, text)) << status.message();
  };
  TrainOptions bad = options;
  bad.ranks = 2;
  expect(bad, Code::Usage, "mesh dp 2 x tp 2");
  bad = options;
  bad.data.clear();
  expect(bad, Code::Usage, "--data");
  bad = options;
  bad.data = {folder.write("short", "abc")};
  expect(bad, Code::Rejected, "has 3 tokens");
  bad = options;
  bad.resume = folder.path("none");
  expect(bad, Code::Rejected, "none");
  bad = options;
  bad.save = folder.write("file", "");
  expect(bad, Code::RunFailed, "file");
  bad = options;
  bad.exportFile = folder.path("no/such/folder");
  bad.steps = int64_t(1) << 60; // not found out after them
  expect(bad, Code::RunFailed, "no/such/folder");
  bad.exportFile = folder.path();
  expect(bad, Code::RunFailed, "there is a folder of that name");
  bad = options;
  bad.metrics = folder.path("no/such/folder");
  expect(bad, Code::RunFailed, "no/such/folder");
}
