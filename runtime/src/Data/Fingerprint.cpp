#include "Fingerprint.h"

#include <algorithm>

namespace stretto::runtime {
namespace {

constexpr uint64_t blockBytes = 64 * 1024, mostBlocks = 256;

/// Appends bytes [begin, begin + count) of the sequence to `target`.
void append(const std::vector<Bytes> &parts, uint64_t begin, uint64_t count,
            std::string &target) {
  for (const Bytes &part : parts) {
    if (begin >= part.size) {
      begin -= part.size;
      continue;
    }
    uint64_t here = std::min<uint64_t>(count, part.size - begin);
    target.append(reinterpret_cast<const char *>(part.data) + begin, here);
    begin = 0;
    count -= here;
    if (count == 0)
      return;
  }
}

} // namespace

uint64_t fingerprint(const std::vector<Bytes> &parts) {
  uint64_t total = 0;
  for (const Bytes &part : parts)
    total += part.size;
  uint64_t blocks = std::min(mostBlocks, (total + blockBytes - 1) / blockBytes);
  bool all = total <= mostBlocks * blockBytes;
  uint64_t hashes[mostBlocks + 1] = {total};
  std::string block;
  for (uint64_t i = 0; i < blocks; ++i) {
    // In 128 bits: the last block ends where the data ends.
    uint64_t begin = all ? i * blockBytes
                         : uint64_t((unsigned __int128)(total - blockBytes) *
                                    i / (mostBlocks - 1));
    block.clear();
    append(parts, begin, blockBytes, block);
    hashes[1 + i] = xxh3(block);
  }
  return xxh3(Bytes(hashes, sizeof(hashes)));
}

} // namespace stretto::runtime
