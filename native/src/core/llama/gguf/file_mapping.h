#pragma once

#include <string>

namespace aana::llama {

// Gives back the memory of files of the directory of `path` that the process has mapped. What is used of them later is
// read again. Does nothing outside of Linux.
void ReleaseMappings(const std::string& path);

}  // namespace aana::llama
