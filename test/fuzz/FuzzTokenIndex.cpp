// Any bytes as the index of a token file: never a crash; what is accepted is a
// type, a number of tokens and a vocabulary that mean something.
#include "TokenIndex.h"

#include <cstdlib>

using namespace stretto::runtime;

static void require(bool holds) {
  if (!holds)
    abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Result<TokenIndex> index = parseTokenIndex(Bytes(data, size));
  if (!index) {
    require(index.code() == Code::Rejected);
    return 0;
  }
  require(index->dtype == "u16" || index->dtype == "u32");
  require(index->tokens > 0 && index->vocabulary > 0);
  std::string text =
      concat(R"({"dtype":")", index->dtype, R"(","tokens":)", index->tokens,
             R"(,"vocabulary":)", index->vocabulary, "}");
  require(parseTokenIndex(Bytes(text.data(), text.size())).isOk());
  return 0;
}
