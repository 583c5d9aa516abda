// Compiled with options for AVX2. It includes no header of the C++ library with templates, because the linker could
// take such a function from here for the rest of the program, which runs on other processors too.
#include "core/compute/attention/cell_attention.h"
#include "core/compute/convolution.h"
#include "core/compute/matrix/matrix_products.h"
#include "core/compute/speech_kernels.h"

namespace aana::compute {

extern const KernelSet kAvx2Kernels;
const KernelSet kAvx2Kernels = {
    .name = "avx2",
    .matrix = {.quantize = QuantizeInput, .multiply = MultiplyInputs},
    .attention = CellAttention,
    .speech = {.quantize = Quantize,
               .multiply = Multiply,
               .attend = AttendDensely,
               .attend_many = AttendMany,
               .attend_cells = AttendCells,
               .convolve = Convolve,
               .to_halves = ToHalves,
               .gelu = Gelu},
};

}  // namespace aana::compute
