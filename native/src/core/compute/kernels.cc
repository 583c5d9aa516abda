#include "core/compute/kernels.h"

namespace aana::compute {

#ifdef AANA_HAS_AVX512_KERNELS
extern const Kernels kAvx512Kernels;

const Kernels* FastKernels() {
  static const bool is_supported = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                                   __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vnni");
  return is_supported ? &kAvx512Kernels : nullptr;
}
#else
const Kernels* FastKernels() { return nullptr; }
#endif

size_t AttentionScratch(int n) {
  const size_t n_padded = (static_cast<size_t>(n) + kHead - 1) / kHead * kHead;
  return 2 * n_padded * kHead + kAttentionRows * (n_padded + kHead);
}

size_t SharedAttentionScratch(int n, int n_queries) {
  const size_t n_padded = (static_cast<size_t>(n) + kLanes - 1) / kLanes * kLanes;
  return static_cast<size_t>(n_queries) * (n_padded + 2 * kHead);
}

}  // namespace aana::compute
