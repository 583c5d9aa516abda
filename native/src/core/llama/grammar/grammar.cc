#include "core/llama/grammar/grammar.h"

#include <utility>

namespace aana::llama {

Grammar::Grammar(std::string_view gbnf, const std::string& root, const FindToken& find_token,
                 std::shared_ptr<const QuoteSources> quotes)
    : automaton_(ParseGbnf(gbnf, root, find_token), std::move(quotes)),
      states_(std::make_shared<SharedGrammarStates>(automaton_)) {}

std::shared_ptr<SharedGrammarStates> Grammar::states() const {
  std::lock_guard lock(mutex_);
  return states_;
}

std::shared_ptr<SharedGrammarStates> Grammar::Replace(const std::shared_ptr<SharedGrammarStates>& large) const {
  std::lock_guard lock(mutex_);
  if (states_ == large) states_ = std::make_shared<SharedGrammarStates>(automaton_);
  return states_;
}

size_t Grammar::n_bytes() const {
  const auto current = states();
  std::lock_guard lock(current->mutex);
  return automaton_.n_bytes() + current->states.n_bytes();
}

}  // namespace aana::llama
