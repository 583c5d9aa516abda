#include "core/compute/kernel_sets.h"

#include <vector>

namespace aana::compute {

#ifdef AANA_HAS_X86_KERNELS
extern const KernelSet kAvx512Kernels;
extern const KernelSet kAvx2Kernels;

namespace {

// The processor is asked when the program runs, because addons are built on one machine and used on another.
std::vector<KernelSet> FindKernelSets() {
  std::vector<KernelSet> sets;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vnni")) {
    sets.push_back(kAvx512Kernels);
  }
  // All processors with AVX2 and FMA convert halves (F16C).
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) sets.push_back(kAvx2Kernels);
  return sets;
}

}  // namespace
#else
static std::vector<KernelSet> FindKernelSets() { return {}; }
#endif

std::span<const KernelSet> KernelSets() {
  static const auto sets = FindKernelSets();
  return sets;
}

const KernelSet* FastKernelSet() { return KernelSets().empty() ? nullptr : &KernelSets().front(); }

}  // namespace aana::compute
