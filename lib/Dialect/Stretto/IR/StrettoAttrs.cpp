//===- StrettoAttrs.cpp - meshes, distributions, offsets ------------------===//
//
// Assembly formats, verification and the arithmetic of the attributes.
//
//===----------------------------------------------------------------------===//

#include "stretto/Dialect/Stretto/IR/Describe.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace stretto;

#include "stretto/Dialect/Stretto/IR/StrettoEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "stretto/Dialect/Stretto/IR/StrettoAttrs.cpp.inc"

void StrettoDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "stretto/Dialect/Stretto/IR/StrettoAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Pieces shared by the assembly formats
//===----------------------------------------------------------------------===//

/// Are `pre` and `pre * size` divisors of the axis size `whole`?
static bool isSubAxisOf(AxisRef ref, int64_t whole) {
  return ref.pre >= 1 && ref.size >= 1 && whole % ref.pre == 0 &&
         whole / ref.pre % ref.size == 0;
}

/// Invariants of axes that are used together: each lies in the mesh; no digit
/// of an axis is used twice; sub-axes of one axis are digits of one number
/// (where one ends divides where the next begins: of 12, (1)4 and (6)2 are
/// not).
static LogicalResult verifyAxes(function_ref<InFlightDiagnostic()> emitError,
                                MeshAttr mesh, ArrayRef<AxisRef> axes,
                                StringRef what) {
  for (unsigned i = 0; i < axes.size(); ++i) {
    AxisRef ref = axes[i];
    if (ref.axis >= mesh.getNumAxes())
      return emitError() << "axis " << ref.axis << " is outside the mesh of "
                         << mesh.getNumAxes() << " axes";
    StringRef name = mesh.getNames()[ref.axis].getValue();
    int64_t whole = mesh.getSizes()[ref.axis];
    if (!isSubAxisOf(ref, whole))
      return emitError() << "sub-axis (" << ref.pre << ")" << ref.size
                         << " does not divide axis '" << name << "' of size "
                         << whole;
    for (AxisRef other : axes.take_front(i)) {
      if (ref.overlaps(other))
        return emitError() << "axis '" << name << "' is used twice in one "
                           << what
                           << "; an axis has one place, drop it from the other";
      AxisRef major = std::min(ref, other), minor = std::max(ref, other);
      if (ref.axis == other.axis && minor.pre % (major.pre * major.size) != 0)
        return emitError() << "sub-axes (" << major.pre << ")" << major.size
                           << " and (" << minor.pre << ")" << minor.size
                           << " of axis '" << name
                           << "' do not align: " << minor.pre
                           << " is no multiple of " << major.pre * major.size;
    }
  }
  return success();
}

/// A name as the syntax takes it back: in quotes unless it is a word.
static void printName(raw_ostream &os, StringRef name) {
  auto isLetter = [](char c) { return llvm::isAlpha(c) || c == '_'; };
  bool isWord =
      !name.empty() && isLetter(name[0]) && llvm::all_of(name, [&](char c) {
        return isLetter(c) || llvm::isDigit(c) || c == '$' || c == '.';
      });
  if (isWord) {
    os << name;
    return;
  }
  os << '"';
  llvm::printEscapedString(name, os);
  os << '"';
}

static void printAxis(raw_ostream &os, MeshAttr mesh, AxisRef ref) {
  printName(os, mesh.getNames()[ref.axis].getValue());
  if (ref.pre != 1 || ref.size != mesh.getSizes()[ref.axis])
    os << ":(" << ref.pre << ")" << ref.size;
}

void stretto::printAxes(raw_ostream &os, MeshAttr mesh,
                        ArrayRef<AxisRef> axes) {
  os << "{";
  llvm::interleaveComma(axes, os,
                        [&](AxisRef ref) { printAxis(os, mesh, ref); });
  os << "}";
}

std::string stretto::toString(MeshAttr mesh, ArrayRef<AxisRef> axes) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printAxes(os, mesh, axes);
  return text;
}

/// name | name:(pre)size
static ParseResult parseAxis(AsmParser &parser, MeshAttr mesh, AxisRef &ref) {
  std::string name;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeywordOrString(&name))
    return failure();
  std::optional<unsigned> index = mesh.lookup(name);
  if (!index)
    return parser.emitError(loc, "mesh has no axis '")
           << name << "'; it is " << describe(mesh);
  ref = mesh.axis(*index);
  if (failed(parser.parseOptionalColon()))
    return success();
  if (parser.parseLParen() || parser.parseInteger(ref.pre) ||
      parser.parseRParen() || parser.parseInteger(ref.size))
    return failure();
  int64_t whole = mesh.getSizes()[*index];
  if (!isSubAxisOf(ref, whole))
    return parser.emitError(loc, "sub-axis (")
           << ref.pre << ")" << ref.size << " does not divide axis '" << name
           << "' of size " << whole
           << "; (p)n are n parts after the p major ones, and p * n divides "
              "the "
              "size";
  return success();
}

static ParseResult parseAxes(AsmParser &parser, MeshAttr mesh,
                             SmallVectorImpl<AxisRef> &axes) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, [&]() {
    return parseAxis(parser, mesh, axes.emplace_back());
  });
}

/// mesh<dp = 2, tp = 2> without the dialect prefix.
static FailureOr<MeshAttr> parseMesh(AsmParser &parser) {
  if (parser.parseKeyword("mesh"))
    return failure();
  auto mesh = dyn_cast_or_null<MeshAttr>(MeshAttr::parse(parser, Type()));
  if (!mesh)
    return failure();
  return mesh;
}

static void printMesh(AsmPrinter &printer, MeshAttr mesh) {
  printer << "mesh";
  mesh.print(printer);
}

//===----------------------------------------------------------------------===//
// MeshAttr
//===----------------------------------------------------------------------===//

Attribute MeshAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes;
  auto parseOne = [&]() -> ParseResult {
    std::string name;
    if (parser.parseKeywordOrString(&name) || parser.parseEqual() ||
        parser.parseInteger(sizes.emplace_back()))
      return failure();
    names.push_back(StringAttr::get(parser.getContext(), name));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                     parseOne))
    return {};
  return parser.getChecked<MeshAttr>(parser.getContext(), names, sizes);
}

void MeshAttr::print(AsmPrinter &printer) const {
  printer << "<";
  llvm::interleaveComma(
      llvm::zip(getNames(), getSizes()), printer, [&](auto pair) {
        printer.printKeywordOrString(std::get<0>(pair).getValue());
        printer << " = " << std::get<1>(pair);
      });
  printer << ">";
}

LogicalResult MeshAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<StringAttr> names,
                               ArrayRef<int64_t> sizes) {
  if (names.size() != sizes.size())
    return emitError() << "mesh has " << names.size() << " names and "
                       << sizes.size() << " sizes";
  llvm::SmallSet<StringRef, 4> seen;
  int64_t product = 1;
  for (auto [name, size] : llvm::zip(names, sizes)) {
    if (!seen.insert(name.getValue()).second)
      return emitError() << "mesh axis '" << name.getValue() << "' twice";
    if (size < 1)
      return emitError() << "mesh axis '" << name.getValue() << "' has size "
                         << size;
    if (llvm::MulOverflow(product, size, product))
      return emitError() << "mesh has more ranks than 2^63";
  }
  return success();
}

std::optional<unsigned> MeshAttr::lookup(StringRef name) const {
  for (auto [index, axis] : llvm::enumerate(getNames()))
    if (axis.getValue() == name)
      return index;
  return std::nullopt;
}

int64_t MeshAttr::getNumRanks() const {
  int64_t product = 1;
  for (int64_t size : getSizes())
    product *= size;
  return product;
}

AxisRef MeshAttr::axis(unsigned index) const {
  return {index, 1, getSizes()[index]};
}

SmallVector<int64_t> MeshAttr::coordinates(int64_t rank) const {
  SmallVector<int64_t> result(getNumAxes());
  for (unsigned i = getNumAxes(); i-- > 0;) {
    result[i] = rank % getSizes()[i];
    rank /= getSizes()[i];
  }
  return result;
}

int64_t MeshAttr::coordinate(AxisRef ref, ArrayRef<int64_t> coordinates) const {
  int64_t minor = getSizes()[ref.axis] / (ref.pre * ref.size);
  return coordinates[ref.axis] / minor % ref.size;
}

//===----------------------------------------------------------------------===//
// GroupAttr
//===----------------------------------------------------------------------===//

Attribute GroupAttr::parse(AsmParser &parser, Type) {
  SmallVector<AxisRef> axes;
  if (parser.parseLess())
    return {};
  FailureOr<MeshAttr> mesh = parseMesh(parser);
  if (failed(mesh) || parser.parseComma() || parseAxes(parser, *mesh, axes) ||
      parser.parseGreater())
    return {};
  return parser.getChecked<GroupAttr>(parser.getContext(), *mesh, axes);
}

LogicalResult GroupAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                MeshAttr mesh, ArrayRef<AxisRef> axes) {
  return verifyAxes(emitError, mesh, axes, "group");
}

void GroupAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printMesh(printer, getMesh());
  printer << ", ";
  printAxes(printer.getStream(), getMesh(), getAxes());
  printer << ">";
}

int64_t GroupAttr::getNumMembers() const { return productOf(getAxes()); }

int64_t GroupAttr::member(ArrayRef<int64_t> coordinates) const {
  int64_t index = 0;
  for (AxisRef ref : getAxes())
    index = index * ref.size + getMesh().coordinate(ref, coordinates);
  return index;
}

//===----------------------------------------------------------------------===//
// DistAttr
//===----------------------------------------------------------------------===//

namespace {
/// The canonical parameters of a distribution.
struct DistParameters {
  SmallVector<AxisRef> flat, partial;
  SmallVector<int64_t> ends, padded;
  ReduceKind kind;

  DistParameters(ArrayRef<SmallVector<AxisRef>> dims,
                 ArrayRef<AxisRef> partialAxes, ReduceKind partialKind,
                 ArrayRef<int64_t> extents)
      : partial(partialAxes), padded(extents), kind(partialKind) {
    for (const SmallVector<AxisRef> &dim : dims) {
      llvm::append_range(flat, canonicalAxes(dim));
      ends.push_back(flat.size());
    }
    llvm::sort(partial); // a reduction does not care about the order of axes
    partial = canonicalAxes(partial);
    if (partial.empty())
      kind = ReduceKind::Sum;
    padded.resize(dims.size(), 0);
  }
};
} // namespace

DistAttr DistAttr::get(MLIRContext *context, MeshAttr mesh,
                       ArrayRef<SmallVector<AxisRef>> dims,
                       ArrayRef<AxisRef> partialAxes, ReduceKind partialKind,
                       ArrayRef<int64_t> padded) {
  DistParameters p(dims, partialAxes, partialKind, padded);
  return get(context, mesh, p.flat, p.ends, p.partial, p.kind, p.padded);
}

DistAttr DistAttr::replicated(MeshAttr mesh, unsigned rank) {
  return get(mesh.getContext(), mesh, SmallVector<SmallVector<AxisRef>>(rank));
}

Attribute DistAttr::parse(AsmParser &parser, Type) {
  SmallVector<SmallVector<AxisRef>> dims;
  SmallVector<AxisRef> partial;
  SmallVector<int64_t> padded;
  ReduceKind kind = ReduceKind::Sum;
  if (parser.parseLess())
    return {};
  FailureOr<MeshAttr> mesh = parseMesh(parser);
  if (failed(mesh) || parser.parseComma() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() {
        return parseAxes(parser, *mesh, dims.emplace_back());
      }))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    StringRef keyword;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&keyword))
      return {};
    if (keyword == "padded") {
      if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() {
            return parser.parseInteger(padded.emplace_back());
          }))
        return {};
      if (padded.size() != dims.size()) {
        parser.emitError(loc, "padded lists ")
            << padded.size() << " extents for " << dims.size() << " dimensions";
        return {};
      }
      continue;
    }
    std::optional<ReduceKind> parsed = symbolizeReduceKind(keyword);
    if (!parsed) {
      parser.emitError(loc, "expected sum, max, min, prod or padded");
      return {};
    }
    kind = *parsed;
    if (parseAxes(parser, *mesh, partial))
      return {};
  }
  if (parser.parseGreater())
    return {};
  DistParameters p(dims, partial, kind, padded);
  return parser.getChecked<DistAttr>(parser.getContext(), *mesh, p.flat, p.ends,
                                     p.partial, p.kind, p.padded);
}

void DistAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printMesh(printer, getMesh());
  printer << ", ";
  printBody(printer.getStream(), *this);
  printer << ">";
}

/// Invariants: axes are those of the mesh, aligned, and used once among
/// dimensions and partial; padded extents divide over the shards.
LogicalResult DistAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               MeshAttr mesh, ArrayRef<AxisRef> flatAxes,
                               ArrayRef<int64_t> dimEnds,
                               ArrayRef<AxisRef> partialAxes, ReduceKind,
                               ArrayRef<int64_t> padded) {
  SmallVector<AxisRef> all(flatAxes);
  llvm::append_range(all, partialAxes);
  if (failed(verifyAxes(emitError, mesh, all, "distribution")))
    return failure();
  if (padded.size() != dimEnds.size())
    return emitError() << "expected " << dimEnds.size() << " padded extents";
  for (unsigned dim = 0, begin = 0; dim < dimEnds.size(); ++dim) {
    int64_t shards = productOf(flatAxes.slice(begin, dimEnds[dim] - begin));
    begin = dimEnds[dim];
    if (padded[dim] < 0 || padded[dim] % shards != 0)
      return emitError() << "padded extent " << padded[dim] << " of dimension "
                         << dim << " does not divide over " << shards
                         << " shards";
  }
  return success();
}

/// As the encoding of a tensor type: one entry per dimension; what is sharded
/// has a static extent that divides, or a padded extent that covers it.
LogicalResult
DistAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                         function_ref<InFlightDiagnostic()> emitError) const {
  if (shape.size() != getRank())
    return emitError() << "distribution of rank " << getRank()
                       << " on a tensor of rank " << shape.size() << ": "
                       << describe(*this)
                       << " needs one list of axes per dimension, {} where "
                          "there is none";
  for (auto [dim, size] : llvm::enumerate(shape)) {
    int64_t padded = getPaddedExtents()[dim], shards = getNumShards(dim);
    if (ShapedType::isDynamic(size) && (padded || shards > 1))
      return emitError() << "dimension " << dim
                         << " is dynamic; what is sharded or padded needs a "
                            "static extent";
    if (std::max(size, padded) > (int64_t(1) << 50))
      return emitError() << "dimension " << dim << " of size " << size
                         << ", padded to " << padded
                         << ", has more than 2^50 elements";
    if (padded && padded < size)
      return emitError() << "padded extent " << padded << " of dimension "
                         << dim << " is less than its size " << size;
    if (!padded && size % shards != 0)
      return emitError() << "dimension " << dim << " of size " << size
                         << " does not divide over "
                         << toString(getMesh(), getDimAxes(dim))
                         << "; give it a padded extent of "
                         << llvm::alignTo(size, shards);
  }
  return success();
}

ArrayRef<AxisRef> DistAttr::getDimAxes(unsigned dim) const {
  int64_t begin = dim == 0 ? 0 : getDimEnds()[dim - 1];
  return getFlatAxes().slice(begin, getDimEnds()[dim] - begin);
}

int64_t DistAttr::getNumShards(unsigned dim) const {
  return productOf(getDimAxes(dim));
}

int64_t DistAttr::getPadded(unsigned dim, int64_t size) const {
  return getPaddedExtents()[dim] ? getPaddedExtents()[dim] : size;
}

bool DistAttr::isReplicated() const {
  return getFlatAxes().empty() && getPartialAxes().empty();
}

SmallVector<SmallVector<AxisRef>> DistAttr::getDims() const {
  SmallVector<SmallVector<AxisRef>> dims;
  for (unsigned dim = 0; dim < getRank(); ++dim)
    dims.emplace_back(getDimAxes(dim));
  return dims;
}

DistAttr DistAttr::withoutPartial() const {
  return get(getContext(), getMesh(), getDims(), {}, ReduceKind::Sum,
             getPaddedExtents());
}

SmallVector<int64_t> DistAttr::localShape(ArrayRef<int64_t> shape) const {
  SmallVector<int64_t> local;
  for (auto [dim, size] : llvm::enumerate(shape))
    local.push_back(getPadded(dim, size) / getNumShards(dim));
  return local;
}

//===----------------------------------------------------------------------===//
// OffsetAttr
//===----------------------------------------------------------------------===//

Attribute OffsetAttr::parse(AsmParser &parser, Type) {
  SmallVector<AxisRef> axes;
  SmallVector<int64_t> coefficients;
  int64_t microbatch = 0;
  if (parser.parseLess())
    return {};
  FailureOr<MeshAttr> mesh = parseMesh(parser);
  if (failed(mesh) || parser.parseComma() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() {
        return failure(parseAxis(parser, *mesh, axes.emplace_back()) ||
                       parser.parseStar() ||
                       parser.parseInteger(coefficients.emplace_back()));
      }))
    return {};
  if (succeeded(parser.parseOptionalComma()))
    if (parser.parseKeyword("microbatch") || parser.parseStar() ||
        parser.parseInteger(microbatch))
      return {};
  if (parser.parseGreater())
    return {};
  return parser.getChecked<OffsetAttr>(parser.getContext(), *mesh, axes,
                                       coefficients, microbatch);
}

void OffsetAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printMesh(printer, getMesh());
  printer << ", [";
  llvm::interleaveComma(
      llvm::zip(getAxes(), getCoefficients()), printer, [&](auto pair) {
        printAxis(printer.getStream(), getMesh(), std::get<0>(pair));
        printer << " * " << std::get<1>(pair);
      });
  printer << "]";
  if (getMicrobatch())
    printer << ", microbatch * " << getMicrobatch();
  printer << ">";
}

LogicalResult OffsetAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 MeshAttr mesh, ArrayRef<AxisRef> axes,
                                 ArrayRef<int64_t> coefficients, int64_t) {
  if (axes.size() != coefficients.size())
    return emitError() << "offset has " << axes.size() << " axes and "
                       << coefficients.size() << " coefficients";
  for (AxisRef ref : axes)
    if (failed(verifyAxes(emitError, mesh, ref, "offset")))
      return failure();
  return success();
}

int64_t OffsetAttr::evaluate(ArrayRef<int64_t> coordinates,
                             int64_t microbatch) const {
  int64_t value = getMicrobatch() * microbatch;
  for (auto [ref, coefficient] : llvm::zip(getAxes(), getCoefficients()))
    value += coefficient * getMesh().coordinate(ref, coordinates);
  return value;
}

OffsetAttr OffsetAttr::ofShard(DistAttr dist, unsigned dim, int64_t size,
                               int64_t microbatch) {
  int64_t extent = dist.getPadded(dim, size);
  SmallVector<AxisRef> axes(dist.getDimAxes(dim));
  SmallVector<int64_t> coefficients;
  for (AxisRef ref : axes)
    coefficients.push_back(extent /= ref.size);
  return get(dist.getContext(), dist.getMesh(), axes, coefficients, microbatch);
}
