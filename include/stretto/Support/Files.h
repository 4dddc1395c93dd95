//===- Files.h - writing files whole ----------------------------*- C++ -*-===//
//
// A file is written whole or not at all: to a neighbour that takes its name in
// the end. What is no regular file (a pipe, /dev/stdout) is written to.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_SUPPORT_FILES_H
#define STRETTO_SUPPORT_FILES_H

#include "llvm/ADT/StringRef.h"
#include <system_error>

namespace stretto {

std::error_code writeFile(llvm::StringRef path, llvm::StringRef text);

} // namespace stretto

#endif // STRETTO_SUPPORT_FILES_H
