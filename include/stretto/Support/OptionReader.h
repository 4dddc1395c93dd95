//===- OptionReader.h - typed values of a command line ----------*- C++ -*-===//
//
// Reads numbers, words and choices out of parsed options; an option that is not
// there leaves its field alone. What is wrong is told in one form:
// "'--steps' takes an integer of at least 1, got '0'".
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_SUPPORT_OPTIONREADER_H
#define STRETTO_SUPPORT_OPTIONREADER_H

#include "llvm/Option/ArgList.h"
#include <functional>
#include <optional>
#include <string>

namespace stretto {

class OptionReader {
public:
  using Complain = std::function<void(const llvm::Twine &)>;
  OptionReader(const llvm::opt::InputArgList &list, Complain complain)
      : list(list), complain(std::move(complain)) {}

  void text(unsigned id, std::string &field) const;
  /// Integers of at least `least`, when it is given.
  template <typename Integer>
  void integer(unsigned id, Integer &field,
               std::optional<int64_t> least = std::nullopt) const {
    if (std::optional<int64_t> value = readInteger(id, least))
      field = *value;
  }
  void number(unsigned id, double &field) const;
  void positive(unsigned id, double &field) const;
  void yesNo(unsigned id, bool &field) const;
  /// The last of the two options decides.
  void flag(unsigned on, unsigned off, bool &field) const;
  /// `parse` turns the value into the field, an optional; `expected` names what
  /// it understands.
  template <typename T, typename Parse>
  void choice(unsigned id, std::optional<T> &field, Parse parse,
              const llvm::Twine &expected) const {
    const llvm::opt::Arg *arg = list.getLastArg(id);
    if (arg && !(field = parse(arg->getValue())))
      reject(*arg, expected);
  }

  void reject(const llvm::opt::Arg &arg, const llvm::Twine &expected) const;

private:
  std::optional<int64_t> readInteger(unsigned id,
                                     std::optional<int64_t> least) const;

  const llvm::opt::InputArgList &list;
  Complain complain;
};

} // namespace stretto

#endif // STRETTO_SUPPORT_OPTIONREADER_H
