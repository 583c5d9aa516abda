#pragma once

#include <string>

namespace aana::llama {

// Names a file by its length, the time of its last change, its beginning and its end. Throws
// std::filesystem::filesystem_error.
std::string IdentityOfFile(const std::string& path);

}  // namespace aana::llama
