//===- CpuDevice.cpp - the CPU as a device --------------------------------===//

#include "Attention.h"
#include "Dnn.h"
#include "Gemm.h"
#include "KernelLibrary.h"

#include "stretto/Runtime/Device.h"
#include "stretto/Runtime/Isa.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>

namespace stretto::runtime {

namespace {

class KernelOperation final : public Operation {
public:
  explicit KernelOperation(KernelFn function) : function(function) {}
  void launch(void *const *buffers, const int64_t *scalars) override {
    function(buffers, scalars);
  }

private:
  KernelFn function;
};

/// Zeroed pages; large ones where the system gives them. All of them are there
/// at once: the first step does not pay for them, and a lack of memory is an
/// error here and not the end of the process later.
class Arena {
public:
  static Result<Arena> map(uint64_t bytes) {
    Arena arena;
    void *data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED)
      return failure(Code::RunFailed, "cannot allocate the arena of ", bytes,
                     " bytes: ", std::strerror(errno));
    arena.data = data;
    arena.bytes = bytes;
    madvise(data, bytes, MADV_HUGEPAGE);
    constexpr int populateWrite = 23; // MADV_POPULATE_WRITE, since Linux 5.14
    if (madvise(data, bytes, populateWrite) != 0 && errno == ENOMEM)
      return failure(Code::RunFailed, "there is no memory for the arena of ",
                     bytes, " bytes");
    return arena;
  }
  Arena(Arena &&other) noexcept
      : data(std::exchange(other.data, nullptr)), bytes(other.bytes) {}
  ~Arena() {
    if (data)
      munmap(data, bytes);
  }
  void *start() const { return data; }

private:
  Arena() = default;
  void *data = nullptr;
  uint64_t bytes = 0;
};

std::vector<int64_t> keyOf(const GemmShape &s) {
  std::vector<int64_t> key = {
      s.m,    s.n,    s.k,    s.aRow,       s.aCol,           s.bRow,
      s.bCol, s.cRow, s.cCol, s.accumulate, int64_t(s.dtype), int64_t(s.cType)};
  for (auto *list : {&s.batch, &s.aBatch, &s.bBatch, &s.cBatch})
    key.insert(key.end(), list->begin(), list->end());
  return key;
}

std::vector<int64_t> keyOf(const AttentionTask &task) {
  const AttentionShape &s = task.shape;
  std::vector<int64_t> key = {s.backward,
                              s.batch,
                              s.qLen,
                              s.kvLen,
                              s.heads,
                              s.kvHeads,
                              s.headDim,
                              s.causal,
                              s.bf16,
                              int64_t(task.opId),
                              task.headsGlobal,
                              task.queries,
                              task.keys,
                              task.blocks,
                              0,
                              0};
  static_assert(sizeof(double) == sizeof(int64_t));
  std::memcpy(&key[14], &task.scale, sizeof(double));
  std::memcpy(&key[15], &task.dropout, sizeof(double));
  return key;
}

class CpuDevice final : public Device {
public:
  explicit CpuDevice(std::unique_ptr<DnnContext> context) {
    contexts.push_back(std::move(context));
  }

  std::string identity() const override {
    static const char *const levels[] = {"v1", "v3", "v4"};
    return concat("oneDNN ", dnnlVersion(), ", x86-64-", levels[int(hostIsa())],
                  hostHasBf16() ? " with bf16" : "");
  }

  Result<void *> allocate(uint64_t bytes) override {
    STRETTO_ASSIGN(Arena arena, Arena::map(std::max<uint64_t>(bytes, 64)));
    arenas.push_back(std::move(arena));
    return arenas.back().start();
  }

  Status loadKernels(Bytes image,
                     const std::vector<std::string> &names) override {
    kernels.clear();
    if (names.empty())
      return Status::ok();
    STRETTO_ASSIGN(library, KernelLibrary::load(image));
    for (const std::string &name : names) {
      STRETTO_ASSIGN(KernelFn function, library->find(name));
      kernels.push_back(std::make_unique<KernelOperation>(function));
    }
    return Status::ok();
  }

  Result<Operation *> prepareKernel(uint32_t kernel) override {
    if (kernel >= kernels.size())
      return failure(Code::Internal, "there is no kernel ", kernel);
    return kernels[kernel].get();
  }

  Result<Operation *> prepareGemm(const GemmShape &shape,
                                  unsigned stream) override {
    return shared(gemms, shape, stream, prepareGemmOperation);
  }
  Result<Operation *> prepareAttention(const AttentionTask &task,
                                       unsigned stream) override {
    return shared(attentions, task, stream,
                  [](DnnContext &, const AttentionTask &wanted) {
                    return Result(makeAttentionOperation(wanted));
                  });
  }

  Status ready(unsigned stream) override {
    if (stream < contexts.size() && contexts[stream])
      return contexts[stream]->ready();
    useOneThread();
    return Status::ok();
  }

  void fill(void *target, uint32_t pattern, uint64_t bytes) override {
    uint64_t whole = bytes / sizeof(pattern);
    std::fill_n(static_cast<uint32_t *>(target), whole, pattern);
    std::memcpy(static_cast<uint32_t *>(target) + whole, &pattern,
                bytes % sizeof(pattern));
  }
  void copy(void *target, const void *source, uint64_t bytes) override {
    std::memmove(target, source, bytes);
  }

private:
  using Operations = std::map<std::vector<int64_t>, std::unique_ptr<Operation>>;

  template <typename Task, typename Make>
  Result<Operation *> shared(Operations &made, const Task &task,
                             unsigned stream, Make make) {
    std::vector<int64_t> key = keyOf(task);
    key.push_back(stream);
    std::unique_ptr<Operation> &operation = made[key];
    if (!operation) {
      STRETTO_ASSIGN(DnnContext * context, contextOf(stream));
      STRETTO_ASSIGN(operation, make(*context, task));
    }
    return operation.get();
  }

  Result<DnnContext *> contextOf(unsigned stream) {
    if (stream >= contexts.size())
      contexts.resize(stream + 1);
    if (!contexts[stream]) {
      STRETTO_ASSIGN(contexts[stream], DnnContext::create());
    }
    return contexts[stream].get();
  }

  std::vector<std::unique_ptr<DnnContext>> contexts; // by stream
  std::vector<Arena> arenas;
  std::shared_ptr<KernelLibrary> library;
  std::vector<std::unique_ptr<Operation>> kernels;
  Operations gemms, attentions;
};

} // namespace

Result<std::unique_ptr<Device>> createCpuDevice() {
  STRETTO_ASSIGN(std::unique_ptr<DnnContext> context, DnnContext::create());
  return std::unique_ptr<Device>(new CpuDevice(std::move(context)));
}

} // namespace stretto::runtime
