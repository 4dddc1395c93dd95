//===- ModelOptions.td - options of `stretto model` ---------*- tablegen -*-===//
include "stretto/Support/Options.td"

def help : Switch<"help", "Print this help">;
def h : Flag<["-"], "h">, Alias<help>;
def o : JoinedOrSeparate<["-"], "o">, MetaVarName<"FILE">,
        HelpText<"Write the model to FILE instead of the standard output">;

defm layers : Value<"layers", "N", "Number of decoder layers (4)">;
defm embed : Value<"embed", "N", "Width of the residual stream (256)">;
defm heads : Value<"heads", "N", "Attention heads (8)">;
defm kv_heads : Value<"kv-heads", "N", "Key and value heads; must divide the heads (as many as heads)">;
defm head_dim : Value<"head-dim", "N", "Size of a head (embed / heads)">;
defm ffn : Value<"ffn", "N", "Inner width of the MLP (gpt: 4 * embed; llama: 8/3 * embed, rounded up to a multiple of 64)">;
defm vocab : Value<"vocab", "N", "Size of the vocabulary (256: bytes)">;
defm max_seq : Value<"max-seq", "N", "gpt: rows of the position table, the longest sequence (256)">;
defm rope_base : Value<"rope-base", "X", "llama: base of the rotary frequencies (10000)">;
defm dropout : Value<"dropout", "P", "Dropout probability of attention, branches and embedding (0)">;
defm label_smoothing : Value<"label-smoothing", "S", "Label smoothing of the loss (0)">;
defm norm_epsilon : Value<"norm-epsilon", "X", "Added to variances (1e-5)">;
defm init_stddev : Value<"init-stddev", "X", "Standard deviation of initial weights (0.02)">;
def qk_norm : Switch<"qk-norm", "Normalise queries and keys over the head dimension">;
def tied : Switch<"tied", "The head reads the embedding table (default for gpt)">;
def untied : Switch<"untied", "The head has its own table (default for llama)">;
def bias : Switch<"bias", "Biases on all projections (default for gpt)">;
def no_bias : Switch<"no-bias", "No biases on projections (default for llama)">;
