#include "sandbox/settings.h"

#include <charconv>
#include <string_view>

#include "sandbox/library/owned.h"

namespace aana::sandbox {

namespace {

uint64_t NumberOf(std::string_view name, std::string_view text, uint64_t least, uint64_t most) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < least || number > most)
    throw Refused(std::string(name) + " must be a number from " + std::to_string(least) + " to " +
                  std::to_string(most));
  return number;
}

}  // namespace

Settings ReadSettings(int count, char** arguments) {
  constexpr uint64_t kMaxBytes = uint64_t{1} << 40;
  Settings settings;
  for (int i = 0; i < count; i++) {
    const std::string_view argument(arguments[i]);
    const size_t middle = argument.find('=');
    if (middle == std::string_view::npos) throw Refused("an argument has no value: " + std::string(argument));
    const auto name = argument.substr(0, middle);
    const auto text = argument.substr(middle + 1);
    const auto number = [&](uint64_t least, uint64_t most) { return NumberOf(name, text, least, most); };
    const auto small = [&](uint64_t least, uint64_t most) { return static_cast<uint32_t>(number(least, most)); };
    if (name == "fast")
      settings.is_fast = number(0, 1) == 1;
    else if (name == "component-bytes")
      settings.component_bytes = number(1, kMaxBytes);
    else if (name == "compile-bytes")
      settings.compile_bytes = number(1, kMaxBytes);
    else if (name == "compile-seconds")
      settings.compile_seconds = number(1, 86'400);
    else if (name == "descriptors")
      settings.descriptors = small(0, 64);
    else if (name == "read")
      settings.readable.emplace_back(text);
    else if (name == "threads")
      settings.threads = small(1, 64);
    else if (name == "slots")
      settings.slots = small(1, 4'096);
    else if (name == "warm-slots")
      settings.warm_slots = small(0, 4'096);
    else if (name == "warm-bytes")
      settings.warm_bytes = number(0, kMaxBytes);
    else if (name == "memory-bytes")
      settings.memory_bytes = number(1, uint64_t{4} << 30);
    else if (name == "total-bytes")
      settings.total_bytes = number(1, kMaxBytes);
    else if (name == "endpoint")
      settings.endpoint = text;
    else if (name == "output")
      settings.output = text;
    else
      throw Refused("an argument is unknown: " + std::string(argument));
  }
  if (settings.warm_slots > settings.slots) settings.warm_slots = settings.slots;
  return settings;
}

}  // namespace aana::sandbox
