//===- Step.td - what a training step is made of ------------*- tablegen -*-===//

def Stretto_SegmentOp : Stretto_Op<"segment", [
    IsolatedFromAbove, Symbol, FunctionOpInterface]> {
  let summary = "one direction of a layer: forward, backward, reduce, update";
  let description = [{
    A plain function over tensors, printed like func.func. Argument attributes:
    `stretto.dims` (names), `stretto.role` ("activation", "param", "saved",
    "cotangent", "accumulator", "grad", "moment", "scalar", "input"),
    `stretto.param` (name within the layer) and, between Apply and assign,
    `stretto.constraint`. Result attributes: `stretto.dims`, `stretto.role`,
    `stretto.param`. `direction` is "forward", "backward", "count", "gather",
    "reduce", "update", "eval" or "finish"; `layer` names the source layer. A result with
    `stretto.alias = i` is the same storage as argument i, updated in place.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
                       StrAttr:$direction, OptionalAttr<StrAttr>:$layer,
                       OptionalAttr<StrAttr>:$sym_visibility,
                       OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
  }];
}

/// A tensor, or several that move together.
def Stretto_StepValue : Type<Or<[
    CPred<"::llvm::isa<::mlir::RankedTensorType>($_self)">,
    And<[CPred<"::llvm::isa<::mlir::TupleType>($_self)">,
         CPred<"::llvm::all_of(::llvm::cast<::mlir::TupleType>($_self).getTypes(), "
               "::llvm::IsaPred<::mlir::RankedTensorType>)">]>]>,
    "ranked tensor or bundle of ranked tensors">;

def Stretto_InvokeOp : Stretto_Op<"invoke", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a call of a segment in a step";
  let description = [{
    `instance` is the path of the layer instance: it keys random numbers. A
    bundle (a `tuple` of tensors) stands for its members, in order: as an operand
    for as many arguments of the segment, as a result for as many results.
    `%bundle[0, 2]` passes only these members.
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<Stretto_StepValue>:$operands, StrAttr:$instance,
                       OptionalAttr<ArrayAttr>:$members);
  let results = (outs Variadic<Stretto_StepValue>:$results);
  let assemblyFormat = [{
    $callee `` custom<Members>($operands, $members) `instance` $instance attr-dict `:`
    functional-type($operands, $results)
  }];
  let extraClassDeclaration = [{
    /// What the segment takes and returns, bundles taken apart.
    ::llvm::SmallVector<::stretto::TensorRef> getTensorOperands();
    ::llvm::SmallVector<::stretto::TensorRef> getTensorResults();
  }];
  let hasVerifier = 1;
}

def Stretto_StepOp : Stretto_Op<"step", [
    IsolatedFromAbove, Symbol, FunctionOpInterface]> {
  let summary = "an entry point: train, eval or predict";
  let description = [{
    Arguments carry `stretto.binding`: "param:NAME", "moment1:NAME", "moment2:NAME",
    "input:NAME" (leading dimension = micro-batches) or "hyper"; results carry
    `stretto.binding` likewise ("param:…", "moment1:…", "grad:NAME", "output:loss",
    "output:count", "output:grad_norm", "output:logits", …). Every call in the body is
    an `invoke`, a `microbatches` loop or `zeros`.

    The parameters of a layer instance come as one bundle: a value of type
    `tuple`, bound as "param:INSTANCE", whose `stretto.members` says what the
    parameter "INSTANCE.NAME" of each member would. So a step costs little per
    instance, however many parameters a layer has; `unbundle` spells it out.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<StrAttr>:$sym_visibility,
                       OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
  }];
}

def Stretto_MicrobatchesOp : Stretto_Op<"microbatches", [AttrSizedOperandSegments]> {
  let summary = "run the body once per micro-batch, in order";
  let description = [{
    Block arguments: for every input its slice [k] along the leading dimension
    (which has size `count` and is dropped), then the carried values; the body
    yields the carried values. The index k is the Microbatch symbol of the body.
  }];
  let arguments = (ins I64Attr:$count, Variadic<AnyType>:$inputs, Variadic<AnyType>:$carried);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let extraClassDeclaration = [{ }];
  let hasVerifier = 1;
  let hasCustomAssemblyFormat = 0;
  let assemblyFormat = [{
    $count `inputs` `(` $inputs `)` `carried` `(` $carried `)` attr-dict-with-keyword `:`
    functional-type(operands, results) $body
  }];
}

def Stretto_ZerosOp : Stretto_Op<"zeros", [Pure]> {
  let summary = "zeros at step level: an accumulator, or a bundle of them, before its first use";
  let arguments = (ins);
  let results = (outs Stretto_StepValue:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}
