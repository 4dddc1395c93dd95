#include "stretto/Runtime/Agreement.h"

#include <algorithm>
#include <cstring>

namespace stretto::runtime {

/// The lowest rank that says true, or -1.
static Result<int64_t> lowestRank(World &world, bool mine) {
  std::vector<int64_t> all(world.size());
  int64_t word = mine;
  STRETTO_TRY(world.everyone().gather(&word, all.data(), sizeof(word)));
  auto found = std::find(all.begin(), all.end(), 1);
  return found == all.end() ? int64_t(-1) : int64_t(found - all.begin());
}

Result<bool> anyRank(World &world, bool mine) {
  STRETTO_ASSIGN(int64_t rank, lowestRank(world, mine));
  return rank >= 0;
}

Result<bool> allSucceeded(World &world, const Status &mine) {
  STRETTO_ASSIGN(bool failed, anyRank(world, !mine));
  return !failed;
}

Status agree(World &world, const Status &mine) {
  STRETTO_ASSIGN(int64_t culprit, lowestRank(world, !mine));
  if (culprit < 0)
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
