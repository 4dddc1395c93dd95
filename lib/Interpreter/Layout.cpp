//===- Layout.cpp - global tensors and the ranks' parts -------------------===//

#include "stretto/Interpreter/Layout.h"
#include "stretto/Dialect/Stretto/IR/Describe.h"
#include "stretto/Runtime/Random.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::interp;

static constexpr size_t maxFaults = 3; // per tensor, for a readable report

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

static FailureOr<Layout> makeLayout(StepOp step, const Twine &what, Type type,
                                    DistAttr dist, DenseI64ArrayAttr shape) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return step.emitOpError(what) << " has no static shape";
  if (isTooLarge(shape ? shape.asArrayRef() : tensor.getShape()))
    return step.emitOpError(what) << " is too large for the reference";
  Layout layout{dist, SmallVector<int64_t>(tensor.getShape())};
  if (!dist)
    return layout;
  if (!shape)
    return step.emitOpError(what) << " is distributed but has no "
                                     "stretto.global_shape";
  layout.globalShape.assign(shape.asArrayRef().begin(),
                            shape.asArrayRef().end());
  if (dist.isPartial())
    return step.emitOpError(what)
           << " is " << describe(dist)
           << ", and nobody takes the sum; constrain "
           << "it to whole axes (stretto.constraint) or reshard it before";
  if (dist.getRank() != layout.globalShape.size() ||
      tensor.getShape() != ArrayRef(dist.localShape(layout.globalShape)))
    return step.emitOpError(what)
           << " is " << tensor << ", which is not the part of "
           << shapeText(layout.globalShape) << " that " << dist << " says";
  return layout;
}

FailureOr<Layout> interp::layoutOfArgument(StepOp step, unsigned index) {
  return makeLayout(
      step, "argument #" + Twine(index), step.getArgumentTypes()[index],
      step.getArgAttrOfType<DistAttr>(index, "stretto.dist"),
      step.getArgAttrOfType<DenseI64ArrayAttr>(index, "stretto.global_shape"));
}

FailureOr<Layout> interp::layoutOfResult(StepOp step, unsigned index) {
  return makeLayout(step, "result #" + Twine(index),
                    step.getResultTypes()[index],
                    step.getResultAttrOfType<DistAttr>(index, "stretto.dist"),
                    step.getResultAttrOfType<DenseI64ArrayAttr>(
                        index, "stretto.global_shape"));
}

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

/// First element, per dimension, of the part that the rank at `coordinates`
/// holds.
static SmallVector<int64_t> boxBegin(const Layout &layout,
                                     ArrayRef<int64_t> local,
                                     ArrayRef<int64_t> coordinates) {
  SmallVector<int64_t> begin;
  for (auto [dim, extent] : llvm::enumerate(local)) {
    int64_t shard = 0;
    for (AxisRef ref : layout.dist.getDimAxes(dim))
      shard =
          shard * ref.size + layout.dist.getMesh().coordinate(ref, coordinates);
    begin.push_back(shard * extent);
  }
  return begin;
}

RankTensors interp::scatter(const Tensor &global, const Layout &layout) {
  if (!layout.dist)
    return {global};
  SmallVector<int64_t> local = layout.dist.localShape(layout.globalShape);
  SmallVector<int64_t> padded;
  for (auto [dim, extent] : llvm::enumerate(local))
    padded.push_back(extent * layout.dist.getNumShards(dim));
  Tensor whole = padOrCut(global, padded);
  SmallVector<int64_t> strides = rowMajorStrides(padded);
  MeshAttr mesh = layout.dist.getMesh();
  RankTensors parts;
  for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank) {
    int64_t base = 0;
    for (auto [begin, stride] :
         llvm::zip(boxBegin(layout, local, mesh.coordinates(rank)), strides))
      base += begin * stride;
    parts.push_back(gatherStrided(whole, local, strides, base));
  }
  return parts;
}

namespace {
/// Puts the parts of all ranks into one tensor and notes what contradicts.
template <typename T> class Assembly {
public:
  Assembly(const Layout &layout, bool zeroPadding)
      : layout(layout), zeroPadding(zeroPadding),
        strides(rowMajorStrides(layout.globalShape)),
        values(numElements(layout.globalShape)), owner(values.size(), -1) {}

  void add(int64_t rank, const Tensor &part) {
    SmallVector<int64_t> begin = boxBegin(
        layout, part.getShape(), layout.dist.getMesh().coordinates(rank));
    ArrayRef<T> data = part.get<T>();
    forEachIndex(part.getShape(), [&](ArrayRef<int64_t> index, int64_t i) {
      SmallVector<int64_t, 6> at;
      int64_t element = 0;
      bool padding = false;
      for (auto [d, coordinate] : llvm::enumerate(index)) {
        at.push_back(begin[d] + coordinate);
        padding |= at[d] >= layout.globalShape[d];
        element += at[d] * strides[d];
      }
      if (padding)
        checkPadding(rank, at, data[i]);
      else
        set(rank, at, element, data[i]);
    });
  }

  Gathered finish() {
    return {Tensor::of(layout.globalShape, std::move(values)),
            std::move(faults)};
  }

private:
  void checkPadding(int64_t rank, ArrayRef<int64_t> at, T value) {
    if (value == T(0) || !zeroPadding)
      return;
    if (llvm::raw_ostream *os = fault())
      *os << "rank " << rank << " holds " << value << " in the padding at "
          << text(at);
  }

  void set(int64_t rank, ArrayRef<int64_t> at, int64_t element, T value) {
    if (owner[element] < 0) {
      owner[element] = rank;
      values[element] = value;
      return;
    }
    if (std::memcmp(&values[element], &value, sizeof(T)) == 0)
      return;
    if (llvm::raw_ostream *os = fault())
      *os << "rank " << rank << " and rank " << owner[element]
          << " hold element " << text(at) << " as " << value << " and "
          << values[element];
  }

  /// A stream for one more fault, or null when there are enough.
  llvm::raw_ostream *fault() {
    if (faults.size() >= maxFaults)
      return nullptr;
    faults.emplace_back();
    stream = std::make_unique<llvm::raw_string_ostream>(faults.back());
    return stream.get();
  }

  static std::string text(ArrayRef<int64_t> at) {
    std::string result = "[";
    llvm::raw_string_ostream os(result);
    llvm::interleaveComma(at, os);
    os << "]";
    return result;
  }

  const Layout &layout;
  bool zeroPadding;
  SmallVector<int64_t> strides;
  std::vector<T> values;
  std::vector<int64_t> owner;
  std::vector<std::string> faults;
  std::unique_ptr<llvm::raw_string_ostream> stream;
};
} // namespace

template <typename T>
static Gathered assemble(const RankTensors &parts, const Layout &layout,
                         bool zeroPadding) {
  Assembly<T> assembly(layout, zeroPadding);
  for (auto [rank, part] : llvm::enumerate(parts))
    assembly.add(rank, part);
  return assembly.finish();
}

Gathered interp::gather(const RankTensors &parts, const Layout &layout,
                        bool zeroPadding) {
  if (!layout.dist)
    return {parts[0], {}};
  return parts[0].isFloat() ? assemble<double>(parts, layout, zeroPadding)
                            : assemble<int64_t>(parts, layout, zeroPadding);
}

//===----------------------------------------------------------------------===//
// Initial values
//===----------------------------------------------------------------------===//

static double draw(InitAttr init, uint64_t key, uint64_t element) {
  switch (init.getKind()) {
  case InitKind::Zeros:
    return 0;
  case InitKind::Ones:
    return 1;
  case InitKind::Constant:
    return init.getA();
  case InitKind::Normal:
    return init.getA() * random::normal(key, element);
  case InitKind::Uniform:
    return init.getA() +
           (init.getB() - init.getA()) * random::uniform(key, element);
  }
  return 0;
}

Tensor interp::initialValue(InitAttr init, ArrayRef<int64_t> shape,
                            uint64_t seed, StringRef name) {
  Tensor result = Tensor::floats(shape);
  if (!init)
    return result;
  uint64_t key = random::key(seed, 0, instanceKey(name));
  for (auto [element, value] : llvm::enumerate(result.writeFloats()))
    value = float(draw(init, key, element));
  return result;
}
