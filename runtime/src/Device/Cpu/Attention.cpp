#include "Attention.h"
namespace stretto::runtime {
Result<std::unique_ptr<Operation>>
prepareAttentionOperation(DnnContext &, const AttentionTask &) {
  return failure(Code::Internal, "attention is not there yet");
}
} // namespace stretto::runtime
