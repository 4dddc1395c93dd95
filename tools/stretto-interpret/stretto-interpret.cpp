//===- stretto-interpret.cpp - evaluate IR in f64 -------------------------===//

#include "stretto/Interpreter/Tool.h"

int main(int argc, char **argv) {
  return stretto::interp::interpretMain(argc, argv);
}
