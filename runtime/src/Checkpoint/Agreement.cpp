#include "stretto/Runtime/Agreement.h"

#include <algorithm>
#include <cstring>

namespace stretto::runtime {

static Status gatherWords(World &world, uint64_t mine,
                          std::vector<uint64_t> &all) {
  all.resize(world.size());
  return world.everyone().gather(&mine, all.data(), sizeof(mine));
}

Result<uint64_t> unionOfBits(World &world, uint64_t mine,
                             std::vector<uint64_t> &scratch) {
  STRETTO_TRY(gatherWords(world, mine, scratch));
  uint64_t bits = 0;
  for (uint64_t word : scratch)
    bits |= word;
  return bits;
}

Result<bool> allSucceeded(World &world, const Status &mine) {
  std::vector<uint64_t> scratch;
  STRETTO_ASSIGN(uint64_t failed, unionOfBits(world, !mine, scratch));
  return failed == 0;
}

Status agree(World &world, const Status &mine) {
  std::vector<uint64_t> failed;
  STRETTO_TRY(gatherWords(world, !mine, failed));
  int64_t culprit = std::find(failed.begin(), failed.end(), 1) - failed.begin();
  if (culprit == world.size())
    return Status::ok();
  if (culprit == world.rank())
    return mine;
  STRETTO_TRY(world.everyone().barrier()); // ends with the culprit's abort
  return failure(Code::Internal, "rank ", culprit, " failed but did not leave");
}

Result<std::vector<std::string>> gatherTexts(World &world,
                                             const std::string &mine) {
  std::vector<int64_t> sizes(world.size());
  int64_t size = mine.size();
  STRETTO_TRY(world.everyone().gather(&size, sizes.data(), sizeof(size)));
  int64_t largest = *std::max_element(sizes.begin(), sizes.end());
  std::vector<std::string> texts;
  if (largest == 0)
    return std::vector<std::string>(world.size());
  std::string padded = mine, all(largest * world.size(), '\0');
  padded.resize(largest);
  STRETTO_TRY(world.everyone().gather(padded.data(), all.data(), largest));
  for (int64_t rank = 0; rank < world.size(); ++rank)
    texts.push_back(all.substr(rank * largest, sizes[rank]));
  return texts;
}

} // namespace stretto::runtime
