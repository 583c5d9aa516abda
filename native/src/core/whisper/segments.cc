#include "core/whisper/segments.h"

#include <whisper.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace aana {
namespace {

constexpr double kTick = 0.01;  // whisper.cpp counts in units of 10 ms

struct Token {
  std::string text;
  double probability;
  double log_probability;
  // In seconds of the window. With times from the alignment, `start` is missing (negative), because the alignment gives
  // only the ends of tokens.
  double start;
  double end;
};

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
    const bool is_tag = !inside.empty() && std::all_of(inside.begin(), inside.end(), [](char c) { return std::isupper(static_cast<unsigned char>(c)) || c == '_' || c == ' '; });
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

// Whether the language is written without spaces between words. Each character then counts as a word.
bool IsWrittenWithoutSpaces(std::string_view language) {
  constexpr std::array<std::string_view, 7> kLanguages = {"zh", "ja", "th", "lo", "my", "km", "yue"};
  return std::find(kLanguages.begin(), kLanguages.end(), language) != kLanguages.end();
}

// Whether the text ends with a whole character. Tokens are bytes, so several tokens may form one character.
bool EndsCharacter(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    const auto byte = static_cast<unsigned char>(text[i]);
    i += byte < 0x80 ? 1 : byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
  }
  return i == text.size();
}

bool HasLetter(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80 || std::isalnum(static_cast<unsigned char>(c)); });
}

std::vector<Token> TextTokens(whisper_context* context, whisper_state* state, int segment, bool aligned) {
  std::vector<Token> tokens;
  const int count = whisper_full_n_tokens_from_state(state, segment);
  for (int i = 0; i < count; i++) {
    const auto data = whisper_full_get_token_data_from_state(state, segment, i);
    if (data.id >= whisper_token_eot(context)) continue;
    const bool has_alignment = aligned && data.t_dtw >= 0;
    tokens.push_back({whisper_token_to_str(context, data.id), data.p, data.plog,
                      aligned ? -1 : static_cast<double>(data.t0) * kTick,
                      has_alignment ? static_cast<double>(data.t_dtw) * kTick : aligned ? -1 : static_cast<double>(data.t1) * kTick});
  }
  return tokens;
}

// Returns the maximum duration of a word. It limits words of which only the end is known; otherwise the silence before
// such a word would count as part of it.
double LongestWord(std::string_view word) { return 0.3 + 0.08 * static_cast<double>(word.size()); }

// Groups the tokens of a segment from `start` to `end` (in seconds of the window) into words.
std::vector<WhisperWord> GroupWords(const std::vector<Token>& tokens, double start, double end, bool by_character) {
  std::vector<WhisperWord> words;
  double previous_end = start;
  for (size_t i = 0; i < tokens.size();) {
    std::string text;
    double probability = 0;
    double word_start = tokens[i].start;
    double word_end = -1;
    size_t next = i;
    do {
      const auto& token = tokens[next++];
      text += token.text;
      probability += token.probability;
      // A comma ends in the pause after the word, so its end is not used.
      if (token.end >= 0 && (word_end < 0 || HasLetter(token.text))) word_end = token.end;
    } while (next < tokens.size() && (by_character ? !EndsCharacter(text) : !tokens[next].text.starts_with(' ')));
    probability /= static_cast<double>(next - i);
    i = next;
    if (Trim(text).empty() || IsTag(text)) continue;
    if (word_end < 0) word_end = previous_end;
    word_end = std::clamp(word_end, std::min(previous_end, end), end);
    if (word_start < 0) word_start = word_end - LongestWord(text);
    word_start = std::clamp(word_start, std::min(previous_end, word_end), word_end);
    previous_end = word_end;
    words.push_back({std::move(text), word_start, word_end, probability});
  }
  return words;
}

}  // namespace

std::vector<WhisperSegment> ReadSegments(whisper_context* context, whisper_state* state, int from, const SegmentReading& how) {
  using Side = SpeechWindow::Side;
  const auto to_media = [&](double seconds, Side side) { return std::clamp(how.window.ToMedia(seconds, side), 0.0, how.duration); };
  std::vector<WhisperSegment> segments;
  const int count = whisper_full_n_segments_from_state(state);
  for (int i = from; i < count; i++) {
    auto text = WithoutTags(whisper_full_get_segment_text_from_state(state, i));
    if (Trim(text).empty() || IsTag(text)) continue;
    const auto tokens = TextTokens(context, state, i, how.aligned);
    const double t0 = static_cast<double>(whisper_full_get_segment_t0_from_state(state, i)) * kTick;
    const double t1 = std::max(t0, static_cast<double>(whisper_full_get_segment_t1_from_state(state, i)) * kTick);

    WhisperSegment segment;
    segment.text = std::move(text);
    segment.start = how.whole_window ? to_media(0, Side::kStart) : to_media(t0, Side::kStart);
    segment.end = how.whole_window ? static_cast<double>(how.window.end()) / kSampleRate : to_media(t1, Side::kEnd);
    segment.end = std::clamp(segment.end, segment.start, std::max(segment.start, how.duration));
    double sum = 0;
    for (const auto& token : tokens) sum += token.log_probability;
    segment.average_log_probability = tokens.empty() ? 0 : sum / static_cast<double>(tokens.size());
    segment.no_speech_probability = whisper_full_get_segment_no_speech_prob_from_state(state, i);
    if (how.with_words) {
      segment.words = GroupWords(tokens, t0, t1, IsWrittenWithoutSpaces(how.language));
      for (auto& word : segment.words) {
        word.start = std::clamp(to_media(word.start, Side::kStart), segment.start, segment.end);
        word.end = std::clamp(to_media(word.end, Side::kEnd), word.start, segment.end);
      }
    }
    segments.push_back(std::move(segment));
  }
  return segments;
}

}  // namespace aana
