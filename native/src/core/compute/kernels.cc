#include "core/compute/kernels.h"

#include "core/compute/kernel_sets.h"

namespace aana::compute {

const Kernels* FastKernels() { return FastKernelSet() ? &FastKernelSet()->speech : nullptr; }

size_t AttentionScratch(int n) {
  const size_t n_padded = (static_cast<size_t>(n) + kHead - 1) / kHead * kHead;
  return 2 * n_padded * kHead + kAttentionRows * (n_padded + kHead);
}

size_t SharedAttentionScratch(int n, int n_queries) {
  const size_t n_padded = (static_cast<size_t>(n) + kLanes - 1) / kLanes * kLanes;
  const size_t of_cells = 2 * n_padded + kLanes * kHead;
  return of_cells + static_cast<size_t>(n_queries) * (n_padded + 2 * kHead);
}

}  // namespace aana::compute
