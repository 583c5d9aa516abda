#include "core/whisper/segments.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>

namespace aana {
namespace {

bool IsSpace(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

std::string_view Trim(std::string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

// Whether the whole text is a description of sound: [BLANK_AUDIO], (soft music).
bool IsTag(std::string_view text) {
  text = Trim(text);
  if (text.size() < 2) return false;
  const char closing = text.front() == '[' ? ']' : text.front() == '(' ? ')' : '\0';
  return closing != '\0' && text.find(closing) == text.size() - 1;
}

// Removes [TAGS] from a text that has other words.
std::string WithoutTags(std::string text) {
  for (size_t open = 0; (open = text.find('[', open)) != std::string::npos;) {
    const auto close = text.find(']', open);
    if (close == std::string::npos) break;
    const auto inside = std::string_view(text).substr(open + 1, close - open - 1);
    const bool is_tag = !inside.empty() && std::all_of(inside.begin(), inside.end(), [](char c) {
      return std::isupper(static_cast<unsigned char>(c)) || c == '_' || c == ' ';
    });
    if (!is_tag) {
      open = close;
      continue;
    }
    const bool doubled = open > 0 && IsSpace(text[open - 1]);
    text.erase(open - (doubled ? 1 : 0), close + 1 - open + (doubled ? 1 : 0));
    open = 0;
  }
  return text;
}

}  // namespace

std::vector<WhisperSegment> ReadSegments(const Vocabulary& vocabulary, const PartText& part,
                                         const SegmentReading& how) {
  using Side = SpeechWindow::Side;
  const auto to_media = [&](double seconds, Side side) {
    return std::clamp(how.window.ToMedia(part.begin + seconds, side), 0.0, how.duration);
  };
  std::vector<WhisperSegment> segments;
  for (size_t i = 0; i < part.segments.size(); i++) {
    const auto& from = part.segments[i];
    std::string text;
    double log_probability = 0;
    for (const auto& token : from.tokens) {
      text += vocabulary.texts[static_cast<size_t>(token.id)];
      log_probability += static_cast<double>(token.log_probability);
    }
    text = WithoutTags(std::move(text));
    if (Trim(text).empty() || IsTag(text)) continue;

    WhisperSegment segment;
    segment.text = std::move(text);
    segment.start = how.whole_window ? to_media(0, Side::kStart) : to_media(from.start, Side::kStart);
    segment.end =
        how.whole_window ? static_cast<double>(how.window.end()) / kSampleRate : to_media(from.end, Side::kEnd);
    segment.end = std::clamp(segment.end, segment.start, std::max(segment.start, how.duration));
    segment.average_log_probability = log_probability / static_cast<double>(from.tokens.size());
    segment.no_speech_probability = part.no_speech_probability;
    if (i < part.words.size()) {
      for (const auto& word : part.words[i]) {
        if (Trim(word.text).empty() || IsTag(word.text)) continue;
        const double start = std::clamp(to_media(word.start, Side::kStart), segment.start, segment.end);
        const double end = std::clamp(to_media(word.end, Side::kEnd), start, segment.end);
        segment.words.push_back({word.text, start, end, word.probability});
      }
    }
    if (how.with_tokens) {
      for (const auto& token : from.tokens)
        segment.tokens.push_back(
            {token.id, vocabulary.texts[static_cast<size_t>(token.id)], static_cast<double>(token.log_probability)});
    }
    segments.push_back(std::move(segment));
  }
  return segments;
}

}  // namespace aana
