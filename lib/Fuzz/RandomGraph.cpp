//===- RandomGraph.cpp - random sharded graphs ----------------------------===//

#include "stretto/Fuzz/RandomGraph.h"
#include "Generator.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::fuzz;

static constexpr int64_t maxElements = 4096; // of one tensor
static constexpr int64_t maxRanks = 24;
static constexpr double maxMagnitude = 1e6;

//===----------------------------------------------------------------------===//
// Meshes and constraints
//===----------------------------------------------------------------------===//

static MeshAttr drawMesh(MLIRContext &context, std::mt19937_64 &random) {
  static constexpr llvm::StringLiteral names[] = {"x", "y", "z"};
  unsigned numAxes = 1 + random() % 3;
  SmallVector<StringAttr> axes;
  SmallVector<int64_t> sizes;
  int64_t ranks = 1;
  for (unsigned i = 0; i < numAxes; ++i) {
    int64_t size = 1 + int64_t(random() % 6);
    if (ranks * size > maxRanks)
      size = 2;
    if (ranks * size > maxRanks)
      break;
    ranks *= size;
    axes.push_back(StringAttr::get(&context, names[i]));
    sizes.push_back(size);
  }
  return MeshAttr::get(&context, axes, sizes);
}

/// A name for an axis, or for one of its sub-axes when its size has a divisor.
static std::string drawAxis(MeshAttr mesh, unsigned axis,
                            std::mt19937_64 &random) {
  int64_t size = mesh.getSizes()[axis];
  std::string name = mesh.getNames()[axis].str();
  if (random() % 4 != 0)
    return name;
  for (int64_t divisor : {2, 3})
    if (size % divisor == 0 && size > divisor) {
      bool major = random() % 2;
      int64_t pre = major ? 1 : size / divisor;
      return '"' + name + ":(" + std::to_string(pre) + ")" +
             std::to_string(divisor) + '"';
    }
  return name;
}

ConstraintAttr Generator::constraint(ArrayRef<int64_t> shape,
                                     bool withClauses) {
  SmallVector<std::string> dims(shape.size());
  std::string clauses;
  for (unsigned axis = 0; axis < mesh.getNumAxes() && !shape.empty(); ++axis) {
    if (chance(35)) {
      if (withClauses && chance(50))
        clauses += (chance(50) ? ", replicated {" : ", partial {") +
                   mesh.getNames()[axis].str() + "}";
      continue;
    }
    std::string &dim = oneOf(dims);
    std::string name = drawAxis(mesh, axis, random);
    if (dim.empty())
      dim = name;
    else
      dim = chance(50) ? dim + ", " + name : name + ", " + dim;
  }
  std::string text = "[";
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(dims, os, [&](const std::string &dim) {
    bool open = chance(30);
    os << "{" << dim << (open ? dim.empty() ? "?" : ", ?" : "") << "}";
    if (!dim.empty() && chance(30))
      os << "p" << 1 + below(2);
  });
  os << "]" << clauses;
  return parseConstraint(*graph.getContext(), text);
}

//===----------------------------------------------------------------------===//
// Operands and results
//===----------------------------------------------------------------------===//

static Shape shapeOf(Value value) {
  return Shape(cast<RankedTensorType>(value.getType()).getShape());
}

static bool isReal(Value value) {
  return isa<FloatType>(
      cast<RankedTensorType>(value.getType()).getElementType());
}

Generator::Generator(ModuleOp module, uint64_t seed)
    : builder(module.getContext()), graph(getGraph(module)),
      mesh(module->getAttrOfType<MeshAttr>("stretto.mesh")), random(seed) {
  builder.setInsertionPoint(graph.getBody().front().getTerminator());
  static constexpr int64_t all[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13};
  for (int i = 0; i < 3; ++i)
    extents.push_back(oneOf(all));
}

Shape Generator::shape(unsigned maxRank) {
  Shape result;
  for (unsigned rank = 1 + below(maxRank); result.size() < rank;)
    result.push_back(extent());
  while (ShapedType::getNumElements(result) > maxElements)
    result.pop_back();
  return result;
}

Value Generator::newArgument(ArrayRef<int64_t> shape, Type element,
                             int64_t bound) {
  Value value = addArgument(graph, RankedTensorType::get(shape, element),
                            constraint(shape), bound);
  values.push_back(value);
  facts[value] = {true, isa<FloatType>(element) ? 3.0 : double(bound)};
  return value;
}

Value Generator::pick(function_ref<bool(Value)> fits) {
  SmallVector<Value> found;
  llvm::copy_if(values, std::back_inserter(found), fits);
  return found.empty() ? Value() : oneOf(found);
}

Value Generator::ofType(ArrayRef<int64_t> shape, Type element, int64_t bound) {
  auto type = RankedTensorType::get(shape, element);
  if (!bound && chance(80))
    if (Value found = pick([&](Value v) { return v.getType() == type; }))
      return found;
  return newArgument(shape, element, bound);
}

Value Generator::real(unsigned minRank, unsigned maxRank) {
  auto fits = [&](Value value) {
    unsigned rank = shapeOf(value).size();
    return isReal(value) && rank >= minRank && rank <= maxRank;
  };
  if (chance(85))
    if (Value found = pick(fits))
      return found;
  Shape drawn = shape(maxRank);
  while (drawn.size() < minRank)
    drawn.push_back(1 + below(3));
  return newArgument(drawn, f32());
}

Value Generator::exactReal(unsigned minRank, unsigned maxRank) {
  Value value = real(minRank, maxRank);
  return known(value).exact ? value : newArgument(shapeOf(value), f32());
}

Operation *Generator::add(StringRef name, ValueRange operands, Known known,
                          ArrayRef<NamedAttribute> attributes,
                          unsigned numResults, ArrayRef<Type> types) {
  if (known.magnitude > maxMagnitude)
    return nullptr;
  Operation *op = tryCreate(builder, ("stretto." + name).str(), operands,
                            attributes, numResults, types);
  if (!op)
    return nullptr;
  for (Value result : op->getResults())
    if (ShapedType::getNumElements(shapeOf(result)) > maxElements) {
      op->erase();
      return nullptr;
    }
  for (Value result : op->getResults()) {
    values.push_back(result);
    facts[result] = known;
  }
  return op;
}

Value Generator::bounded(Value value) {
  if (known(value).magnitude <= 3)
    return value;
  Operation *op = add("tanh", value, {false, 1});
  return op ? op->getResult(0) : value;
}

//===----------------------------------------------------------------------===//
// The graph
//===----------------------------------------------------------------------===//

/// Every value that nobody reads, and sometimes others.
void Generator::chooseResults() {
  SmallVector<Result> results;
  auto choose = [&](Value value) {
    results.push_back({value, constraint(shapeOf(value)), chance(30)});
  };
  for (Value value : values)
    if (value.getDefiningOp() && (value.use_empty() || chance(15)))
      choose(value);
  if (results.empty())
    choose(values.front());
  setResults(graph, results);
}

void Generator::run() {
  newArgument(shape(), f32());
  for (int64_t left = 1 + below(9); left > 0; --left)
    oneOf(operationKinds())(*this);
  chooseResults();
  removeDeadCode(graph);
  int64_t numOps = llvm::range_size(graph.getBody().front()) - 1;
  if (numOps > 1 && chance(30))
    graph->getParentOp()->setAttr(
        splitAttr, builder.getI64IntegerAttr(1 + below(numOps - 1)));
}

OwningOpRef<ModuleOp> fuzz::makeRandomGraph(MLIRContext &context,
                                            uint64_t seed) {
  std::mt19937_64 random(seed);
  MeshAttr mesh = drawMesh(context, random);
  OwningOpRef<ModuleOp> module = makeGraph(context, mesh);
  Generator(*module, random()).run();
  return module;
}
