#pragma once

#include <string>

namespace aana::llama {

// Throws LoadError that says what is wrong when the file at `path` is missing, unreadable, not GGUF or shorter than its header says.
void CheckGguf(const std::string& path);

}  // namespace aana::llama
