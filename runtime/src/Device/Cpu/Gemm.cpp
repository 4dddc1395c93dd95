//===- Gemm.cpp - strided, batched matrix products ------------------------===//

#include "Gemm.h"

#include "PackedGemm.h"
#include "TileGemm.h"

#include "stretto/Runtime/Isa.h"

#include <algorithm>

namespace stretto::runtime {

TileGemmFn tileGemm() {
  switch (hostIsa()) {
  case Isa::V4:
    return x86v4::tileGemm;
  case Isa::V3:
    return x86v3::tileGemm;
  case Isa::V1:
    break;
  }
  return x86v1::tileGemm;
}

PackedGemmFn packedGemm() {
  switch (hostIsa()) {
  case Isa::V4:
    return x86v4::packedGemm;
  case Isa::V3:
    return x86v3::packedGemm;
  case Isa::V1:
    break;
  }
  return x86v1::packedGemm;
}

namespace {

void dropBatch(GemmShape &shape, size_t dim) {
  for (std::vector<int64_t> *list :
       {&shape.batch, &shape.aBatch, &shape.bBatch, &shape.cBatch})
    list->erase(list->begin() + dim);
}

/// A matrix dimension as it lies in the two operands that have it.
struct MatrixDim {
  int64_t &extent, &first, &second;

  /// Makes a batch dimension with these strides the major part of this one, if
  /// it continues it in both operands.
  bool absorb(int64_t batch, int64_t firstBatch, int64_t secondBatch) {
    if (extent == 1) {
      first = firstBatch;
      second = secondBatch;
    } else if (firstBatch != extent * first || secondBatch != extent * second) {
      return false;
    }
    extent *= batch;
    return true;
  }
};

/// Makes batch dimension `dim` part of m, n or k, where it only repeats it. It
/// may be part of k when C stays the same and takes the sum.
bool foldIntoMatrix(GemmShape &s, size_t dim) {
  int64_t batch = s.batch[dim];
  int64_t a = s.aBatch[dim], b = s.bBatch[dim], c = s.cBatch[dim];
  bool folded = false;
  if (c == 0)
    folded = s.accumulate && MatrixDim{s.k, s.aCol, s.bRow}.absorb(batch, a, b);
  else if (b == 0)
    folded = MatrixDim{s.m, s.aRow, s.cRow}.absorb(batch, a, c);
  else if (a == 0)
    folded = MatrixDim{s.n, s.bCol, s.cCol}.absorb(batch, b, c);
  if (folded)
    dropBatch(s, dim);
  return folded;
}

/// Makes one of batch dimensions `outer` and `outer` + 1, if they are one.
bool mergeBatches(GemmShape &s, size_t outer) {
  size_t inner = outer + 1;
  for (auto *list : {&s.aBatch, &s.bBatch, &s.cBatch})
    if ((*list)[outer] != s.batch[inner] * (*list)[inner])
      return false;
  s.batch[inner] *= s.batch[outer];
  dropBatch(s, outer);
  return true;
}

/// One operand as the product wants it: in place when it has a plain layout,
/// else packed row-major.
struct Layout {
  int64_t rows, cols, row, col;
  bool packed = false;

  Layout(int64_t rows, int64_t cols, int64_t row, int64_t col)
      : rows(rows), cols(cols), row(row), col(col) {
    if (cols == 1)
      this->col = row == 1 ? rows : 1;
    else if (rows == 1)
      this->row = col == 1 ? cols : 1;
    bool plain = (this->col == 1 && this->row >= cols) ||
                 (this->row == 1 && this->col >= rows);
    if (!plain)
      pack();
  }
  void pack() {
    packed = true;
    row = cols;
    col = 1;
  }
  bool isRowMajor() const { return col == 1 && row >= cols; }
  int64_t packedElements() const { return packed ? rows * cols : 0; }
};

/// target[i * cols + j] = source[i * row + j * col], in blocks so that both
/// stay in cache when source is column-major.
void packMatrix(float *target, const float *source, int64_t rows, int64_t cols,
                int64_t row, int64_t col) {
  constexpr int64_t block = 16;
  for (int64_t iBlock = 0; iBlock < rows; iBlock += block)
    for (int64_t jBlock = 0; jBlock < cols; jBlock += block)
      for (int64_t i = iBlock; i < std::min(iBlock + block, rows); ++i)
        for (int64_t j = jBlock; j < std::min(jBlock + block, cols); ++j)
          target[i * cols + j] = source[i * row + j * col];
}

void unpackMatrix(float *target, const float *source, int64_t rows,
                  int64_t cols, int64_t row, int64_t col) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j)
      target[i * row + j * col] = source[i * cols + j];
}

GemmShape transposed(GemmShape s) {
  std::swap(s.m, s.n);
  std::swap(s.aRow, s.bCol);
  std::swap(s.aCol, s.bRow);
  std::swap(s.cRow, s.cCol);
  std::swap(s.aBatch, s.bBatch);
  return s;
}

class GemmOperation final : public Operation {
public:
  /// `swapped`: A and B have changed places with respect to the operands.
  GemmOperation(GemmShape shape, bool swapped)
      : s(std::move(shape)), swapped(swapped), a(s.m, s.k, s.aRow, s.aCol),
        b(s.k, s.n, s.bRow, s.bCol), c(s.m, s.n, s.cRow, s.cCol),
        index(s.batch.size()) {
    if (!c.isRowMajor())
      c.pack();
  }

  Status prepare(DnnContext &dnn) {
    context = &dnn;
    STRETTO_ASSIGN(matmul, dnn.matmul({s.m, s.n, s.k, a.row, a.col, b.row,
                                       b.col, c.row, s.accumulate}));
    if (packingIsGood())
      usePacking(dnn);
    else if (matmul->packsOnHeap())
      useTiles();
    packing.resize(a.packedElements() + b.packedElements() +
                   c.packedElements());
    return Status::ok();
  }

  void launch(void *const *buffers, const int64_t *) override {
    const float *aData = static_cast<const float *>(buffers[swapped ? 1 : 0]);
    const float *bData = static_cast<const float *>(buffers[swapped ? 0 : 1]);
    float *cData = static_cast<float *>(buffers[2]);
    do {
      int64_t aOffset = 0, bOffset = 0, cOffset = 0;
      for (size_t dim = 0; dim < index.size(); ++dim) {
        aOffset += index[dim] * s.aBatch[dim];
        bOffset += index[dim] * s.bBatch[dim];
        cOffset += index[dim] * s.cBatch[dim];
      }
      multiply(aData + aOffset, bData + bOffset, cData + cOffset);
    } while (nextBatch());
  }

private:
  /// On large operands our packed product is faster than our tiles, and than
  /// oneDNN on a transposed A (by a tenth when operands come from memory).
  bool packingIsGood() const {
    bool large = s.m >= 64 && s.n >= 64 && s.k >= 128;
    bool transposedA = s.aRow == 1 && s.bCol == 1;
    return large && (transposedA || matmul->packsOnHeap());
  }
  void usePacking(DnnContext &dnn) {
    matmul = nullptr;
    packs = true;
    a.packed = b.packed = false; // it takes any strides
    dnn.reserve(PackedGemm::workspaceElements * sizeof(float));
  }
  void useTiles() {
    matmul = nullptr;
    if (b.cols > 1 && b.col != 1)
      b.pack();
  }

  void product(const float *aData, const float *bData, float *cData) const {
    if (matmul)
      return matmul->run(aData, bData, cData);
    if (packs)
      return multiplyPacked({aData, s.aRow, s.aCol, bData, s.bRow, s.bCol,
                             cData, c.row, s.m, s.n, s.k, s.accumulate,
                             static_cast<float *>(context->workspace())});
    constexpr int64_t terms = 512; // a panel of B stays in the L2 cache
    for (int64_t first = 0; first < s.k; first += terms) {
      TileGemm tiles = {aData + first * a.col,
                        a.row,
                        a.col,
                        bData + first * b.row,
                        b.row,
                        cData,
                        c.row,
                        s.m,
                        s.n,
                        std::min(terms, s.k - first)};
      tiles.accumulate = s.accumulate || first > 0;
      multiplyTiles(tiles);
    }
  }

  /// Counts `index` up; false, and zeros again, after the last.
  bool nextBatch() {
    for (size_t dim = index.size(); dim-- > 0;) {
      if (++index[dim] < s.batch[dim])
        return true;
      index[dim] = 0;
    }
    return false;
  }

  void multiply(const float *aData, const float *bData, float *cData) {
    float *free = packing.data();
    if (a.packed) {
      packMatrix(free, aData, s.m, s.k, s.aRow, s.aCol);
      aData = std::exchange(free, free + a.packedElements());
    }
    if (b.packed) {
      packMatrix(free, bData, s.k, s.n, s.bRow, s.bCol);
      bData = std::exchange(free, free + b.packedElements());
    }
    if (!c.packed)
      return product(aData, bData, cData);
    if (s.accumulate)
      packMatrix(free, cData, s.m, s.n, s.cRow, s.cCol);
    product(aData, bData, free);
    unpackMatrix(cData, free, s.m, s.n, s.cRow, s.cCol);
  }

  GemmShape s;
  bool swapped;
  Layout a, b, c;
  std::vector<int64_t> index;
  std::vector<float> packing;
  const DnnContext *context = nullptr;
  const Matmul *matmul = nullptr; // null: our own
  bool packs = false;
  TileGemmFn multiplyTiles = tileGemm();
  PackedGemmFn multiplyPacked = packedGemm();
};

} // namespace

GemmShape simplifyGemm(const GemmShape &shape) {
  GemmShape s = shape;
  for (size_t dim = s.batch.size(); dim-- > 0;)
    if (s.batch[dim] == 1)
      dropBatch(s, dim);
  for (size_t dim = s.batch.size(); dim-- > 1;)
    mergeBatches(s, dim - 1);
  for (size_t dim = s.batch.size(); dim-- > 0;)
    foldIntoMatrix(s, dim);
  return s;
}

Result<std::unique_ptr<Operation>>
prepareGemmOperation(DnnContext &context, const GemmShape &shape) {
  if (shape.dtype != program::DType::F32)
    return failure(Code::Rejected, "a matrix product on ",
                   program::EnumNameDType(shape.dtype),
                   " is not supported on the CPU; use f32");
  GemmShape simple = simplifyGemm(shape);
  bool swap =
      !Layout(simple.m, simple.n, simple.cRow, simple.cCol).isRowMajor();
  auto operation =
      std::make_unique<GemmOperation>(swap ? transposed(simple) : simple, swap);
  STRETTO_TRY(operation->prepare(context));
  return std::unique_ptr<Operation>(std::move(operation));
}

} // namespace stretto::runtime
