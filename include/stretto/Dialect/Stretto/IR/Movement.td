//===- Movement.td - operations that move elements ----------*- tablegen -*-===//

def Stretto_ReshapeOp : Stretto_TypedTensorOp<"reshape", [SameOperandsAndResultElementType]> {
  let summary = "the same elements in row-major order under another shape";
  let description = [{
    Dimensions that are split or merged share factors with what they become; where
    neither extent divides the other, the common major part moves and the rest
    must be whole on every rank. One dynamic result extent follows from the rest.
  }];
  let arguments = (ins AnyRankedTensor:$x);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
}

def Stretto_SliceOp : Stretto_TensorOp<"slice", [SameOperandsAndResultElementType]> {
  let summary = "every stride-th element from a start up to a limit, along some dimensions";
  let description = [{
    Element i along `dims[j]` is element `starts[j] + strides[j] * i` of the operand,
    for positions below `limits[j]`; other dimensions are whole.
  }];
  let arguments = (ins AnyRankedTensor:$x, DenseI64ArrayAttr:$dims, DenseI64ArrayAttr:$starts,
                       DenseI64ArrayAttr:$limits, DenseI64ArrayAttr:$strides);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $x `dims` $dims `starts` $starts `limits` $limits `strides` $strides attr-dict `:`
    type($x) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Stretto_PadOp : Stretto_TensorOp<"pad", [SameOperandsAndResultElementType]> {
  let summary = "a value around and between the elements, along some dimensions";
  let description = [{
    Along `dims[j]`: `low[j]` values before, `interior[j]` between neighbours,
    `high[j]` after. A negative edge cuts elements instead. (Padded extents of a
    distribution are another matter: see `pad_extent`.)
  }];
  let arguments = (ins AnyRankedTensor:$x, F64Attr:$value, DenseI64ArrayAttr:$dims,
                       DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high,
                       DenseI64ArrayAttr:$interior);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $x `with` $value `dims` $dims `low` $low `high` $high `interior` $interior attr-dict `:`
    type($x) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Stretto_ConcatOp : Stretto_TensorOp<"concat", [SameOperandsAndResultElementType]> {
  let summary = "tensors one after the other along a dimension";
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, I64Attr:$dim);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$inputs `dim` $dim attr-dict `:` type($inputs) `->` type($result)";
  let hasVerifier = 1;
}

def Stretto_WindowOp : Stretto_TypedTensorOp<"window", [SameOperandsAndResultElementType]> {
  let summary = "an affine map of one dimension, zeros where it leaves the operand";
  let description = [{
    Element i along `dim` of the result is the operand's element j with
    `start + stride * i = dilation * j`, or zero where there is no such j. What
    slice, pad and concat are made of; its adjoint is
    `window {start = -start, stride = dilation, dilation = stride}`.

    `dim` may be sharded: operand and result lie on the same axes, each with its
    own extent, and elements cross shard borders however far they have to (a halo
    exchange). After localize such a window carries `group`: `start` then counts in
    the concatenation of the members' operands and member k gets block k of the
    result. `offset` is added to `start` in a window that works on one member.
  }];
  let arguments = (ins AnyRankedTensor:$x, I64Attr:$dim, I64Attr:$start,
                       DefaultValuedAttr<I64Attr, "1">:$stride,
                       DefaultValuedAttr<I64Attr, "1">:$dilation,
                       OptionalAttr<Stretto_GroupAttr>:$group,
                       OptionalAttr<Stretto_OffsetAttr>:$offset,
                       OptionalAttr<StrAttr>:$cause);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let extraClassDeclaration = localizeDeclaration;
}
