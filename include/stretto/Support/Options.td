//===- Options.td - kinds of command-line options -----------*- tablegen -*-===//
//
// What the option tables of all commands are written with. OptionTable.inc makes
// the C++ table of one.
//
//===----------------------------------------------------------------------===//
include "llvm/Option/OptParser.td"

// --name VALUE and --name=VALUE.
multiclass Value<string name, string metavar, string help> {
  def NAME : Separate<["--"], name>, HelpText<help>, MetaVarName<metavar>;
  def NAME#_eq : Joined<["--"], name#"=">, Alias<!cast<Separate>(NAME)>;
}
class Switch<string name, string help> : Flag<["--"], name>, HelpText<help>;
