#include "core/llama/prompt/control_texts.h"

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <stdexcept>
#include <utility>

namespace aana::llama {
namespace {

// llama_tokenize reads the texts of tokens of these kinds as tokens only where it is told to.
constexpr int kControl = LLAMA_TOKEN_ATTR_CONTROL | LLAMA_TOKEN_ATTR_UNKNOWN;

std::vector<std::string> ControlTextsOf(const llama_vocab* vocab) {
  std::vector<std::string> texts;
  for (llama_token token = 0; token < llama_vocab_n_tokens(vocab); token++) {
    if (llama_vocab_get_attr(vocab, token) & kControl) texts.emplace_back(llama_vocab_get_text(vocab, token));
  }
  return texts;
}

// Bytes of the character that `text` begins with, which is valid UTF-8.
size_t CharacterBytes(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const size_t n_bytes = first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  return std::min(n_bytes, text.size());
}

}  // namespace

ControlTexts::ControlTexts(const llama_vocab* vocab) : ControlTexts(ControlTextsOf(vocab)) {}

ControlTexts::ControlTexts(std::vector<std::string> texts) {
  std::set<size_t, std::greater<>> lengths;
  std::set<char> first_bytes;
  for (auto& text : texts) {
    if (text.empty()) continue;
    lengths.insert(text.size());
    first_bytes.insert(text.front());
    texts_.insert(std::move(text));
  }
  lengths_.assign(lengths.begin(), lengths.end());
  first_bytes_.assign(first_bytes.begin(), first_bytes.end());
}

std::string ControlTexts::ChooseMark(std::span<const std::string_view> texts) {
  for (unsigned char last = 0x90; last <= 0xAF; last++) {
    const std::array<char, 3> bytes{'\xEF', '\xB7', static_cast<char>(last)};
    const std::string mark(bytes.begin(), bytes.end());
    if (std::ranges::none_of(texts, [&](std::string_view text) { return text.find(mark) != std::string_view::npos; }))
      return mark;
  }
  throw std::invalid_argument("the messages hold every one of the characters U+FDD0 to U+FDEF");
}

std::string ControlTexts::Mark(std::string_view text, std::string_view mark) const {
  std::string marked;
  size_t copied = 0;
  for (size_t at = text.find_first_of(first_bytes_); at < text.size(); at = text.find_first_of(first_bytes_, at)) {
    const size_t length = LengthAtStart(text.substr(at));
    if (length == 0) {
      at++;
      continue;
    }
    const size_t behind_first = at + CharacterBytes(text.substr(at));
    marked.append(text, copied, behind_first - copied).append(mark);
    copied = behind_first;
    at += length;
  }
  return marked.append(text, copied);
}

std::vector<PromptPart> ControlTexts::Split(std::string_view marked, std::string_view mark) const {
  std::vector<PromptPart> parts;
  const auto add = [&](std::string_view text, bool has_control_tokens) {
    if (text.empty()) return;
    if (!parts.empty() && parts.back().has_control_tokens == has_control_tokens)
      parts.back().text.append(text);
    else
      parts.push_back({std::string(text), has_control_tokens});
  };
  const size_t longest = lengths_.empty() ? 0 : lengths_.front();
  size_t at = 0;
  for (size_t found = marked.find(mark); found != std::string_view::npos; found = marked.find(mark, at)) {
    size_t first = found;
    while (first > at) {
      first--;
      if ((static_cast<unsigned char>(marked[first]) & 0xC0) != 0x80) break;
    }
    add(marked.substr(at, first - at), true);
    // A template may have cut the message: then the first character alone is left.
    const std::string rest =
        std::string(marked.substr(first, found - first)).append(marked.substr(found + mark.size(), longest));
    const size_t length = std::max(LengthAtStart(rest), found - first);
    add(std::string_view(rest).substr(0, length), false);
    at = std::min(first + length + mark.size(), marked.size());
  }
  add(marked.substr(at), true);
  return parts;
}

size_t ControlTexts::LengthAtStart(std::string_view text) const {
  const auto is_control = [&](size_t length) {
    return length <= text.size() && texts_.contains(std::string(text.substr(0, length)));
  };
  const auto found = std::ranges::find_if(lengths_, is_control);
  return found == lengths_.end() ? 0 : *found;
}

}  // namespace aana::llama
