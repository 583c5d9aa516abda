#include "core/llama/prompt/json_strings.h"

#include <json.h>

#include <stdexcept>
#include <utility>

namespace aana::llama {
namespace {

using Change = std::function<std::string(std::string_view)>;

common_json Changed(const common_json& value, const Change& change, bool& has_changed) {
  const auto changed = [&](const std::string& text) {
    auto result = change(text);
    has_changed = has_changed || result != text;
    return result;
  };
  if (value.is_string()) return common_json::make(changed(value.get<std::string>()));
  if (value.is_array()) {
    auto array = common_json::array();
    for (const auto& item : value) array.push_back(Changed(item, change, has_changed));
    return array;
  }
  if (value.is_object()) {
    auto object = common_json::object();
    for (const auto& [key, member] : value.items()) object[changed(key)] = Changed(member, change, has_changed);
    return object;
  }
  return value;
}

}  // namespace

std::string ChangeStrings(const std::string& json, const Change& change) {
  try {
    bool has_changed = false;
    const auto result = Changed(common_json::parse(json), change, has_changed);
    return has_changed ? result.dump() : json;
  } catch (const common_json_error& error) {
    throw std::invalid_argument(error.what());
  }
}

}  // namespace aana::llama
