//===- Indexed.td - operations whose data says where --------*- tablegen -*-===//

// Attributes that localize fills in are absent before: `offsets` are the global
// indices of the shard's first element, `extents` the logical global extents.
def Stretto_DynamicSliceOp : Stretto_TypedTensorOp<"dynamic_slice", []> {
  let summary = "a box whose start is known at run time";
  let description = [{
    `starts[j]` (rank 0, i32) is the first element along `dims[j]`, moved into
    [0, extent - size] when the box would leave the operand; the sizes are those of
    the result. A shard of a sliced dimension gives what it owns of the box and
    zeros elsewhere: the sum over shards is the whole.
  }];
  let arguments = (ins AnyRankedTensor:$x, Variadic<AnyRankedTensor>:$starts,
                       DenseI64ArrayAttr:$dims, OptionalAttr<DenseI64ArrayAttr>:$extents,
                       OptionalAttr<DenseI64ArrayAttr>:$sizes,
                       OptionalAttr<ArrayAttr>:$offsets, OptionalAttr<ArrayAttr>:$result_offsets);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $x `[` $starts `]` `dims` $dims attr-dict `:` type($x) (`,` type($starts)^)? `->` type($result)
  }];
  let extraClassDeclaration = localizeDeclaration;
}

def Stretto_DynamicUpdateSliceOp : Stretto_TensorOp<"dynamic_update_slice", []> {
  let summary = "the operand with a box replaced, whose start is known at run time";
  let description = [{
    As dynamic_slice, of the size of `update`. Every shard of the operand takes the
    part of the update that falls into it.
  }];
  let arguments = (ins AnyRankedTensor:$x, AnyRankedTensor:$update,
                       Variadic<AnyRankedTensor>:$starts, DenseI64ArrayAttr:$dims,
                       OptionalAttr<DenseI64ArrayAttr>:$extents,
                       OptionalAttr<ArrayAttr>:$offsets);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $x `,` $update `[` $starts `]` `dims` $dims attr-dict `:` type($x) `,` type($update)
    (`,` type($starts)^)? `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = inferDeclaration # localizeDeclaration;
}

def Stretto_GatherOp : Stretto_TensorOp<"gather", []> {
  let summary = "elements along a dimension by index";
  let description = [{
    x [batch..., before..., extent, after...] and indices [batch..., which...] (i32)
    give [batch..., before..., which..., after...]: the dimension `dim` is replaced
    by those of the indices, `batch_dims` leading dimensions belong to both. An index
    outside [0, extent) gives zeros, so that a shard of the dimension gives its part
    and the sum over shards is the whole. `offset` is the shard's first element.
  }];
  let arguments = (ins AnyRankedTensor:$x, AnyRankedTensor:$indices, I64Attr:$dim,
                       DefaultValuedAttr<I64Attr, "0">:$batch_dims,
                       OptionalAttr<Stretto_OffsetAttr>:$offset);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $x `,` $indices `dim` $dim attr-dict `:` type($x) `,` type($indices) `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = inferDeclaration # localizeDeclaration;
}

def Stretto_ScatterAddOp : Stretto_TypedTensorOp<"scatter_add", [Stretto_WideSums]> {
  let summary = "sums of updates by index: the adjoint of gather";
  let description = [{
    The result has the shape of gather's `x`: zeros, plus every update at the place
    that gather would read for it; updates whose index is outside are dropped. The
    element type may be wider than that of the updates.
  }];
  let arguments = (ins AnyRankedTensor:$indices, AnyRankedTensor:$updates, I64Attr:$dim,
                       DefaultValuedAttr<I64Attr, "0">:$batch_dims,
                       OptionalAttr<Stretto_OffsetAttr>:$offset);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $indices `,` $updates `dim` $dim attr-dict `:` type($indices) `,` type($updates) `->`
    type($result)
  }];
  let extraClassDeclaration = localizeDeclaration;
}

def Stretto_TopKOp : Stretto_TensorOp<"top_k", []> {
  let summary = "the k largest elements along a dimension and where they are";
  let description = [{
    Largest first; NaN counts as larger than any number; of equal elements the one
    of lower index first. With `indices` (i32) elements are called by those numbers
    instead of their positions. With `blocks` = n the dimension is cut into n blocks
    of ceil(extent / n) and each gives its k; a block of fewer elements fills up with
    the lowest value and index 2147483647. `offset` is the shard's first element,
    `extent` the logical extent: what lies past it does not count.
  }];
  let arguments = (ins AnyRankedTensor:$x, Optional<AnyRankedTensor>:$indices, I64Attr:$dim,
                       I64Attr:$k, DefaultValuedAttr<I64Attr, "1">:$blocks,
                       OptionalAttr<I64Attr>:$extent, OptionalAttr<Stretto_OffsetAttr>:$offset);
  let results = (outs AnyRankedTensor:$values, AnyRankedTensor:$positions);
  let assemblyFormat = [{
    $x (`,` $indices^)? attr-dict `:` type($x) (`,` type($indices)^)? `->` type($values) `,`
    type($positions)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = inferDeclaration # localizeDeclaration;
}

def Stretto_ArgReduceOp : Stretto_TensorOp<"arg_reduce", []> {
  let summary = "where the largest (max) or smallest (min) element along a dimension is";
  let description = [{
    The dimension disappears; i32. The first of equal elements; the first NaN where
    there is one.
  }];
  let arguments = (ins Stretto_ReduceKindAttr:$kind, AnyRankedTensor:$x, I64Attr:$dim);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "`` $kind $x `dim` $dim attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}
