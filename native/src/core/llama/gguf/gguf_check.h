#pragma once

#include <string>
#include <string_view>

namespace aana::llama {

// Throws LoadError that says what is wrong when the file at `path` is missing, unreadable, not GGUF or shorter than its
// header says. `what` is the kind of the file, for the message.
void CheckGguf(const std::string& path, std::string_view what = "model file");

}  // namespace aana::llama
