//===- Elementwise.td - pointwise operations ----------------*- tablegen -*-===//

class Stretto_UnaryOp<string mnemonic, string what>
    : Stretto_TensorOp<mnemonic, [SameOperandsAndResultElementType]> {
  let summary = what;
  let arguments = (ins AnyRankedTensor:$x);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
}
def Stretto_NegOp     : Stretto_UnaryOp<"neg", "-x">;
def Stretto_ExpOp     : Stretto_UnaryOp<"exp", "e to the x">;
def Stretto_LogOp     : Stretto_UnaryOp<"log", "natural logarithm">;
def Stretto_SqrtOp    : Stretto_UnaryOp<"sqrt", "square root">;
def Stretto_RsqrtOp   : Stretto_UnaryOp<"rsqrt", "1 / square root">;
def Stretto_TanhOp    : Stretto_UnaryOp<"tanh", "hyperbolic tangent">;
def Stretto_SigmoidOp : Stretto_UnaryOp<"sigmoid", "1 / (1 + exp(-x))">;
def Stretto_ErfOp     : Stretto_UnaryOp<"erf", "error function">;
def Stretto_SiluOp    : Stretto_UnaryOp<"silu", "x * sigmoid(x)">;

def Stretto_GeluOp : Stretto_TensorOp<"gelu", [SameOperandsAndResultElementType]> {
  let summary = "Gaussian error linear unit";
  let description = [{
    Exact form x * Phi(x) through erf, or with `tanh` the approximation
    0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) (Hendrycks and Gimpel,
    arXiv 1606.08415).
  }];
  let arguments = (ins AnyRankedTensor:$x, UnitAttr:$tanh);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
}

// The operand of lower rank is aligned to the trailing dimensions of the other
// and repeated over the leading ones; dimensions of size 1 are not stretched.
class Stretto_BinaryOp<string mnemonic, string what>
    : Stretto_TensorOp<mnemonic, [SameOperandsAndResultElementType]> {
  let summary = what;
  let description = [{
    The operand of lower rank is aligned to the trailing dimensions of the other
    (a rank-0 operand is a scalar); dimensions of size 1 are not stretched.
  }];
  let arguments = (ins AnyRankedTensor:$lhs, AnyRankedTensor:$rhs);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
}
def Stretto_AddOp     : Stretto_BinaryOp<"add", "sum">;
def Stretto_SubOp     : Stretto_BinaryOp<"sub", "difference">;
def Stretto_MulOp     : Stretto_BinaryOp<"mul", "product">;
def Stretto_DivOp     : Stretto_BinaryOp<"div", "quotient">;
def Stretto_MaximumOp : Stretto_BinaryOp<"maximum", "larger one; NaN wins">;
def Stretto_MinimumOp : Stretto_BinaryOp<"minimum", "smaller one; NaN wins">;

def Stretto_CompareOp : Stretto_TensorOp<"compare", []> {
  let summary = "pointwise comparison to i1 (ordered; ne is unordered)";
  let arguments = (ins Stretto_ComparePredicateAttr:$predicate,
                       AnyRankedTensor:$lhs, AnyRankedTensor:$rhs);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    `` $predicate $lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Stretto_SelectOp : Stretto_TensorOp<"select", []> {
  let summary = "pointwise choice; operands broadcast like binary operations";
  let arguments = (ins AnyRankedTensor:$condition, AnyRankedTensor:$onTrue,
                       AnyRankedTensor:$onFalse);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $condition `,` $onTrue `,` $onFalse attr-dict `:`
    type($condition) `,` type($onTrue) `,` type($onFalse) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Stretto_ConvertOp : Stretto_TypedTensorOp<"convert", []> {
  let summary = "change of element type, same shape";
  let description = [{
    A partial sum passes where the result holds every value of the operand. With
    `rounds_parts` it passes where numbers are rounded as well: the parts are, and
    the sum is that of the rounded parts.
  }];
  let arguments = (ins AnyRankedTensor:$x, UnitAttr:$rounds_parts);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
}

def Stretto_DropoutOp : Stretto_TensorOp<"dropout", [SameOperandsAndResultElementType]> {
  let summary = "zero with probability p, else scale by 1/(1-p)";
  let description = [{
    The mask of element e is a function of (seed, step, instance of the call,
    `op_id`, row-major index of e in the logical global tensor) alone: see
    stretto/Runtime/Random.h (`bits24(key, e, op_id) >= dropoutThreshold(p)` keeps).
    Linear, hence its own adjoint with the same attributes.

    `extents` are the logical global extents (entry `sample_dim` is not needed),
    `sample_dim` the dimension that counts samples (its global index is
    micro-batch * samples + local index; it is the most major one of the
    row-major index, wherever it stands, as samples have no end), `offsets` the global index of this
    shard's first element per dimension; all three are absent in a model and are
    filled in when the step is built (`extents`) and localized (`offsets`).
  }];
  let arguments = (ins AnyRankedTensor:$x, F64Attr:$p, DefaultValuedAttr<I64Attr, "0">:$op_id,
                       OptionalAttr<DenseI64ArrayAttr>:$extents,
                       OptionalAttr<I64Attr>:$sample_dim,
                       OptionalAttr<ArrayAttr>:$offsets);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = inferDeclaration # [{
    void localizeAttributes(::llvm::ArrayRef<DistAttr> operands,
                            ::llvm::ArrayRef<DistAttr> results,
                            ::mlir::Operation *original);
  }];
}

def Stretto_MaskPadOp : Stretto_TensorOp<"mask_pad", [SameOperandsAndResultElementType]> {
  let summary = "replace what lies past the logical size of a dimension";
  let description = [{
    Elements whose global index along `dim` is >= `size` become `value`. `offset`
    (after localize) is the global index of this shard's first element.
  }];
  let arguments = (ins AnyRankedTensor:$x, I64Attr:$dim, I64Attr:$size, F64Attr:$value,
                       OptionalAttr<Stretto_OffsetAttr>:$offset);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = inferDeclaration # [{
    void localizeAttributes(::llvm::ArrayRef<DistAttr> operands,
                            ::llvm::ArrayRef<DistAttr> results,
                            ::mlir::Operation *original);
  }];
}
