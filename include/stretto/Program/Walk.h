//===- Walk.h - small reads of a loaded Program -----------------*- C++ -*-===//
//
// Ranges over the file's optional vectors, and what goes with a call. The
// Program was loaded, so that every index is in its bounds.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_PROGRAM_WALK_H
#define STRETTO_PROGRAM_WALK_H

#include "stretto/Runtime/Program.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/iterator_range.h"

namespace stretto {

/// Range over a vector that may be absent.
template <typename T> auto all(const flatbuffers::Vector<T> *vector) {
  using Iterator = typename flatbuffers::Vector<T>::const_iterator;
  return llvm::make_range(vector ? vector->begin() : Iterator(),
                          vector ? vector->end() : Iterator());
}
template <typename T> size_t count(const flatbuffers::Vector<T> *vector) {
  return vector ? vector->size() : 0;
}
inline llvm::StringRef text(const flatbuffers::String *string) {
  return string ? llvm::StringRef(string->c_str(), string->size())
                : llvm::StringRef();
}

inline bool reads(program::Access access) { return uint8_t(access) & 1; }
inline bool writes(program::Access access) { return uint8_t(access) & 2; }

/// The stream that a command of `call` runs on.
inline unsigned streamOf(const program::Call &call,
                         const program::Command &command) {
  return command.stream() ? command.stream() : call.stream();
}

inline const program::Segment &segmentOf(const program::Program &program,
                                         const program::Call &call) {
  return *program.segments()->Get(call.segment());
}

} // namespace stretto

#endif // STRETTO_PROGRAM_WALK_H
