//===- Tensors.cpp - what lies where, for the host ------------------------===//

#include "Tensors.h"

namespace stretto::runtime {

/// The view of a tensor without memory.
static TensorView viewOf(const Program &program, int64_t rank, std::string name,
                         program::DType dtype, const Dimensions *dims) {
  TensorView view;
  view.name = std::move(name);
  view.dtype = dtype;
  view.dims = dims;
  view.box = program.mesh().box(rank, dims);
  view.bytes = uint64_t(view.box.localElements()) * bytesOf(dtype);
  if (dims)
    for (const program::Dimension *dim : *dims)
      view.logicalShape.push_back(dim->size());
  return view;
}

static void *addressOf(const RegionStarts &regions, const program::Slot &slot) {
  return regions[size_t(slot.region())] + slot.offset();
}

std::vector<TensorView> viewBindings(const Program &program, int64_t rank,
                                     const RegionStarts &regions,
                                     const Bindings *bindings) {
  std::vector<TensorView> views;
  if (!bindings)
    return views;
  for (const program::Binding *binding : *bindings) {
    views.push_back(viewOf(program, rank, binding->name()->str(),
                           binding->dtype(), binding->dims()));
    for (const program::Slot *slot : *binding->slots())
      views.back().slots.push_back(addressOf(regions, *slot));
  }
  return views;
}

Result<TensorView> findView(std::vector<TensorView> views,
                            const std::string &what, const std::string &name) {
  std::string names;
  for (TensorView &view : views) {
    if (view.name == name)
      return std::move(view);
    names += (names.empty() ? "" : ", ") + view.name;
  }
  return failure(Code::Rejected, "there is no ", what, " '", name,
                 "'; there are: ", names.empty() ? "none" : names);
}

static ParameterView viewOf(const Program &program, int64_t rank,
                            const RegionStarts &regions,
                            const program::Parameter &parameter) {
  auto view = [&](const std::string &suffix, program::DType dtype,
                  const program::Slot *slot, const Dimensions *dims) {
    TensorView tensor =
        viewOf(program, rank, parameter.name()->str() + suffix, dtype, dims);
    if (slot)
      tensor.slots.push_back(addressOf(regions, *slot));
    return tensor;
  };
  ParameterView result;
  result.parameter = &parameter;
  result.value =
      view("", parameter.dtype(), parameter.parameter(), parameter.dims());
  result.gradient = view(".gradient", parameter.gradient_dtype(),
                         parameter.gradient(), gradientDims(parameter));
  if (parameter.moments())
    for (const program::Slot *moment : *parameter.moments())
      result.moments.push_back(view(concat(".moment", result.moments.size()),
                                    program::DType::F32, moment,
                                    momentDims(parameter)));
  return result;
}

std::vector<ParameterView> viewParameters(const Program &program, int64_t rank,
                                          const RegionStarts &regions) {
  std::vector<ParameterView> views;
  if (program.table().parameters())
    for (const program::Parameter *parameter : *program.table().parameters())
      views.push_back(viewOf(program, rank, regions, *parameter));
  return views;
}

} // namespace stretto::runtime
