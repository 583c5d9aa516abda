#pragma once

#include <cstddef>
#include <cstdint>

// Computations for processors with AVX-512 and VNNI, many times as fast as ggml's for matrices with many columns. Pointers need no alignment.
namespace aana::compute {

// Numbers of a Q8_0 block, which share a scale.
inline constexpr int kBlock = 32;
// Rows of weights that are computed together.
inline constexpr int kLanes = 16;
// Values of an attention head.
inline constexpr int kHead = 64;

// Returns the bytes of a row of `n_in` quantised values: the values, a scale for each block, and a correction for each block.
constexpr size_t QuantisedBytes(int n_in) { return static_cast<size_t>(n_in) + static_cast<size_t>(n_in) / kBlock * 8; }

struct Kernels {
  // Reorders `n_out` rows of `n_in` weights in ggml's Q8_0 for the next functions, in place. `n_in` is a multiple of 32. The last rows, fewer than 16,
  // stay as they are.
  void (*pack)(void* weights, int n_in, int n_out);
  // Returns the values of a row of packed weights.
  void (*unpack)(const void* weights, int n_in, int n_out, int row, float* values);
  // Quantises a row of `n_in` values to 8 bits, with a scale for each block, as ggml does for Q8_0.
  void (*quantise)(const float* values, int n_in, void* row);
  // Multiplies `n_rows` quantised rows by packed weights: out[row * n_out + o] for each o from `begin`, a multiple of 16, to `end`, which is one too or
  // `n_out`.
  void (*multiply)(const void* weights, const void* rows, int n_in, int n_out, int n_rows, int begin, int end, float* out);
  // Softmax attention without a mask of `n` tokens for a head. Rows of `q`, `k`, `v` and `out` are `stride` values apart. Computes the rows from
  // `begin` to `end`. `scratch` has room for AttentionScratch(n) values.
  void (*attend)(const float* q, const float* k, const float* v, float* out, size_t stride, int n, int begin, int end, float* scratch);
  // Softmax attention of `n_queries` tokens to the same `n` positions for a head. Rows of `q` and `out` are `q_stride` values apart. Keys and values are
  // halves, `stride` of them apart. `scratch` has room for SharedAttentionScratch(n, n_queries) values. Scores are not scaled. The result of a token does
  // not depend on the other tokens.
  void (*attend_many)(const float* q, size_t q_stride, int n_queries, const uint16_t* k, const uint16_t* v, size_t stride, int n, float* out, float* scratch);
  // Softmax attention of one token to the `n` positions that `cells` names. `scores` has room for `n` values, up to a multiple of 16.
  void (*attend_cells)(const float* q, const uint16_t* k, const uint16_t* v, size_t stride, const int32_t* cells, int n, float* out, float* scores);
  // GELU by its approximation with tanh, as ggml's.
  void (*gelu)(const float* values, float* out, size_t n);
};

size_t AttentionScratch(int n);
size_t SharedAttentionScratch(int n, int n_queries);
// Rows that attend() computes together.
inline constexpr int kAttentionRows = 24;

// Returns null for a processor that lacks the instructions.
const Kernels* FastKernels();

}  // namespace aana::compute
