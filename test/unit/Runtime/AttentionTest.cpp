//===- AttentionTest.cpp - attention against its definition ---------------===//
//
// Forward and backward against the textbook formulas in f64, with the whole
// matrix of probabilities; dropout from Random.h. Shards and blocks of the
// positions against the parts of the whole. On bf16 the inputs are numbers that
// bf16 has; results are off by their rounding and that of the probabilities.
//
//===----------------------------------------------------------------------===//

#include "stretto/Runtime/Bf16.h"
#include "stretto/Runtime/Device.h"
#include "stretto/Runtime/Random.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <tuple>

namespace stretto::runtime {
namespace {

struct Case {
  AttentionShape shape;
  double dropout = 0;
  int64_t headOffset = 0, batchOffset = 0, headsGlobal = 0;
};

Case makeCase(int64_t batch, int64_t qLen, int64_t kvLen, int64_t heads,
              int64_t kvHeads, int64_t headDim, bool causal,
              double dropout = 0) {
  Case c;
  c.shape = {false, batch, qLen, kvLen, heads, kvHeads, headDim, causal};
  c.dropout = dropout;
  c.headsGlobal = heads;
  return c;
}

template <typename T> struct Tensors {
  std::vector<T> q, k, v, out, lse, dout, dq, dk, dv;
};

constexpr uint64_t opId = 77;
const uint64_t key = random::key(1, 2, 3);

/// The reference: everything in f64, one (sample, head) after the other.
class Reference {
public:
  Reference(const Case &c, const Tensors<float> &input) : c(c), s(c.shape) {
    t.q.assign(input.q.begin(), input.q.end());
    t.k.assign(input.k.begin(), input.k.end());
    t.v.assign(input.v.begin(), input.v.end());
    t.dout.assign(input.dout.begin(), input.dout.end());
    t.out.resize(t.q.size());
    t.dq.resize(t.q.size());
    t.dk.resize(t.k.size());
    t.dv.resize(t.k.size());
    t.lse.resize(s.batch * s.heads * s.qLen);
  }

  void run() {
    for (int64_t b = 0; b < s.batch; ++b)
      for (int64_t h = 0; h < s.heads; ++h)
        for (int64_t i = 0; i < s.qLen; ++i)
          row(b, h, i);
  }

  Tensors<double> t;

private:
  int64_t queryAt(int64_t b, int64_t i, int64_t h) const {
    return ((b * s.qLen + i) * s.heads + h) * s.headDim;
  }
  int64_t keyAt(int64_t b, int64_t j, int64_t h) const {
    int64_t kvHead = h / (s.heads / s.kvHeads);
    return ((b * s.kvLen + j) * s.kvHeads + kvHead) * s.headDim;
  }
  double factor(int64_t b, int64_t h, int64_t i, int64_t j) const {
    if (c.dropout == 0)
      return 1;
    uint64_t element =
        (((c.batchOffset + b) * c.headsGlobal + c.headOffset + h) * s.qLen +
         i) *
            s.kvLen +
        j;
    bool kept = random::bits24(key, element, opId) >=
                random::dropoutThreshold(c.dropout);
    return kept ? 1 / (1 - c.dropout) : 0;
  }
  double dot(const std::vector<double> &x, int64_t at,
             const std::vector<double> &y, int64_t other) const {
    double sum = 0;
    for (int64_t d = 0; d < s.headDim; ++d)
      sum += x[at + d] * y[other + d];
    return sum;
  }

  double roundedDot(int64_t at) const {
    double sum = 0;
    for (int64_t d = 0; d < s.headDim; ++d)
      sum += widen(narrow(float(t.out[at + d]))) * t.dout[at + d];
    return sum;
  }

  void row(int64_t b, int64_t h, int64_t i) {
    int64_t visible = s.causal ? i + s.kvLen - s.qLen + 1 : s.kvLen;
    int64_t n = std::max<int64_t>(visible, 0), at = queryAt(b, i, h);
    double sum = 0, max = -std::numeric_limits<double>::infinity();
    std::vector<double> p(n);
    for (int64_t j = 0; j < n; ++j)
      max = std::max(max, p[j] = scale * dot(t.q, at, t.k, keyAt(b, j, h)));
    for (double &value : p)
      sum += value = std::exp(value - max);
    t.lse[(b * s.heads + h) * s.qLen + i] = max + std::log(sum);
    double delta = 0;
    for (int64_t j = 0; j < n; ++j) {
      p[j] /= sum;
      double kept = p[j] * factor(b, h, i, j);
      delta += kept * dot(t.dout, at, t.v, keyAt(b, j, h));
      for (int64_t d = 0; d < s.headDim; ++d) {
        t.out[at + d] += kept * t.v[keyAt(b, j, h) + d];
        t.dv[keyAt(b, j, h) + d] += kept * t.dout[at + d];
      }
    }
    if (s.bf16) // backward reads what forward wrote
      delta = roundedDot(at);
    for (int64_t j = 0; j < n; ++j) {
      double gradient =
          factor(b, h, i, j) * dot(t.dout, at, t.v, keyAt(b, j, h));
      double ds = p[j] * (gradient - delta) * scale;
      for (int64_t d = 0; d < s.headDim; ++d) {
        t.dq[at + d] += ds * t.k[keyAt(b, j, h) + d];
        t.dk[keyAt(b, j, h) + d] += ds * t.q[at + d];
      }
    }
  }

public:
  static constexpr double scale = 0.37;

private:
  Case c;
  AttentionShape s;
};

Tensors<float> makeInputs(const AttentionShape &s) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  auto draw = [&](int64_t count) {
    std::vector<float> values(count);
    for (float &value : values)
      value = s.bf16 ? widen(narrow(normal(random))) : normal(random);
    return values;
  };
  Tensors<float> t;
  t.q = draw(s.batch * s.qLen * s.heads * s.headDim);
  t.k = draw(s.batch * s.kvLen * s.kvHeads * s.headDim);
  t.v = draw(t.k.size());
  t.dout = draw(t.q.size());
  // Results start as NaN: whatever is not written is noticed.
  const float nan = std::numeric_limits<float>::quiet_NaN();
  t.out.assign(t.q.size(), nan);
  t.dq.assign(t.q.size(), nan);
  t.dk.assign(t.k.size(), nan);
  t.dv.assign(t.k.size(), nan);
  t.lse.assign(s.batch * s.heads * s.qLen, nan);
  return t;
}

struct alignas(64) Line {
  float values[16];
};

AttentionTask taskOf(const Case &c) {
  AttentionTask task;
  task.shape = c.shape;
  task.scale = Reference::scale;
  task.dropout = c.dropout;
  task.opId = opId;
  task.headsGlobal = c.headsGlobal;
  return task;
}

/// One launch; `firstQuery`, `firstKey`: where the positions of `t` begin.
void launch(const AttentionTask &task, const Case &c, Tensors<float> &t,
            int64_t firstQuery = 0, int64_t firstKey = 0) {
  Result<std::unique_ptr<Device>> device = createCpuDevice();
  ASSERT_TRUE(device) << device.message();
  Result<Operation *> operation = (*device)->prepareAttention(task);
  ASSERT_TRUE(operation) << operation.message();
  ASSERT_TRUE((*device)->ready());
  uint64_t lines = attentionWorkspaceBytes(task.shape) / sizeof(Line);
  Line guard;
  std::fill_n(guard.values, 16, 1234.5f);
  std::vector<Line> workspace(lines + 1, guard);
  const int64_t scalars[] = {int64_t(key), c.headOffset, c.batchOffset,
                             firstQuery, firstKey};
  std::vector<std::vector<float> *> tensors = {&t.q, &t.k, &t.v, &t.out,
                                               &t.lse};
  if (task.shape.backward)
    tensors.insert(tensors.end(), {&t.dout, &t.dq, &t.dk, &t.dv});
  std::vector<std::vector<Bf16>> narrowed(tensors.size());
  std::vector<void *> buffers;
  for (size_t i = 0; i < tensors.size(); ++i) {
    for (float value : *tensors[i])
      narrowed[i].push_back(narrow(value));
    bool isBf16 = task.shape.bf16 && tensors[i] != &t.lse;
    buffers.push_back(isBf16 ? static_cast<void *>(narrowed[i].data())
                             : tensors[i]->data());
  }
  buffers.push_back(workspace.data());
  (*operation)->launch(buffers.data(), scalars);
  for (size_t i = 0; i < tensors.size(); ++i)
    for (size_t at = 0; at < tensors[i]->size(); ++at)
      if (buffers[i] == narrowed[i].data())
        (*tensors[i])[at] = widen(narrowed[i][at]);
  EXPECT_EQ(workspace.back().values[0], 1234.5f) << "workspace overrun";
}

/// Runs forward and backward on the device.
void runDevice(const Case &c, Tensors<float> &t) {
  for (bool backward : {false, true}) {
    AttentionTask task = taskOf(c);
    task.shape.backward = backward;
    launch(task, c, t);
  }
}

void expectNear(const std::vector<float> &got,
                const std::vector<double> &wanted, const char *name) {
  double norm = 0;
  for (double value : wanted)
    norm = std::max(norm, std::isinf(value) ? 0 : std::fabs(value));
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isinf(wanted[i]))
      ASSERT_EQ(double(got[i]), wanted[i]) << name << " " << i;
    else
      ASSERT_NEAR(got[i], wanted[i], 2e-6 * norm + 1e-6) << name << " " << i;
  }
}

/// What is computed of rounded numbers and rounded itself: off by about the
/// rounding of one number on average, nowhere by many.
void expectRounded(const std::vector<float> &got,
                   const std::vector<double> &wanted, const char *name) {
  double norm = 0, squares = 0, errors = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    norm = std::max(norm, std::fabs(wanted[i]));
    squares += wanted[i] * wanted[i];
    errors += (got[i] - wanted[i]) * (got[i] - wanted[i]);
  }
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], wanted[i], norm * 0x1p-6 + 1e-6) << name << " " << i;
  double numbers = double(got.size());
  EXPECT_LE(std::sqrt(errors / numbers),
            std::sqrt(squares / numbers) * 0x1p-8 + 1e-6)
      << name;
}

void checkTyped(const Case &c) {
  const AttentionShape &s = c.shape;
  SCOPED_TRACE(::testing::Message()
               << "b" << s.batch << " q" << s.qLen << " k" << s.kvLen << " h"
               << s.heads << "/" << s.kvHeads << " d" << s.headDim
               << (s.causal ? " causal" : "") << " dropout " << c.dropout
               << (s.bf16 ? " bf16" : ""));
  Tensors<float> t = makeInputs(s);
  Reference reference(c, t);
  reference.run();
  runDevice(c, t);
  expectNear(t.lse, reference.t.lse, "lse");
  const Tensors<double> &wanted = reference.t;
  for (auto [name, mine, theirs] : {std::tuple("out", &t.out, &wanted.out),
                                    {"dq", &t.dq, &wanted.dq},
                                    {"dk", &t.dk, &wanted.dk},
                                    {"dv", &t.dv, &wanted.dv}})
    s.bf16 ? expectRounded(*mine, *theirs, name)
           : expectNear(*mine, *theirs, name);
}

void check(Case c) {
  checkTyped(c);
  c.shape.bf16 = true;
  checkTyped(c);
}

TEST(Attention, Plain) {
  check(makeCase(2, 16, 16, 2, 2, 8, false));
  check(makeCase(1, 200, 200, 2, 2, 16, false));
  check(makeCase(1, 5, 33, 3, 3, 7, false));
  check(makeCase(2, 1, 20, 2, 2, 8, false));
  check(makeCase(1, 1, 1, 1, 1, 1, false));
}

TEST(Attention, Causal) {
  check(makeCase(2, 16, 16, 2, 2, 8, true));
  check(makeCase(1, 200, 200, 2, 2, 16, true));
  check(makeCase(1, 129, 129, 1, 1, 64, true));
  check(makeCase(1, 70, 150, 2, 2, 8, true)); // queries at the end of the keys
  check(makeCase(1, 7, 7, 1, 1, 3, true));
}

TEST(Attention, QueriesThatSeeNoKey) {
  check(makeCase(1, 150, 20, 2, 2, 8, true));
}

TEST(Attention, GroupedQueries) {
  check(makeCase(2, 40, 40, 6, 2, 8, true));
  check(makeCase(2, 40, 40, 4, 1, 8, false));
}

TEST(Attention, LongSequences) {
  check(makeCase(1, 700, 700, 1, 1, 8, true));
  check(makeCase(1, 40, 2500, 1, 1, 8, false));
}

TEST(Attention, Dropout) {
  check(makeCase(2, 40, 40, 2, 2, 8, true, 0.1));
  check(makeCase(1, 50, 30, 2, 1, 8, false, 0.5));
}

TEST(Attention, DropoutIsKeyedByLogicalElement) {
  Case c = makeCase(2, 20, 20, 2, 2, 8, false, 0.3);
  c.headsGlobal = 8;
  c.headOffset = 4;
  c.batchOffset = int64_t(1) << 30; // counters beyond 32 bits
  check(c);
}

TEST(Attention, LargeScoresDoNotOverflow) {
  Case c = makeCase(1, 40, 40, 1, 1, 8, false);
  Tensors<float> t = makeInputs(c.shape);
  for (float &value : t.q)
    value *= 100;
  Reference reference(c, t);
  reference.run();
  runDevice(c, t);
  for (size_t i = 0; i < t.out.size(); ++i)
    ASSERT_NEAR(t.out[i], reference.t.out[i], 2e-3);
}

TEST(Attention, NaNIsNeitherLostNorSpread) {
  Case c = makeCase(1, 40, 40, 2, 2, 8, true);
  Tensors<float> t = makeInputs(c.shape);
  const int64_t query = 17, head = 1;
  t.q[(query * 2 + head) * 8 + 3] = std::numeric_limits<float>::quiet_NaN();
  runDevice(c, t);
  for (int64_t i = 0; i < 40; ++i)
    for (int64_t h = 0; h < 2; ++h) {
      bool bad = i == query && h == head;
      EXPECT_EQ(std::isnan(t.out[(i * 2 + h) * 8]), bad) << i << " " << h;
      EXPECT_EQ(std::isnan(t.lse[h * 40 + i]), bad);
      EXPECT_EQ(std::isnan(t.dq[(i * 2 + h) * 8]), bad);
    }
}

TEST(Attention, InfiniteScoresGiveNaN) {
  Case c = makeCase(1, 20, 20, 1, 1, 8, false);
  Tensors<float> t = makeInputs(c.shape);
  t.q[0] = std::numeric_limits<float>::infinity();
  runDevice(c, t);
  EXPECT_TRUE(std::isnan(t.out[0]));
  EXPECT_FALSE(std::isnan(t.out[8]));
}

//===----------------------------------------------------------------------===//
// Shards of the positions
//===----------------------------------------------------------------------===//

/// Positions [begin, begin + count) of rows of `width` numbers, `length` rows
/// for each of `outer`; what lies past the end is `padding`.
template <typename T>
std::vector<float> cut(const std::vector<T> &from, int64_t outer,
                       int64_t length, int64_t width, int64_t begin,
                       int64_t count, float padding) {
  std::vector<float> part;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = begin; i < begin + count; ++i)
      for (int64_t d = 0; d < width; ++d)
        part.push_back(i < length ? float(from[(o * length + i) * width + d])
                                  : padding);
  return part;
}

/// The whole in f64, and its inputs and results cut into `n` shards.
struct Sharded {
  Case c;
  int64_t n;
  AttentionShape s = c.shape;
  Tensors<float> input = makeInputs(s);
  Reference whole{c, input};
  int64_t qPart = (s.qLen + n - 1) / n, kPart = (s.kvLen + n - 1) / n;
  int64_t qRow = s.heads * s.headDim, kRow = s.kvHeads * s.headDim;

  Sharded(const Case &c, int64_t n) : c(c), n(n) { whole.run(); }

  template <typename T>
  std::vector<float> queries(const std::vector<T> &x, int64_t shard,
                             float padding = 7) const {
    return cut(x, s.batch, s.qLen, qRow, shard * qPart, qPart, padding);
  }
  template <typename T>
  std::vector<float> keys(const std::vector<T> &x, int64_t shard,
                          float padding = -5) const {
    return cut(x, s.batch, s.kvLen, kRow, shard * kPart, kPart, padding);
  }
  std::vector<float> lse(int64_t shard, float padding = 3) const {
    return cut(whole.t.lse, s.batch * s.heads, s.qLen, 1, shard * qPart, qPart,
               padding);
  }
  AttentionTask task(bool backward) const {
    AttentionTask task = taskOf(c);
    task.shape.backward = backward;
    task.queries = s.qLen;
    task.keys = s.kvLen;
    return task;
  }
};

/// Parts of bf16 are rounded, and what is read was; each by half a unit.
double slackOf(const AttentionShape &s, const std::vector<double> &wanted) {
  double norm = 0;
  for (double value : wanted)
    norm = std::max(norm, std::isinf(value) ? 0 : std::fabs(value));
  return s.bf16 ? norm * 0x1p-6 : 0;
}

void expectClose(const AttentionShape &s, const std::vector<float> &got,
                 const std::vector<double> &wanted, const char *name) {
  double slack = slackOf(s, wanted);
  if (slack == 0)
    return expectNear(got, wanted, name);
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], wanted[i], slack + 1e-6) << name << " " << i;
}

void expectSame(const AttentionShape &s, const std::vector<float> &got,
                const std::vector<float> &wanted, const char *name) {
  expectClose(s, got, {wanted.begin(), wanted.end()}, name);
}

void addTo(std::vector<double> &sum, const std::vector<float> &x) {
  sum.resize(x.size());
  for (size_t i = 0; i < x.size(); ++i)
    sum[i] += x[i];
}

void checkQueryShards(const Case &c, int64_t n) {
  Sharded w(c, n);
  std::vector<double> dk, dv;
  for (int64_t shard = 0; shard < n; ++shard) {
    SCOPED_TRACE(::testing::Message() << "shard " << shard << " of " << n);
    AttentionTask forward = w.task(false), backward = w.task(true);
    forward.shape.qLen = backward.shape.qLen = w.qPart;
    Tensors<float> t = makeInputs(forward.shape);
    t.q = w.queries(w.input.q, shard);
    t.dout = w.queries(w.input.dout, shard);
    t.k = w.input.k, t.v = w.input.v;
    launch(forward, c, t, shard * w.qPart);
    expectSame(w.s, t.out, w.queries(w.whole.t.out, shard, 0), "out");
    std::vector<float> lse = w.lse(shard, 0);
    expectNear(t.lse, {lse.begin(), lse.end()}, "lse");
    t.lse = w.lse(shard); // padding may hold anything
    launch(backward, c, t, shard * w.qPart);
    expectSame(w.s, t.dq, w.queries(w.whole.t.dq, shard, 0), "dq");
    addTo(dk, t.dk);
    addTo(dv, t.dv);
  }
  expectClose(w.s, {dk.begin(), dk.end()}, w.whole.t.dk, "dk");
  expectClose(w.s, {dv.begin(), dv.end()}, w.whole.t.dv, "dv");
}

/// What blocks or shards of the keys gave, one after the other, as one.
void merge(const std::vector<float> &outs, const std::vector<float> &lses,
           const Sharded &w, int64_t blocks) {
  size_t rows = lses.size() / blocks;
  std::vector<float> out(outs.size() / blocks), lse(rows);
  const AttentionShape &s = w.s;
  for (size_t row = 0; row < rows; ++row) {
    double sum = 0;
    for (int64_t c = 0; c < blocks; ++c)
      sum += std::exp(double(lses[c * rows + row]));
    lse[row] = float(std::log(sum));
    int64_t i = row % s.qLen, h = row / s.qLen % s.heads,
            b = row / s.qLen / s.heads;
    size_t at = ((b * s.qLen + i) * s.heads + h) * s.headDim;
    for (int64_t c = 0; c < blocks; ++c)
      for (int64_t d = 0; d < s.headDim && sum > 0; ++d)
        out[at + d] += float(std::exp(double(lses[c * rows + row])) / sum *
                             outs[c * out.size() + at + d]);
  }
  expectClose(w.s, out, w.whole.t.out, "out");
  expectNear(lse, w.whole.t.lse, "lse");
}

void checkKeyShards(const Case &c, int64_t n) {
  Sharded w(c, n);
  std::vector<double> dq;
  std::vector<float> outs, lses;
  for (int64_t shard = 0; shard < n; ++shard) {
    SCOPED_TRACE(::testing::Message() << "shard " << shard << " of " << n);
    AttentionTask forward = w.task(false), backward = w.task(true);
    forward.shape.kvLen = backward.shape.kvLen = w.kPart;
    Tensors<float> t = makeInputs(forward.shape);
    t.q = w.input.q, t.dout = w.input.dout;
    t.k = w.keys(w.input.k, shard);
    t.v = w.keys(w.input.v, shard);
    launch(forward, c, t, 0, shard * w.kPart);
    outs.insert(outs.end(), t.out.begin(), t.out.end());
    lses.insert(lses.end(), t.lse.begin(), t.lse.end());
    t.out.assign(w.whole.t.out.begin(), w.whole.t.out.end());
    t.lse.assign(w.whole.t.lse.begin(), w.whole.t.lse.end());
    launch(backward, c, t, 0, shard * w.kPart);
    expectSame(w.s, t.dk, w.keys(w.whole.t.dk, shard, 0), "dk");
    expectSame(w.s, t.dv, w.keys(w.whole.t.dv, shard, 0), "dv");
    addTo(dq, t.dq);
  }
  expectClose(w.s, {dq.begin(), dq.end()}, w.whole.t.dq, "dq");
  merge(outs, lses, w, n);
}

void checkKeyBlocks(const Case &c, int64_t n) {
  Sharded w(c, n);
  AttentionTask task = w.task(false);
  task.blocks = n;
  Tensors<float> t = w.input;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  t.out.assign(n * t.out.size(), nan);
  t.lse.assign(n * t.lse.size(), nan);
  launch(task, c, t);
  merge(t.out, t.lse, w, n);
}

TEST(Attention, ShardsOfPositionsAreThePartsOfTheWhole) {
  for (int64_t n : {2, 3, 4})
    for (Case c :
         {makeCase(2, 17, 17, 2, 2, 8, true),
          makeCase(2, 17, 17, 2, 2, 8, false),
          makeCase(1, 150, 150, 4, 2, 16, true),
          makeCase(2, 9, 40, 2, 1, 8, true), // queries at the end of the keys
          makeCase(1, 40, 9, 2, 2, 8, true), // queries that see no key
          makeCase(1, 5, 2, 1, 1, 3, false), // shards without a key
          makeCase(2, 21, 33, 4, 2, 8, true, 0.3)}) {
      for (bool bf16 : {false, true}) {
        c.shape.bf16 = bf16;
        checkQueryShards(c, n);
        checkKeyShards(c, n);
        checkKeyBlocks(c, n);
      }
    }
}

} // namespace
} // namespace stretto::runtime
