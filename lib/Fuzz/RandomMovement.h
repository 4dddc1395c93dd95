//===- RandomMovement.h - random moves, indices and choices -----*- C++ -*-===//
//
// Private to the room: makers of operations that move, index or choose
// elements.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_FUZZ_RANDOMMOVEMENT_H
#define STRETTO_LIB_FUZZ_RANDOMMOVEMENT_H

#include "Generator.h"

namespace stretto::fuzz {

void addReshape(Generator &g);
void addSlice(Generator &g);
void addPad(Generator &g);
void addConcat(Generator &g);
void addBox(Generator &g);
void addGather(Generator &g);
void addChoice(Generator &g);

} // namespace stretto::fuzz

#endif // STRETTO_LIB_FUZZ_RANDOMMOVEMENT_H
