//===- SerializeTest.cpp --------------------------------------------------===//

#include "Lowered.h"

#include "mlir/IR/Verifier.h"
#include "stretto/Runtime/Program.h"
#include "gtest/gtest.h"

using namespace stretto;
using namespace stretto::test;

namespace {

std::string textOf(mlir::Operation *op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  op->print(os);
  return text;
}

/// No distribution means replicated: say so.
template <typename OpT> void spellOut(OpT op, MeshAttr mesh) {
  if (!op.getDistAttr())
    op.setDistAttr(DistAttr::replicated(mesh, op.getShape().size()));
}

/// What the file does not keep: kernel bodies, facts not given.
void dropWhatIsNotKept(mlir::ModuleOp module) {
  for (mlir::Operation &op : llvm::make_early_inc_range(*module.getBody()))
    if (llvm::isa<KernelOp>(op))
      op.erase();
  auto mesh = module->getAttrOfType<MeshAttr>(attr::mesh);
  module.walk([&](exec::InputOp op) { spellOut(op, mesh); });
  module.walk([&](exec::OutputOp op) { spellOut(op, mesh); });
  module.walk([&](exec::ParameterOp op) { spellOut(op, mesh); });
  module->setDiscardableAttrs(mlir::DictionaryAttr::get(
      module.getContext(),
      {{mlir::StringAttr::get(module.getContext(), attr::mesh),
        module->getAttr(attr::mesh)}}));
}

/// One text per operation of the module, sorted: the file groups by kind.
std::vector<std::string> piecesOf(mlir::ModuleOp module) {
  std::vector<std::string> pieces;
  for (mlir::Operation &op : *module.getBody())
    pieces.push_back(textOf(&op));
  std::sort(pieces.begin(), pieces.end());
  return pieces;
}

TEST(Serialize, LoadsInTheRuntime) {
  Lowered lowered("Memory/train-step.mlir");
  ASSERT_TRUE(lowered.module);
  auto bytes = packProgram(*lowered.module);
  ASSERT_TRUE(succeeded(bytes));
  auto loaded =
      runtime::Program::load(runtime::Bytes(bytes->data(), bytes->size()));
  ASSERT_TRUE(loaded) << loaded.message();
  const runtime::Program &program = **loaded;
  EXPECT_EQ(program.mesh().numRanks(), 2);
  const program::Function *train = program.findFunction("train");
  ASSERT_TRUE(train);
  EXPECT_EQ(train->calls()->size(), 10u);
  const program::Call *call = train->calls()->Get(4);
  EXPECT_EQ(call->microbatch(), 1);
  EXPECT_EQ(call->instance_key(), runtime::xxh3("l"));
  ASSERT_EQ(program.table().kernels()->size(), 4u);
  EXPECT_EQ(program.table().kernels()->Get(3)->str(), "adamw");
  ASSERT_EQ(program.table().groups()->size(), 1u);
  const program::Parameter *weight = program.findParameter("l.w");
  ASSERT_TRUE(weight);
  EXPECT_EQ(weight->init()->kind(), program::InitKind::Normal);
  EXPECT_EQ(weight->init()->a(), 0.0);
  EXPECT_EQ(weight->init()->b(), 0.02);
}

TEST(Serialize, ComesBackAsItWas) {
  for (const char *file : {"Memory/train-step.mlir", "Program/sample.mlir"}) {
    Lowered lowered(file);
    ASSERT_TRUE(lowered.module) << file;
    auto bytes = packProgram(*lowered.module);
    ASSERT_TRUE(succeeded(bytes)) << file;
    auto back = deserializeProgram(&lowered.context, *bytes);
    ASSERT_TRUE(back) << file;
    ASSERT_TRUE(succeeded(mlir::verify(*back))) << file;
    dropWhatIsNotKept(*lowered.module);
    dropWhatIsNotKept(*back);
    EXPECT_EQ(piecesOf(*lowered.module), piecesOf(*back)) << file;
  }
}

TEST(Serialize, KeepsTypesThatDiffer) {
  Lowered lowered("Memory/train-step.mlir");
  ASSERT_TRUE(lowered.module);
  mlir::Builder builder(&lowered.context);
  auto bf16 = mlir::TypeAttr::get(builder.getBF16Type());
  size_t changed = 0;
  lowered.module->walk([&](exec::GemmOp op) { // C stays f32
    op.setResultTypeAttr(op.getTypeAttr());
    op.setTypeAttr(bf16);
    ++changed;
  });
  lowered.module->walk([&](exec::ParameterOp op) {
    op.setGradientTypeAttr(bf16);
    ++changed;
  });
  lowered.module->walk([&](exec::LaunchOp op) {
    llvm::SmallVector<mlir::Type> types(op.getUses().size(),
                                        builder.getBF16Type());
    types[0] = builder.getI32Type();
    op->setAttr(attr::operandTypes, builder.getTypeArrayAttr(types));
    ++changed;
  });
  ASSERT_GT(changed, 2u);
  auto bytes = packProgram(*lowered.module);
  ASSERT_TRUE(succeeded(bytes));
  auto back = deserializeProgram(&lowered.context, *bytes);
  ASSERT_TRUE(back);
  for (mlir::ModuleOp module : {*lowered.module, *back}) {
    dropWhatIsNotKept(module);
    module.walk([](exec::FunctionOp op) { // the file's is of other types
      op->removeAttr("program.data_flow");
    });
  }
  EXPECT_EQ(piecesOf(*lowered.module), piecesOf(*back));
}

TEST(Serialize, RefusesDamagedBytes) {
  Lowered lowered("Memory/train-step.mlir");
  ASSERT_TRUE(lowered.module);
  std::string bytes = *packProgram(*lowered.module);
  std::string message;
  mlir::ScopedDiagnosticHandler handler(&lowered.context,
                                        [&](mlir::Diagnostic &diagnostic) {
                                          message = diagnostic.str();
                                          return mlir::success();
                                        });
  EXPECT_FALSE(deserializeProgram(&lowered.context,
                                  llvm::StringRef(bytes).drop_back(100)));
  EXPECT_NE(message, "");
}

} // namespace
