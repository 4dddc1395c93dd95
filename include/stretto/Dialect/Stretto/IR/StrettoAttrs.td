//===- StrettoAttrs.td - meshes, distributions, offsets ----*- tablegen -*-===//
//
// Attributes of the stretto dialect. All of them are uniqued and closed: no
// symbol is referenced, so no pass can leave one dangling.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_DIALECT_STRETTO_IR_ATTRS_TD
#define STRETTO_DIALECT_STRETTO_IR_ATTRS_TD

include "stretto/Dialect/Stretto/IR/StrettoDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/TensorEncoding.td"

class Stretto_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::stretto";
  let genSpecializedAttr = 0;
}

def Stretto_ReduceKind : Stretto_Enum<"ReduceKind", "reduction", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">,
    I32EnumAttrCase<"Min", 2, "min">, I32EnumAttrCase<"Prod", 3, "prod">,
    I32EnumAttrCase<"And", 4, "and">, I32EnumAttrCase<"Or", 5, "or">]>;
def Stretto_ReduceKindAttr : EnumAttr<Stretto_Dialect, Stretto_ReduceKind, "reduce_kind">;

def Stretto_ComparePredicate : Stretto_Enum<"ComparePredicate", "comparison", [
    I32EnumAttrCase<"EQ", 0, "eq">, I32EnumAttrCase<"NE", 1, "ne">,
    I32EnumAttrCase<"LT", 2, "lt">, I32EnumAttrCase<"LE", 3, "le">,
    I32EnumAttrCase<"GT", 4, "gt">, I32EnumAttrCase<"GE", 5, "ge">]>;
def Stretto_ComparePredicateAttr
    : EnumAttr<Stretto_Dialect, Stretto_ComparePredicate, "predicate">;

def Stretto_PassDirection : Stretto_Enum<"PassDirection", "direction that a barrier allows", [
    I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Forward", 1, "forward">,
    I32EnumAttrCase<"Backward", 2, "backward">]>;
def Stretto_PassDirectionAttr
    : EnumAttr<Stretto_Dialect, Stretto_PassDirection, "pass_direction">;

def Stretto_InitKind : Stretto_Enum<"InitKind", "parameter initialisation", [
    I32EnumAttrCase<"Zeros", 0, "zeros">, I32EnumAttrCase<"Ones", 1, "ones">,
    I32EnumAttrCase<"Normal", 2, "normal">, I32EnumAttrCase<"Uniform", 3, "uniform">,
    I32EnumAttrCase<"Constant", 4, "constant">]>;

class Stretto_Attr<string name, string mnemonic_, list<Trait> traits = []>
    : AttrDef<Stretto_Dialect, name, traits> {
  let mnemonic = mnemonic_;
}

def Stretto_InitAttr : Stretto_Attr<"Init", "init"> {
  let summary = "how a parameter starts";
  let description = [{
    `zeros`, `ones`, `normal(stddev)` (mean 0), `uniform(low, high)`,
    `constant(value)`. Draws are keyed by the parameter's name and logical
    element index, so every plan starts from the same bits.
  }];
  let parameters = (ins "InitKind":$kind, "::mlir::FloatAttr":$first, "::mlir::FloatAttr":$second);
  let hasCustomAssemblyFormat = 1;
  let builders = [AttrBuilder<(ins "InitKind":$kind, CArg<"double", "0.0">:$a,
                                   CArg<"double", "0.0">:$b)>];
  let extraClassDeclaration = [{
    /// stddev of normal, low of uniform, value of constant; high of uniform.
    double getA() const { return getFirst().getValueAsDouble(); }
    double getB() const { return getSecond().getValueAsDouble(); }
  }];
}

def Stretto_MeshAttr : Stretto_Attr<"Mesh", "mesh"> {
  let summary = "named axes, outermost first";
  let description = [{
    `#stretto.mesh<dp = 2, tp = 4>`: a rank is the row-major index of its
    coordinates. The product of the sizes is the number of ranks.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$names,
                        ArrayRefParameter<"int64_t">:$sizes);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Index of the axis called `name`, or nullopt.
    std::optional<unsigned> lookup(::llvm::StringRef name) const;
    unsigned getNumAxes() const { return getSizes().size(); }
    int64_t getNumRanks() const;
    /// The whole axis as a reference.
    AxisRef axis(unsigned index) const;
    /// Coordinates of `rank`, one per axis.
    ::llvm::SmallVector<int64_t> coordinates(int64_t rank) const;
    /// Member index along `ref` of the rank at `coordinates`.
    int64_t coordinate(AxisRef ref, ::llvm::ArrayRef<int64_t> coordinates) const;
  }];
}

def Stretto_GroupAttr : Stretto_Attr<"Group", "group"> {
  let summary = "ranks that differ only in these axes";
  let description = [{
    `#stretto.group<mesh<dp = 2, tp = 4>, {dp, tp:(1)2}>`. Members are counted
    major to minor. `tp:(1)2` is the sub-axis of size 2 with 1 = the product of
    the sub-axis sizes major to it.
  }];
  let parameters = (ins "MeshAttr":$mesh, ArrayRefParameter<"AxisRef">:$axes);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getNumMembers() const;
    /// Member index of the rank at `coordinates`.
    int64_t member(::llvm::ArrayRef<int64_t> coordinates) const;
  }];
}

def Stretto_DistAttr : Stretto_Attr<"Dist", "dist", [
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "how a value lies on the mesh";
  let description = [{
    The encoding of a tensor type between `assign` and `localize`:
    `#stretto.dist<mesh<dp = 2, tp = 2>, [{dp}, {}, {tp} ], sum {dp}, padded [8, 0, 100]>`.

    - per dimension the axes that shard it, major to minor; dimension d of padded
      extent P over n members: member k owns [k*P/n, (k+1)*P/n);
    - optional partial state: the value is the reduction of the ranks' values over
      these axes;
    - padded extents (0 = the dimension is not padded); padding is trailing in
      global coordinates.
    An axis that appears nowhere is one over which the value is replicated.
    Canonical: neighbouring sub-axes are merged and axes of size 1 dropped.
  }];
  let parameters = (ins "MeshAttr":$mesh, ArrayRefParameter<"AxisRef">:$flatAxes,
                        ArrayRefParameter<"int64_t">:$dimEnds,
                        ArrayRefParameter<"AxisRef">:$partialAxes,
                        "ReduceKind":$partialKind,
                        ArrayRefParameter<"int64_t">:$paddedExtents);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let builders = [AttrBuilder<(ins "MeshAttr":$mesh,
      "::llvm::ArrayRef<::llvm::SmallVector<AxisRef>>":$dims,
      CArg<"::llvm::ArrayRef<AxisRef>", "{}">:$partialAxes,
      CArg<"ReduceKind", "ReduceKind::Sum">:$partialKind,
      CArg<"::llvm::ArrayRef<int64_t>", "{}">:$padded)>];
  let extraClassDeclaration = [{
    unsigned getRank() const { return getDimEnds().size(); }
    ::llvm::ArrayRef<AxisRef> getDimAxes(unsigned dim) const;
    /// Number of shards along `dim`.
    int64_t getNumShards(unsigned dim) const;
    /// Padded extent of `dim` for a logical `size`.
    int64_t getPadded(unsigned dim, int64_t size) const;
    bool isPartial() const { return !getPartialAxes().empty(); }
    /// Sharded nowhere, partial nowhere.
    bool isReplicated() const;
    static DistAttr replicated(MeshAttr mesh, unsigned rank);
    ::llvm::SmallVector<::llvm::SmallVector<AxisRef>> getDims() const;
    /// The same without the partial state.
    DistAttr withoutPartial() const;
    /// The local shape of a tensor of global `shape`.
    ::llvm::SmallVector<int64_t> localShape(::llvm::ArrayRef<int64_t> shape) const;
  }];
}

def Stretto_OffsetAttr : Stretto_Attr<"Offset", "offset"> {
  let summary = "a closed form of mesh coordinates and micro-batch";
  let description = [{
    `#stretto.offset<mesh<dp = 2, tp = 4>, [tp * 25, dp * 4], microbatch * 8>`:
    sum of coefficient * index, the global index of a shard's first element.
  }];
  let parameters = (ins "MeshAttr":$mesh, ArrayRefParameter<"AxisRef">:$axes,
                        ArrayRefParameter<"int64_t">:$coefficients,
                        "int64_t":$microbatch);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t evaluate(::llvm::ArrayRef<int64_t> coordinates, int64_t microbatch) const;
    bool isZero() const { return getAxes().empty() && getMicrobatch() == 0; }
    /// Offset of the shard of `dim` under `dist` for a dimension of logical
    /// `size`, plus `microbatch` times the micro-batch index.
    static OffsetAttr ofShard(DistAttr dist, unsigned dim, int64_t size,
                              int64_t microbatch = 0);
  }];
}

def Stretto_ConstraintAttr : Stretto_Attr<"Constraint", "constraint"> {
  let summary = "wished axes per dimension, before assign";
  let description = [{
    `#stretto.constraint<[{dp}, {tp, ?}p1, {?} ], replicated {cp}, partial {ep}>`:
    per dimension the axes by name, major to minor, and a priority (p0, the
    default, first). Without `?` a dimension is closed: it lies on exactly these
    axes, on none for `{}`; with `?` propagation may add more. `replicated` axes
    shard no dimension of the value; over `partial` axes it may stay a sum that
    nobody has taken. A sub-axis is written `tp:(1)2`. `cause` names the plan
    line for explain.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$flatAxes,
                        ArrayRefParameter<"int64_t">:$dimEnds,
                        ArrayRefParameter<"bool">:$open,
                        ArrayRefParameter<"int64_t">:$priorities,
                        ArrayRefParameter<"::mlir::StringAttr">:$replicatedAxes,
                        ArrayRefParameter<"::mlir::StringAttr">:$partialAxes,
                        "::mlir::StringAttr":$cause);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let builders = [AttrBuilder<(ins
      "::llvm::ArrayRef<::mlir::StringAttr>":$flatAxes,
      "::llvm::ArrayRef<int64_t>":$dimEnds, "::llvm::ArrayRef<bool>":$open,
      "::llvm::ArrayRef<int64_t>":$priorities, "::mlir::StringAttr":$cause), [{
    return $_get($_ctxt, flatAxes, dimEnds, open, priorities,
                 ::llvm::ArrayRef<::mlir::StringAttr>(),
                 ::llvm::ArrayRef<::mlir::StringAttr>(), cause);
  }]>];
  let extraClassDeclaration = [{
    unsigned getRank() const { return getDimEnds().size(); }
    ::llvm::ArrayRef<::mlir::StringAttr> getDimAxes(unsigned dim) const;
  }];
}

def Stretto_MembersAttr : Stretto_Attr<"Members", "members"> {
  let summary = "what the tensors of a bundle are";
  let description = [{
    `#stretto.members<[{name = "wq", stretto.dims = ["embed", "heads"]}, …]>`: per
    member its name under the instance that the bundle belongs to, and the
    attributes that a step argument or result of its own would carry. Instances
    of one layer share one list.
  }];
  let parameters = (ins "::mlir::ArrayAttr":$list);
  let assemblyFormat = "`<` $list `>`";
  let genMnemonicAlias = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    unsigned size() const { return getList().size(); }
    ::mlir::DictionaryAttr get(unsigned member) const;
    ::mlir::StringAttr getName(unsigned member) const;
  }];
}

#endif
