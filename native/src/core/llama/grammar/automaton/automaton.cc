#include "core/llama/grammar/automaton/automaton.h"

#include <algorithm>
#include <bitset>
#include <queue>
#include <string>
#include <utility>

#include "core/llama/grammar/automaton/automaton_builder.h"
#include "core/llama/sampling/sampling_error.h"

namespace aana::llama {
namespace {

using Kind = GrammarEdge::Kind;

}  // namespace

GrammarAutomaton::GrammarAutomaton(const GrammarSyntax& syntax, std::shared_ptr<const QuoteSources> quotes)
    : quotes_(std::move(quotes)) {
  AutomatonBuilder builder(syntax);
  builder.Build(*this);
  CheckQuotes();
  FindTails();
  FindCosts();
  if (CostOf(StartOf(root_)) == kNever) {
    throw SamplingError(Fault::kCaller, "no text can meet the grammar: its rule " +
                                            builder.names()[static_cast<size_t>(root_)] + " has no end");
  }
  CheckLeftRecursion(builder.names());
  FindClasses();
}

void GrammarAutomaton::CheckQuotes() const {
  if (quotes_ || std::ranges::find(edges_, Kind::kQuote, &GrammarEdge::kind) == edges_.end()) return;
  throw SamplingError(Fault::kCaller, "the grammar has %quote, but the request has no sources to quote");
}

void GrammarAutomaton::FindTails() {
  for (int32_t node = 0; std::cmp_less(node, nodes_.size() - 1); node++) {
    std::vector<int32_t> chain;
    auto last = node;
    const auto goes_on = [&] {
      return !IsEnd(last) && !IsTail(last) && EdgesOf(last).size() == 1 && EdgesOf(last)[0].kind == Kind::kEmpty;
    };
    // A chain in a circle ends at its limit, which no real chain reaches.
    constexpr size_t kMostInChain = 64;
    while (goes_on() && chain.size() < kMostInChain) {
      chain.push_back(last);
      last = EdgesOf(last)[0].target;
    }
    const bool is_tail = IsTail(last) || (IsEnd(last) && EdgesOf(last).empty());
    if (!is_tail) continue;
    chain.push_back(last);
    for (const auto each : chain) nodes_[static_cast<size_t>(each)].is_tail = true;
  }
}

// Knuth's generalisation of Dijkstra's algorithm: nodes get their final costs in ascending order.
void GrammarAutomaton::FindCosts() {
  struct Incoming {
    int32_t from;
    uint32_t edge;
  };
  const size_t n_nodes = nodes_.size() - 1;
  std::vector<std::vector<Incoming>> incoming(n_nodes);
  std::vector<std::vector<Incoming>> calls(starts_.size());
  std::vector<std::vector<int32_t>> rules_at(n_nodes);
  for (size_t rule = 0; rule < starts_.size(); rule++)
    rules_at[static_cast<size_t>(starts_[rule])].push_back(static_cast<int32_t>(rule));
  for (size_t node = 0; node < n_nodes; node++) {
    for (auto edge = nodes_[node].first_edge; edge < nodes_[node + 1].first_edge; edge++) {
      const Incoming entry{static_cast<int32_t>(node), edge};
      incoming[static_cast<size_t>(edges_[edge].target)].push_back(entry);
      if (edges_[edge].kind == Kind::kCall) calls[static_cast<size_t>(edges_[edge].value)].push_back(entry);
    }
  }
  const uint64_t quote_cost = quotes_ ? quotes_->CostOf(quotes_->Start()) : 0;
  using Entry = std::pair<uint32_t, int32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  std::vector<bool> is_final(n_nodes);
  for (size_t node = 0; node < n_nodes; node++) {
    if (!nodes_[node].is_end) continue;
    nodes_[node].cost = 0;
    queue.emplace(0, static_cast<int32_t>(node));
  }
  const auto relax = [&](const Incoming& entry) {
    const auto& edge = edges_[entry.edge];
    uint64_t cost = CostOf(edge.target);
    if (cost == kNever || !is_final[static_cast<size_t>(edge.target)]) return;
    if (edge.kind == Kind::kCall) {
      const auto start = StartOf(edge.value);
      if (!is_final[static_cast<size_t>(start)]) return;
      cost += CostOf(start);
    } else if (edge.kind == Kind::kQuote) {
      cost += quote_cost;
    } else if (edge.kind != Kind::kEmpty) {
      cost++;
    }
    auto& node = nodes_[static_cast<size_t>(entry.from)];
    const auto capped = static_cast<uint32_t>(std::min(cost, kMostCost));
    if (is_final[static_cast<size_t>(entry.from)] || node.cost <= capped) return;
    node.cost = capped;
    node.shortest_edge = entry.edge;
    queue.emplace(capped, entry.from);
  };
  while (!queue.empty()) {
    const auto node = static_cast<size_t>(queue.top().second);
    queue.pop();
    if (is_final[node]) continue;
    is_final[node] = true;
    for (const auto& entry : incoming[node]) relax(entry);
    for (const auto rule : rules_at[node]) {
      for (const auto& entry : calls[static_cast<size_t>(rule)]) relax(entry);
    }
  }
}

void GrammarAutomaton::CheckLeftRecursion(std::span<const std::string> names) const {
  enum class Mark : uint8_t { kNew, kOpen, kDone };
  // The rules with which a text of a rule may begin.
  std::vector<bool> is_seen(nodes_.size());
  const auto find_first = [&](int32_t rule) {
    std::vector<int32_t> found;
    std::vector<int32_t> seen;
    std::vector<int32_t> open{StartOf(rule)};
    while (!open.empty()) {
      const auto node = open.back();
      open.pop_back();
      if (is_seen[static_cast<size_t>(node)]) continue;
      is_seen[static_cast<size_t>(node)] = true;
      seen.push_back(node);
      for (const auto& edge : EdgesOf(node)) {
        if (edge.kind == Kind::kEmpty) open.push_back(edge.target);
        if (edge.kind != Kind::kCall) continue;
        found.push_back(edge.value);
        if (CostOf(StartOf(edge.value)) == 0) open.push_back(edge.target);
      }
    }
    for (const auto node : seen) is_seen[static_cast<size_t>(node)] = false;
    return found;
  };
  struct Visit {
    int32_t rule;
    std::vector<int32_t> first;
    size_t next = 0;
  };
  std::vector<Mark> marks(starts_.size(), Mark::kNew);
  for (int32_t root = 0; std::cmp_less(root, starts_.size()); root++) {
    if (marks[static_cast<size_t>(root)] != Mark::kNew) continue;
    std::vector<Visit> visits;
    const auto enter = [&](int32_t rule) {
      marks[static_cast<size_t>(rule)] = Mark::kOpen;
      visits.push_back({rule, find_first(rule)});
    };
    enter(root);
    while (!visits.empty()) {
      auto& visit = visits.back();
      if (visit.next == visit.first.size()) {
        marks[static_cast<size_t>(visit.rule)] = Mark::kDone;
        visits.pop_back();
        continue;
      }
      const auto next = visit.first[visit.next++];
      const auto mark = marks[static_cast<size_t>(next)];
      if (mark == Mark::kOpen) {
        throw SamplingError(Fault::kCaller, "the grammar is left-recursive: a text of its rule " +
                                                names[static_cast<size_t>(next)] +
                                                " may begin with a text of the same rule");
      }
      if (mark == Mark::kNew) enter(next);
    }
  }
}

void GrammarAutomaton::FindClasses() {
  std::bitset<257> begins;
  begins[0] = true;
  for (const auto& edge : edges_) {
    if (edge.kind != Kind::kBytes) continue;
    begins[edge.first] = true;
    begins[static_cast<size_t>(edge.last) + 1] = true;
  }
  for (size_t byte = 0; byte < classes_.size(); byte++) {
    n_classes_ += begins[byte] ? 1 : 0;
    classes_[byte] = static_cast<uint8_t>(n_classes_ - 1);
  }
}

}  // namespace aana::llama
