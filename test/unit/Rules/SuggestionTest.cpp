//===- SuggestionTest.cpp - what a type error suggests makes it right -----===//
//
// Every operation on operands and results that lie at random. Where the
// verifier refuses, its message is read as a user would read it: the location
// is the operation's, two distributions are there, and the reshards that it
// suggests, put into the program as they stand, make the operation verify.
//
//===----------------------------------------------------------------------===//

#include "Oracle.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Verifier.h"
#include "stretto/Dialect/Stretto/IR/StrettoOps.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Regex.h"

#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace stretto;
using namespace stretto::rules;

namespace {
constexpr const char *meshText = "mesh<a = 4, b = 2>";

/// Distributions of the mesh at random: whole axes and halves of `a`, on
/// dimensions, partial or neither; now and then padding that nobody needs.
class RandomDist {
public:
  RandomDist(MeshAttr mesh, unsigned seed) : mesh(mesh), random(seed) {}

  DistAttr operator()(RankedTensorType type) {
    SmallVector<SmallVector<AxisRef>> dims(type.getRank());
    SmallVector<AxisRef> partial;
    for (AxisRef axis : axes()) {
      // Mostly replicated: one wrong axis is the usual mistake.
      unsigned to = random() % (type.getRank() + 4);
      if (to < type.getRank())
        dims[to].push_back(axis);
      else if (to == type.getRank() && isa<FloatType>(type.getElementType()))
        partial.push_back(axis);
    }
    SmallVector<int64_t> padded(type.getRank(), 0);
    for (auto [extent, size, held] : llvm::zip(padded, type.getShape(), dims)) {
      int64_t shards = productOf(held), least = llvm::alignTo(size, shards);
      if (least != size || random() % 8 == 0)
        extent = least + shards * (random() % 2);
    }
    auto kind = random() % 8 ? ReduceKind::Sum : ReduceKind::Max;
    return DistAttr::get(mesh.getContext(), mesh, dims, partial, kind, padded);
  }

private:
  SmallVector<AxisRef> axes() {
    SmallVector<AxisRef> all = {{0, 1, 2}, {0, 2, 2}, {1, 1, 2}};
    if (random() % 2)
      all = {{0, 1, 4}, {1, 1, 2}};
    std::shuffle(all.begin(), all.end(), random);
    return all;
  }
  MeshAttr mesh;
  std::mt19937 random;
};

struct Message {
  Location location;
  std::string text;
  std::vector<std::string> notes;
};

/// One operation in a segment whose arguments are its operands.
class Trial {
public:
  Trial(Operation *sample, RandomDist &dist)
      : context(sample->getContext()),
        module(ModuleOp::create(sample->getLoc())) {
    auto place = [&](Type type) -> Type {
      auto tensor = cast<RankedTensorType>(type);
      return withDist(tensor, dist(tensor));
    };
    SmallVector<Type> arguments;
    for (Type type : sample->getOperandTypes())
      arguments.push_back(place(type));
    OpBuilder builder(context);
    builder.setInsertionPointToEnd(module->getBody());
    auto segment = SegmentOp::create(
        builder, sample->getLoc(), builder.getStringAttr("trial"),
        TypeAttr::get(builder.getFunctionType(arguments, {})),
        builder.getStringAttr("forward"), StringAttr(), StringAttr(),
        ArrayAttr(), ArrayAttr());
    Block *block = builder.createBlock(&segment.getBody());
    IRMapping mapping;
    for (auto [operand, type] : llvm::zip(sample->getOperands(), arguments))
      mapping.map(operand, block->addArgument(type, sample->getLoc()));
    op = builder.clone(*sample, mapping);
    for (Value result : op->getResults())
      result.setType(place(result.getType()));
  }

  std::vector<Message> check() {
    std::vector<Message> messages;
    ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
      Message &message = messages.emplace_back(
          Message{diagnostic.getLocation(), diagnostic.str(), {}});
      for (Diagnostic &note : diagnostic.getNotes())
        message.notes.push_back(note.str());
    });
    isValid = succeeded(verify(op));
    return messages;
  }

  /// Does what a note says; a failure of the test when it says nothing to do.
  void apply(const std::string &note) {
    SmallVector<StringRef> found;
    static llvm::Regex operand("^this would fit: stretto.reshard (.*) : (.*) "
                               "-> (.*) for operand ([0-9]+)$"),
        result("^this would fit: result ([0-9]+) is (.*), then stretto.reshard "
               "(.*) : (.*) -> (.*)$"),
        dead("^this would fit: result ([0-9]+) is (.*), from which no reshard "
             "leads to (.*)$");
    if (operand.match(note, &found))
      reshardOperand(number(found[4]), found[1], dist(found[2]),
                     dist(found[3]));
    else if (result.match(note, &found))
      reshardResult(number(found[1]), dist(found[2]), dist(found[5]));
    else if (dead.match(note, &found))
      retype(number(found[1]), dist(found[2]));
    else
      ADD_FAILURE() << "nothing to do: " << note;
  }

  bool isValid = false;
  Operation *op;

private:
  static unsigned number(StringRef text) {
    unsigned value = ~0u;
    text.getAsInteger(10, value);
    return value;
  }
  DistAttr dist(StringRef text) {
    Attribute parsed = parseAttribute(
        ("#stretto.dist<" + StringRef(meshText) + ", " + text + ">").str(),
        context);
    EXPECT_TRUE(parsed) << text.str();
    return dyn_cast_or_null<DistAttr>(parsed);
  }

  void reshardOperand(unsigned index, StringRef name, DistAttr from,
                      DistAttr to) {
    Value value = op->getOperand(index);
    EXPECT_EQ(getDist(value), from);
    EXPECT_TRUE(name.starts_with("%"));
    OpBuilder builder(op);
    auto type = cast<RankedTensorType>(value.getType());
    auto reshard = ReshardOp::create(builder, op->getLoc(), withDist(type, to),
                                     value, StringAttr());
    EXPECT_TRUE(succeeded(verify(reshard)));
    op->setOperand(index, reshard);
  }
  void retype(unsigned index, DistAttr to) {
    Value value = op->getResult(index);
    value.setType(withDist(cast<RankedTensorType>(value.getType()), to));
  }
  void reshardResult(unsigned index, DistAttr now, DistAttr claimed) {
    Value value = op->getResult(index);
    Type before = value.getType();
    EXPECT_EQ(getDist(value), claimed);
    retype(index, now);
    OpBuilder builder(context);
    builder.setInsertionPointAfter(op);
    auto reshard =
        ReshardOp::create(builder, op->getLoc(), before, value, StringAttr());
    EXPECT_TRUE(succeeded(verify(reshard)));
  }

  MLIRContext *context;
  OwningOpRef<ModuleOp> module;
};
} // namespace

/// The location, a distribution in the message, and what to do about it.
static void checkMessage(const Message &message, Operation *op) {
  EXPECT_EQ(message.location, op->getLoc()) << message.text;
  EXPECT_NE(message.text.find("["), std::string::npos) << message.text;
  EXPECT_EQ(message.text.find("#stretto"), std::string::npos) << message.text;
  EXPECT_FALSE(message.notes.empty()) << message.text;
}

static std::string textOf(const Message &message) {
  std::string text = message.text;
  for (const std::string &note : message.notes)
    text += "\n  " + note;
  return text;
}

TEST(Suggestions, MakeEveryRefusedOperationVerify) {
  auto context = makeContext();
  auto mesh = cast<MeshAttr>(
      parseAttribute("#stretto." + std::string(meshText), context.get()));
  unsigned refused = 0, taken = 0;
  for (const Sample &sample : samples()) {
    SCOPED_TRACE(sample.name);
    auto module = parseSample(*context, sample, 4);
    ASSERT_TRUE(module);
    SegmentOp segment = *module->getOps<SegmentOp>().begin();
    Operation *op = &segment.getBody().front().front();
    RandomDist dist(mesh, 1);
    unsigned mistakes = 0;
    for (unsigned trial = 0; trial < 100; ++trial) {
      Trial one(op, dist);
      std::vector<Message> messages = one.check();
      if (one.isValid) {
        ++taken;
        continue;
      }
      ++mistakes;
      ASSERT_EQ(messages.size(), 1u);
      checkMessage(messages[0], one.op);
      for (const std::string &note : messages[0].notes)
        if (note.find("see current operation") == std::string::npos)
          one.apply(note);
      std::vector<Message> left = one.check();
      ASSERT_TRUE(one.isValid)
          << "trial " << trial << ": " << textOf(messages[0])
          << "\nleft: " << (left.empty() ? "" : textOf(left[0]));
    }
    EXPECT_GT(mistakes, 10u);
    refused += mistakes;
  }
  std::printf("%u refused and put right, %u taken\n", refused, taken);
  EXPECT_GT(taken, 100u);
}
