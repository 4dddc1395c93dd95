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

template <typename T> PackedGemmFn<T> packedGemm() {
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
  bool bf16; // as the product reads or writes it
  bool packed = false;

  Layout(int64_t rows, int64_t cols, int64_t row, int64_t col, bool bf16)
      : rows(rows), cols(cols), row(row), col(col), bf16(bf16) {
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
  /// The product takes f32, whatever the operand is.
  void widenAll() {
    if (std::exchange(bf16, false))
      pack();
  }
  bool isRowMajor() const { return col == 1 && row >= cols; }
  bool hasGaps() const { return col == 1 ? row > cols : col > rows; }
  size_t packedBytes() const {
    constexpr size_t line = 64;
    size_t bytes = size_t(rows * cols) * (bf16 ? sizeof(Bf16) : sizeof(float));
    return packed ? (bytes + line - 1) / line * line : 0;
  }
};

/// A matrix in memory.
struct View {
  char *data;
  int64_t row, col;
  bool bf16;
};

void assign(float &to, float from) { to = from; }
void assign(float &to, Bf16 from) { to = widen(from); }
void assign(Bf16 &to, float from) { to = narrow(from); }
void assign(Bf16 &to, Bf16 from) { to = from; }

/// In blocks, so that both stay in cache when one is column-major.
template <typename To, typename From>
void copyMatrix(const View &to, const View &from, int64_t rows, int64_t cols) {
  constexpr int64_t block = 16;
  To *target = reinterpret_cast<To *>(to.data);
  const From *source = reinterpret_cast<const From *>(from.data);
  for (int64_t iBlock = 0; iBlock < rows; iBlock += block)
    for (int64_t jBlock = 0; jBlock < cols; jBlock += block)
      for (int64_t i = iBlock; i < std::min(iBlock + block, rows); ++i)
        for (int64_t j = jBlock; j < std::min(jBlock + block, cols); ++j)
          assign(target[i * to.row + j * to.col],
                 source[i * from.row + j * from.col]);
}

/// Rounds when the target is bf16 and the source is not.
void copyMatrix(const View &to, const View &from, int64_t rows, int64_t cols) {
  if (to.bf16)
    from.bf16 ? copyMatrix<Bf16, Bf16>(to, from, rows, cols)
              : copyMatrix<Bf16, float>(to, from, rows, cols);
  else
    from.bf16 ? copyMatrix<float, Bf16>(to, from, rows, cols)
              : copyMatrix<float, float>(to, from, rows, cols);
}

GemmShape transposed(GemmShape s) {
  std::swap(s.m, s.n);
  std::swap(s.aRow, s.bCol);
  std::swap(s.aCol, s.bRow);
  std::swap(s.cRow, s.cCol);
  std::swap(s.aBatch, s.bBatch);
  return s;
}

bool isBf16(program::DType type) { return type == program::DType::BF16; }
int64_t bytesOf(program::DType type) {
  return isBf16(type) ? sizeof(Bf16) : sizeof(float);
}

class GemmOperation final : public Operation {
public:
  /// `swapped`: A and B have changed places with respect to the operands.
  GemmOperation(GemmShape shape, bool swapped)
      : s(std::move(shape)), swapped(swapped), wide(!isBf16(s.dtype)),
        a(s.m, s.k, s.aRow, s.aCol, !wide), b(s.k, s.n, s.bRow, s.bCol, !wide),
        c(s.m, s.n, s.cRow, s.cCol, isBf16(s.cType)), index(s.batch.size()) {
    if (!c.isRowMajor())
      c.pack();
  }

  Status prepare(DnnContext &dnn) {
    context = &dnn;
    if (wide || hostHasBf16())
      STRETTO_TRY(useDnn(dnn));
    if (!wide && matmul && matmul->packsOnHeap())
      STRETTO_TRY(useDnnWithoutGaps(dnn));
    if (packingIsGood())
      usePacking(dnn);
    else if (!matmul || matmul->packsOnHeap())
      useTiles();
    packing.resize(a.packedBytes() + b.packedBytes() + c.packedBytes());
    return Status::ok();
  }

  void launch(void *const *buffers, const int64_t *) override {
    char *aData = static_cast<char *>(buffers[swapped ? 1 : 0]);
    char *bData = static_cast<char *>(buffers[swapped ? 0 : 1]);
    char *cData = static_cast<char *>(buffers[2]);
    const int64_t in = bytesOf(s.dtype), out = bytesOf(s.cType);
    do {
      int64_t aOffset = 0, bOffset = 0, cOffset = 0;
      for (size_t dim = 0; dim < index.size(); ++dim) {
        aOffset += index[dim] * s.aBatch[dim];
        bOffset += index[dim] * s.bBatch[dim];
        cOffset += index[dim] * s.cBatch[dim];
      }
      multiply(aData + aOffset * in, bData + bOffset * in,
               cData + cOffset * out);
    } while (nextBatch());
  }

private:
  Status useDnn(DnnContext &dnn) {
    MatmulKey key = {s.m,   s.n,   s.k,          a.row, a.col, b.row,
                     b.col, c.row, s.accumulate, !wide, c.bf16};
    STRETTO_ASSIGN(matmul, dnn.matmul(key));
    return Status::ok();
  }
  /// On bf16 our own products are half as fast, a copy without gaps is cheap.
  Status useDnnWithoutGaps(DnnContext &dnn) {
    for (Layout *layout : {&a, &b, &c})
      if (layout->hasGaps())
        layout->pack();
    return useDnn(dnn);
  }

  /// On large operands our packed product is faster than our tiles, and than
  /// oneDNN on a transposed A (by a tenth when operands come from memory).
  bool packingIsGood() const {
    bool large = s.m >= 64 && s.n >= 64 && s.k >= 128;
    bool transposedA =
        s.aRow == 1 && s.bCol == 1 && (wide || multipliesPairs());
    return large && (transposedA || !matmul || matmul->packsOnHeap());
  }
  bool multipliesPairs() const {
    return !wide && hostHasBf16() && s.aCol > 0 && s.bRow > 0;
  }
  void usePacking(DnnContext &dnn) {
    matmul = nullptr;
    packs = true;
    a.packed = b.packed = false; // it takes any strides, and widens
    c.widenAll();
    dnn.reserve(packedGemmWorkspace * sizeof(float));
  }
  void useTiles() {
    matmul = nullptr;
    for (Layout *layout : {&a, &b, &c})
      layout->widenAll();
    if (b.cols > 1 && b.col != 1)
      b.pack();
  }

  template <typename T>
  void multiplyPacked(PackedGemmFn<T> run, const void *aData, const void *bData,
                      float *cData) const {
    run({static_cast<const T *>(aData), s.aRow, s.aCol,
         static_cast<const T *>(bData), s.bRow, s.bCol, cData, c.row, s.m, s.n,
         s.k, s.accumulate, static_cast<float *>(context->workspace())});
  }

  void multiplyTiles(const float *aData, const float *bData,
                     float *cData) const {
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
      runTiles(tiles);
    }
  }

  void product(const void *aData, const void *bData, void *cData) const {
    if (matmul)
      return matmul->run(aData, bData, cData);
    float *sums = static_cast<float *>(cData);
    if (!packs)
      return multiplyTiles(static_cast<const float *>(aData),
                           static_cast<const float *>(bData), sums);
    if (wide)
      return multiplyPacked(packedGemm<float>(), aData, bData, sums);
    multiplyPacked(multipliesPairs() ? packedPairs : packedGemm<Bf16>(), aData,
                   bData, sums);
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

  void multiply(char *aData, char *bData, char *cData) {
    char *free = packing.data();
    auto place = [&](const Layout &layout) -> View {
      char *start = std::exchange(free, free + layout.packedBytes());
      return {start, layout.cols, 1, layout.bf16};
    };
    auto pack = [&](const Layout &layout, const View &operand) {
      if (!layout.packed)
        return operand.data;
      View copy = place(layout);
      copyMatrix(copy, operand, layout.rows, layout.cols);
      return copy.data;
    };
    aData = pack(a, {aData, s.aRow, s.aCol, !wide});
    bData = pack(b, {bData, s.bRow, s.bCol, !wide});
    if (!c.packed)
      return product(aData, bData, cData);
    View target = {cData, s.cRow, s.cCol, isBf16(s.cType)}, copy = place(c);
    if (s.accumulate)
      copyMatrix(copy, target, s.m, s.n);
    product(aData, bData, copy.data);
    copyMatrix(target, copy, s.m, s.n);
  }

  GemmShape s;
  bool swapped;
  bool wide; // A and B are f32
  Layout a, b, c;
  std::vector<int64_t> index;
  std::vector<char> packing;
  const DnnContext *context = nullptr;
  const Matmul *matmul = nullptr; // null: our own
  bool packs = false;
  TileGemmFn runTiles = tileGemm();
};

/// f32 of f32, f32 or bf16 of bf16.
Status checkTypes(const GemmShape &shape) {
  bool isWide = shape.dtype == program::DType::F32;
  bool isWideTarget = shape.cType == program::DType::F32;
  if (isWide ? isWideTarget
             : isBf16(shape.dtype) && (isWideTarget || isBf16(shape.cType)))
    return Status::ok();
  return failure(Code::Rejected, "a matrix product of ",
                 program::EnumNameDType(shape.dtype), " into ",
                 program::EnumNameDType(shape.cType),
                 " is not supported on the CPU; use f32, or bf16 into f32 or "
                 "bf16");
}

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
  STRETTO_TRY(checkTypes(shape));
  GemmShape simple = simplifyGemm(shape);
  bool swap =
      !Layout(simple.m, simple.n, simple.cRow, simple.cCol, false).isRowMajor();
  auto operation =
      std::make_unique<GemmOperation>(swap ? transposed(simple) : simple, swap);
  STRETTO_TRY(operation->prepare(context));
  return std::unique_ptr<Operation>(std::move(operation));
}

} // namespace stretto::runtime
