#!/usr/bin/env python3
"""Fits the polynomials and rationals of lib/Conversion/ScalarMath.cpp.

Every function is fitted for relative error at Chebyshev nodes, with weights
moved toward the peaks of the error (Lawson's iteration). Prints coefficients,
lowest degree first, and the largest relative error in double precision.
"""
import math
import struct


def solve(matrix, vector):
    n = len(vector)
    rows = [list(r) + [v] for r, v in zip(matrix, vector)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(n):
            if r != i:
                f = rows[r][i] / rows[i][i]
                rows[r] = [a - f * b for a, b in zip(rows[r], rows[i])]
    return [rows[i][n] / rows[i][i] for i in range(n)]


def least_squares(design, target, weights):
    """Modified Gram-Schmidt: the normal equations would lose half the digits."""
    cols = [[w * row[j] for row, w in zip(design, weights)] for j in range(len(design[0]))]
    rest = [w * t for t, w in zip(target, weights)]
    n = len(cols)
    r = [[0.0] * n for _ in range(n)]
    z = [0.0] * n
    for j in range(n):
        for _ in range(2):
            for i in range(j):
                dot = sum(a * b for a, b in zip(cols[i], cols[j]))
                r[i][j] += dot
                cols[j] = [b - dot * a for a, b in zip(cols[i], cols[j])]
        r[j][j] = math.sqrt(sum(a * a for a in cols[j]))
        cols[j] = [a / r[j][j] for a in cols[j]]
        z[j] = sum(a * b for a, b in zip(cols[j], rest))
        rest = [b - z[j] * a for a, b in zip(cols[j], rest)]
    x = [0.0] * n
    for j in reversed(range(n)):
        x[j] = (z[j] - sum(r[j][k] * x[k] for k in range(j + 1, n))) / r[j][j]
    return x


def fit(name, function, low, high, top, bottom=0, nodes=240, rounds=60):
    """function(t) ~ P(t) / Q(t), deg P = top, deg Q = bottom, Q(0) = 1."""
    ts = [(low + high) / 2 + (high - low) / 2 * math.cos(math.pi * (i + 0.5) / nodes) for i in range(nodes)]
    fs = [function(t) for t in ts]
    scale = max(abs(low), abs(high))
    weights, q = [1.0] * nodes, [1.0] * nodes
    best = None
    for _ in range(rounds):
        design = [[(t / scale) ** i for i in range(top + 1)] + [-f * (t / scale) ** i for i in range(1, bottom + 1)]
                  for t, f in zip(ts, fs)]
        w = [math.sqrt(a) / abs(f * b) for a, f, b in zip(weights, fs, q)]
        x = least_squares(design, fs, w)
        p = [c / scale**i for i, c in enumerate(x[:top + 1])]
        d = [1.0] + [c / scale**(i + 1) for i, c in enumerate(x[top + 1:])]
        q = [sum(c * t**i for i, c in enumerate(d)) for t in ts]
        errors = [abs(sum(c * t**i for i, c in enumerate(p)) / b / f - 1) for t, f, b in zip(ts, fs, q)]
        if best is None or max(errors) < best[0]:
            best = (max(errors), p, d)
        weights = [a * (e + 1e-3 * max(errors)) for a, e in zip(weights, errors)]
        total = sum(weights)
        weights = [a / total for a in weights]
    error, p, d = best
    rounded = lambda cs: ", ".join(repr(struct.unpack("f", struct.pack("f", c))[0]) for c in cs)
    print(f"{name}: error {error:.2e}\n  P {rounded(p)}\n  Q {rounded(d)}")


def over_t(f):
    return lambda t: f(math.sqrt(t)) / math.sqrt(t) if t > 0 else None


# exp(r) = 1 + r + r^2 E(r)
fit("exp", lambda r: (math.expm1(r) - r) / (r * r) if abs(r) > 1e-3 else 0.5 + r / 6 + r * r / 24, -0.3475, 0.3475, 4)
# log(1 + f) = f - f^2/2 + f^3 L(f)
fit("log", lambda f: (math.log1p(f) - f + f * f / 2) / f**3 if abs(f) > 1e-3 else 1 / 3 - f / 4 + f * f / 5, math.sqrt(0.5) - 1, math.sqrt(2) - 1, 8)
for top, bottom in ((6, 3), (5, 4), (4, 4)):
    fit(f"tanh {top}/{bottom}", over_t(math.tanh), 1e-6, 7.91**2, top, bottom)
for top, bottom in ((6, 4), (5, 4), (6, 3)):
    fit(f"erf {top}/{bottom}", over_t(math.erf), 1e-6, 3.925**2, top, bottom)
# sin(r) = r S(r^2), cos(r) = C(r^2), |r| <= pi/4
fit("sin", over_t(math.sin), 1e-6, (math.pi / 4)**2, 4)
fit("cos", lambda t: math.cos(math.sqrt(t)), 0, (math.pi / 4)**2, 5)
