//===- OptionReader.cpp - typed values of a command line ------------------===//

#include "stretto/Support/OptionReader.h"
#include "stretto/Support/Text.h"
#include "llvm/Option/Arg.h"
#include <cmath>

using namespace llvm;
using namespace llvm::opt;
using namespace stretto;

void OptionReader::reject(const Arg &arg, const Twine &expected) const {
  complain("'" + arg.getSpelling() + "' takes " + expected + ", got " +
           quote(arg.getValue()));
}

void OptionReader::text(unsigned id, std::string &field) const {
  const Arg *arg = list.getLastArg(id);
  if (arg && !*arg->getValue())
    return reject(*arg, "a name");
  field = list.getLastArgValue(id, field).str();
}

std::optional<int64_t>
OptionReader::readInteger(unsigned id, std::optional<int64_t> least) const {
  const Arg *arg = list.getLastArg(id);
  int64_t value;
  if (!arg)
    return std::nullopt;
  if (!StringRef(arg->getValue()).getAsInteger(10, value) &&
      (!least || value >= *least))
    return value;
  reject(*arg, least ? "an integer of at least " + std::to_string(*least)
                     : std::string("an integer"));
  return std::nullopt;
}

void OptionReader::number(unsigned id, double &field) const {
  const Arg *arg = list.getLastArg(id);
  if (arg && StringRef(arg->getValue()).getAsDouble(field))
    reject(*arg, "a number");
}

void OptionReader::positive(unsigned id, double &field) const {
  const Arg *arg = list.getLastArg(id);
  if (arg && (StringRef(arg->getValue()).getAsDouble(field) || !(field > 0) ||
              !std::isfinite(field)))
    reject(*arg, "a positive, finite number");
}

void OptionReader::yesNo(unsigned id, bool &field) const {
  const Arg *arg = list.getLastArg(id);
  if (!arg)
    return;
  StringRef value = arg->getValue();
  if (value != "yes" && value != "no")
    return reject(*arg, "yes or no");
  field = value == "yes";
}

void OptionReader::flag(unsigned on, unsigned off, bool &field) const {
  if (const Arg *arg = list.getLastArg(on, off))
    field = arg->getOption().matches(on);
}
