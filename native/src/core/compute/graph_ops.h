#pragma once

#include <ggml.h>

// Operations for graphs of ggml that the kernels compute, where the weights are in main memory and the processor has the instructions. Elsewhere
// these functions add ggml's own operations.
namespace aana::compute {

// Reorders weights in place, if they are a Q8_0 matrix of a fitting size. After that only MulMat and GetRows can use them. Not thread-safe.
void PackWeights(ggml_tensor* weights);

// Returns weights · x, as ggml_mul_mat does.
ggml_tensor* MulMat(ggml_context* context, ggml_tensor* weights, ggml_tensor* x);

// Returns rows of the weights, as ggml_get_rows does.
ggml_tensor* GetRows(ggml_context* context, ggml_tensor* weights, ggml_tensor* rows);

// Returns the softmax attention of each token to all tokens in `n_heads` heads. `q`, `k`, `v` and the result have the shape [values, tokens]. Returns
// null where the kernels cannot compute it. `weights` are any of the model's.
ggml_tensor* Attention(ggml_context* context, ggml_tensor* q, ggml_tensor* k, ggml_tensor* v, int n_heads, const ggml_tensor* weights);

// Returns the softmax attention of each token of `q` [values, tokens] to `n` tokens, whose keys and values are views [64, at least n, heads] of halves.
// Scores are multiplied by `scale`. Returns null where the kernels cannot compute it.
ggml_tensor* CrossAttention(ggml_context* context, ggml_tensor* q, ggml_tensor* k, ggml_tensor* v, int n, float scale, const ggml_tensor* weights);

// Returns ggml_gelu(x). `weights` are any of the model's.
ggml_tensor* Gelu(ggml_context* context, ggml_tensor* x, const ggml_tensor* weights);

}  // namespace aana::compute
