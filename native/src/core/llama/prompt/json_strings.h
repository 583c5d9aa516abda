#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace aana::llama {

// Changes each string of a JSON text, names of members included. Returns the text as it is when no string changes.
// Throws std::invalid_argument when it is not JSON.
std::string ChangeStrings(const std::string& json, const std::function<std::string(std::string_view)>& change);

}  // namespace aana::llama
