#include "core/llama/prompt/shortened_dialog.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace aana::llama {
namespace {

constexpr std::string_view kEllipsis = "…";
// A text is cut this close to the longest that fits.
constexpr size_t kBytesOfPrecision = 8;

// Messages that are dropped together.
struct Range {
  size_t begin = 0;
  size_t end = 0;
};

bool IsContinuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// The text without its middle, about `n_bytes` long. Characters stay whole.
std::string WithoutMiddle(const std::string& text, size_t n_bytes) {
  if (text.size() <= n_bytes) return text;
  size_t head = n_bytes / 2;
  size_t tail = text.size() - (n_bytes - head);
  while (head > 0 && IsContinuation(text[head])) head--;
  while (tail < text.size() && IsContinuation(text[tail])) tail++;
  return text.substr(0, head).append(kEllipsis).append(text, tail);
}

// The ranges that may be dropped, in their order.
std::vector<Range> Droppable(const std::vector<ChatMessage>& messages) {
  size_t begin = 0;
  while (begin < messages.size() && (messages[begin].role == "system" || messages[begin].role == "developer")) begin++;
  const auto next = [&](size_t from, const std::string& role, size_t end) {
    while (from < end && messages[from].role != role) from++;
    return from;
  };
  std::vector<Range> ranges;
  while (begin < messages.size()) {
    const size_t end = next(begin + 1, "user", messages.size());
    if (end == messages.size()) break;
    ranges.push_back({begin, end});
    begin = end;
  }
  if (begin >= messages.size()) return ranges;
  for (size_t step = next(begin + (messages[begin].role == "user" ? 1 : 0), "assistant", messages.size());
       step < messages.size();) {
    const size_t end = next(step + 1, "assistant", messages.size());
    if (end == messages.size()) break;
    ranges.push_back({step, end});
    step = end;
  }
  return ranges;
}

Dialog Without(const Dialog& dialog, const std::vector<Range>& ranges, size_t n_ranges) {
  Dialog rest = dialog;
  for (size_t i = n_ranges; i-- > 0;) {
    const auto first = rest.messages.begin();
    rest.messages.erase(first + static_cast<std::ptrdiff_t>(ranges[i].begin),
                        first + static_cast<std::ptrdiff_t>(ranges[i].end));
  }
  return rest;
}

Dialog WithTextsOf(const Dialog& dialog, size_t n_bytes) {
  Dialog cut = dialog;
  for (auto& message : cut.messages) message.content = WithoutMiddle(message.content, n_bytes);
  return cut;
}

}  // namespace

std::optional<ShortenedDialog> Shorten(const Dialog& dialog, size_t n_most, const CountTokens& count) {
  const auto fits = [&](const Dialog& shorter) { return count(shorter) <= n_most; };
  const auto ranges = Droppable(dialog.messages);
  // The fewest ranges without which the rest fits.
  size_t n_least = 0;
  size_t n_enough = ranges.size() + 1;
  while (n_least < n_enough) {
    const size_t n_tried = (n_least + n_enough) / 2;
    if (n_tried <= ranges.size() && !fits(Without(dialog, ranges, n_tried)))
      n_least = n_tried + 1;
    else
      n_enough = n_tried;
  }
  auto rest = Without(dialog, ranges, std::min(n_least, ranges.size()));
  ShortenedDialog shortened{rest, dialog.messages.size() - rest.messages.size()};
  if (n_least <= ranges.size()) return shortened;

  if (!fits(WithTextsOf(rest, 0))) return std::nullopt;
  size_t n_fitting = 0;
  size_t n_too_many = 0;
  for (const auto& message : rest.messages) n_too_many = std::max(n_too_many, message.content.size());
  while (n_too_many - n_fitting > kBytesOfPrecision) {
    const size_t n_tried = n_fitting + (n_too_many - n_fitting) / 2;
    (fits(WithTextsOf(rest, n_tried)) ? n_fitting : n_too_many) = n_tried;
  }
  shortened.dialog = WithTextsOf(rest, n_fitting);
  return shortened;
}

}  // namespace aana::llama
