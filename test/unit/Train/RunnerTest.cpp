#include "TemporaryFolder.h"
#include "TinyProgram.h"
#include "stretto/Runtime/Artifact.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace stretto::runtime;
using stretto::test::readFile;
using stretto::test::TemporaryFolder;
using stretto::test::TinyProgram;

namespace {

class Runner : public testing::Test {
protected:
  Runner() {
    TinyProgram tiny;
    tiny.dp = tiny.tp = 2;
    tiny.steps = 1000000;
    tiny.lr =
        1e-7; // finite to the last of them: a run goes on until it is ended
    std::string program = tiny.build();
    auto runner = MappedFile::open(STRETTO_RUNNER);
    EXPECT_TRUE(runner) << runner.message();
    Status status =
        writeArtifact(folder.path("gpt"), runner->bytes(),
                      Bytes(program.data(), program.size()), Bytes());
    EXPECT_TRUE(status.isOk()) << status.message();
    folder.write("text", std::string(1000, 'x'));
  }

  /// Runs a shell command in the folder; output holds stdout and stderr.
  int shell(const std::string &command) {
    std::string line =
        "cd '" + folder.path() + "' && { " + command + "; } 2>&1";
    FILE *pipe = popen(line.c_str(), "r");
    output.clear();
    char buffer[4096];
    while (size_t count = fread(buffer, 1, sizeof(buffer), pipe))
      output.append(buffer, count);
    int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  TemporaryFolder folder;
  std::string output;
};

} // namespace

TEST_F(Runner, RunsAloneInAnEmptyEnvironment) {
  EXPECT_EQ(shell("env -i ./gpt --ranks 4 --data text --steps 3 --json --quiet "
                  "--peak-gflops 100"),
            0)
      << output;
  EXPECT_NE(output.find("\"step\":3"), std::string::npos) << output;
}

TEST_F(Runner, TakesAnArtifactAsArgument) {
  EXPECT_EQ(shell(std::string("env -i ") + STRETTO_RUNNER +
                  " ./gpt --data text --steps 2"),
            0)
      << output;
  EXPECT_NE(output.find("step 2/2"), std::string::npos) << output;
}

TEST_F(Runner, NeedsOnlyTheSystemAndOneDnn) {
  if (shell("command -v readelf") != 0)
    GTEST_SKIP() << "no readelf";
  ASSERT_EQ(shell("readelf -d gpt | sed -n 's/.*NEEDED.*\\[\\(.*\\)\\]/\\1/p'"),
            0);
  const std::set<std::string> allowed = {
      "libc.so.6",     "libm.so.6",    "libstdc++.so.6",
      "libgcc_s.so.1", "libdnnl.so.2", "ld-linux-x86-64.so.2"};
  std::istringstream lines(output);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count)
    EXPECT_TRUE(allowed.count(line)) << line;
  EXPECT_GT(count, 2);
}

TEST_F(Runner, AnswersBadCommandLinesWithTwo) {
  EXPECT_EQ(shell("./gpt --no-such-option"), 2);
  EXPECT_EQ(shell("./gpt --steps x --data text"), 2);
  const std::string tooLarge[] = {
      "--seed 18446744073709551616",   "--seed -1",
      "--steps 9223372036854775808",   "--ranks 18446744073709551620",
      "--sample 99999999999999999999", "--save s --save-every -1",
      "--inject-delays 1e30",          "--eval-every 0x10"};
  for (const std::string &option : tooLarge) {
    EXPECT_EQ(shell("./gpt --data text " + option), 2) << option;
    std::string value = option.substr(option.rfind(' ') + 1);
    EXPECT_NE(output.find("'" + value + "' is not a whole number from "),
              std::string::npos)
        << output;
  }
  EXPECT_EQ(shell("./gpt --data text --steps 1 --seed 18446744073709551615"), 0)
      << output;
  EXPECT_EQ(shell("./gpt --data text --ranks 3"), 2);
  EXPECT_NE(output.find("needs"), 0u);
  EXPECT_EQ(shell("./gpt --help"), 0);
  EXPECT_NE(output.find("--data"), std::string::npos);
}

TEST_F(Runner, RejectsADamagedArtifact) {
  std::string good = readFile(folder.path("gpt"));
  folder.write("cut", good.substr(0, good.size() - 100));
  EXPECT_EQ(shell(std::string(STRETTO_RUNNER) + " cut --data text"), 3);
  // Run by itself it must not take itself for the bare runner.
  EXPECT_EQ(shell("chmod +x cut; ./cut --data text"), 3);
  EXPECT_NE(output.find("truncated"), std::string::npos) << output;
  good[good.size() - 400] ^= 1;
  folder.write("flipped", good);
  EXPECT_EQ(shell(std::string(STRETTO_RUNNER) + " flipped --data text"), 3)
      << output;
}

TEST_F(Runner, SaysWhenItsOutputCannotBeWritten) {
  EXPECT_EQ(shell("./gpt --data text --steps 1 --json --quiet > /dev/full"), 5);
  EXPECT_NE(output.find("cannot write to stdout"), std::string::npos) << output;
}

TEST_F(Runner, RefusesToSaveWhereAnotherRunDoes) {
  int code = shell("./gpt --data text --save run --quiet --peak-gflops 100 "
                   "--metrics log & pid=$!; "
                   "while ! [ -s log ]; do sleep 0.05; done; "
                   "echo first is $pid; "
                   "./gpt --data text --save run --steps 1 --quiet; "
                   "echo second ended with $?; "
                   "kill -TERM $pid; wait $pid");
  EXPECT_EQ(code, 6) << output;
  size_t at = output.find("first is ") + 9;
  std::string first = output.substr(at, output.find('\n', at) - at);
  EXPECT_NE(output.find("error: another run (process " + first + " on "),
            std::string::npos)
      << output;
  EXPECT_NE(output.find("second ended with 5"), std::string::npos) << output;
  EXPECT_TRUE(std::filesystem::exists(folder.path("run/LATEST"))) << output;
  EXPECT_FALSE(std::filesystem::exists(folder.path("run/.lock"))) << output;
}

TEST_F(Runner, SavesAndEndsWhenTheTerminalCloses) {
  int code = shell("./gpt --data text --save run --quiet --peak-gflops 100 "
                   "--metrics log & pid=$!; "
                   "while ! [ -s log ]; do sleep 0.05; done; "
                   "kill -HUP $pid; wait $pid");
  EXPECT_EQ(code, 6) << output;
  EXPECT_NE(output.find("stopped by SIGHUP after step"), std::string::npos)
      << output;
  EXPECT_TRUE(std::filesystem::exists(folder.path("run/LATEST")));
  // nohup is respected: it lives on and ends at the next signal.
  code = shell("nohup ./gpt --data text --quiet --peak-gflops 100 "
               "--metrics log2 & pid=$!; "
               "while ! [ -s log2 ]; do sleep 0.05; done; kill -HUP $pid; "
               "lines=$(wc -l < log2); "
               "while [ $(wc -l < log2) -le $((lines + 2)) ]; do sleep 0.05; "
               "done; kill -TERM $pid; wait $pid");
  EXPECT_EQ(code, 6) << output;
  EXPECT_NE(output.find("stopped by SIGTERM"), std::string::npos) << output;
}

TEST_F(Runner, SaysWhenItsDataIsCutWhileItRuns) {
  folder.write("long", std::string(1 << 20, 'x'));
  int code = shell("./gpt --data long --quiet --peak-gflops 100 "
                   "--metrics log & pid=$!; "
                   "while ! [ -s log ]; do sleep 0.05; done; "
                   "truncate -s 10 long; wait $pid");
  EXPECT_EQ(code, 5) << output;
  EXPECT_NE(output.find("was truncated"), std::string::npos) << output;
}

TEST_F(Runner, SavesAndEndsOnSigterm) {
  // The shell waits for a line of progress before it kills.
  int code = shell("env -i ./gpt --data text --save run --peak-gflops 100 "
                   "--metrics log & pid=$!; "
                   "while ! [ -s log ]; do sleep 0.05; done; "
                   "kill -TERM $pid; wait $pid");
  EXPECT_EQ(code, 6) << output;
  EXPECT_NE(output.find("stopped by SIGTERM after step"), std::string::npos)
      << output;
  EXPECT_TRUE(std::filesystem::exists(folder.path("run/LATEST")));
  EXPECT_EQ(shell("latest=$(sed 's/step-0*//' run/LATEST); env -i ./gpt --data "
                  "text --resume run --quiet --steps $((latest + 1)) --json"),
            0)
      << output;
  EXPECT_NE(output.find("\"steps_run\":1"), std::string::npos) << output;
}
