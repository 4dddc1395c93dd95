//===- ProgramOps.td - operations of the program dialect ---*- tablegen -*-===//
//
// Segments and their commands; functions and their calls; what the host sees.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_DIALECT_PROGRAM_IR_OPS_TD
#define STRETTO_DIALECT_PROGRAM_IR_OPS_TD

include "stretto/Dialect/Program/IR/ProgramAttrs.td"
include "stretto/Dialect/Stretto/IR/StrettoAttrs.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Program_Op<string mnemonic, list<Trait> traits = []>
    : Op<Program_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Segments
//===----------------------------------------------------------------------===//

def Program_SegmentOp : Program_Op<"segment", [
    IsolatedFromAbove, Symbol, NoTerminator, SingleBlock, NoRegionArguments]> {
  let summary = "commands over memory arguments and scratch";
  let description = [{
    ```mlir
    program.segment @norm.fwd(x: 4096 r, gamma: 64 r, y: 4096 w) scratch 128 {
      program.launch @k0(r arg0[0, 4096], r arg1[0, 64], w arg2[0, 4096]) scalars []
    }
    ```
    Commands of one stream run in order; between streams only `record` and `wait`
    order them. Stream 0 is that of the call, others are what they say.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Program_Arguments:$arguments,
                       I64Attr:$scratch, OptionalAttr<StrAttr>:$sym_visibility);
  let regions = (region AnyRegion:$body);
  let assemblyFormat = [{
    $sym_name `` custom<Arguments>($arguments) `scratch` $scratch attr-dict-with-keyword $body
  }];
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ArgumentAttr getArgument(unsigned index) {
      return ::llvm::cast<ArgumentAttr>(getArguments()[index]);
    }
  }];
}

class Program_Command<string mnemonic, string what, list<Trait> traits = []>
    : Program_Op<mnemonic, [HasParent<"SegmentOp">] # traits> {
  let summary = what;
}
defvar stream = (ins DefaultValuedAttr<I64Attr, "0">:$stream);
class WithStream<dag rest> { dag args = !con(rest, stream); }

def Program_LaunchOp : Program_Command<"launch", "a compiled kernel"> {
  let description = "`scalars`: as of stretto.launch.";
  let arguments = WithStream<(ins FlatSymbolRefAttr:$kernel, Program_Operands:$uses,
                                  ArrayAttr:$scalars)>.args;
  let assemblyFormat = "$kernel `` custom<Operands>($uses) `scalars` $scalars attr-dict";
}

def Program_GemmOp : Program_Command<"gemm", "C = A B (+ C), a library call"> {
  let description = [{
    Operands A, B, C; strides in elements: row, column, then batches. C has the
    type `result_type`, or that of A and B where it is absent.
  }];
  let arguments = WithStream<(ins Program_Operands:$uses, TypeAttr:$type,
      I64Attr:$m, I64Attr:$n, I64Attr:$k,
      DenseI64ArrayAttr:$a_strides, DenseI64ArrayAttr:$b_strides, DenseI64ArrayAttr:$c_strides,
      DenseI64ArrayAttr:$batch, DenseI64ArrayAttr:$a_batch,
      DenseI64ArrayAttr:$b_batch, DenseI64ArrayAttr:$c_batch,
      OptionalAttr<TypeAttr>:$result_type, UnitAttr:$accumulate)>.args;
  let assemblyFormat = [{
    $type (`to` $result_type^)? `` custom<Operands>($uses) `m` $m `n` $n `k` $k
    `a` $a_strides `b` $b_strides `c` $c_strides
    `batch` $batch `a` $a_batch `b` $b_batch `c` $c_batch (`accumulate` $accumulate^)? attr-dict
  }];
}

def Program_AttentionOp : Program_Command<"attention", "softmax attention, or its adjoint"> {
  let description = "Operands and sizes as the schema's Attention.";
  let arguments = WithStream<(ins Program_Operands:$uses, TypeAttr:$type,
      UnitAttr:$backward, DenseI64ArrayAttr:$sizes, UnitAttr:$causal, F64Attr:$scale,
      DefaultValuedAttr<F64Attr, "0.0">:$dropout, DefaultValuedAttr<I64Attr, "0">:$op_id,
      I64Attr:$heads_global, OptionalAttr<Stretto_OffsetAttr>:$head_offset,
      OptionalAttr<Stretto_OffsetAttr>:$batch_offset,
      DefaultValuedAttr<I64Attr, "0">:$queries, DefaultValuedAttr<I64Attr, "0">:$keys,
      OptionalAttr<Stretto_OffsetAttr>:$query_offset,
      OptionalAttr<Stretto_OffsetAttr>:$key_offset,
      DefaultValuedAttr<I64Attr, "1">:$blocks)>.args;
  let assemblyFormat = [{
    (`backward` $backward^)? $type `` custom<Operands>($uses)
    `sizes` $sizes (`causal` $causal^)? `scale` $scale `of` $heads_global `heads` attr-dict
  }];
  let extraClassDeclaration = [{
    /// sizes = [batch, q_len, kv_len, heads, kv_heads, head_dim]
    int64_t getBatch() { return getSizes()[0]; }
    int64_t getQLen() { return getSizes()[1]; }
    int64_t getKvLen() { return getSizes()[2]; }
    int64_t getHeads() { return getSizes()[3]; }
    int64_t getKvHeads() { return getSizes()[4]; }
    int64_t getHeadDim() { return getSizes()[5]; }
  }];
  let hasVerifier = 1;
}

def Program_CollectiveOp : Program_Command<"collective", "communication of a group"> {
  let description = "Operands: source, destination; outer, middle, inner as the schema's Collective.";
  let arguments = WithStream<(ins Program_CollectiveKindAttr:$kind, Stretto_ReduceKindAttr:$reduce,
      TypeAttr:$type, Stretto_GroupAttr:$group, Program_Operands:$uses,
      I64Attr:$outer, I64Attr:$middle, I64Attr:$inner, OptionalAttr<StrAttr>:$cause,
      OptionalAttr<Stretto_GroupAttr>:$to, DefaultValuedAttr<I64Attr, "0">:$shift)>.args;
  let assemblyFormat = [{
    `` $kind `` $reduce $type `` custom<Operands>($uses) `over` $group (`to` $to^)? (`shift` $shift^)?
    `sizes` $outer `x` $middle `x` $inner (`cause` $cause^)? attr-dict
  }];
}

def Program_FillOp : Program_Command<"fill", "repeat a 32-bit pattern"> {
  let arguments = WithStream<(ins Program_Operands:$uses,
                                  DefaultValuedAttr<I64Attr, "0">:$pattern)>.args;
  let assemblyFormat = "`` custom<Operands>($uses) attr-dict";
}
def Program_CopyOp : Program_Command<"copy", "copy bytes: source, destination"> {
  let arguments = WithStream<(ins Program_Operands:$uses)>.args;
  let assemblyFormat = "`` custom<Operands>($uses) attr-dict";
}
def Program_RecordOp : Program_Command<"record", "mark a point of a stream"> {
  let arguments = WithStream<(ins I64Attr:$event)>.args;
  let assemblyFormat = "$event attr-dict";
}
def Program_WaitOp : Program_Command<"wait", "hold a stream until an event"> {
  let arguments = WithStream<(ins I64Attr:$event)>.args;
  let assemblyFormat = "$event attr-dict";
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

def Program_FunctionOp : Program_Op<"function", [
    IsolatedFromAbove, Symbol, NoTerminator, SingleBlock, NoRegionArguments]> {
  let summary = "an entry point: calls of segments in order, micro-batches unrolled";
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<StrAttr>:$sym_visibility);
  let regions = (region AnyRegion:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
}

class Program_BindingOp<string mnemonic, string what> : Program_Op<mnemonic, [HasParent<"FunctionOp">]> {
  let summary = what;
  let description = [{
    Global shape, how it lies on the mesh, names of dimensions, and memory: one
    slot per micro-batch, or one.
  }];
  let arguments = (ins StrAttr:$name, TypeAttr:$type, DenseI64ArrayAttr:$shape,
                       OptionalAttr<Stretto_DistAttr>:$dist, OptionalAttr<ArrayAttr>:$dims,
                       Program_Slots:$slots);
  let assemblyFormat = [{
    $name $type $shape (`dims` $dims^)? (`on` $dist^)? `at` custom<Slots>($slots) attr-dict
  }];
}
def Program_InputOp : Program_BindingOp<"input", "a tensor that the host writes before the function">;
def Program_OutputOp : Program_BindingOp<"output", "a tensor that the host reads after the function">;

def Program_CallOp : Program_Op<"call", [
    HasParent<"FunctionOp">, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a segment on given memory";
  let description = [{
    ```mlir
    program.call @head.reduce(gradients[0, 64]) instance "head" stream 1 after [3, 7]
    ```
    Calls of one stream run in order; `after` names calls of other streams, by
    their number in the function, that have ended before this one starts.
  }];
  let arguments = (ins FlatSymbolRefAttr:$segment, Program_Slots:$slots,
                       OptionalAttr<Program_SlotAttr>:$scratch, StrAttr:$instance,
                       DefaultValuedAttr<I64Attr, "0">:$microbatch,
                       DefaultValuedAttr<I64Attr, "0">:$stream,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$after);
  let assemblyFormat = [{
    $segment `` custom<Slots>($slots) (`using` custom<Slot>($scratch)^)?
    `instance` $instance (`microbatch` $microbatch^)? (`stream` $stream^)?
    (`after` $after^)? attr-dict
  }];
}

//===----------------------------------------------------------------------===//
// The module's memory
//===----------------------------------------------------------------------===//

def Program_ParameterOp : Program_Op<"parameter"> {
  let summary = "a trained tensor: its memory, initialisation, gradient and moments";
  let description = [{
    Gradient and moments lie as the parameter does, unless they are said to rest
    elsewhere, and have its type, unless the gradient has `gradientType`.
  }];
  let arguments = (ins StrAttr:$name, TypeAttr:$type, DenseI64ArrayAttr:$shape,
                       OptionalAttr<Stretto_DistAttr>:$dist, OptionalAttr<ArrayAttr>:$dims,
                       OptionalAttr<Stretto_InitAttr>:$init, Program_SlotAttr:$slot,
                       OptionalAttr<Program_SlotAttr>:$gradient, Program_Slots:$moments,
                       OptionalAttr<Stretto_DistAttr>:$gradientDist,
                       OptionalAttr<Stretto_DistAttr>:$momentDist,
                       OptionalAttr<TypeAttr>:$gradientType);
  let assemblyFormat = [{
    $name $type $shape (`dims` $dims^)? (`on` $dist^)? (`init` $init^)?
    `at` custom<Slot>($slot) (`gradient` custom<Slot>($gradient)^)?
    `moments` custom<Slots>($moments) (`gradient_on` $gradientDist^)?
    (`moments_on` $momentDist^)? (`gradient_type` $gradientType^)? attr-dict
  }];
}

def Program_RegionOp : Program_Op<"region"> {
  let summary = "bytes of a memory category, and the unavoidable part of them";
  let description = [{
    `live` is the largest sum of bytes alive at one time: the least that any
    placement needs. The difference is fragmentation. Transient regions share a
    range: of them `bytes` is where the last slot ends, and `live` what is alive
    of each when most is alive of all.
  }];
  let arguments = (ins Program_RegionAttr:$region, I64Attr:$bytes, OptionalAttr<I64Attr>:$live);
  let assemblyFormat = "`` $region $bytes (`live` $live^)? attr-dict";
}

#endif
