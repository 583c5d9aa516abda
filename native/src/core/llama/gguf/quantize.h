#pragma once

#include <string>

namespace aana {

// Writes the model of `source`, a GGUF file or the first part of a split model, with another type of weights to
// `target`. `type` is a name such as "q8_0"; `threads` compute. Throws std::runtime_error for an unknown type and for a
// model that cannot be written so. ggml ends the process on internal errors, so this runs in a process of its own.
void QuantizeModel(const std::string& source, const std::string& target, const std::string& type, int threads);

}  // namespace aana
