//===- Fused.td - operations where fusion is the point ------*- tablegen -*-===//

def Stretto_SoftmaxOp : Stretto_TensorOp<"softmax", [SameOperandsAndResultElementType]> {
  let summary = "softmax over one dimension";
  let arguments = (ins AnyRankedTensor:$x, I64Attr:$dim);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

def Stretto_LayerNormOp : Stretto_TensorOp<"layer_norm", [SameOperandsAndResultElementType]> {
  let summary = "layer normalisation over the last dimension, with scale and shift";
  let description = "y = (x - mean) * rsqrt(var + eps) * gamma + beta (Ba et al., arXiv 1607.06450).";
  let arguments = (ins AnyRankedTensor:$x, AnyRankedTensor:$gamma, AnyRankedTensor:$beta, F64Attr:$eps);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$x `,` $gamma `,` $beta attr-dict `:` type($x) `,` type($gamma) `,` type($beta) `->` type($result)";
  let hasVerifier = 1;
}

def Stretto_LayerNormGradOp : Stretto_TensorOp<"layer_norm_grad", [Stretto_WideSums]> {
  let summary = "adjoint of layer_norm: dx, dgamma, dbeta (these sums perhaps wider)";
  let arguments = (ins AnyRankedTensor:$x, AnyRankedTensor:$gamma, AnyRankedTensor:$dy, F64Attr:$eps);
  let results = (outs AnyRankedTensor:$dx, AnyRankedTensor:$dgamma, AnyRankedTensor:$dbeta);
  let assemblyFormat = [{
    $x `,` $gamma `,` $dy attr-dict `:` type($x) `,` type($gamma) `,` type($dy)
    `->` type($dx) `,` type($dgamma) `,` type($dbeta)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = inferWideDeclaration;
}

def Stretto_RmsNormOp : Stretto_TensorOp<"rms_norm", [SameOperandsAndResultElementType]> {
  let summary = "root-mean-square normalisation over the last dimension, with scale";
  let description = "y = x * rsqrt(mean(x^2) + eps) * gamma (Zhang and Sennrich, arXiv 1910.07467).";
  let arguments = (ins AnyRankedTensor:$x, AnyRankedTensor:$gamma, F64Attr:$eps);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$x `,` $gamma attr-dict `:` type($x) `,` type($gamma) `->` type($result)";
  let hasVerifier = 1;
}

def Stretto_RmsNormGradOp : Stretto_TensorOp<"rms_norm_grad", [Stretto_WideSums]> {
  let summary = "adjoint of rms_norm: dx, dgamma (this sum perhaps wider)";
  let arguments = (ins AnyRankedTensor:$x, AnyRankedTensor:$gamma, AnyRankedTensor:$dy, F64Attr:$eps);
  let results = (outs AnyRankedTensor:$dx, AnyRankedTensor:$dgamma);
  let assemblyFormat = [{
    $x `,` $gamma `,` $dy attr-dict `:` type($x) `,` type($gamma) `,` type($dy)
    `->` type($dx) `,` type($dgamma)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = inferWideDeclaration;
}

def Stretto_RopeOp : Stretto_TensorOp<"rope", []> {
  let summary = "rotary position embedding";
  let description = [{
    x [batch, seq, heads, head_dim], positions [batch, seq] i32. Pair i of the
    head dimension, (x[i], x[i + head_dim/2]), is rotated by
    position * base^(-2i/head_dim) (Su et al., arXiv 2104.09864, in the
    half-split order of Llama). `transposed` rotates back: the adjoint.
  }];
  let arguments = (ins AnyRankedTensor:$x, AnyRankedTensor:$positions,
                       DefaultValuedAttr<F64Attr, "10000.0">:$base, UnitAttr:$transposed);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$x `,` $positions attr-dict `:` type($x) `,` type($positions) `->` type($result)";
  let hasVerifier = 1;
}

/// Attributes that attention and its adjoint share.
class AttentionArguments<dag operands> {
  dag args = !con(operands, (ins
      F64Attr:$scale, UnitAttr:$causal,
      DefaultValuedAttr<F64Attr, "0.0">:$p, DefaultValuedAttr<I64Attr, "0">:$op_id,
      OptionalAttr<I64Attr>:$heads_global, OptionalAttr<I64Attr>:$samples,
      OptionalAttr<Stretto_OffsetAttr>:$batch_offset,
      OptionalAttr<Stretto_OffsetAttr>:$head_offset,
      OptionalAttr<I64Attr>:$queries, OptionalAttr<I64Attr>:$keys,
      OptionalAttr<Stretto_OffsetAttr>:$query_offset,
      OptionalAttr<Stretto_OffsetAttr>:$key_offset));
}

def Stretto_AttentionOp : Stretto_TensorOp<"attention", []> {
  let summary = "softmax attention, grouped-query allowed";
  let description = [{
    q [batch, q_len, heads, head_dim]; k, v [batch, kv_len, kv_heads, head_dim];
    out like q; lse [batch, heads, q_len] = log sum exp of the scaled scores, f32
    where q is of 16 bits.
    Query head h reads kv head h / (heads / kv_heads). `causal`: query i sees keys
    0..i + (kv_len - q_len). Dropout on the probabilities as in `dropout`, for the
    logical tensor [batch, heads, q_len, kv_len]; `batch_offset`/`head_offset` and
    `heads_global` are filled in by localize.

    On shards of the positions `query_offset` and `key_offset` are the first
    global positions and `queries` and `keys` the logical extents: masks and
    dropout go by global positions, keys past the end are seen by no query, and
    queries past the end give zeros (out and lse).

    With `blocks` = n the keys are cut into n blocks of equal size (the last may
    be shorter) and attended to separately: out and lse get a leading dimension
    n. Where a query sees no key of a block, out is 0 and lse minus infinity.
  }];
  let arguments = !con(AttentionArguments<(ins
      AnyRankedTensor:$q, AnyRankedTensor:$k, AnyRankedTensor:$v)>.args,
      (ins OptionalAttr<I64Attr>:$blocks));
  let results = (outs AnyRankedTensor:$out, AnyRankedTensor:$lse);
  let assemblyFormat = [{
    $q `,` $k `,` $v attr-dict `:` type($q) `,` type($k) `,` type($v) `->` type($out) `,` type($lse)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = inferDeclaration # [{
    void localizeAttributes(::llvm::ArrayRef<DistAttr> operands,
                            ::llvm::ArrayRef<DistAttr> results,
                            ::mlir::Operation *original);
  }];
}

def Stretto_AttentionGradOp : Stretto_TensorOp<"attention_grad", []> {
  let summary = "adjoint of attention: dq, dk, dv (scores recomputed from lse)";
  let description = [{
    out and lse are those over all keys, also where k and v are shards of the
    positions. Attributes as those of `attention`.
  }];
  let arguments = AttentionArguments<(ins
      AnyRankedTensor:$q, AnyRankedTensor:$k, AnyRankedTensor:$v,
      AnyRankedTensor:$out, AnyRankedTensor:$lse, AnyRankedTensor:$dout)>.args;
  let results = (outs AnyRankedTensor:$dq, AnyRankedTensor:$dk, AnyRankedTensor:$dv);
  let assemblyFormat = [{
    $q `,` $k `,` $v `,` $out `,` $lse `,` $dout attr-dict `:`
    type($q) `,` type($k) `,` type($v) `,` type($out) `,` type($lse) `,` type($dout)
    `->` type($dq) `,` type($dk) `,` type($dv)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = inferDeclaration # [{
    void localizeAttributes(::llvm::ArrayRef<DistAttr> operands,
                            ::llvm::ArrayRef<DistAttr> results,
                            ::mlir::Operation *original);
  }];
}

def Stretto_CrossEntropyOp : Stretto_TensorOp<"cross_entropy", []> {
  let summary = "negative log likelihood per token, with label smoothing";
  let description = [{
    logits [dims..., vocab], labels [dims...] i32 -> loss [dims...], lse [dims...]:
    loss = lse - (1 - smoothing) * logits[label] - smoothing / vocab * sum(logits),
    lse = log(sum(exp(logits))). Both are f32 where the logits are of 16 bits.
  }];
  let arguments = (ins AnyRankedTensor:$logits, AnyRankedTensor:$labels,
                       DefaultValuedAttr<F64Attr, "0.0">:$smoothing);
  let results = (outs AnyRankedTensor:$loss, AnyRankedTensor:$lse);
  let assemblyFormat = [{
    $logits `,` $labels attr-dict `:` type($logits) `,` type($labels) `->` type($loss) `,` type($lse)
  }];
  let hasVerifier = 1;
}

def Stretto_CrossEntropyGradOp : Stretto_TensorOp<"cross_entropy_grad", []> {
  let summary = "adjoint of cross_entropy: dlogits";
  let description = [{
    dlogits = dloss * (exp(logits - lse) - (1 - smoothing) * onehot(label) - smoothing / vocabulary).
    Pointwise in the vocabulary; `vocabulary` is its logical size, `offset` (after
    localize) the first entry of the shard.
  }];
  let arguments = (ins AnyRankedTensor:$logits, AnyRankedTensor:$labels, AnyRankedTensor:$lse,
                       AnyRankedTensor:$dloss, DefaultValuedAttr<F64Attr, "0.0">:$smoothing,
                       I64Attr:$vocabulary, OptionalAttr<Stretto_OffsetAttr>:$offset);
  let results = (outs AnyRankedTensor:$dlogits);
  let assemblyFormat = [{
    $logits `,` $labels `,` $lse `,` $dloss attr-dict `:`
    type($logits) `,` type($labels) `,` type($lse) `,` type($dloss) `->` type($dlogits)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = inferDeclaration # [{
    void localizeAttributes(::llvm::ArrayRef<DistAttr> operands,
                            ::llvm::ArrayRef<DistAttr> results,
                            ::mlir::Operation *original);
  }];
}

def Stretto_AdamWOp : Stretto_TensorOp<"adamw", [SameOperandsAndResultElementType]> {
  let summary = "decoupled weight decay Adam, one parameter";
  let description = [{
    g' = g * gscale;  m' = beta1 m + (1-beta1) g';  v' = beta2 v + (1-beta2) g'^2;
    p' = p - lr * ((m'/bias1) / (sqrt(v'/bias2) + eps) + weight_decay * p)
    (Loshchilov and Hutter, arXiv 1711.05101). `hyper` [4] = lr, bias1 = 1-beta1^t,
    bias2 = 1-beta2^t, unused; `gscale` (rank 0) is the clipping factor; where
    `ok` (rank 0) is not 1, parameters and moments stay as they are.
  }];
  let arguments = (ins AnyRankedTensor:$param, AnyRankedTensor:$grad, AnyRankedTensor:$m, AnyRankedTensor:$v,
                       AnyRankedTensor:$hyper, AnyRankedTensor:$gscale, AnyRankedTensor:$ok,
                       F64Attr:$beta1, F64Attr:$beta2, F64Attr:$eps, F64Attr:$weight_decay);
  let results = (outs AnyRankedTensor:$newParam, AnyRankedTensor:$newM, AnyRankedTensor:$newV);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Stretto_SgdOp : Stretto_TensorOp<"sgd", [SameOperandsAndResultElementType]> {
  let summary = "stochastic gradient descent with momentum, one parameter";
  let description = [{
    g' = g * gscale + weight_decay * p;  m' = momentum m + g';  p' = p - lr m'
    (PyTorch's definition). `hyper`, `gscale`, `ok` as in `adamw`.
  }];
  let arguments = (ins AnyRankedTensor:$param, AnyRankedTensor:$grad, AnyRankedTensor:$m,
                       AnyRankedTensor:$hyper, AnyRankedTensor:$gscale, AnyRankedTensor:$ok,
                       F64Attr:$momentum, F64Attr:$weight_decay);
  let results = (outs AnyRankedTensor:$newParam, AnyRankedTensor:$newM);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
