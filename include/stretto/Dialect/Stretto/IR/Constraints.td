//===- Constraints.td - words that steer propagation --------*- tablegen -*-===//
//
// Identities on values that say where they lie. They stand in models and
// segments until `assign` has obeyed them and takes them out.
//
//===----------------------------------------------------------------------===//

def Stretto_ConstrainOp : Stretto_TensorOp<"constrain", [SameOperandsAndResultElementType]> {
  let summary = "the same value, lying as the constraint says";
  let description = [{
    `stretto.constrain %x <[{dp}, {?} ], replicated {tp}>`: the result lies so; a
    closed dimension changes the distribution here if it must, an open one goes
    on as the operand does. The result is no partial sum, unless the constraint
    wants it partial. The cotangent is constrained alike.
  }];
  let arguments = (ins AnyRankedTensor:$x, Stretto_ConstraintAttr:$constraint);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$x $constraint attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

def Stretto_PropagationBarrierOp
    : Stretto_TensorOp<"propagation_barrier", [SameOperandsAndResultElementType]> {
  let summary = "the same value, across which wishes do not pass";
  let description = [{
    `allow` is the one direction in which they still do: `forward` from operand
    to result, `backward` from result to operand, or `none`.
  }];
  let arguments = (ins Stretto_PassDirectionAttr:$allow, AnyRankedTensor:$x);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "`` $allow $x attr-dict `:` type($x) `->` type($result)";
}

def Stretto_ShardAlikeOp : Stretto_TensorOp<"shard_alike", []> {
  let summary = "the same values, all lying alike";
  let description = [{
    Two or more tensors of one shape: what holds for a dimension of one holds for
    that of all. Result i is operand i.
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$values);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = "`(` $values `)` attr-dict `:` functional-type($values, $results)";
  let hasVerifier = 1;
}
