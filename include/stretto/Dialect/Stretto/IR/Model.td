//===- Model.td - layers and their instances ----------------*- tablegen -*-===//

def Stretto_LayerOp : Stretto_Op<"layer", [
    IsolatedFromAbove, Symbol, FunctionOpInterface,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "a function of activations with parameters bound at the call";
  let description = [{
    ```mlir
    stretto.layer @norm(%x: tensor<?x?x64xf32> dims [batch, seq, embed],
                        params(%g: tensor<64xf32> dims [embed] init ones no_decay))
        -> tensor<?x?x64xf32> { ... stretto.yield ... }
    ```
    Argument attributes: `stretto.dims` (array of names, "_" = anonymous);
    parameters also `stretto.param` (name), `stretto.init`, `stretto.no_decay`.
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
    /// Number of activation arguments; parameters follow them.
    unsigned getNumActivations();
    /// Name of argument `index` when it is a parameter, else null.
    ::mlir::StringAttr getParameterName(unsigned index);
  }];
}

def Stretto_ModelOp : Stretto_Op<"model", [
    IsolatedFromAbove, Symbol, FunctionOpInterface, NoTerminator, SingleBlock,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "a graph of layer instances from inputs to loss terms";
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

def Stretto_CallOp : Stretto_Op<"call", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "an instance of a layer";
  let description = [{
    `%h = stretto.call @decoder(%x) scope "layers.0" : (...) -> ...`: parameter `wq`
    of the layer is `layers.0.wq`, unless `bind {wq = "layers.1.wq"}` ties it to a
    parameter that another call declares.
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<AnyType>:$operands,
                       StrAttr:$scope, OptionalAttr<DictionaryAttr>:$bind);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = [{
    $callee `(` $operands `)` `scope` $scope (`bind` $bind^)? attr-dict `:`
    functional-type($operands, $results)
  }];
  let extraClassDeclaration = [{
    /// Global name of the layer's parameter `name` at this call.
    std::string getParameterPath(::llvm::StringRef name);
  }];
}

def Stretto_LossOp : Stretto_Op<"loss", []> {
  let summary = "a weighted loss term (sum, count), both rank 0";
  let arguments = (ins AnyRankedTensor:$sum, AnyRankedTensor:$count, F64Attr:$weight);
  let assemblyFormat = "$sum `,` $count `weight` $weight attr-dict `:` type($sum) `,` type($count)";
  let hasVerifier = 1;
}

def Stretto_OutputOp : Stretto_Op<"output", []> {
  let summary = "a named value that prediction returns";
  let arguments = (ins AnyRankedTensor:$value, StrAttr:$name);
  let assemblyFormat = "$name $value attr-dict `:` type($value)";
}

def Stretto_YieldOp : Stretto_Op<"yield", [Pure, Terminator, ReturnLike]> {
  let summary = "results of a layer, segment, micro-batch loop or step";
  let arguments = (ins Variadic<AnyType>:$operands);
  let assemblyFormat = "($operands^ `:` type($operands))? attr-dict";
  let builders = [OpBuilder<(ins), [{ }]>];
}
