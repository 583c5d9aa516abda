#pragma once

#include <string>

namespace aana {

// whisper.cpp takes a truncated file for a whole one at some lengths, and fails an assertion, which ends the process, at others. So a
// file's structure is walked through first. Both throw WhisperError that names the file and what is wrong with it.
void CheckWhisperFile(const std::string& path);
void CheckVoiceActivityFile(const std::string& path);

// Text for a file that passed the check and still could not be loaded.
std::string NotLoaded(const std::string& path, const std::string& reason = "");

}  // namespace aana
