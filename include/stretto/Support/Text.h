//===- Text.h - small helpers for words and numbers -------------*- C++ -*-===//
//
// Suggestions for misspelt names, sizes such as 25MiB, and numbers printed so
// that reading them back gives the same value.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_SUPPORT_TEXT_H
#define STRETTO_SUPPORT_TEXT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>

namespace stretto {

/// 'text' in single quotes, shortened and with unprintable bytes escaped: fit
/// for a message whatever the file holds.
std::string quote(llvm::StringRef text);

/// The candidate closest to `word` if it is close enough to be what the user
/// meant (at most a third of the letters differ), else an empty string.
llvm::StringRef nearest(llvm::StringRef word,
                        llvm::ArrayRef<llvm::StringRef> candidates);

/// "; did you mean 'x'?" or, without a near candidate, "; `label`: a, b, c".
/// Empty when there are no candidates.
std::string suggest(llvm::StringRef word,
                    llvm::ArrayRef<llvm::StringRef> candidates,
                    llvm::StringRef label);

/// Reads "4096", "25MiB", "1.5 GB": a number and an optional unit B, kB, MB,
/// GB, TB (powers of 1000) or KiB, MiB, GiB, TiB (powers of 1024). Nothing if
/// the text is no size, is negative, is no whole number of bytes or overflows.
std::optional<int64_t> parseBytes(llvm::StringRef text);
/// The shortest exact spelling: 26214400 -> "25MiB".
std::string formatBytes(int64_t bytes);
/// For people: "1.50 MiB", "96 B".
std::string readableBytes(uint64_t bytes);

/// The shortest decimal that reads back as the same double: 0.0003 -> "0.0003".
std::string formatNumber(double value);

} // namespace stretto

#endif // STRETTO_SUPPORT_TEXT_H
