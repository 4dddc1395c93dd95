//===- Tool.h - the command line of the interpreter -------------*- C++ -*-===//
//
// stretto-interpret: evaluates one entry point on random or given values and
// prints its results, compares two entry points, or checks a localized module
// against a derived one, or a derived one against its model.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_INTERPRETER_TOOL_H
#define STRETTO_INTERPRETER_TOOL_H

namespace stretto::interp {

/// The exit code: 0, 2 wrong usage, 3 input rejected, 5 numbers differ.
int interpretMain(int argc, char **argv);

} // namespace stretto::interp

#endif // STRETTO_INTERPRETER_TOOL_H
