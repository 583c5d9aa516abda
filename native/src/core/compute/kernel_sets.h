#pragma once

#include <span>

#include "core/compute/attention/attention_kernel.h"
#include "core/compute/kernels.h"
#include "core/compute/matrix/matrix_kernels.h"

namespace aana::compute {

// Kernels that are compiled for the instructions of a kind of processor.
struct KernelSet {
  const char* name;
  const MatrixKernels& matrix;
  // Returns null for heads of a size that has no kernel. Every set has kernels for 64, 80, 96, 128 and 256 values.
  AttentionKernel (*attention)(int64_t n_values);
  const Kernels& speech;
};

// The sets whose instructions this processor has, the fastest one first.
std::span<const KernelSet> KernelSets();

// The fastest set, or null where there is none.
const KernelSet* FastKernelSet();

}  // namespace aana::compute
