#include "Sampler.h"

#include "stretto/Runtime/Bf16.h"
#include "stretto/Runtime/BoxCopy.h"
#include "stretto/Runtime/Feed.h"
#include "stretto/Runtime/Random.h"

#include <algorithm>
#include <cmath>

namespace stretto::runtime {

int64_t drawToken(const std::vector<float> &logits, double temperature,
                  double uniform) {
  auto largest = std::max_element(logits.begin(), logits.end());
  if (temperature <= 0)
    return largest - logits.begin();
  std::vector<double> weights;
  double sum = 0;
  for (float logit : logits) {
    weights.push_back(std::exp((double(logit) - *largest) / temperature));
    sum += weights.back();
  }
  double left = uniform * sum;
  for (size_t i = 0; i < weights.size(); ++i)
    if ((left -= weights[i]) < 0)
      return i;
  return largest - logits.begin();
}

namespace {

/// Sample 0 shows the last tokens of a text; nothing counts.
class TextWindow final : public SampleSource {
public:
  explicit TextWindow(const std::vector<int32_t> &text) : text(text) {}

  Status read(uint64_t index, Sample &sample) const override {
    std::fill(sample.tokens.begin(), sample.tokens.end(), 0);
    std::fill(sample.labels.begin(), sample.labels.end(), 0);
    std::fill(sample.mask.begin(), sample.mask.end(), 0.0f);
    int64_t shown = std::min(text.size(), sample.labels.size());
    if (index == 0)
      std::copy(text.end() - shown, text.end(), sample.tokens.begin());
    return Status::ok();
  }

private:
  const std::vector<int32_t> &text;
};

/// Collective: logits[0, position, :] of a tensor sharded in any way.
Result<std::vector<float>> gatherRow(World &world, const Mesh &mesh,
                                     const TensorView &logits,
                                     int64_t position) {
  int64_t vocabulary = logits.logicalShape[2];
  Box row = denseBox({0, position, 0}, {1, position + 1, vocabulary});
  std::vector<float> mine(vocabulary), all(vocabulary * world.size()),
      result(vocabulary);
  if (logits.dtype == program::DType::BF16) {
    std::vector<Bf16> narrow(vocabulary);
    copyCommon(logits.box, logits.slots[0], row, narrow.data(), sizeof(Bf16));
    std::transform(narrow.begin(), narrow.end(), mine.begin(),
                   [](Bf16 x) { return widen(x); });
  } else {
    copyCommon(logits.box, logits.slots[0], row, mine.data(), sizeof(float));
  }
  STRETTO_TRY(world.everyone().gather(mine.data(), all.data(),
                                      vocabulary * sizeof(float)));
  for (int64_t rank = 0; rank < world.size(); ++rank) {
    Box part = mesh.box(rank, logits.dims);
    if (commonElements(part, row) == 0)
      continue;
    const BoxDim &columns = part.dims[2];
    const float *from = all.data() + rank * vocabulary;
    std::copy(from + columns.begin, from + columns.end,
              result.begin() + columns.begin);
  }
  return result;
}

/// The prompt as tokens, a newline when it is empty.
Result<std::vector<int32_t>> tokensOf(const std::string &prompt,
                                      int64_t vocabulary) {
  std::vector<int32_t> tokens;
  for (unsigned char byte : prompt.empty() ? std::string("\n") : prompt) {
    if (byte >= vocabulary)
      return failure(Code::Usage, "byte ", int(byte),
                     " of the prompt is not in the vocabulary of ", vocabulary);
    tokens.push_back(byte);
  }
  return tokens;
}

} // namespace

Status checkSampling(const Program &program, const std::string &prompt) {
  const program::Function *predict = program.findFunction("predict");
  const program::Binding *logits = nullptr;
  if (predict && predict->outputs())
    for (const program::Binding *output : *predict->outputs())
      if (output->name()->str() == "logits")
        logits = output;
  if (!logits)
    return failure(Code::Rejected, "the model has no output 'logits' to sample "
                                   "from; add stretto.output \"logits\" or "
                                   "leave out --sample");
  size_t rank = logits->dims() ? logits->dims()->size() : 0;
  bool isFloat = logits->dtype() == program::DType::F32 ||
                 logits->dtype() == program::DType::BF16;
  if (!isFloat || rank != 3)
    return failure(Code::Rejected, "output 'logits' of 'predict' is ",
                   program::EnumNameDType(logits->dtype()), " of rank ", rank,
                   ", sampling needs F32 or BF16 [batch, seq, vocab]");
  return tokensOf(prompt, logits->dims()->Get(2)->size()).status();
}

Result<std::vector<int32_t>> generate(World &world, Executor &executor,
                                      const std::string &prompt, int64_t count,
                                      double temperature) {
  STRETTO_TRY(checkSampling(executor.program(), prompt));
  STRETTO_ASSIGN(size_t predict, executor.function("predict"));
  STRETTO_ASSIGN(TensorView logits, executor.output(predict, "logits"));
  STRETTO_ASSIGN(Feed feed, Feed::of(executor.inputs(predict)));
  STRETTO_ASSIGN(std::vector<int32_t> text,
                 tokensOf(prompt, logits.logicalShape[2]));
  TextWindow window(text);
  uint64_t key = random::key(executor.seed(), 0, xxh3("sample"));
  size_t begin = text.size();
  for (int64_t i = 0; i < count; ++i) {
    int64_t shown = std::min<int64_t>(text.size(), feed.sequence());
    STRETTO_TRY(feed.fill(window, 0, {}));
    STRETTO_TRY(executor.execute(predict, 0));
    STRETTO_ASSIGN(
        std::vector<float> row,
        gatherRow(world, executor.program().mesh(), logits, shown - 1));
    text.push_back(drawToken(row, temperature, random::uniform(key, i)));
  }
  return std::vector<int32_t>(text.begin() + begin, text.end());
}

} // namespace stretto::runtime
