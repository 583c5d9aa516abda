#include "core/compute/matrix/matrix_kernels.h"

#include "core/compute/kernels.h"

namespace aana::compute {

#ifdef AANA_HAS_AVX512_KERNELS
extern const MatrixKernels kAvx512MatrixKernels;

const MatrixKernels* FastMatrixKernels() { return FastKernels() ? &kAvx512MatrixKernels : nullptr; }
#else
const MatrixKernels* FastMatrixKernels() { return nullptr; }
#endif

}  // namespace aana::compute
