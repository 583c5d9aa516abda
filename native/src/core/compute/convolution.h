#pragma once

#include "core/compute/attention/dense_attention.h"
#include "core/compute/kernels.h"
#include "core/compute/vectors.h"

// Convolutions over the positions of an audio, for the files with instructions.
namespace aana::compute {
namespace {

// Values of x that a tile of positions multiplies by the weights `first` to `first + kHead` of a channel: 64 rows of 64
// positions. Positions outside of x and weights after the last one are zeros.
void GatherTile(const ConvolutionTask& task, int first, int tile, float* columns) {
  for (int i = 0; i < kHead; i++, columns += kHead) {
    const int weight = first + i;
    const bool is_there = weight < kConvolutionTaps * task.n_in_channels;
    const float* x =
        task.x + static_cast<size_t>(is_there ? weight / kConvolutionTaps : 0) * static_cast<size_t>(task.n_in);
    const int tap = weight % kConvolutionTaps - kConvolutionTaps / 2;
    const int begin = tile == 0 && tap < 0 ? 1 : 0;
    int end = (task.n_in - tap + task.stride - 1) / task.stride - tile;
    end = !is_there ? 0 : end < kHead ? end : kHead;
    for (int t = 0; t < begin; t++) columns[t] = 0;
    for (int t = begin; t < end; t++) columns[t] = x[(tile + t) * task.stride + tap];
    for (int t = begin < end ? end : begin; t < kHead; t++) columns[t] = 0;
  }
}

// Kernels::convolve: products of weights, which are widened, with what GatherTile gathers. `out` has a row of positions
// for each channel, so a tile that ends behind the last position is computed in `scratch`.
void Convolve(const ConvolutionTask& task, int begin, int end, float* scratch) {
  float* columns = scratch;
  float* rows = columns + kHead * kHead;
  float* rest = rows + kGroupRows * kHead;
  const int n_weights = kConvolutionTaps * task.n_in_channels;
  const auto n_out = static_cast<size_t>(task.n_out);
  for (int tile = begin; tile < end; tile += kHead) {
    const int n_positions = task.n_out - tile < kHead ? task.n_out - tile : kHead;
    const bool is_whole = n_positions == kHead;
    for (int first = 0; first < n_weights; first += kHead) {
      const int n = n_weights - first < kHead ? n_weights - first : kHead;
      GatherTile(task, first, tile, columns);
      for (int channel = 0; channel < task.n_out_channels; channel += kGroupRows) {
        const float* from[kGroupRows];
        float* to[kGroupRows];
        for (int r = 0; r < kGroupRows; r++) {
          // The last group repeats the last channel.
          const int row = channel + r < task.n_out_channels ? channel + r : task.n_out_channels - 1;
          const uint16_t* weights =
              task.weights + static_cast<size_t>(row) * static_cast<size_t>(n_weights) + static_cast<size_t>(first);
          float* widened = rows + r * kHead;
          int i = 0;
          for (; i + kWidth <= n; i += kWidth) Store(widened + i, Load(weights + i));
          for (; i < kHead; i++) widened[i] = i < n ? _cvtsh_ss(weights[i]) : 0;
          from[r] = widened;
          to[r] = is_whole ? task.out + static_cast<size_t>(row) * n_out + tile : rest + row * kHead;
        }
        if (first == 0)
          MultiplyGroup<false>(from, columns, to);
        else
          MultiplyGroup<true>(from, columns, to);
      }
    }
    for (int row = 0; !is_whole && row < task.n_out_channels; row++)
      memcpy(task.out + static_cast<size_t>(row) * n_out + tile, rest + row * kHead,
             sizeof(float) * static_cast<size_t>(n_positions));
  }
}

}  // namespace
}  // namespace aana::compute
