//===- Dnn.cpp - matrix products from oneDNN ------------------------------===//
//
// oneDNN's C++ interface throws; everything that may throw stays in here.
//
//===----------------------------------------------------------------------===//

#include "Dnn.h"

#include "DnnAllocations.h"

#include <dlfcn.h>
#include <mutex>

namespace stretto::runtime {

using dnnl::memory;

void useOneThread() {
  // oneDNN brings its OpenMP runtime along; whichever it is, this is its name.
  using SetThreads = void (*)(int);
  static auto set =
      reinterpret_cast<SetThreads>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
  if (set)
    set(1);
}

std::string dnnlVersion() {
  const dnnl_version_t &version = *dnnl_version();
  return concat(version.major, ".", version.minor, ".", version.patch);
}

static memory::desc matrix(bool bf16, int64_t rows, int64_t cols,
                           int64_t rowStride, int64_t colStride) {
  return memory::desc({rows, cols},
                      bf16 ? memory::data_type::bf16 : memory::data_type::f32,
                      memory::dims{rowStride, colStride});
}

Matmul::Matmul(const MatmulKey &key, const dnnl::engine &engine,
               const dnnl::stream &stream)
    : stream(stream) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (key.accumulate) {
    dnnl::post_ops addTarget;
    addTarget.append_sum(1.0f);
    attributes.set_post_ops(addTarget);
  }
  dnnl::matmul::desc description(
      matrix(key.bf16, key.m, key.k, key.aRow, key.aCol),
      matrix(key.bf16, key.k, key.n, key.bRow, key.bCol),
      matrix(key.bf16Target, key.m, key.n, key.cRow, 1));
  dnnl::matmul::primitive_desc chosen(description, attributes, engine);
  primitive = dnnl::matmul(chosen);
  isOlder = std::string(chosen.impl_info_str()).rfind("brg", 0) != 0;
  a = memory(chosen.src_desc(), engine, DNNL_MEMORY_NONE);
  b = memory(chosen.weights_desc(), engine, DNNL_MEMORY_NONE);
  c = memory(chosen.dst_desc(), engine, DNNL_MEMORY_NONE);
  scratch = memory(chosen.scratchpad_desc(), engine, DNNL_MEMORY_NONE);
  scratchBytes = chosen.scratchpad_desc().get_size();
}

void Matmul::run(const void *aData, const void *bData, void *cData) const {
  DnnAllocationScope noAllocation;
  dnnl_memory_set_data_handle(a.get(), const_cast<void *>(aData));
  dnnl_memory_set_data_handle(b.get(), const_cast<void *>(bData));
  dnnl_memory_set_data_handle(c.get(), cData);
  const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, a.get()},
                                       {DNNL_ARG_WEIGHTS, b.get()},
                                       {DNNL_ARG_DST, c.get()},
                                       {DNNL_ARG_SCRATCHPAD, scratch.get()}};
  dnnl_primitive_execute(primitive.get(), stream.get(), 4, arguments);
}

/// Ranks share what oneDNN caches for the process. One of them makes it at a
/// time: else several make the same, and all but one in vain.
static std::mutex making;

DnnContext::DnnContext() : engine(dnnl::engine::kind::cpu, 0), stream(engine) {
  // The older implementation makes its code on first use; have it now.
  float a = 1, b = 1, c = 0;
  dnnl_sgemm('N', 'N', 1, 1, 1, 1.0f, &a, 1, &b, 1, 0.0f, &c, 1);
}

static Status fromException(const std::exception &error) {
  return failure(Code::RunFailed, "oneDNN: ", error.what());
}

Result<std::unique_ptr<DnnContext>> DnnContext::create() {
  std::lock_guard<std::mutex> lock(making);
  try {
    useOneThread();
    return std::unique_ptr<DnnContext>(new DnnContext);
  } catch (const std::exception &error) {
    return fromException(error);
  }
}

Result<const Matmul *> DnnContext::matmul(const MatmulKey &key) {
  std::lock_guard<std::mutex> lock(making);
  std::unique_ptr<Matmul> &made = primitives[key.values()];
  try {
    if (!made)
      made.reset(new Matmul(key, engine, stream));
    return made.get();
  } catch (const std::exception &error) {
    return fromException(error).within(
        concat("matrix product ", key.m, " x ", key.n, " x ", key.k));
  }
}

static constexpr size_t alignment = 4096;

void *DnnContext::workspace() const {
  size_t address = reinterpret_cast<size_t>(scratchpad.get());
  return reinterpret_cast<void *>((address + alignment - 1) / alignment *
                                  alignment);
}

Status DnnContext::ready() {
  size_t needed = reservedBytes;
  for (auto &[key, matmul] : primitives)
    if (matmul)
      needed = std::max(needed, matmul->scratchBytes);
  try {
    if (needed > scratchpadBytes) {
      scratchpad.reset(new char[needed + alignment]);
      scratchpadBytes = needed;
    }
    for (auto &[key, matmul] : primitives)
      if (matmul && matmul->scratchBytes > 0)
        matmul->scratch.set_data_handle(workspace());
  } catch (const std::exception &error) {
    return fromException(error);
  }
  useOneThread();
  DnnAllocationScope takeSlab; // the thread's first scope allocates
  return Status::ok();
}

} // namespace stretto::runtime
