#pragma once

#include <span>

#include "core/compute/kernels.h"

namespace aana::compute {

// The sets whose instructions this processor has, the fastest one first.
std::span<const KernelSet> KernelSets();

// The fastest set, or null where there is none.
const KernelSet* FastKernelSet();

}  // namespace aana::compute
