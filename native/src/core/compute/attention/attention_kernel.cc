#include "core/compute/attention/attention_kernel.h"

#include "core/compute/kernels.h"

namespace aana::compute {

#ifdef AANA_HAS_AVX512_KERNELS
AttentionKernel Avx512Attention(int64_t n_values);

AttentionKernel FastAttention(int64_t n_values) { return FastKernels() ? Avx512Attention(n_values) : nullptr; }
#else
AttentionKernel FastAttention(int64_t) { return nullptr; }
#endif

}  // namespace aana::compute
