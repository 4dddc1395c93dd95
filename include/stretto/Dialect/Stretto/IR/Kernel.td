//===- Kernel.td - what fusion makes of a local segment -----*- tablegen -*-===//

def Stretto_KernelOp : Stretto_Op<"kernel", [
    IsolatedFromAbove, Symbol, FunctionOpInterface]> {
  let summary = "a fused group of local operations: one compiled function";
  let description = [{
    A function over bare static tensors, printed like func.func, whose body holds
    primitive stretto operations. Offsets and random keys are not in the body's
    attributes by value but by position: they are the scalars of the launch. The
    attribute `stretto.scalars = array<i64: ...>` of an operation in the body lists
    the positions that it reads, -1 meaning zero (absent: all are zero):

    - iota, mask_pad, embedding, embedding_grad: [offset];
    - shard_slice, keep_first: [member index of the rank in the group];
    - dropout: [seed, step, instance, offset of dimension 0, 1, ...].

    A result with `stretto.alias = j` is the storage of operand j, updated in
    place. Operations with `stretto.exact` are not reassociated.
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

def Stretto_LaunchOp : Stretto_Op<"launch", [
    Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a launch of a kernel";
  let description = [{
    Buffers of the compiled function: the operands, then the results, except that
    result i with `aliases[i] = j >= 0` is the storage of operand j, updated in
    place (the operand is not used afterwards). `scalars` are what the rank knows
    at run time, in order: an `#stretto.offset`, an integer, or one of the strings
    "seed", "step", "instance", "microbatch".
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<AnyRankedTensor>:$operands,
                       DenseI64ArrayAttr:$aliases, ArrayAttr:$scalars);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $callee `(` $operands `)` attr-dict `:` functional-type($operands, $results)
  }];
}

def Stretto_GemmOp : Stretto_Op<"gemm", [Pure]> {
  let summary = "C = A B (+ C) over strided batches: a library call";
  let description = [{
    Sizes and strides in elements as in the Program's Gemm. With `acc` the result
    is the storage of acc, updated in place. The result may have a wider element
    type than a and b; sums are taken in f32 at least.
  }];
  let arguments = (ins AnyRankedTensor:$a, AnyRankedTensor:$b, Optional<AnyRankedTensor>:$acc,
                       I64Attr:$m, I64Attr:$n, I64Attr:$k,
                       DenseI64ArrayAttr:$a_strides, DenseI64ArrayAttr:$b_strides,
                       DenseI64ArrayAttr:$c_strides,
                       DenseI64ArrayAttr:$batch, DenseI64ArrayAttr:$a_batch,
                       DenseI64ArrayAttr:$b_batch, DenseI64ArrayAttr:$c_batch);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $a `,` $b (`acc` $acc^ `:` type($acc))? attr-dict `:` type($a) `,` type($b) `->` type($result)
  }];
  let hasVerifier = 1;
}
