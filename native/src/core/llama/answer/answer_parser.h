#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace aana::llama {

class AnswerSyntax;

// The next piece of a call of a tool. The first one of a call has its name.
struct CallDelta {
  size_t index = 0;
  std::string name;
  std::string arguments;
};

// What a piece of the model's text adds to its answer.
struct AnswerDelta {
  std::string content;
  std::string reasoning;
  std::vector<CallDelta> calls;
};

// Takes the model's text apart while it comes: reasoning, calls of tools, and the rest. Text that is not as the syntax
// wants it, such as a call of a tool that was not given, stays text.
class AnswerParser {
 public:
  explicit AnswerParser(std::shared_ptr<const AnswerSyntax> syntax);

  AnswerDelta Push(std::string_view text, int32_t n_tokens);
  // The text has ended.
  AnswerDelta Finish();

  // Tokens of the reasoning, with its marks.
  int32_t n_reasoning() const { return n_reasoning_; }

 private:
  struct Parsed;
  Parsed Parse(bool is_partial) const;
  AnswerDelta Advance(const Parsed& parsed, bool is_partial);
  // The text that no delta has had so far.
  AnswerDelta Rest();

  std::shared_ptr<const AnswerSyntax> syntax_;
  std::string text_;
  size_t n_unparsed_ = 0;  // bytes at the end of the text
  int32_t n_tokens_ = 0;
  int32_t n_reasoning_ = 0;
  // What the deltas have had. Content and reasoning begin with those of the prompt's end.
  std::string content_;
  std::string reasoning_;
  size_t n_own_content_ = 0;  // bytes of the prompt's end
  size_t n_own_reasoning_ = 0;
  struct Call {
    std::string arguments;
    bool is_named = false;
  };
  std::vector<Call> calls_;
};

}  // namespace aana::llama
