//===- ScalarMath.cpp - elementary functions in LLVM IR -------------------===//

#include "ScalarMath.h"
#include "llvm/IR/Intrinsics.h"

using namespace llvm;
using namespace stretto::kernel;

namespace {

// exp(r) = 1 + r + r^2 E(r) for |r| <= ln(2) / 2.
constexpr double expE[] = {0.5, 0.16666576266288757, 0.04166685417294502,
                           0.008363300003111362, 0.0013901344500482082};
// log(1 + f) = f - f^2 / 2 + f^3 L(f) for 1 + f in [sqrt(1/2), sqrt(2)].
constexpr double logL[] = {
    0.3333333134651184,   -0.24999994039535522, 0.2000071406364441,
    -0.16668057441711426, 0.14249321818351746,  -0.12420148402452469,
    0.11677015572786331,  -0.11514564603567123, 0.07037582248449326};
constexpr double tanhP[] = {1.0, 0.13450032472610474, 0.003578280098736286,
                            2.2010810425854288e-05, 1.540872140992633e-08};
constexpr double tanhQ[] = {1.0, 0.46783360838890076, 0.026189563795924187,
                            0.00034224585397168994, 8.591373443778139e-07};
constexpr double erfP[] = {1.1283791065216064,     0.20034946501255035,
                           0.050629064440727234,   0.003718466032296419,
                           0.00014215063129086047, -1.956440200956422e-06,
                           1.9868652501031647e-08};
constexpr double erfQ[] = {1.0, 0.5108867287635803, 0.11517342925071716,
                           0.014388627372682095, 0.0009597826283425093};
// sin(r) = r S(r^2), cos(r) = C(r^2) for |r| <= pi / 4.
constexpr double sinS[] = {1.0, -0.1666666716337204, 0.008333329111337662,
                           -0.00019839179003611207, 2.717152710829396e-06};
constexpr double cosC[] = {1.0,
                           -0.5,
                           0.0416666679084301,
                           -0.0013888879911974072,
                           2.4798844606266357e-05,
                           -2.716797666835191e-07};

/// No reassociation while a function is built: its roundings are wanted.
struct Strict {
  explicit Strict(IRBuilder<> &b) : b(b), saved(b.getFastMathFlags()) {
    b.setFastMathFlags(FastMathFlags());
  }
  ~Strict() { b.setFastMathFlags(saved); }
  IRBuilder<> &b;
  FastMathFlags saved;
};

} // namespace

Value *ScalarMath::f32(double value) {
  return ConstantFP::get(b.getFloatTy(), value);
}

Value *ScalarMath::fma(Value *x, Value *y, Value *z) {
  return b.CreateIntrinsic(Intrinsic::fma, {x->getType()}, {x, y, z});
}

Value *ScalarMath::horner(Value *x, ArrayRef<double> coefficients) {
  Value *sum = ConstantFP::get(x->getType(), coefficients.back());
  for (double c : llvm::reverse(coefficients.drop_back()))
    sum = fma(sum, x, ConstantFP::get(x->getType(), c));
  return sum;
}

Value *ScalarMath::powerOfTwo(Value *n) {
  Value *bits = b.CreateShl(b.CreateAdd(n, b.getInt32(127)), b.getInt32(23));
  return b.CreateBitCast(bits, b.getFloatTy());
}

/// x = n ln 2 + r; 2^n is applied in two halves, so that results near the ends
/// of the range, subnormal ones included, come out right.
Value *ScalarMath::exp(Value *x) {
  Strict strict(b);
  const double low = -104.0, high = 88.8;
  Value *tooLow = b.CreateFCmpOLT(x, f32(low));
  Value *tooHigh = b.CreateFCmpOGT(x, f32(high));
  Value *safe = b.CreateSelect(tooLow, f32(low), x);
  safe = b.CreateSelect(tooHigh, f32(high), safe);
  Value *n = b.CreateUnaryIntrinsic(
      Intrinsic::rint, b.CreateFMul(safe, f32(1.4426950408889634)));
  Value *r = fma(n, f32(-0.693359375), safe);
  r = fma(n, f32(2.12194440054690583e-4), r);
  Value *p = fma(horner(r, expE), b.CreateFMul(r, r), b.CreateFAdd(r, f32(1)));
  Value *integer = b.CreateFreeze(b.CreateFPToSI(n, b.getInt32Ty()));
  Value *half = b.CreateAShr(integer, b.getInt32(1));
  Value *scaled = b.CreateFMul(p, powerOfTwo(half));
  Value *result = b.CreateFMul(scaled, powerOfTwo(b.CreateSub(integer, half)));
  return result;
}

/// x = 2^e (1 + f); subnormal x are scaled up first.
Value *ScalarMath::log(Value *x) {
  Strict strict(b);
  Value *isTiny = b.CreateFCmpOLT(x, f32(0x1p-126));
  Value *scaled = b.CreateSelect(isTiny, b.CreateFMul(x, f32(0x1p23)), x);
  Value *bits = b.CreateBitCast(scaled, b.getInt32Ty());
  // Exponent of the number rounded so that the fraction is in [sqrt(1/2), ...).
  Value *shifted = b.CreateSub(bits, b.getInt32(0x3f3504f3));
  Value *e = b.CreateAShr(shifted, b.getInt32(23));
  Value *fraction = b.CreateBitCast(
      b.CreateSub(bits, b.CreateShl(e, b.getInt32(23))), b.getFloatTy());
  Value *exponent = b.CreateSIToFP(e, b.getFloatTy());
  exponent = b.CreateFSub(exponent, b.CreateSelect(isTiny, f32(23), f32(0)));
  Value *f = b.CreateFSub(fraction, f32(1));
  Value *square = b.CreateFMul(f, f);
  Value *tail = b.CreateFMul(b.CreateFMul(square, f), horner(f, logL));
  tail = fma(exponent, f32(-2.12194440054690583e-4), tail);
  tail = fma(square, f32(-0.5), tail);
  Value *result = fma(exponent, f32(0.693359375), b.CreateFAdd(f, tail));
  Value *infinity = ConstantFP::getInfinity(b.getFloatTy());
  Value *isFinite = b.CreateFCmpOLT(x, infinity);
  result = b.CreateSelect(isFinite, result, x); // inf, NaN
  result =
      b.CreateSelect(b.CreateFCmpOEQ(x, f32(0)),
                     ConstantFP::getInfinity(b.getFloatTy(), true), result);
  return b.CreateSelect(b.CreateFCmpOLT(x, f32(0)),
                        ConstantFP::getNaN(b.getFloatTy()), result);
}

Value *ScalarMath::saturating(Value *x, double limit, ArrayRef<double> p,
                              ArrayRef<double> q) {
  Strict strict(b);
  Value *safe = b.CreateSelect(b.CreateFCmpOGT(x, f32(limit)), f32(limit), x);
  safe = b.CreateSelect(b.CreateFCmpOLT(x, f32(-limit)), f32(-limit), safe);
  Value *square = b.CreateFMul(safe, safe);
  return b.CreateFDiv(b.CreateFMul(safe, horner(square, p)), horner(square, q));
}

Value *ScalarMath::tanh(Value *x) { return saturating(x, 7.91, tanhP, tanhQ); }
Value *ScalarMath::erf(Value *x) { return saturating(x, 3.925, erfP, erfQ); }

Value *ScalarMath::sigmoid(Value *x) {
  Strict strict(b);
  Value *e = exp(b.CreateFNeg(x));
  return b.CreateFDiv(f32(1), b.CreateFAdd(e, f32(1)));
}

/// Reduction by pi / 2 in f64, then the quarter decides.
Value *ScalarMath::sinCos(Value *angle, bool cosine) {
  Strict strict(b);
  auto f64 = [&](double value) {
    return ConstantFP::get(b.getDoubleTy(), value);
  };
  Value *n = b.CreateUnaryIntrinsic(
      Intrinsic::rint, b.CreateFMul(angle, f64(0.63661977236758138)));
  Value *r = fma(n, f64(-1.5707963267948966), angle);
  r = fma(n, f64(-6.123233995736766e-17), r);
  r = b.CreateFPTrunc(r, b.getFloatTy());
  Value *quarter = b.CreateFreeze(b.CreateFPToSI(n, b.getInt32Ty()));
  if (cosine)
    quarter = b.CreateAdd(quarter, b.getInt32(1));
  Value *square = b.CreateFMul(r, r);
  Value *sin = b.CreateFMul(r, horner(square, sinS));
  Value *cos = horner(square, cosC);
  auto bit = [&](unsigned mask) {
    return b.CreateICmpNE(b.CreateAnd(quarter, b.getInt32(mask)),
                          b.getInt32(0));
  };
  Value *value = b.CreateSelect(bit(1), cos, sin);
  return b.CreateSelect(bit(2), b.CreateFNeg(value), value);
}

Value *ScalarMath::mix(Value *x) {
  auto xorShift = [&](Value *v, unsigned bits) {
    return b.CreateXor(v, b.CreateLShr(v, b.getInt64(bits)));
  };
  x = b.CreateAdd(x, b.getInt64(0x9e3779b97f4a7c15ull));
  x = b.CreateMul(xorShift(x, 30), b.getInt64(0xbf58476d1ce4e5b9ull));
  x = b.CreateMul(xorShift(x, 27), b.getInt64(0x94d049bb133111ebull));
  return xorShift(x, 31);
}

Value *ScalarMath::randomKey(Value *seed, Value *step, Value *instance) {
  return mix(b.CreateXor(mix(b.CreateXor(mix(seed), step)), instance));
}

Value *ScalarMath::keep(Value *key, Value *element, uint64_t opId,
                        uint32_t threshold) {
  Type *i32 = b.getInt32Ty(), *i64 = b.getInt64Ty();
  auto low = [&](Value *v) { return b.CreateTrunc(v, i32); };
  auto high = [&](Value *v) {
    return b.CreateTrunc(b.CreateLShr(v, b.getInt64(32)), i32);
  };
  auto product = [&](uint32_t factor, Value *v) {
    return b.CreateMul(b.CreateZExt(v, i64), b.getInt64(factor));
  };
  Value *c0 = low(element), *c1 = high(element);
  Value *c2 = b.getInt32(uint32_t(opId)), *c3 = b.getInt32(opId >> 32);
  Value *k0 = low(key), *k1 = high(key);
  for (int round = 0; round < 10; ++round) {
    Value *p0 = product(0xD2511F53u, c0), *p1 = product(0xCD9E8D57u, c2);
    c0 = b.CreateXor(b.CreateXor(high(p1), c1), k0);
    c2 = b.CreateXor(b.CreateXor(high(p0), c3), k1);
    c1 = low(p1);
    c3 = low(p0);
    k0 = b.CreateAdd(k0, b.getInt32(0x9E3779B9u));
    k1 = b.CreateAdd(k1, b.getInt32(0xBB67AE85u));
  }
  Value *bits = b.CreateLShr(c0, b.getInt32(8));
  return b.CreateICmpUGE(bits, b.getInt32(threshold));
}
