//===- TrainFixture.h - runs of the tiny program ----------------*- C++ -*-===//
//
// Trains the program of TinyProgram.h on several plans, with data that is made
// here, and knows what has to come out.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TEST_UNIT_TRAIN_TRAINFIXTURE_H
#define STRETTO_TEST_UNIT_TRAIN_TRAINFIXTURE_H

#include "TemporaryFolder.h"
#include "TinyProgram.h"
#include "stretto/Runtime/Init.h"
#include "stretto/Runtime/Safetensors.h"
#include "stretto/Runtime/Schedule.h"
#include "stretto/Runtime/Train.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstring>

namespace stretto::test {

using namespace stretto::runtime;
using nlohmann::json;

inline TinyProgram plan(int64_t dp, int64_t tp, int64_t microbatches) {
  TinyProgram tiny;
  tiny.dp = dp;
  tiny.tp = tp;
  tiny.microbatches = microbatches;
  return tiny;
}

/// One device, and plans on which neither batch nor width divide.
inline std::vector<TinyProgram> plans() {
  return {plan(1, 1, 1), plan(1, 1, 3), plan(2, 2, 1),
          plan(2, 2, 2), plan(4, 1, 1), plan(1, 4, 1)};
}

class Train : public testing::Test {
protected:
  Train() {
    std::string text;
    for (int i = 0; i < 1000; ++i)
      text += char(i * 7 % 251);
    options.data = {folder.write("text", text)};
    options.quiet = true;
    options.peakGflops = 100;
  }

  Status run(const TinyProgram &tiny, const TrainOptions &wanted) {
    std::string bytes = tiny.build();
    Artifact artifact;
    artifact.program = Bytes(bytes.data(), bytes.size());
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    Status status = train(artifact, wanted);
    output = testing::internal::GetCapturedStdout();
    errors = testing::internal::GetCapturedStderr();
    return status;
  }

  void mustRun(const TinyProgram &tiny, const TrainOptions &wanted) {
    Status status = run(tiny, wanted);
    ASSERT_TRUE(status.isOk()) << status.message();
  }

  std::vector<float> tensor(const std::string &path, const std::string &name) {
    auto file = SafetensorsFile::open(path);
    EXPECT_TRUE(file) << file.message();
    const TensorEntry *entry = file ? file->find(name) : nullptr;
    EXPECT_TRUE(entry) << name;
    if (!entry)
      return {};
    std::vector<float> values(entry->elements());
    std::memcpy(values.data(), file->data(*entry).data, entry->bytes());
    return values;
  }

  /// Parameters after a run.
  std::vector<float> parametersOf(const TinyProgram &tiny,
                                  TrainOptions wanted) {
    wanted.exportFile = folder.path("export.safetensors");
    mustRun(tiny, wanted);
    return tensor(wanted.exportFile, "w");
  }

  std::vector<double> initial(uint64_t seed) {
    uint64_t key = random::key(seed, 0, xxh3("w"));
    std::vector<double> w;
    for (int i = 0; i < 5; ++i)
      w.push_back(float(1 + 0.5 * random::normal(key, i)));
    return w;
  }

  /// By the closed form, when every one of the 24 tokens counts.
  std::vector<double> trained(uint64_t seed, int64_t steps) {
    Schedule schedule{0.001, 0.0001, 2, 6, "linear"};
    std::vector<double> w = initial(seed);
    for (int64_t t = 1; t <= steps; ++t)
      for (double &x : w)
        x *= 1 + 24 * learningRate(schedule, t);
    return w;
  }

  static void near(const std::vector<float> &got,
                   const std::vector<double> &expected) {
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_NEAR(got[i], expected[i], 2e-6) << i;
  }

  /// A file of explicit batches; counted[t] tokens of step t count, and so
  /// much that their sum is infinite where counted[t] is `tooMuch`.
  static constexpr int tooMuch = -1;
  std::string batches(const std::vector<int> &counted) {
    int64_t steps = counted.size();
    std::vector<TensorEntry> entries(3);
    const char *names[] = {"tokens", "labels", "mask"};
    for (int i = 0; i < 3; ++i)
      entries[i] = {names[i], i < 2 ? "I32" : "F32", {steps, 6, 4}, 0, 0};
    std::vector<int32_t> ids(steps * 24, 1);
    std::vector<float> mask(steps * 24, 0);
    for (int64_t t = 0; t < steps; ++t) // spread over the samples
      for (int i = 0; i < (counted[t] == tooMuch ? 24 : counted[t]); ++i)
        mask[t * 24 + i * 5 % 24] = counted[t] == tooMuch ? 3e38f : 1;
    auto bytes = [](const auto &values) {
      return std::string(reinterpret_cast<const char *>(values.data()),
                         values.size() * 4);
    };
    return folder.write("batches", safetensorsHeader(entries, {}) + bytes(ids) +
                                       bytes(ids) + bytes(mask));
  }

  std::vector<json> metricsOf(const std::string &path) {
    std::vector<json> lines;
    std::istringstream text(readFile(path));
    for (std::string line; std::getline(text, line);)
      lines.push_back(json::parse(line));
    return lines;
  }

  static bool mentions(const Status &status, const std::string &text) {
    return status.message().find(text) != std::string::npos;
  }

  TemporaryFolder folder;
  TrainOptions options;
  std::string output, errors;
};

} // namespace stretto::test

#endif // STRETTO_TEST_UNIT_TRAIN_TRAINFIXTURE_H
