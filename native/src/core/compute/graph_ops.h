#pragma once

#include <ggml-backend.h>
#include <ggml.h>

#include <cstdint>
#include <span>
#include <vector>

// Operations for graphs of ggml that the kernels compute, where the graph runs on a processor with the instructions.
// Elsewhere these functions add ggml's own operations.
namespace aana::compute {

// Returns the memory in which to load weights of this type and shape, for which ggml has chosen `chosen`. ggml keeps
// weights in a layout of its own where the processor has AMX, for instance, and PackWeights cannot reorder these.
ggml_backend_buffer_type_t MemoryFor(const ggml_tensor* weights, ggml_backend_buffer_type_t chosen);

// Reorders weights in place, if they are a Q8_0 matrix of a fitting size. After that only MulMat and GetRows can use
// them. Not thread-safe.
void PackWeights(ggml_tensor* weights);

// Returns weights · x, as ggml_mul_mat does.
ggml_tensor* MulMat(ggml_context* context, ggml_tensor* weights, ggml_tensor* x);

// Returns the convolution of `x` [positions, channels] with `weights` [taps, channels, outputs], padded with half of
// the taps, as ggml_conv_1d_ph does.
ggml_tensor* Convolution(ggml_context* context, ggml_tensor* weights, ggml_tensor* x, int stride, int dilation);

// Returns rows of the weights, as ggml_get_rows does.
ggml_tensor* GetRows(ggml_context* context, ggml_tensor* weights, ggml_tensor* rows);

// Returns the keys or values of a layer in a cache of encoded audio: a view [values of a head, positions, heads] of
// halves, so that the positions of a head follow one another and are read at the speed of the memory. A layer has
// `n_values * n_positions` halves.
ggml_tensor* HeadsOf(ggml_context* context, ggml_tensor* cache, int64_t n_values, int64_t n_heads, int64_t n_positions,
                     int64_t layer);

// Returns `heads`, whose first positions get the values of `x` [values, positions] when the graph is computed.
// `weights` are any of the model's.
ggml_tensor* StoreHeads(ggml_context* context, ggml_tensor* x, ggml_tensor* heads, const ggml_tensor* weights);

// Returns the softmax attention of each token to all tokens in `n_heads` heads. `q`, `k`, `v` and the result have the
// shape [values, tokens]. Returns null where the kernels cannot compute it. `weights` are any of the model's.
ggml_tensor* Attention(ggml_context* context, ggml_tensor* q, ggml_tensor* k, ggml_tensor* v, int n_heads,
                       const ggml_tensor* weights);

// Rows `begin` to `end` of queries, and the `n` positions that all of them attend to: views [64, positions, heads] of
// halves. Positions after the first `n` are zeros.
struct AudioRows {
  ggml_tensor* k;
  ggml_tensor* v;
  int n;
  int begin;
  int end;
};

// Returns the softmax attention of each token of `q` [values, tokens] to the audio of its group. The groups follow one
// another and hold all tokens. Scores are multiplied by `scale`. `groups` must live until the graph was computed.
// `masks` are inputs [positions, tokens] of halves for the groups, or null; only ggml's own operations need them.
// `weights` are any of the model's.
ggml_tensor* CrossAttention(ggml_context* context, ggml_tensor* q, const std::vector<AudioRows>& groups,
                            const std::vector<ggml_tensor*>& masks, float scale, const ggml_tensor* weights);

// The cells of a cache that each token attends to.
using CellLists = std::vector<std::span<const int32_t>>;

// Returns the softmax attention of each token of `q` [values, tokens] to its cells of a cache, whose keys and values
// are [values, cells] of halves. Scores are multiplied by `scale`. `cells` must live until the graph was computed.
// `mask` is an input [cells, tokens] of halves, or null where UsesKernels.
ggml_tensor* CellAttention(ggml_context* context, ggml_tensor* q, ggml_tensor* k, ggml_tensor* v,
                           const CellLists& cells, ggml_tensor* mask, int n_heads, float scale,
                           const ggml_tensor* weights);

// Whether the kernels compute CrossAttention and CellAttention of heads with `n_values` values for a model with such
// weights.
bool UsesKernels(int64_t n_values, const ggml_tensor* weights);

// Returns ggml_gelu(x), where the kernels compute in the memory of `x`, which nothing else may read. `weights` are any
// of the model's.
ggml_tensor* Gelu(ggml_context* context, ggml_tensor* x, const ggml_tensor* weights);

}  // namespace aana::compute
