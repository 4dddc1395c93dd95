//===- ProgramAttrs.td - memory words of the executable ----*- tablegen -*-===//
//
// Regions, slots and operands: ranges of bytes in a rank's arena.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_DIALECT_PROGRAM_IR_ATTRS_TD
#define STRETTO_DIALECT_PROGRAM_IR_ATTRS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Program_Dialect : Dialect {
  let name = "program";
  let cppNamespace = "::stretto::exec";
  let summary = "the words of the executable";
  let description = [{
    The readable form of the Program file (runtime/schema/Program.fbs): segments
    of commands over byte ranges, functions that call them, and the tensors that
    the host sees. Nothing here is an SSA value: what a command touches is said
    by its operands, and order on a stream is the order of the text.
  }];
  let dependentDialects = ["::stretto::StrettoDialect"];
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = "void registerAttributes();";
}

class Program_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::stretto::exec";
  let genSpecializedAttr = 0;
}

// The numbers are those of the schema's enum Region.
def Program_Region : Program_Enum<"Region", "memory category", [
    I32EnumAttrCase<"Parameters", 0, "parameters">,
    I32EnumAttrCase<"Optimizer", 1, "optimizer">,
    I32EnumAttrCase<"State", 2, "state">,
    I32EnumAttrCase<"Gradients", 3, "gradients">,
    I32EnumAttrCase<"Inputs", 4, "inputs">,
    I32EnumAttrCase<"Outputs", 5, "outputs">,
    I32EnumAttrCase<"Activations", 6, "activations">,
    I32EnumAttrCase<"Scratch", 7, "scratch">,
    I32EnumAttrCase<"Working", 8, "working">]>;
def Program_RegionAttr : EnumAttr<Program_Dialect, Program_Region, "region_kind">;

def Program_Access : Program_Enum<"Access", "what is done to a range", [
    I32EnumAttrCase<"Read", 1, "r">, I32EnumAttrCase<"Write", 2, "w">,
    I32EnumAttrCase<"ReadWrite", 3, "rw">]>;

def Program_CollectiveKind : Program_Enum<"CollectiveKind", "collective", [
    I32EnumAttrCase<"AllReduce", 0, "all_reduce">,
    I32EnumAttrCase<"AllGather", 1, "all_gather">,
    I32EnumAttrCase<"ReduceScatter", 2, "reduce_scatter">,
    I32EnumAttrCase<"AllToAll", 3, "all_to_all">,
    I32EnumAttrCase<"Permute", 4, "permute">]>;
def Program_CollectiveKindAttr
    : EnumAttr<Program_Dialect, Program_CollectiveKind, "collective_kind">;

class Program_Attr<string name, string mnemonic_>
    : AttrDef<Program_Dialect, name> {
  let mnemonic = mnemonic_;
  let hasCustomAssemblyFormat = 1;
}

def Program_SlotAttr : Program_Attr<"Slot", "slot"> {
  let summary = "a range of a region: `gradients[0, 4096]` = offset, bytes";
  let description = [{
    `activations[0, 4096 : 7]` also says that it is value 7 of the function: what
    lies in the same bytes before and after has other numbers.
  }];
  let parameters = (ins "Region":$region, "uint64_t":$offset, "uint64_t":$bytes,
                        "unsigned":$value);
}

def Program_OperandAttr : Program_Attr<"Operand", "operand"> {
  let summary = "what a command touches: `r arg2[0, 64]`, `w local0[128, 64]`";
  let description = [{
    Access, then an argument of the segment or a value in its scratch, by number,
    then offset (in the argument, in the scratch) and bytes. `rw local3` reads
    value 2 and writes value 3 in its place.
  }];
  let parameters = (ins "Access":$access, "bool":$local, "unsigned":$index,
                        "uint64_t":$offset, "uint64_t":$bytes);
}

def Program_ArgumentAttr : Program_Attr<"Argument", "argument"> {
  let summary = "a memory argument of a segment: `x: 4096 r`";
  let parameters = (ins "::mlir::StringAttr":$name, "uint64_t":$bytes,
                        "Access":$access);
}

class Program_ArrayOf<AttrDef element>
    : TypedArrayAttrBase<element, "array of " # element.summary>;
def Program_Slots : Program_ArrayOf<Program_SlotAttr>;
def Program_Operands : Program_ArrayOf<Program_OperandAttr>;
def Program_Arguments : Program_ArrayOf<Program_ArgumentAttr>;

#endif
