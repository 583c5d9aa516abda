#include "core/llama/text/stop_matcher.h"

#include <algorithm>
#include <utility>

namespace aana::llama {
namespace {

// Length of the longest end of `text` that begins `stop` without being all of it.
size_t PartialMatch(std::string_view text, std::string_view stop) {
  for (size_t length = std::min(text.size(), stop.size() - 1); length > 0; length--) {
    if (text.ends_with(stop.substr(0, length))) return length;
  }
  return 0;
}

}  // namespace

StopMatcher::StopMatcher(std::vector<std::string> stops) : stops_(std::move(stops)) {
  std::erase_if(stops_, [](const std::string& stop) { return stop.empty(); });
}

StopMatcher::Result StopMatcher::Push(std::string_view text) {
  held_ += text;
  size_t end = std::string::npos;
  size_t n_waiting = 0;
  for (const auto& stop : stops_) {
    end = std::min(end, held_.find(stop));
    n_waiting = std::max(n_waiting, PartialMatch(held_, stop));
  }
  if (end != std::string::npos) return {std::exchange(held_, {}).substr(0, end), true};
  Result result{held_.substr(0, held_.size() - n_waiting), false};
  held_.erase(0, result.text.size());
  return result;
}

std::string StopMatcher::Flush() { return std::exchange(held_, {}); }

}  // namespace aana::llama
