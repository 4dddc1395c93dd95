//===- Tool.h - the command line of the sharding fuzzer ---------*- C++ -*-===//
//
// `stretto-fuzz-sharding --seed S --count N`, or a file with one graph.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_FUZZ_TOOL_H
#define STRETTO_FUZZ_TOOL_H

namespace stretto::fuzz {

/// Exit code 0: all equal; 2: usage; 3: the file does not hold a graph; 5: a
/// graph came out different, was refused, crashed or hung.
int fuzzShardingMain(int argc, char **argv);

} // namespace stretto::fuzz

#endif // STRETTO_FUZZ_TOOL_H
