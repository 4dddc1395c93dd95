//===- Verifier.h - what a Program must satisfy to be executed --*- C++ -*-===//
//
// The structure of a Program's bytes is checked by FlatBuffers; its meaning is
// checked here: everything that could make the executor read or write out of
// bounds, divide by zero, overflow or wait for ever.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_PROGRAM_VERIFIER_H
#define STRETTO_RUNTIME_PROGRAM_VERIFIER_H

#include "stretto/Runtime/Program.h"

namespace stretto::runtime {

/// Range over a vector of a FlatBuffers table that may be absent.
template <typename T> class OptionalRange {
public:
  explicit OptionalRange(const flatbuffers::Vector<T> *vector)
      : vector(vector) {}
  auto begin() const { return vector ? vector->begin() : Iterator(); }
  auto end() const { return vector ? vector->end() : Iterator(); }

private:
  using Iterator = typename flatbuffers::Vector<T>::const_iterator;
  const flatbuffers::Vector<T> *vector;
};

template <typename T> auto all(const flatbuffers::Vector<T> *vector) {
  return OptionalRange<T>(vector);
}
template <typename T> size_t count(const flatbuffers::Vector<T> *vector) {
  return vector ? vector->size() : 0;
}

/// The text, or "" when absent.
inline std::string text(const flatbuffers::String *string) {
  return string ? string->str() : std::string();
}

Status verifyMeaning(const program::Program &program);

/// A sub-axis reference, and lists of them, against the mesh of `program`.
Status verifyAxis(const program::Program &program, const program::AxisRef *ref);
/// `order` lists the axes of a group of `axes` in another order.
Status verifyOrder(const program::Program &program, const AxisRefs *axes,
                   const AxisRefs *order);
Status verifyScalar(const program::Program &program,
                    const program::Scalar *scalar);

/// One command of `segment`: operands within arguments and scratch, and as many
/// and as large as the payload needs. `axes` of groups were checked before.
Status verifyCommand(const program::Program &program,
                     const program::Segment &segment,
                     const program::Command &command);

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_PROGRAM_VERIFIER_H
