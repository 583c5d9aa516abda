#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/llama/grammar/grammar.h"
#include "core/llama/grammar/automaton/states.h"
#include "core/llama/grammar/token_trie.h"
#include "core/llama/sampling/params.h"

namespace aana::llama {

// Where the text of one request is in its grammar. With triggers the text is free until one of them comes; the grammar
// then applies to the text from the trigger on.
class GrammarMatcher {
 public:
  struct Tokens {
    std::shared_ptr<const TokenTrie> trie;
    std::vector<TokenId> ends;                         // end an answer
    std::unordered_map<TokenId, std::string> visible;  // control tokens whose text counts, too
  };

  GrammarMatcher(std::shared_ptr<const Grammar> grammar, Tokens tokens, std::vector<std::string> trigger_words);

  // Goes on to the state after a text before the answer that the grammar describes, too. Returns false when the grammar
  // does not allow it. Does nothing while the grammar waits.
  bool Skip(std::string_view text);

  // The grammar does not apply yet.
  bool IsWaiting() const { return is_waiting_; }
  // Whether the token may be next. All of these throw SamplingError (fault kCaller) for a grammar that turns out to be
  // too ambiguous.
  bool Allows(TokenId token);
  // Sets the logits of all tokens that may not be next to minus infinity.
  void Mask(std::span<float> logits);
  // Goes on to the state after an allowed token. An end token changes nothing.
  void Accept(TokenId token);
  // The text meets the grammar, and nothing can follow.
  bool IsComplete();
  // The shortest text after which the grammar is met; empty when it has more than `n_most` bytes.
  std::optional<std::string> FindCompletion(size_t n_most);

 private:
  bool IsEnd(TokenId token) const;
  std::string_view PieceOf(TokenId token) const;
  // The state after the token; while the grammar waits and the token is no trigger: empty. The states must be locked.
  std::optional<GrammarStates::Id> Next(TokenId token);
  void MaskWaiting(std::span<float> logits);
  void ReplaceLargeStates();

  std::shared_ptr<const Grammar> grammar_;
  std::shared_ptr<SharedGrammarStates> shared_;
  Tokens tokens_;
  std::vector<std::string> trigger_words_;
  GrammarStates::Id state_;
  bool is_waiting_;
  std::string tail_;  // of the text, in which a trigger may have begun
};

}  // namespace aana::llama
