//===- NonFiniteTest.cpp - the first value that is not finite -------------===//

#include "NonFinite.h"

#include <cmath>
#include <gtest/gtest.h>
#include <vector>

using stretto::program::DType;
using namespace stretto::runtime;

namespace {

template <typename Word> struct Patterns {
  DType type;
  Word one, large, infinity, nan;
};

template <typename Word> FirstBad find(DType type, std::vector<Word> words) {
  return findBad(type, reinterpret_cast<const char *>(words.data()),
                 words.size() * sizeof(Word));
}

template <typename Word> void check(Patterns<Word> p) {
  SCOPED_TRACE(stretto::program::EnumNameDType(p.type));
  Word sign = Word(1) << (8 * sizeof(Word) - 1);
  EXPECT_LT(find<Word>(p.type, {}).element, 0);
  EXPECT_LT(find<Word>(p.type, {0, p.one, p.large, 1, sign}).element, 0);
  for (int64_t at : {0, 1, 6}) { // both halves of an f32
    std::vector<Word> words(7, p.large);
    words[at] = p.infinity | sign;
    FirstBad bad = find(p.type, words);
    EXPECT_EQ(bad.element, at);
    EXPECT_EQ(bad.value, -INFINITY);
    words[at] = p.nan;
    bad = find(p.type, words);
    EXPECT_EQ(bad.element, at);
    EXPECT_TRUE(bad.isNan());
  }
  // A NaN comes before an infinity, the first before others of its kind.
  EXPECT_EQ(find<Word>(p.type, {p.one, p.infinity, p.nan, p.nan}).element, 2);
  EXPECT_EQ(find<Word>(p.type, {p.one, p.infinity, p.infinity}).element, 1);
}

TEST(NonFinite, IsFoundInEveryTypeOfNumbers) {
  check<uint16_t>({DType::BF16, 0x3f80, 0x7f7f, 0x7f80, 0x7f81});
  check<uint16_t>({DType::F16, 0x3c00, 0x7bff, 0x7c00, 0x7c01});
  check<uint32_t>({DType::F32, 0x3f800000, 0x7f7fffff, 0x7f800000, 0x7f800001});
  check<uint64_t>({DType::F64, 0x3ff0000000000000, 0x7fefffffffffffff,
                   0x7ff0000000000000, 0x7ff0000000000001});
}

TEST(NonFinite, WholeNumbersAreFinite) {
  EXPECT_LT(find<uint32_t>(DType::I32, {0xffffffff, 0x7f800000}).element, 0);
  EXPECT_LT(find<uint64_t>(DType::I64, {~uint64_t(0)}).element, 0);
}

} // namespace
