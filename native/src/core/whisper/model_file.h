#pragma once

#include <string>

namespace aana {

// These functions check the structure of a file before whisper.cpp reads it. At some lengths whisper.cpp accepts a
// truncated file, at others it fails an assertion, which ends the process. They throw WhisperError with the name of the
// file and the defect.
void CheckWhisperFile(const std::string& path);
void CheckVoiceActivityFile(const std::string& path);

// Returns the message for a file that passed the check but could not be loaded.
std::string NotLoaded(const std::string& path, const std::string& reason = "");

}  // namespace aana
