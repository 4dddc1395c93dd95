//===- LinksTest.cpp ------------------------------------------------------===//

#include "TestProgram.h"

#include "mlir/AsmParser/AsmParser.h"

#include "stretto/Transforms/Shard/Links.h"

using namespace stretto;
using namespace stretto::interp;

namespace {

struct Read {
  std::string errors;
  mlir::FailureOr<Links> links = mlir::failure();
};

Read readLinks(const std::string &links) {
  TestProgram program("module attributes {stretto.links = " + links + "} {}");
  auto mesh = llvm::cast<MeshAttr>(mlir::parseAttribute(
      "#stretto.mesh<dp = 2, tp = 4>", program.get().getContext()));
  Read result;
  result.links = Links::of(program.get(), mesh);
  result.errors = program.errors;
  return result;
}

TEST(Links, WhatIsNotSaidKeepsItsDefault) {
  Read read = readLinks("{tp = {latency = 2.0e-6}}");
  ASSERT_TRUE(mlir::succeeded(read.links));
  EXPECT_EQ((*read.links)[1].latency, 2e-6);
  EXPECT_EQ((*read.links)[1].bandwidth, Link().bandwidth);
  EXPECT_EQ((*read.links)[0].latency, Link().latency);
}

TEST(Links, ACollectiveIsAsSlowAsItsSlowestAxis) {
  Read read = readLinks("{dp = {latency = 1.0e-5, bandwidth = 1.0e9}, "
                        "tp = {latency = 1.0e-6, bandwidth = 1.0e11}}");
  ASSERT_TRUE(mlir::succeeded(read.links));
  AxisRef dp = {0, 1, 2}, tp = {1, 1, 4};
  EXPECT_DOUBLE_EQ(read.links->seconds({tp}, 1, 1e6), 1e-6 + 1e-5);
  EXPECT_DOUBLE_EQ(read.links->seconds({tp}, 2, 1e6), 2e-6 + 1e-5);
  EXPECT_DOUBLE_EQ(read.links->seconds({tp, dp}, 1, 1e6), 1e-5 + 1e-3);
  EXPECT_EQ(read.links->fastest(), 1e11);
}

TEST(Links, NonsenseIsRefusedByName) {
  const std::pair<const char *, const char *> cases[] = {
      {"{cp = {latency = 1.0e-6}}", "'cp' is no axis of the mesh"},
      {"{tp = {speed = 1.0}}", "axis 'tp' has no 'speed'"},
      {"{tp = {latency = -1.0}}", "latency of axis 'tp' must be a number from "
                                  "0 to 1 second, got -1"},
      {"{tp = {bandwidth = 0.0}}", "bandwidth of axis 'tp' must be"},
      {"{tp = {bandwidth = 0x7FF8000000000000 : f64}}", "bandwidth of axis"},
      {"{tp = {latency = 1}}", "latency of axis 'tp' must be a number"},
      {"{tp = 3}", "expected latency and bandwidth of axis 'tp', got 3"},
      {"7", "expected a dictionary of axes, got 7"}};
  for (auto [links, message] : cases) {
    Read read = readLinks(links);
    EXPECT_TRUE(mlir::failed(read.links)) << links;
    EXPECT_NE(read.errors.find(message), std::string::npos) << read.errors;
  }
}

} // namespace
