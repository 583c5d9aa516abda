#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/llama/prompt/prompt.h"

namespace aana::llama {

// The texts of a dialog that its author wrote. Views into it.
std::vector<std::string_view> TextsOf(const Dialog& dialog);

// Returns the dialog with each of these texts changed; in JSON, each string. Throws std::invalid_argument when
// something that shall be JSON is not.
Dialog WithTexts(Dialog dialog, const std::function<std::string(std::string_view)>& change);

// Whether the prompt is a dialog with images or sounds.
bool HasMedia(const Prompt& prompt);

}  // namespace aana::llama
