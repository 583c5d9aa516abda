#include "core/compute/kernels.h"

#include <algorithm>

#include "core/compute/kernel_sets.h"

namespace aana::compute {

const Kernels* FastKernels() { return FastKernelSet() ? &FastKernelSet()->speech : nullptr; }

size_t AttentionScratch(int n) {
  const size_t n_padded = (static_cast<size_t>(n) + kHead - 1) / kHead * kHead;
  return 2 * n_padded * kHead + kAttentionRows * (n_padded + kHead);
}

size_t ConvolutionScratch(int n_out_channels) {
  // A tile of the input, weights of some channels, and a tile of the output.
  return static_cast<size_t>(kHead * (kHead + kLanes + n_out_channels));
}

size_t SharedAttentionScratch(int n, int n_queries) {
  const int n_padded = (n + kCellLanes - 1) / kCellLanes * kCellLanes;
  return AttentionScratchValues(std::min(n_queries, kSharedQueries), n_padded, kHead);
}

}  // namespace aana::compute
