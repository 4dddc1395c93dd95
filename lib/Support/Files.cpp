//===- Files.cpp - writing files whole ------------------------------------===//

#include "stretto/Support/Files.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

/// Writes and closes.
static std::error_code finish(raw_fd_ostream &os, StringRef text) {
  os << text;
  os.close();
  std::error_code code = os.error();
  os.clear_error();
  return code;
}

std::error_code stretto::writeFile(StringRef path, StringRef text) {
  std::error_code code;
  if (sys::fs::exists(path) && !sys::fs::is_regular_file(path)) {
    raw_fd_ostream os(path, code);
    return code ? code : finish(os, text);
  }
  // The process id keeps two writers apart; a name that can be made by hand
  // keeps the permissions that the user's mask gives.
  std::string temporary =
      (path + ".tmp." + Twine(sys::Process::getProcessId())).str();
  {
    raw_fd_ostream os(temporary, code);
    if (code)
      return code;
    code = finish(os, text);
  }
  if (!code)
    code = sys::fs::rename(temporary, path);
  if (code)
    sys::fs::remove(temporary);
  return code;
}
