#!/usr/bin/env python3
"""Makes test/fixtures/*.safetensors: tiny models trained for five steps by JAX.

The numbers judge Stretto's gradients and optimizer from outside: nothing here
shares code with it. Models, names and shapes are those of `stretto model gpt` and
`stretto model llama`; everything is computed in f64. Needs numpy, jax and optax
(made with jax 0.10.2, optax 0.2.8); the tests need none of them.

A fixture holds
  init/NAME, final/NAME  parameters before and after the steps
  grad/NAME              the gradient of step 1, before clipping
  tokens, labels, mask   [steps, batch, seq] (i32, i32, f64)
  loss, count, grad_norm, lr   [steps]

usage: utils/make-fixtures.py [FOLDER]
"""

import json
import os
import struct
import sys

os.environ["JAX_ENABLE_X64"] = "1"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np
import optax

STEPS, BATCH, SEQ = 5, 4, 8
EPS = 1e-5
SMOOTHING = 0.1
BETA1, BETA2, ADAM_EPS, WEIGHT_DECAY, CLIP = 0.9, 0.95, 1e-8, 0.1, 1.0
PEAK_LR, MIN_LR, WARMUP = 2e-2, 2e-3, 2


# ---------------------------------------------------------------------------
# The pieces of a decoder-only model
# ---------------------------------------------------------------------------

def layer_norm(x, scale, shift):
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) / jnp.sqrt(variance + EPS) * scale + shift


def rms_norm(x, scale):
    return x / jnp.sqrt((x ** 2).mean(-1, keepdims=True) + EPS) * scale


def rope(x, base=10000.0):
    """Llama's half-split order: pairs are (x[i], x[i + d/2])."""
    seq, dim = x.shape[1], x.shape[3]
    angle = jnp.arange(seq)[:, None] * base ** (-2 * jnp.arange(dim // 2) / dim)
    cos, sin = jnp.cos(angle)[None, :, None], jnp.sin(angle)[None, :, None]
    a, b = x[..., : dim // 2], x[..., dim // 2:]
    return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], -1)


def attention(q, k, v):
    """Causal; query head h reads key and value head h // (heads / kv heads)."""
    repeats = q.shape[2] // k.shape[2]
    k, v = jnp.repeat(k, repeats, axis=2), jnp.repeat(v, repeats, axis=2)
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(q.shape[-1])
    seq = q.shape[1]
    scores = jnp.where(np.tril(np.ones((seq, seq), bool)), scores, -jnp.inf)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, -1), v)


def token_losses(logits, labels):
    """Cross-entropy against (1 - s) onehot + s / vocabulary."""
    log_p = jax.nn.log_softmax(logits, -1)
    target = optax.smooth_labels(jax.nn.one_hot(labels, logits.shape[-1]), SMOOTHING)
    return -(target * log_p).sum(-1)


def linear(spec, x, p, group, name):
    y = jnp.einsum(spec, x, p[f"{group}.w{name}"])
    bias = f"{group}.b{name}"
    return y + p[bias] if bias in p else y


# ---------------------------------------------------------------------------
# The two models
# ---------------------------------------------------------------------------

class Gpt:
    layers, embed, heads, head_dim, ffn, vocab, positions = 2, 16, 4, 4, 32, 29, 12

    def shapes(self):
        e, h, d, f, v = self.embed, self.heads, self.head_dim, self.ffn, self.vocab
        shapes = {"embed.table": (v, e), "embed.positions": (self.positions, e)}
        for n in range(self.layers):
            layer = {"attn_norm.scale": (e,), "attn_norm.shift": (e,)}
            for name in "qkv":
                layer[f"attn.w{name}"] = (e, h, d)
                layer[f"attn.b{name}"] = (h, d)
            layer.update({"attn.wo": (h, d, e), "attn.bo": (e,),
                          "mlp_norm.scale": (e,), "mlp_norm.shift": (e,),
                          "mlp.w1": (e, f), "mlp.b1": (f,),
                          "mlp.w2": (f, e), "mlp.b2": (e,)})
            shapes.update({f"layers.{n}.{k}": s for k, s in layer.items()})
        return {**shapes, "head.norm.scale": (e,), "head.norm.shift": (e,)}

    def logits(self, p, tokens):
        x = p["embed.table"][tokens] + p["embed.positions"][: tokens.shape[1]]
        for n in range(self.layers):
            lp = sub(p, f"layers.{n}")
            y = layer_norm(x, lp["attn_norm.scale"], lp["attn_norm.shift"])
            q, k, v = (linear("bse,ehd->bshd", y, lp, "attn", c) for c in "qkv")
            x = x + linear("bshd,hde->bse", attention(q, k, v), lp, "attn", "o")
            y = layer_norm(x, lp["mlp_norm.scale"], lp["mlp_norm.shift"])
            y = jax.nn.gelu(linear("bse,ef->bsf", y, lp, "mlp", "1"), approximate=True)
            x = x + linear("bsf,fe->bse", y, lp, "mlp", "2")
        x = layer_norm(x, p["head.norm.scale"], p["head.norm.shift"])
        return x @ p["embed.table"].T


class Llama:
    layers, embed, heads, kv_heads, head_dim, ffn, vocab = 2, 16, 4, 2, 4, 24, 31

    def shapes(self):
        e, h, g, d, f, v = (self.embed, self.heads, self.kv_heads, self.head_dim,
                            self.ffn, self.vocab)
        shapes = {"embed.table": (v, e)}
        for n in range(self.layers):
            layer = {"attn_norm.scale": (e,), "attn.wq": (e, h, d),
                     "attn.wk": (e, g, d), "attn.wv": (e, g, d),
                     "attn.q_norm": (d,), "attn.k_norm": (d,),
                     "attn.wo": (h, d, e), "mlp_norm.scale": (e,),
                     "mlp.wgate": (e, f), "mlp.wup": (e, f), "mlp.wdown": (f, e)}
            shapes.update({f"layers.{n}.{k}": s for k, s in layer.items()})
        return {**shapes, "head.norm.scale": (e,), "head.table": (v, e)}

    def logits(self, p, tokens):
        x = p["embed.table"][tokens]
        for n in range(self.layers):
            lp = sub(p, f"layers.{n}")
            y = rms_norm(x, lp["attn_norm.scale"])
            q, k, v = (linear("bse,ehd->bshd", y, lp, "attn", c) for c in "qkv")
            q = rope(rms_norm(q, lp["attn.q_norm"]))
            k = rope(rms_norm(k, lp["attn.k_norm"]))
            x = x + linear("bshd,hde->bse", attention(q, k, v), lp, "attn", "o")
            y = rms_norm(x, lp["mlp_norm.scale"])
            gate = jax.nn.silu(linear("bse,ef->bsf", y, lp, "mlp", "gate"))
            y = gate * linear("bse,ef->bsf", y, lp, "mlp", "up")
            x = x + linear("bsf,fe->bse", y, lp, "mlp", "down")
        return rms_norm(x, p["head.norm.scale"]) @ p["head.table"].T


def sub(p, prefix):
    return {k[len(prefix) + 1:]: v for k, v in p.items() if k.startswith(prefix + ".")}


# ---------------------------------------------------------------------------
# Data and training
# ---------------------------------------------------------------------------

def decays(name):
    """Matrices decay; norms and biases do not."""
    leaf = name.split(".")[-1]
    return not (leaf in ("scale", "shift", "q_norm", "k_norm") or leaf.startswith("b"))


def initial(shapes, rng):
    """Large enough that every path carries a gradient, norms off their start."""
    parameters = {}
    for name, shape in shapes.items():
        leaf = name.split(".")[-1]
        centre = 1.0 if leaf in ("scale", "q_norm", "k_norm") else 0.0
        parameters[name] = jnp.asarray(centre + 0.3 * rng.standard_normal(shape))
    return parameters


def data(vocab, rng):
    """Random tokens; of each sample a prefix counts, of some nothing."""
    tokens = rng.integers(0, vocab, (STEPS, BATCH, SEQ + 1)).astype(np.int32)
    lengths = rng.integers(0, SEQ + 1, (STEPS, BATCH))
    lengths[0] = [SEQ, 1, SEQ // 2 + 1, 0]
    mask = (np.arange(SEQ) < lengths[..., None]).astype(np.float64)
    return tokens[..., :-1], tokens[..., 1:], mask


def learning_rate(step):
    if step <= WARMUP:
        return PEAK_LR * step / WARMUP
    progress = (step - WARMUP) / (STEPS - WARMUP)
    return MIN_LR + (PEAK_LR - MIN_LR) * 0.5 * (1 + np.cos(np.pi * progress))


def train(model, seed):
    rng = np.random.default_rng(seed)
    parameters = initial(model.shapes(), rng)
    tokens, labels, mask = data(model.vocab, rng)
    fixture = {f"init/{k}": v for k, v in parameters.items()}
    fixture.update(tokens=tokens, labels=labels, mask=mask)

    def loss(p, t, l, m):
        return (token_losses(model.logits(p, t), l) * m).sum() / m.sum()

    optimizer = optax.inject_hyperparams(optax.adamw, static_args="mask")(
        learning_rate=0.0, b1=BETA1, b2=BETA2, eps=ADAM_EPS,
        weight_decay=WEIGHT_DECAY, mask={k: decays(k) for k in parameters})
    state = optimizer.init(parameters)
    losses, norms, rates = [], [], []
    for step in range(STEPS):
        value, grads = jax.value_and_grad(loss)(parameters, tokens[step], labels[step],
                                                mask[step])
        norm = optax.global_norm(grads)
        if step == 0:
            fixture.update({f"grad/{k}": v for k, v in grads.items()})
        # As torch.nn.utils.clip_grad_norm_ has it.
        scale = jnp.minimum(1.0, CLIP / (norm + 1e-6))
        grads = jax.tree.map(lambda g: g * scale, grads)
        state.hyperparams["learning_rate"] = jnp.asarray(learning_rate(step + 1))
        updates, state = optimizer.update(grads, state, parameters)
        parameters = optax.apply_updates(parameters, updates)
        losses.append(value)
        norms.append(norm)
        rates.append(learning_rate(step + 1))
    fixture.update({f"final/{k}": v for k, v in parameters.items()})
    fixture.update(loss=losses, grad_norm=norms, lr=rates, count=mask.sum((1, 2)))
    return {k: np.asarray(v) for k, v in fixture.items()}


# ---------------------------------------------------------------------------
# Files
# ---------------------------------------------------------------------------

def write_safetensors(path, tensors):
    kinds = {np.dtype(np.float64): "F64", np.dtype(np.int32): "I32"}
    header, offset, blobs = {}, 0, []
    # Wider elements first keeps every tensor aligned.
    for name in sorted(tensors, key=lambda k: (-tensors[k].itemsize, k)):
        blob = np.ascontiguousarray(tensors[name]).tobytes()
        header[name] = {"dtype": kinds[tensors[name].dtype],
                        "shape": list(tensors[name].shape),
                        "data_offsets": [offset, offset + len(blob)]}
        offset += len(blob)
        blobs.append(blob)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def main():
    default = os.path.join(os.path.dirname(__file__), "..", "test", "fixtures")
    folder = sys.argv[1] if len(sys.argv) > 1 else default
    for name, model, seed in (("tiny-gpt", Gpt(), 1), ("tiny-llama", Llama(), 2)):
        fixture = train(model, seed)
        path = os.path.join(folder, name + ".safetensors")
        write_safetensors(path, fixture)
        print(f"{path}: {os.path.getsize(path)} bytes, loss {fixture['loss']}, "
              f"norm {fixture['grad_norm']}")


if __name__ == "__main__":
    main()
