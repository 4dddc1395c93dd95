#include "TinyProgram.h"

#include "stretto/Runtime/Program_generated.h"

#include <map>

namespace stretto::test {

using namespace program;

namespace {

int64_t roundUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

class Builder {
public:
  explicit Builder(const TinyProgram &tiny) : tiny(tiny) {
    samples = tiny.batch / tiny.microbatches;
    rows = roundUp(samples, tiny.dp) / tiny.dp;
    columns = roundUp(tiny.width, tiny.tp) / tiny.tp;
  }

  std::string build() {
    program.version = 1;
    program.model = "tiny";
    addMesh();
    addRecipe();
    addParameter();
    addTrain();
    addEval();
    addPredict();
    for (const auto &[region, bytes] : regions) {
      program.regions.push_back(std::make_unique<Region_T>());
      program.regions.back()->region = region;
      program.regions.back()->bytes = bytes;
    }
    flatbuffers::FlatBufferBuilder builder;
    FinishProgramBuffer(builder, Program::Pack(builder, &program));
    auto data = reinterpret_cast<const char *>(builder.GetBufferPointer());
    return std::string(data, data + builder.GetSize());
  }

private:
  // ---- memory ----

  SlotT place(Region region, uint64_t bytes) {
    SlotT slot;
    slot.region = region;
    slot.offset = regions[region];
    slot.bytes = bytes;
    regions[region] += roundUp(bytes, 64);
    return slot;
  }

  std::unique_ptr<DimensionT> dim(int64_t size, int64_t axis) {
    auto result = std::make_unique<DimensionT>();
    result->size = result->padded = size;
    if (axis < 0)
      return result;
    int64_t shards = axis == 0 ? tiny.dp : tiny.tp;
    result->padded = roundUp(size, shards);
    result->axes.emplace_back(axis, 1, shards);
    return result;
  }

  static std::unique_ptr<BindingT> bind(std::string name, DType type,
                                        const std::vector<SlotT> &slots) {
    auto binding = std::make_unique<BindingT>();
    binding->name = std::move(name);
    binding->dtype = type;
    for (const SlotT &slot : slots)
      binding->slots.push_back(std::make_unique<SlotT>(slot));
    return binding;
  }

  std::unique_ptr<BindingT> rowsInput(std::string name, DType type,
                                      const std::vector<SlotT> &slots) {
    auto binding = bind(std::move(name), type, slots);
    binding->dims.push_back(dim(samples, 0));
    binding->dims.push_back(dim(tiny.sequence, -1));
    return binding;
  }

  std::vector<SlotT> rowSlots() {
    std::vector<SlotT> slots;
    for (int64_t k = 0; k < tiny.microbatches; ++k)
      slots.push_back(place(Region::Inputs, rows * tiny.sequence * 4));
    return slots;
  }

  // ---- segments ----

  static std::unique_ptr<OperandT> operand(Space space, uint32_t index,
                                           uint64_t bytes, Access access,
                                           uint64_t offset = 0) {
    auto result = std::make_unique<OperandT>();
    result->space = space;
    result->index = index;
    result->bytes = bytes;
    result->access = access;
    result->offset = offset;
    return result;
  }
  static std::unique_ptr<OperandT> arg(uint32_t index, uint64_t bytes,
                                       Access access, uint64_t offset = 0) {
    return operand(Space::Argument, index, bytes, access, offset);
  }

  template <typename Payload, typename... Operands>
  static void add(SegmentT &segment, Payload payload, Operands... operands) {
    auto command = std::make_unique<CommandT>();
    command->payload.Set(std::move(payload));
    (command->operands.push_back(std::move(operands)), ...);
    segment.commands.push_back(std::move(command));
  }

  /// C[m, n] = A[m, k] B[k, n] with dense rows.
  static GemmT gemm(int64_t m, int64_t n, int64_t k, bool accumulate) {
    GemmT result;
    result.m = m;
    result.n = n;
    result.k = k;
    result.a_row = k;
    result.b_row = result.c_row = n;
    result.a_col = result.b_col = result.c_col = 1;
    result.accumulate = accumulate;
    return result;
  }

  static CollectiveT sum(uint32_t group) {
    CollectiveT result;
    result.kind = CollectiveKind::AllReduce;
    result.group = group;
    result.inner = 1;
    return result;
  }

  /// A segment whose arguments are as large as what the calls bind.
  uint32_t segment(const std::string &name, const std::vector<SlotT> &arguments,
                   void (Builder::*fill)(SegmentT &)) {
    auto result = std::make_unique<SegmentT>();
    result->name = name;
    for (const SlotT &slot : arguments) {
      result->arguments.push_back(std::make_unique<ArgumentT>());
      result->arguments.back()->bytes = slot.bytes;
      result->arguments.back()->access = Access::ReadWrite;
    }
    (this->*fill)(*result);
    program.segments.push_back(std::move(result));
    return program.segments.size() - 1;
  }

  void call(FunctionT &function, uint32_t segment,
            const std::vector<SlotT> &arguments, int64_t microbatch = 0) {
    auto result = std::make_unique<CallT>();
    result->segment = segment;
    for (const SlotT &slot : arguments)
      result->arguments.push_back(std::make_unique<SlotT>(slot));
    uint64_t bytes = program.segments[segment]->scratch_bytes;
    if (bytes > 0) {
      if (!scratch.bytes)
        scratch = place(Region::Scratch, bytes);
      result->scratch = std::make_unique<SlotT>(scratch);
    }
    result->microbatch = microbatch;
    function.calls.push_back(std::move(result));
  }

  // ---- the model ----

  void addMesh() {
    for (int axis = 0; axis < 2; ++axis) {
      program.mesh.push_back(std::make_unique<AxisT>());
      program.mesh.back()->name = axis == 0 ? "dp" : "tp";
      program.mesh.back()->size = axis == 0 ? tiny.dp : tiny.tp;
      program.groups.push_back(std::make_unique<GroupT>());
      program.groups.back()->axes.emplace_back(axis, 1,
                                               program.mesh.back()->size);
    }
  }

  void addRecipe() {
    auto recipe = std::make_unique<RecipeT>();
    recipe->global_batch = tiny.batch;
    recipe->sequence = tiny.sequence;
    recipe->microbatches = tiny.microbatches;
    recipe->steps = tiny.steps;
    recipe->seed = 11;
    recipe->lr = tiny.lr;
    recipe->min_lr = tiny.lr / 10;
    recipe->warmup = tiny.warmup;
    recipe->decay = "linear";
    recipe->beta1 = 0.9;
    recipe->beta2 = 0.95;
    recipe->nonfinite = tiny.nonfinite;
    recipe->eval_every = tiny.evalEvery;
    recipe->eval_fraction = tiny.evalFraction;
    recipe->vocabulary = 256;
    recipe->model_flops_per_step = 1e6;
    program.recipe = std::move(recipe);
  }

  void addParameter() {
    auto result = std::make_unique<ParameterT>();
    result->name = "w";
    result->dtype = DType::F32;
    result->dims.push_back(dim(tiny.width, 1));
    result->init = std::make_unique<InitT>();
    result->init->kind = InitKind::Normal;
    result->init->a = 1;
    result->init->b = 0.5;
    w = place(Region::Parameters, columns * 4);
    g = place(Region::Gradients, columns * 4);
    moment = place(Region::Optimizer, columns * 4);
    c = place(Region::Gradients, 4);
    result->parameter = std::make_unique<SlotT>(w);
    result->gradient = std::make_unique<SlotT>(g);
    result->moments.push_back(std::make_unique<SlotT>(moment));
    program.parameters.push_back(std::move(result));
  }

  void fillCount(SegmentT &segment, bool accumulate) {
    int64_t elements = rows * tiny.sequence;
    segment.scratch_bytes = elements * 4;
    FillT ones;
    ones.pattern = 0x3f800000;
    add(segment, ones, operand(Space::Local, 0, elements * 4, Access::Write));
    add(segment, gemm(1, 1, elements, accumulate),
        arg(0, elements * 4, Access::Read),
        operand(Space::Local, 0, elements * 4, Access::Read),
        arg(1, 4, accumulate ? Access::ReadWrite : Access::Write));
  }
  void fillFirstCount(SegmentT &segment) { fillCount(segment, false); }
  void fillNextCount(SegmentT &segment) { fillCount(segment, true); }

  /// Arguments: c w g moment hyper loss grad_norm count.
  void fillUpdate(SegmentT &segment) {
    uint64_t bytes = columns * 4;
    add(segment, sum(0), arg(0, 4, Access::Read), arg(0, 4, Access::Write));
    add(segment, gemm(columns, 1, 1, false), arg(1, bytes, Access::Read),
        arg(0, 4, Access::Read), arg(2, bytes, Access::Write));
    add(segment, gemm(columns, 1, 1, true), arg(2, bytes, Access::Read),
        arg(4, 4, Access::Read), arg(1, bytes, Access::ReadWrite));
    add(segment, CopyT(), arg(2, bytes, Access::Read),
        arg(3, bytes, Access::Write));
    add(segment, gemm(1, 1, columns, false), arg(2, bytes, Access::Read),
        arg(2, bytes, Access::Read), arg(6, 4, Access::Write));
    add(segment, sum(1), arg(6, 4, Access::Read), arg(6, 4, Access::Write));
    add(segment, CopyT(), arg(0, 4, Access::Read), arg(5, 4, Access::Write));
    add(segment, CopyT(), arg(0, 4, Access::Read), arg(7, 4, Access::Write));
  }

  /// Arguments: c loss count.
  void fillScore(SegmentT &segment) {
    add(segment, sum(0), arg(0, 4, Access::Read), arg(0, 4, Access::Write));
    add(segment, CopyT(), arg(0, 4, Access::Read), arg(1, 4, Access::Write));
    add(segment, CopyT(), arg(0, 4, Access::Read), arg(2, 4, Access::Write));
  }

  /// Arguments: w logits.
  void fillPredict(SegmentT &segment) {
    uint64_t bytes = columns * 4;
    for (int64_t row = 0; row < rows * tiny.sequence; ++row)
      add(segment, CopyT(), arg(0, bytes, Access::Read),
          arg(1, bytes, Access::Write, row * bytes));
  }

  /// Calls that leave this rank's part of c.
  void callCounts(FunctionT &function) {
    for (int64_t k = 0; k < tiny.microbatches; ++k)
      call(function, k == 0 ? firstCount : nextCount, {mask[k], c}, k);
  }

  FunctionT &function(const std::string &name) {
    program.functions.push_back(std::make_unique<FunctionT>());
    program.functions.back()->name = name;
    return *program.functions.back();
  }

  void addTrain() {
    mask = rowSlots();
    tokens = rowSlots();
    firstCount = segment("first_count", {mask[0], c}, &Builder::fillFirstCount);
    nextCount = segment("next_count", {mask[0], c}, &Builder::fillNextCount);
    SlotT hyper = place(Region::Inputs, 16), loss = place(Region::Outputs, 4);
    SlotT norm = place(Region::Outputs, 4), count = place(Region::Outputs, 4);
    FunctionT &train = function("train");
    train.inputs.push_back(rowsInput("tokens", DType::I32, tokens));
    train.inputs.push_back(rowsInput("mask", DType::F32, mask));
    train.inputs.push_back(bind("$hyper", DType::F32, {hyper}));
    train.inputs.back()->dims.push_back(dim(4, -1));
    train.outputs.push_back(bind("loss", DType::F32, {loss}));
    train.outputs.push_back(bind("grad_norm", DType::F32, {norm}));
    train.outputs.push_back(bind("count", DType::F32, {count}));
    callCounts(train);
    std::vector<SlotT> arguments{c, w, g, moment, hyper, loss, norm, count};
    call(train, segment("update", arguments, &Builder::fillUpdate), arguments);
  }

  void addEval() {
    SlotT loss = place(Region::Outputs, 4), count = place(Region::Outputs, 4);
    FunctionT &eval = function("eval");
    eval.inputs.push_back(rowsInput("mask", DType::F32, mask));
    eval.outputs.push_back(bind("loss", DType::F32, {loss}));
    eval.outputs.push_back(bind("count", DType::F32, {count}));
    callCounts(eval);
    std::vector<SlotT> arguments{c, loss, count};
    call(eval, segment("score", arguments, &Builder::fillScore), arguments);
  }

  void addPredict() {
    SlotT logits = place(Region::Outputs, rows * tiny.sequence * columns * 4);
    FunctionT &predict = function("predict");
    predict.inputs.push_back(rowsInput("tokens", DType::I32, {tokens[0]}));
    predict.outputs.push_back(bind("logits", DType::F32, {logits}));
    predict.outputs.back()->dims.push_back(dim(samples, 0));
    predict.outputs.back()->dims.push_back(dim(tiny.sequence, -1));
    predict.outputs.back()->dims.push_back(dim(tiny.width, 1));
    call(predict, segment("predict", {w, logits}, &Builder::fillPredict),
         {w, logits});
  }

  TinyProgram tiny;
  ProgramT program;
  std::map<Region, uint64_t> regions;
  int64_t samples, rows, columns;
  SlotT w, g, moment, c, scratch;
  std::vector<SlotT> mask, tokens;
  uint32_t firstCount = 0, nextCount = 0;
};

} // namespace

std::string TinyProgram::build() const { return Builder(*this).build(); }

} // namespace stretto::test
