#pragma once

#include <cstddef>
#include <cstdint>

#include "core/compute/attention/attention_kernel.h"
#include "core/compute/matrix/matrix_kernels.h"

// Computations of speech models, faster than ggml's for matrices with many columns and for attention. Pointers need no
// alignment.
namespace aana::compute {

// Numbers of a Q8_0 block, which share a scale.
inline constexpr int kBlock = 32;
// Rows of weights that are computed together.
inline constexpr int kLanes = 16;
// Values of an attention head.
inline constexpr int kHead = 64;

// Returns the bytes of a row of `n_in` quantized values.
constexpr size_t QuantizedBytes(int n_in) { return InputBytes(n_in, 1); }

// Weights of a convolution for each channel of its input.
inline constexpr int kConvolutionTaps = 3;

// A convolution over positions, with a position of zeros before the first one and after the last one. `x` has `n_in`
// positions for each channel, and `out` has `n_out`, which are `stride` positions of `x` apart. `weights` are halves in
// the order [channel of the output][channel of the input][tap].
struct ConvolutionTask {
  const uint16_t* weights;
  const float* x;
  float* out;
  int n_in_channels;
  int n_out_channels;
  int n_in;
  int n_out;
  int stride;
};

struct Kernels {
  // Quantizes one of `n_rows` rows of `n_in` values to 8 bits, with a scale for each block, as ggml does for Q8_0.
  // `row` says which. `rows` has QuantizedBytes() for each.
  void (*quantize)(const float* values, int n_in, int n_rows, int row, void* rows);
  // Multiplies `n_rows` quantized rows by weights of PackRows(): out[row * n_out + o] for each o from `begin`, a
  // multiple of 16, to `end`, which is one too or `n_out`.
  void (*multiply)(const void* weights, const void* rows, int n_in, int n_out, int n_rows, int begin, int end,
                   float* out);
  // Softmax attention without a mask of `n` tokens for a head. Rows of `q`, `k`, `v` and `out` are `stride` values
  // apart. Computes the rows from `begin` to `end`. `scratch` has room for AttentionScratch(n) values.
  void (*attend)(const float* q, const float* k, const float* v, float* out, size_t stride, int n, int begin, int end,
                 float* scratch);
  // Softmax attention of `n_queries` tokens to the same `n` positions for a head. Rows of `q` and `out` are `q_stride`
  // values apart. Keys and values are halves, `stride` of them apart. `scratch` has room for SharedAttentionScratch(n,
  // n_queries) values. Scores are not scaled. The result of a token does not depend on the other tokens.
  void (*attend_many)(const float* q, size_t q_stride, int n_queries, const uint16_t* k, const uint16_t* v,
                      size_t stride, int n, float* out, float* scratch);
  // Softmax attention of one token to the `n` positions that `cells` names. `scratch` has room for
  // SharedAttentionScratch(n, 1) values.
  void (*attend_cells)(const float* q, const uint16_t* k, const uint16_t* v, size_t stride, const int32_t* cells, int n,
                       float* out, float* scratch);
  // Computes the positions of a convolution from `begin`, a multiple of 64, to `end`, which is one too or `n_out`.
  // `scratch` has room for ConvolutionScratch() values.
  void (*convolve)(const ConvolutionTask& task, int begin, int end, float* scratch);
  // Rounds `n` values, a multiple of 16, to halves.
  void (*to_halves)(const float* values, size_t n, uint16_t* out);
  // GELU by its approximation with tanh, as ggml's.
  void (*gelu)(const float* values, float* out, size_t n);
};

// Kernels that are compiled for the instructions of a kind of processor.
struct KernelSet {
  const char* name;
  MatrixKernels matrix;
  // Returns null for heads of a size that has no kernel: those of a multiple of 16 up to 256 values have one.
  AttentionKernel (*attention)(int64_t n_values);
  Kernels speech;
};

size_t AttentionScratch(int n);
size_t SharedAttentionScratch(int n, int n_queries);
size_t ConvolutionScratch(int n_out_channels);
// Rows that attend() computes together.
inline constexpr int kAttentionRows = 24;
// Queries that attend_many() computes together.
inline constexpr int kSharedQueries = 24;

// Returns null for a processor that lacks the instructions.
const Kernels* FastKernels();

}  // namespace aana::compute
