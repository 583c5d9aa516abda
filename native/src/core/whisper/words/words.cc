#include "core/whisper/words/words.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <utility>

namespace aana {
namespace {

constexpr std::string_view kSentenceEnds = ".。!！?？";
// The median duration of words counts as no longer than this.
constexpr double kLongestMedian = 0.7;
// The time of a segment is preferred to that of a word that is farther away than this.
constexpr double kTolerance = 0.5;

// Whether the text ends with a whole character. Tokens are bytes, so several tokens may form one character.
bool EndsCharacter(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    const auto byte = static_cast<unsigned char>(text[i]);
    i += byte < 0x80 ? 1 : byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
  }
  return i == text.size();
}

std::string_view WithoutSpaces(std::string_view text) {
  const auto begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

// Whether it is one of the characters in `characters`.
bool IsOneOf(std::string_view text, std::string_view characters) {
  if (text.empty() || !EndsCharacter(text)) return false;
  for (size_t begin = 0; begin < characters.size();) {
    size_t end = begin + 1;
    while (end < characters.size() && !EndsCharacter(characters.substr(begin, end - begin))) end++;
    if (characters.substr(begin, end - begin) == text) return true;
    begin = end;
  }
  return false;
}

bool IsAsciiPunctuation(std::string_view text) {
  return text.size() == 1 && std::ispunct(static_cast<unsigned char>(text.front())) != 0;
}

// Groups tokens from `at` on into words. Moves `at` behind them.
std::vector<TimedWord> SplitWords(const Vocabulary& vocabulary, std::span<const Token> tokens,
                                  std::span<const double> starts, size_t& at, bool by_character) {
  std::vector<TimedWord> words;
  std::vector<size_t> sizes;
  for (size_t i = 0; i < tokens.size();) {
    std::string text;
    double probability = 0;
    const size_t begin = i;
    do {
      text += vocabulary.texts[static_cast<size_t>(tokens[i].id)];
      probability += std::exp(static_cast<double>(tokens[i].log_probability));
      i++;
    } while (i < tokens.size() && !EndsCharacter(text));
    const double start = starts[at + begin];
    const double end = starts[at + i];
    const bool is_new =
        words.empty() || by_character || text.starts_with(' ') || IsAsciiPunctuation(WithoutSpaces(text));
    if (is_new) {
      words.push_back({std::move(text), start, end, probability});
      sizes.push_back(i - begin);
    } else {
      words.back().text += text;
      words.back().end = end;
      words.back().probability += probability;
      sizes.back() += i - begin;
    }
  }
  for (size_t i = 0; i < words.size(); i++)
    words[i].probability = std::clamp(words[i].probability / static_cast<double>(sizes[i]), 0.0, 1.0);
  at += tokens.size();
  return words;
}

double MedianDuration(const std::vector<std::vector<TimedWord>>& words) {
  std::vector<double> durations;
  for (const auto& segment : words) {
    for (const auto& word : segment) {
      if (word.end > word.start) durations.push_back(word.end - word.start);
    }
  }
  if (durations.empty()) return 0;
  const auto middle = durations.begin() + static_cast<std::ptrdiff_t>(durations.size() / 2);
  std::ranges::nth_element(durations, middle);
  return std::min(kLongestMedian, *middle);
}

void ShortenAtSentenceEnds(std::vector<TimedWord>& words, double longest) {
  for (size_t i = 1; i < words.size(); i++) {
    if (words[i].end - words[i].start <= longest) continue;
    if (IsOneOf(words[i].text, kSentenceEnds))
      words[i].end = words[i].start + longest;
    else if (IsOneOf(words[i - 1].text, kSentenceEnds))
      words[i].start = words[i].end - longest;
  }
}

void JoinPunctuation(std::vector<TimedWord>& words, const WordRules& rules) {
  for (size_t i = words.size(); i-- > 1;) {
    auto& word = words[i - 1];
    auto& next = words[i];
    if (!word.text.starts_with(' ') || !IsOneOf(WithoutSpaces(word.text), rules.prepended)) continue;
    next.text = word.text + next.text;
    word.text.clear();
  }
  std::erase_if(words, [](const TimedWord& word) { return word.text.empty(); });
  for (size_t i = 1; i < words.size();) {
    if (words[i - 1].text.ends_with(' ') || !IsOneOf(words[i].text, rules.appended)) {
      i++;
      continue;
    }
    words[i - 1].text += words[i].text;
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

// After a pause, the first words would begin in the pause.
void ShortenAfterPause(std::vector<TimedWord>& words, double speech_end, double median) {
  const double longest = 2 * median;
  auto& first = words.front();
  auto* second = words.size() > 1 ? &words[1] : nullptr;
  if (first.end - speech_end <= 4 * median) return;
  if (first.end - first.start <= longest && !(second && second->end - first.start > 2 * longest)) return;
  if (second && second->end - second->start > longest)
    first.end = second->start = std::max(second->end / 2, second->end - longest);
  first.start = std::max(0.0, first.end - longest);
}

}  // namespace

bool IsWrittenWithoutSpaces(std::string_view language) {
  constexpr std::array<std::string_view, 7> kLanguages = {"zh", "ja", "th", "lo", "my", "km", "yue"};
  return std::ranges::find(kLanguages, language) != kLanguages.end();
}

std::vector<std::vector<TimedWord>> TimeWords(const Vocabulary& vocabulary, std::vector<TokenSegment>& segments,
                                              std::span<const double> starts, const WordRules& rules) {
  std::vector<std::vector<TimedWord>> all;
  size_t at = 0;
  for (const auto& segment : segments)
    all.push_back(SplitWords(vocabulary, segment.tokens, starts, at, rules.by_character));
  const double median = MedianDuration(all);
  double speech_end = 0;
  for (size_t i = 0; i < segments.size(); i++) {
    auto& segment = segments[i];
    auto& words = all[i];
    if (words.empty()) continue;
    ShortenAtSentenceEnds(words, 2 * median);
    JoinPunctuation(words, rules);
    ShortenAfterPause(words, speech_end, median);
    auto& first = words.front();
    auto& last = words.back();
    if (segment.start < first.end && segment.start - kTolerance > first.start)
      first.start = std::max(0.0, std::min(first.end - median, segment.start));
    if (segment.end > last.start && segment.end + kTolerance < last.end)
      last.end = std::max(last.start + median, segment.end);
    double previous = speech_end;
    for (auto& word : words) {
      word.start = std::max(word.start, previous);
      word.end = std::max(word.end, word.start);
      previous = word.end;
    }
    segment.start = first.start;
    segment.end = last.end;
    speech_end = segment.end;
  }
  return all;
}

}  // namespace aana
