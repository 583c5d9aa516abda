#pragma once

#include <llama.h>

namespace aana::llama {

// Whether tokens can be taken out of the middle of a sequence of this context, whose keys have the type `key_type`.
bool CanShift(llama_context* context, ggml_type key_type);

}  // namespace aana::llama
