//===- Collectives.td - changes of distribution -------------*- tablegen -*-===//

def Stretto_ReshardOp : Stretto_Op<"reshard", [Pure, SameOperandsAndResultElementType]> {
  let summary = "the same value, lying differently";
  let description = [{
    The only place where a distribution changes between `assign` and
    `plan-reshards`, which turns it into collectives. `cause` is told by explain.
  }];
  let arguments = (ins AnyRankedTensor:$x, OptionalAttr<StrAttr>:$cause);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

class Stretto_CollectiveOp<string mnemonic, string what, dag extra>
    : Stretto_Op<mnemonic, [Pure, SameOperandsAndResultElementType]> {
  let summary = what;
  let arguments = !con((ins AnyRankedTensor:$x, Stretto_GroupAttr:$group), extra,
                       (ins OptionalAttr<StrAttr>:$cause));
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}
def Stretto_AllReduceOp : Stretto_CollectiveOp<"all_reduce",
    "reduction over the group, in member order; every member gets the result",
    (ins Stretto_ReduceKindAttr:$kind)>;
def Stretto_AllGatherOp : Stretto_CollectiveOp<"all_gather",
    "concatenation of the members' shards along dim", (ins I64Attr:$dim)>;
def Stretto_ReduceScatterOp : Stretto_CollectiveOp<"reduce_scatter",
    "reduction over the group; member k gets block k along dim",
    (ins Stretto_ReduceKindAttr:$kind, I64Attr:$dim)>;
def Stretto_AllToAllOp : Stretto_CollectiveOp<"all_to_all",
    "split along split_dim, concatenate along concat_dim; block k goes to the member with index k, counted by the axes of `to` when it is there",
    (ins I64Attr:$split_dim, I64Attr:$concat_dim, OptionalAttr<Stretto_GroupAttr>:$to)>;
def Stretto_PermuteOp : Stretto_CollectiveOp<"permute",
    "shards move between members: the member with index k by the axes of `to` gets what member k + shift of the group has, counted round",
    (ins Stretto_GroupAttr:$to, DefaultValuedAttr<I64Attr, "0">:$shift)>;
def Stretto_ShardSliceOp : Stretto_CollectiveOp<"shard_slice",
    "this member's block along dim (no communication)", (ins I64Attr:$dim)>;
def Stretto_KeepFirstOp : Stretto_CollectiveOp<"keep_first",
    "the value on member 0 and zeros elsewhere: replicated to partial sum (no communication)",
    (ins)>;
def Stretto_PadExtentOp : Stretto_Op<"pad_extent", [Pure, SameOperandsAndResultElementType]> {
  let summary = "change the padded extents of unsharded dimensions: trailing zeros added or trailing padding cut";
  let arguments = (ins AnyRankedTensor:$x, OptionalAttr<StrAttr>:$cause);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}
