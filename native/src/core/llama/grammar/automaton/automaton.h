#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/llama/grammar/quotes/quote_sources.h"
#include "core/llama/grammar/syntax.h"

namespace aana::llama {

// A step of an automaton to the node `target`.
struct GrammarEdge {
  enum class Kind : uint8_t {
    kEmpty,       // reads nothing
    kBytes,       // a byte from `first` to `last`
    kCall,        // a text of the rule `value`
    kToken,       // the token `value`
    kOtherToken,  // a token other than `value`
    kQuote,       // a quotation of the sources
  };

  Kind kind = Kind::kEmpty;
  uint8_t first = 0;
  uint8_t last = 0;
  int32_t value = 0;
  int32_t target = 0;

  bool Names(TokenId token) const {
    return kind == Kind::kToken ? value == token : kind == Kind::kOtherToken && value != token;
  }
};

// A grammar as one automaton over bytes for each rule, whose calls of rules make it a pushdown automaton. Works on
// bytes because a token may end inside of a character.
class GrammarAutomaton {
 public:
  static constexpr uint32_t kNever = UINT32_MAX;
  static constexpr uint64_t kMostCost = kNever - 1;  // sums of more stay there

  // `quotes` are the sources of quotations; null: there are none. Throws SamplingError (fault kCaller), which names the
  // rule, for a grammar that is too large, that is left-recursive, that quotes without sources, or that no text meets.
  explicit GrammarAutomaton(const GrammarSyntax& syntax, std::shared_ptr<const QuoteSources> quotes = nullptr);

  std::span<const GrammarEdge> EdgesOf(int32_t node) const {
    const auto first = nodes_[static_cast<size_t>(node)].first_edge;
    return std::span(edges_).subspan(first, nodes_[static_cast<size_t>(node) + 1].first_edge - first);
  }
  // A rule ends here.
  bool IsEnd(int32_t node) const { return nodes_[static_cast<size_t>(node)].is_end; }
  // From here the rule only ends, without a byte.
  bool IsTail(int32_t node) const { return nodes_[static_cast<size_t>(node)].is_tail; }
  // Bytes of the shortest text from here to the end of the rule; kNever: there is none.
  uint32_t CostOf(int32_t node) const { return nodes_[static_cast<size_t>(node)].cost; }
  // The first edge of that text; of a node that is no end and whose cost is not kNever.
  const GrammarEdge& ShortestEdge(int32_t node) const {
    return edges_[nodes_[static_cast<size_t>(node)].shortest_edge];
  }
  int32_t StartOf(int32_t rule) const { return starts_[static_cast<size_t>(rule)]; }
  int32_t root() const { return root_; }
  const std::shared_ptr<const QuoteSources>& quotes() const { return quotes_; }

  // Bytes of the same class are the same to all edges.
  uint8_t ClassOf(uint8_t byte) const { return classes_[byte]; }
  size_t n_classes() const { return n_classes_; }
  size_t n_bytes() const {
    return nodes_.size() * sizeof(Node) + edges_.size() * sizeof(GrammarEdge) + (quotes_ ? quotes_->n_bytes() : 0);
  }

 private:
  friend class AutomatonBuilder;

  struct Node {
    uint32_t first_edge = 0;
    uint32_t shortest_edge = 0;
    uint32_t cost = kNever;
    bool is_end = false;
    bool is_tail = false;
  };

  void CheckQuotes() const;
  void FindTails();
  void FindCosts();
  void FindClasses();
  // Throws SamplingError.
  void CheckLeftRecursion(std::span<const std::string> names) const;

  std::shared_ptr<const QuoteSources> quotes_;
  std::vector<Node> nodes_;  // and one behind the last, for its edges
  std::vector<GrammarEdge> edges_;
  std::vector<int32_t> starts_;
  int32_t root_ = 0;  // the rule
  std::array<uint8_t, 256> classes_{};
  size_t n_classes_ = 0;
};

}  // namespace aana::llama
