#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "core/llama/grammar/automaton/automaton.h"
#include "core/llama/grammar/gbnf_parser.h"
#include "core/llama/grammar/automaton/states.h"

namespace aana::llama {

// The states of a grammar, and who uses them at the moment.
struct SharedGrammarStates {
  explicit SharedGrammarStates(const GrammarAutomaton& automaton) : states(automaton) {}

  std::mutex mutex;
  GrammarStates states;
};

// A compiled grammar, which its requests share. Any thread.
class Grammar {
 public:
  // Throws SamplingError (fault kCaller), which says why, for a grammar that cannot be read, is too large, or that no
  // text meets. `quotes` are the sources of quotations, if the grammar has them.
  Grammar(std::string_view gbnf, const std::string& root, const FindToken& find_token,
          std::shared_ptr<const QuoteSources> quotes = nullptr);

  const GrammarAutomaton& automaton() const { return automaton_; }
  // Where new requests begin.
  std::shared_ptr<SharedGrammarStates> states() const;
  // Those to use in place of `large`. Requests that use it may go on with it.
  std::shared_ptr<SharedGrammarStates> Replace(const std::shared_ptr<SharedGrammarStates>& large) const;

  size_t n_bytes() const;

 private:
  const GrammarAutomaton automaton_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<SharedGrammarStates> states_;
};

}  // namespace aana::llama
