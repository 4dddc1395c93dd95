//===- stretto-fuzz-sharding.cpp - random graphs, sharded and whole -------===//

#include "stretto/Fuzz/Tool.h"

int main(int argc, char **argv) {
  return stretto::fuzz::fuzzShardingMain(argc, argv);
}
