#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "core/llama/grammar/automaton/automaton.h"
#include "core/llama/grammar/syntax.h"

namespace aana::llama {

// Builds the nodes and edges of an automaton, rule by rule.
class AutomatonBuilder {
 public:
  explicit AutomatonBuilder(const GrammarSyntax& syntax) : syntax_(syntax) {}

  // Throws SamplingError (fault kCaller) for a grammar that is too large.
  void Build(GrammarAutomaton& automaton);
  const std::vector<std::string>& names() const { return names_; }

 private:
  struct Pending {
    int32_t rule;
    const GrammarAlternatives* alternatives;
  };

  int32_t AddNode();
  void AddEdge(int32_t from, GrammarEdge edge);
  int32_t AddRule(std::string name);
  // All of these return the node behind what they add.
  int32_t Add(int32_t from, const GrammarAlternatives& alternatives);
  int32_t Add(int32_t from, const GrammarItem& item);
  int32_t AddOnce(int32_t from, const GrammarItem& item);
  int32_t AddRepeated(int32_t from, const GrammarItem& item);
  int32_t AddCall(int32_t from, int32_t rule);
  int32_t AddSet(int32_t from, const CharSet& set);
  void EndRule(int32_t rule, int32_t start, int32_t end);

  const GrammarSyntax& syntax_;
  std::vector<std::vector<GrammarEdge>> edges_;  // by node
  std::vector<bool> is_end_;
  std::vector<int32_t> starts_;
  std::vector<std::string> names_;  // of rules
  std::deque<Pending> pending_;     // rules of groups that are repeated
  std::map<CharSet, int32_t> rules_of_sets_;
  size_t n_edges_ = 0;
};

}  // namespace aana::llama
