#pragma once

#include <string>

namespace aana {

// Throws WhisperError that names the file and the system's reason if it cannot be read.
void CheckReadable(const std::string& path);

// Text for a file that was read but is not the model it should be.
std::string NotLoaded(const std::string& path, const std::string& what, const std::string& reason = "");

}  // namespace aana
