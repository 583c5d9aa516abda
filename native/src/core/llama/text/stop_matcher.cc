#include "core/llama/text/stop_matcher.h"

#include <algorithm>
#include <utility>

namespace aana::llama {
namespace {

std::vector<size_t> FallbackOf(std::string_view text) {
  std::vector<size_t> fallback(text.size() + 1, 0);
  size_t n_matched = 0;
  for (size_t i = 1; i < text.size(); i++) {
    while (n_matched > 0 && text[i] != text[n_matched]) n_matched = fallback[n_matched];
    if (text[i] == text[n_matched]) n_matched++;
    fallback[i + 1] = n_matched;
  }
  return fallback;
}

}  // namespace

StopMatcher::StopMatcher(std::vector<std::string> stops) {
  for (auto& stop : stops) {
    if (stop.empty()) continue;
    auto fallback = FallbackOf(stop);
    stops_.push_back({std::move(stop), std::move(fallback)});
  }
}

bool StopMatcher::Stop::Advance(char byte) {
  while (n_matched > 0 && byte != text[n_matched]) n_matched = fallback[n_matched];
  if (byte == text[n_matched]) n_matched++;
  return n_matched == text.size();
}

StopMatcher::Result StopMatcher::Push(std::string_view text) {
  for (const char byte : text) {
    held_ += byte;
    // Of several that end here, the longest: it began first.
    const Stop* longest = nullptr;
    for (auto& stop : stops_) {
      if (stop.Advance(byte) && (!longest || stop.text.size() > longest->text.size())) longest = &stop;
    }
    if (!longest) continue;
    held_.resize(held_.size() - longest->text.size());
    return {Flush(), longest->text};
  }
  size_t n_waiting = 0;
  for (const auto& stop : stops_) n_waiting = std::max(n_waiting, stop.n_matched);
  Result result{held_.substr(0, held_.size() - n_waiting)};
  held_.erase(0, result.text.size());
  return result;
}

std::string StopMatcher::Flush() { return std::exchange(held_, {}); }

}  // namespace aana::llama
