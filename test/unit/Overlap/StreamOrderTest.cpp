//===- StreamOrderTest.cpp - waits are enough, and none is in vain --------===//

#include "stretto/Transforms/Overlap/StreamOrder.h"

#include "gtest/gtest.h"
#include <random>

using namespace stretto;

namespace {

/// Calls, streams and edges as given; what comes before what by closure.
struct Reference {
  std::vector<unsigned> streams;
  std::vector<std::vector<unsigned>> needs;

  /// before[a][b]: a has ended when b starts, by stream order and `edges`.
  std::vector<std::vector<bool>>
  close(const std::vector<std::vector<unsigned>> &edges) const {
    size_t n = streams.size();
    std::vector<std::vector<bool>> before(n, std::vector<bool>(n));
    for (size_t b = 0; b < n; ++b) {
      for (size_t a = 0; a < b; ++a)
        before[a][b] = streams[a] == streams[b];
      for (unsigned a : edges[b])
        before[a][b] = true;
    }
    for (size_t k = 0; k < n; ++k)
      for (size_t a = 0; a < n; ++a)
        for (size_t b = 0; before[a][k] && b < n; ++b)
          if (before[k][b])
            before[a][b] = true;
    return before;
  }
};

Reference randomCalls(std::mt19937 &random, unsigned numStreams) {
  Reference made;
  for (unsigned call = 0; call < 24; ++call) {
    made.streams.push_back(random() % numStreams);
    made.needs.emplace_back();
    for (unsigned k = random() % 4; call && k-- > 0;)
      made.needs.back().push_back(random() % call);
  }
  return made;
}

} // namespace

TEST(StreamOrder, WaitsSayWhatIsNeededAndNoMore) {
  std::mt19937 random(7);
  for (unsigned round = 0; round < 300; ++round) {
    unsigned numStreams = 1 + round % 3;
    Reference reference = randomCalls(random, numStreams);
    StreamOrder order(numStreams);
    std::vector<std::vector<unsigned>> waits;
    for (unsigned call = 0; call < reference.streams.size(); ++call) {
      ASSERT_EQ(order.add(reference.streams[call], reference.needs[call]),
                call);
      waits.emplace_back(order.waitsOf(call).begin(),
                         order.waitsOf(call).end());
    }
    auto wanted = reference.close(reference.needs);
    EXPECT_EQ(reference.close(waits), wanted) << "round " << round;
    for (unsigned call = 0; call < waits.size(); ++call)
      for (size_t k = 0; k < waits[call].size(); ++k) {
        auto fewer = waits;
        fewer[call].erase(fewer[call].begin() + k);
        EXPECT_NE(reference.close(fewer), wanted)
            << "round " << round << ": call " << call << " need not wait for "
            << waits[call][k];
      }
  }
}

TEST(StreamOrder, SpansAreOrderedAsTheirCallsAre) {
  std::mt19937 random(11);
  for (unsigned round = 0; round < 100; ++round) {
    Reference reference = randomCalls(random, 2);
    StreamOrder order(2);
    for (unsigned call = 0; call < reference.streams.size(); ++call)
      order.add(reference.streams[call], reference.needs[call]);
    auto before = reference.close(reference.needs);
    // A span from one call to two that come after it, against one of a call.
    for (unsigned first = 0; first < order.size(); ++first) {
      Span span = order.spanOf(first);
      std::vector<unsigned> members = {first};
      for (unsigned last = first + 1; last < order.size(); ++last)
        if (before[first][last] && members.size() < 3) {
          order.extend(span, last);
          members.push_back(last);
        }
      for (unsigned other = 0; other < order.size(); ++other) {
        bool all = true;
        for (unsigned member : members)
          all &= before[member][other];
        EXPECT_EQ(span.isBefore(order.spanOf(other)), all);
      }
    }
  }
}

TEST(StreamOrder, OneStreamNeverWaits) {
  StreamOrder order(1);
  order.add(0, {});
  EXPECT_TRUE(order.waitsOf(order.add(0, {0})).empty());
  EXPECT_TRUE(order.spanOf(0).isBefore(order.spanOf(1)));
  EXPECT_FALSE(order.spanOf(1).isBefore(order.spanOf(0)));
}
