//===- EinsumOrderTest.cpp - the order of operands never matters ----------===//
//
// Random products with random wishes for their operands and result: what the
// labels get is the same for "a, b" and "b, a".
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "stretto/Dialect/Stretto/IR/StrettoOps.h"
#include "stretto/Transforms/Shard/Passes.h"
#include "gtest/gtest.h"

#include <map>
#include <random>

using namespace mlir;
using namespace stretto;

namespace {

struct Label {
  char name;
  int size;
  bool lhs, rhs, result;
};

struct Dim {
  std::string axes; // "x", "y", "x, y" or ""
  int priority;
};

/// A product and what its three values are asked for.
struct Product {
  std::vector<Label> labels;
  std::vector<Dim> lhs, rhs, result;
};

class Generator {
public:
  explicit Generator(unsigned seed) : random(seed) {}

  Product product(bool withPriorities) {
    Product p;
    // Batch, contracted, left and right labels.
    for (auto [name, lhs, rhs, result] :
         {std::make_tuple('b', true, true, true),
          std::make_tuple('c', true, true, true),
          std::make_tuple('k', true, true, false),
          std::make_tuple('q', true, true, false),
          std::make_tuple('m', true, false, true),
          std::make_tuple('n', false, true, true)})
      if (below(4) != 0)
        p.labels.push_back({name, 2 << below(8), lhs, rhs, result});
    for (const Label &label : p.labels) {
      if (label.lhs)
        p.lhs.push_back(dim(withPriorities));
      if (label.rhs)
        p.rhs.push_back(dim(withPriorities));
      if (label.result)
        p.result.push_back(dim(withPriorities));
    }
    return p;
  }

private:
  int below(int n) { return int(random() % unsigned(n)); }
  Dim dim(bool withPriorities) {
    static const char *axes[] = {"", "", "x", "y", "x, y", "y, x"};
    return {axes[below(6)], withPriorities ? below(3) : 0};
  }
  std::mt19937 random;
};

} // namespace

static std::string join(const std::vector<std::string> &parts,
                        const std::string &separator) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i)
    text += (i ? separator : "") + parts[i];
  return text;
}

static std::string names(const Product &p, bool Label::*in) {
  std::vector<std::string> parts;
  for (const Label &label : p.labels)
    if (label.*in)
      parts.push_back(std::string(1, label.name));
  return join(parts, " ");
}

static std::string type(const Product &p, bool Label::*in) {
  std::string text = "tensor<";
  for (const Label &label : p.labels)
    if (label.*in)
      text += std::to_string(label.size) + "x";
  return text + "f32>";
}

static std::string constraint(const std::vector<Dim> &dims) {
  std::vector<std::string> parts;
  for (const Dim &dim : dims)
    parts.push_back("{" + (dim.axes.empty() ? "?" : dim.axes) + "}" +
                    (dim.priority ? "p" + std::to_string(dim.priority) : ""));
  return " {stretto.constraint = #stretto.constraint<[" + join(parts, ", ") +
         "]>}";
}

static std::string text(const Product &p, bool swapped) {
  std::string l = type(p, &Label::lhs), r = type(p, &Label::rhs),
              o = type(p, &Label::result);
  std::string lhs = names(p, &Label::lhs), rhs = names(p, &Label::rhs);
  std::string op = swapped ? "\"" + rhs + ", " + lhs + " -> "
                           : "\"" + lhs + ", " + rhs + " -> ";
  op +=
      names(p, &Label::result) + "\" " + (swapped ? "%b, %a : " : "%a, %b : ");
  op += swapped ? r + ", " + l : l + ", " + r;
  return "module attributes {stretto.mesh = #stretto.mesh<x = 2, y = 4>} {\n"
         "stretto.segment @s(%a: " +
         l + constraint(p.lhs) + ", %b: " + r + constraint(p.rhs) + ") -> (" +
         o + constraint(p.result) +
         ") attributes {direction = \"forward\"} {\n%c = stretto.einsum " + op +
         " -> " + o + "\nstretto.yield %c : " + o +
         "\n}\nstretto.step @t(%a: " + l + ", %b: " + r +
         ") {\n%c = stretto.invoke @s(%a, %b) instance " + "\"s\" : (" + l +
         ", " + r + ") -> " + o + "\nstretto.yield\n}\n}\n";
}

/// Axes and priority per label after `propagate`.
static std::map<std::string, std::string> decide(MLIRContext &context,
                                                 const std::string &source) {
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(source, &context);
  EXPECT_TRUE(module) << source;
  PassManager passes(&context);
  passes.addPass(createPropagatePass());
  EXPECT_TRUE(succeeded(passes.run(*module))) << source;
  std::map<std::string, std::string> decided;
  module->walk([&](EinsumOp op) {
    auto factors = op->getAttrOfType<ConstraintAttr>("stretto.factors");
    EinsumOp::Labels labels = op.getLabels();
    std::vector<llvm::StringRef> order(labels.lhs.begin(), labels.lhs.end());
    for (llvm::StringRef label : labels.rhs)
      if (!llvm::is_contained(order, label))
        order.push_back(label);
    for (auto [index, label] : llvm::enumerate(order)) {
      std::string &entry = decided[label.str()];
      if (!factors)
        continue;
      for (StringAttr axis : factors.getDimAxes(index))
        entry += axis.str() + " ";
      if (!factors.getDimAxes(index).empty())
        entry += "p" + std::to_string(factors.getPriorities()[index]);
    }
  });
  return decided;
}

static void sameBothWays(bool withPriorities) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<StrettoDialect>();
  unsigned sharded = 0;
  for (unsigned seed = 1; seed <= 400; ++seed) {
    Product product = Generator(seed).product(withPriorities);
    auto one = decide(context, text(product, false));
    auto other = decide(context, text(product, true));
    EXPECT_EQ(one, other) << "seed " << seed << "\n" << text(product, false);
    for (auto &[label, axes] : one)
      sharded += !axes.empty();
  }
  EXPECT_GT(sharded, 400u); // the products do get axes
}

TEST(EinsumOrder, CostsDoNotKnowTheOrderOfOperands) { sameBothWays(false); }
TEST(EinsumOrder, PrioritiesDoNotKnowTheOrderOfOperands) { sameBothWays(true); }
