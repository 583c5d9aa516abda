#include "core/llama/answer/answer_parser.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "core/llama/answer/answer_syntax.h"

namespace aana::llama {
namespace {

// Each piece parses the whole text so far. A text that is longer than this is parsed again when it has grown by this
// part of its length, so that the time for an answer of n bytes grows a little faster than n and not with n².
constexpr size_t kShortText = 4096;
constexpr size_t kGrowthPart = 256;

// The end of `now` that `before` lacks. Nothing when `now` does not continue `before`, as when an unfinished mark was
// read as text before.
std::string NewEnd(const std::string& before, const std::string& now) {
  return now.size() > before.size() && now.starts_with(before) ? now.substr(before.size()) : std::string();
}

constexpr const char* kSpace = " \t\r\n";

std::string WithoutSpaceBefore(const std::string& text) {
  return text.substr(std::min(text.find_first_not_of(kSpace), text.size()));
}

std::string Trimmed(const std::string& text) {
  return WithoutSpaceBefore(text.substr(0, text.find_last_not_of(kSpace) + 1));
}

}  // namespace

struct AnswerParser::Parsed {
  common_chat_msg message;
  bool is_readable = true;
};

AnswerParser::AnswerParser(std::shared_ptr<const AnswerSyntax> syntax) : syntax_(std::move(syntax)) {
  const auto [message, is_readable] = Parse(true);
  content_ = message.content;
  reasoning_ = message.reasoning_content;
  n_own_content_ = content_.size();
  n_own_reasoning_ = reasoning_.size();
}

AnswerDelta AnswerParser::Push(std::string_view text, int32_t n_tokens) {
  text_ += text;
  n_tokens_ += n_tokens;
  n_unparsed_ += text.size();
  if (text_.size() > kShortText && n_unparsed_ < text_.size() / kGrowthPart) return {};
  const auto parsed = Parse(true);
  n_unparsed_ = 0;
  return parsed.is_readable ? Advance(parsed, true) : AnswerDelta{};
}

AnswerDelta AnswerParser::Finish() {
  const auto parsed = Parse(false);
  return parsed.is_readable ? Advance(parsed, false) : Rest();
}

AnswerParser::Parsed AnswerParser::Parse(bool is_partial) const {
  try {
    auto message = common_chat_parse(text_, is_partial, syntax_->parser);
    // Space between reasoning and content belongs to neither; how much of it is there depends on the template.
    message.reasoning_content = Trimmed(message.reasoning_content);
    if (!message.reasoning_content.empty()) message.content = WithoutSpaceBefore(message.content);
    return {std::move(message), true};
  } catch (const std::exception&) {
    return {{}, false};
  }
}

AnswerDelta AnswerParser::Advance(const Parsed& parsed, bool is_partial) {
  const auto& message = parsed.message;
  AnswerDelta delta{NewEnd(content_, message.content), NewEnd(reasoning_, message.reasoning_content), {}};
  content_ += delta.content;
  reasoning_ += delta.reasoning;
  for (size_t i = 0; i < message.tool_calls.size(); i++) {
    const auto& call = message.tool_calls[i];
    // A name may still grow until its arguments begin.
    if (call.name.empty() || (is_partial && call.arguments.empty())) break;
    if (i == calls_.size()) calls_.emplace_back();
    auto& known = calls_[i];
    auto arguments = NewEnd(known.arguments, call.arguments);
    known.arguments += arguments;
    const bool is_first = !std::exchange(known.is_named, true);
    if (is_first || !arguments.empty())
      delta.calls.push_back({i, is_first ? call.name : std::string(), std::move(arguments)});
  }
  if (reasoning_.size() > n_own_reasoning_ && content_.size() == n_own_content_ && calls_.empty())
    n_reasoning_ = n_tokens_;
  return delta;
}

AnswerDelta AnswerParser::Rest() {
  if (!calls_.empty()) return {};
  // The text has the reasoning and then the content; between them are marks.
  size_t at = 0;
  const auto skip = [&](std::string_view part) {
    if (part.empty()) return;
    const size_t found = text_.find(part, at);
    if (found != std::string::npos) at = found + part.size();
  };
  skip(std::string_view(reasoning_).substr(n_own_reasoning_));
  if (const auto& end = syntax_->reasoning_end; !end.empty() && reasoning_.size() > n_own_reasoning_) {
    const size_t behind = text_.find_first_not_of(kSpace, at);
    if (behind != std::string::npos && text_.compare(behind, end.size(), end) == 0)
      at = std::min(text_.find_first_not_of(kSpace, behind + end.size()), text_.size());
  }
  skip(std::string_view(content_).substr(n_own_content_));
  AnswerDelta delta{text_.substr(at), {}, {}};
  content_ += delta.content;
  return delta;
}

}  // namespace aana::llama
