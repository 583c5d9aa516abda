#pragma once

#include <ggml-backend.h>

namespace aana::compute {

// Adds a device to ggml's registry that keeps the quantized matrices of language models packed, and computes products
// with them and attention with our kernels. All other operations go on to ggml's processor backend. Does nothing on a
// processor that lacks the instructions, and after the first call.
//
// llama.cpp finds the device among the accelerators: it puts the matrices that the device takes into the device's
// buffers, and gives it the graphs. For models without layers on a GPU only, because llama.cpp lends large batches to a
// GPU only from its processor backend.
void RegisterProcessorDevice();

// The device, whether it is registered or not.
ggml_backend_dev_t ProcessorDevice();

}  // namespace aana::compute
