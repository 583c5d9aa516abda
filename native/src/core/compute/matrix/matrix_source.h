#pragma once

#include <ggml.h>

#include <cstdint>
#include <optional>

#include "core/compute/matrix/matrix_form.h"

// Reads matrices in ggml's types.
namespace aana::compute {

// Returns nothing for a type that the kernels do not know.
std::optional<MatrixForm> FormOf(ggml_type type);

// Packs `n_out` rows of `n_in` values, which is a multiple of the type's block, into `packed`, which has room for
// MatrixBytes(). Scales of ggml's types with two levels are rounded to halves.
void PackMatrix(ggml_type type, const void* weights, int64_t n_in, int64_t n_out, void* packed);

}  // namespace aana::compute
