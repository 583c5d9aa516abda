#include "core/compute/kernel_sets.h"

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
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

static const KernelSet* ChooseKernelSet() {
  const auto sets = KernelSets();
  const auto* asked = std::getenv("AANA_KERNELS");
  if (!asked || *asked == '\0') return sets.empty() ? nullptr : &sets.front();
  const std::string_view name = asked;
  if (name == "none") return nullptr;
  std::string known;
  for (const auto& set : sets) {
    if (name == set.name) return &set;
    known += std::string(set.name) + ", ";
  }
  throw std::invalid_argument("AANA_KERNELS is \"" + std::string(name) + "\"; on this processor it can be " + known +
                              "none");
}

const KernelSet* FastKernelSet() {
  static const auto* const set = ChooseKernelSet();
  return set;
}

}  // namespace aana::compute
