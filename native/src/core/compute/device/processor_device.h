#pragma once

#include <ggml-backend.h>

namespace aana::compute {

// A device for llama.cpp that keeps the quantized matrices of language models packed, and computes products with them
// and attention with our kernels. All other operations go on to ggml's processor backend. ggml's registry does not know
// it: a model is put on it by name, as on a GPU, because llama.cpp divides graphs where layers and their matrices are
// on different devices. For models without layers on a GPU only, because llama.cpp lends large batches to a GPU only
// from its processor backend. Null on a processor that lacks the instructions.
ggml_backend_dev_t ProcessorDevice();

}  // namespace aana::compute
