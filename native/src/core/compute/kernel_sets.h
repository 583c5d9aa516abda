#pragma once

#include <span>

#include "core/compute/kernels.h"

namespace aana::compute {

// The sets whose instructions this processor has, the fastest one first.
std::span<const KernelSet> KernelSets();

// The fastest set, or the one that the environment variable AANA_KERNELS names (`none` is ggml's own kernels). Null
// where there is none. Throws std::invalid_argument for a name that this processor has no set of.
const KernelSet* FastKernelSet();

}  // namespace aana::compute
