//===- ModelCommand.h - the subcommand `stretto model` ----------*- C++ -*-===//
//
// `stretto model gpt|llama [options] [-o FILE]` writes the IR of a model. The
// options are declared in lib/Model/ModelOptions.td.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_MODEL_MODELCOMMAND_H
#define STRETTO_MODEL_MODELCOMMAND_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/raw_ostream.h"

namespace stretto {

/// `arguments` are what follows `stretto model`. Returns the exit code: 0, 2
/// (usage) or 3 (no such model can be built, or FILE cannot be written).
int runModelCommand(llvm::ArrayRef<const char *> arguments,
                    llvm::raw_ostream &out, llvm::raw_ostream &err);

} // namespace stretto

#endif // STRETTO_MODEL_MODELCOMMAND_H
