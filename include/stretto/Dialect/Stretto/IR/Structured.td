//===- Structured.td - contractions, reductions, shape ------*- tablegen -*-===//

def Stretto_ConstantOp : Stretto_TypedTensorOp<"constant", []> {
  let summary = "a splat (often rank 0, used as a scalar)";
  let arguments = (ins F64Attr:$value);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$value attr-dict `:` type($result)";
}

def Stretto_EinsumOp : Stretto_TensorOp<"einsum", [Stretto_WideSums]> {
  let summary = "generalised matrix product in Einstein notation";
  let description = [{
    `"b s e, e h d -> b s h d"`: labels are local to the operation; a label in
    both operands and the result is a batch label, one in both operands only is
    contracted, one in one operand only must be in the result. The result may
    have a wider element type: sums are kept in it.
  }];
  let arguments = (ins StrAttr:$spec, AnyRankedTensor:$lhs, AnyRankedTensor:$rhs);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$spec $lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = inferWideDeclaration # [{
    struct Labels { ::llvm::SmallVector<::llvm::StringRef> lhs, rhs, result; };
    Labels getLabels();
  }];
}

def Stretto_ReduceOp : Stretto_TensorOp<"reduce", [Stretto_WideSums]> {
  let summary = "reduction over dimensions, which disappear";
  let description = [{
    `and` and `or` are for i1. `init` takes part in every result element once,
    however many shards the dimensions have. The result may have a wider element
    type.
  }];
  let arguments = (ins Stretto_ReduceKindAttr:$kind, AnyRankedTensor:$x, DenseI64ArrayAttr:$dims,
                       OptionalAttr<F64Attr>:$init);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "`` $kind $x `dims` $dims attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = inferWideDeclaration;
}

def Stretto_BroadcastOp : Stretto_TypedTensorOp<"broadcast", [SameOperandsAndResultElementType]> {
  let summary = "repeat along new dimensions";
  let description = "Operand dimension i becomes result dimension `dims[i]` (ascending).";
  let arguments = (ins AnyRankedTensor:$x, DenseI64ArrayAttr:$dims);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$x `dims` $dims attr-dict `:` type($x) `->` type($result)";
}

def Stretto_TransposeOp : Stretto_TensorOp<"transpose", [SameOperandsAndResultElementType]> {
  let summary = "result dimension i is operand dimension permutation[i]";
  let arguments = (ins AnyRankedTensor:$x, DenseI64ArrayAttr:$permutation);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$x `perm` $permutation attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

def Stretto_IotaOp : Stretto_TensorOp<"iota", []> {
  let summary = "index along a dimension, shaped like the operand (whose values are not read)";
  let description = "i32. `offset` (after localize) is the global index of the shard's first element.";
  let arguments = (ins AnyRankedTensor:$like, I64Attr:$dim, OptionalAttr<Stretto_OffsetAttr>:$offset);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$like attr-dict `:` type($like) `->` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = inferDeclaration # [{
    void localizeAttributes(::llvm::ArrayRef<DistAttr> operands,
                            ::llvm::ArrayRef<DistAttr> results,
                            ::mlir::Operation *original);
  }];
}

def Stretto_EmbeddingOp : Stretto_TensorOp<"embedding", []> {
  let summary = "rows of a table by index";
  let description = [{
    table [rows, features...], ids [dims...] i32 -> [dims..., features...]. An
    index outside the table gives zeros: a shard of the rows contributes its
    part and the sum over shards is the whole. `offset` is the first row of the shard.
  }];
  let arguments = (ins AnyRankedTensor:$table, AnyRankedTensor:$ids,
                       OptionalAttr<Stretto_OffsetAttr>:$offset);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$table `,` $ids attr-dict `:` type($table) `,` type($ids) `->` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = inferDeclaration # [{
    void localizeAttributes(::llvm::ArrayRef<DistAttr> operands,
                            ::llvm::ArrayRef<DistAttr> results,
                            ::mlir::Operation *original);
  }];
}

def Stretto_EmbeddingGradOp : Stretto_TypedTensorOp<"embedding_grad", [Stretto_WideSums]> {
  let summary = "scatter-add of rows: the adjoint of embedding";
  let description = [{
    ids [dims...], dy [dims..., features...] -> dtable [rows, features...]; rows
    outside the result are ignored. Sums are taken in order of ids; dtable may
    have a wider element type than dy.
  }];
  let arguments = (ins AnyRankedTensor:$ids, AnyRankedTensor:$dy,
                       OptionalAttr<Stretto_OffsetAttr>:$offset);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$ids `,` $dy attr-dict `:` type($ids) `,` type($dy) `->` type($result)";
  let extraClassDeclaration = [{
    void localizeAttributes(::llvm::ArrayRef<DistAttr> operands,
                            ::llvm::ArrayRef<DistAttr> results,
                            ::mlir::Operation *original);
  }];
}
