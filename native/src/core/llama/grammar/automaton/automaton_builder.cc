#include "core/llama/grammar/automaton/automaton_builder.h"

#include <algorithm>
#include <utility>

#include "core/llama/grammar/char_set.h"
#include "core/llama/sampling/sampling_error.h"

namespace aana::llama {
namespace {

constexpr size_t kMaxNodes = 300'000;
constexpr size_t kMaxEdges = 1'200'000;

using Kind = GrammarEdge::Kind;

[[noreturn]] void RefuseSize() {
  throw SamplingError(Fault::kCaller, "the grammar is too large: with its repetitions it has more than " +
                                          std::to_string(kMaxNodes) + " states or " + std::to_string(kMaxEdges) +
                                          " steps between them");
}

}  // namespace

void AutomatonBuilder::Build(GrammarAutomaton& automaton) {
  for (const auto& rule : syntax_.rules) AddRule(rule.name);
  for (size_t i = 0; i < syntax_.rules.size(); i++)
    pending_.push_back({static_cast<int32_t>(i), &syntax_.rules[i].alternatives});
  while (!pending_.empty()) {
    const auto [rule, alternatives] = pending_.front();
    pending_.pop_front();
    const auto start = AddNode();
    EndRule(rule, start, Add(start, *alternatives));
  }
  automaton.root_ = static_cast<int32_t>(syntax_.root);
  automaton.starts_ = std::move(starts_);
  automaton.nodes_.resize(edges_.size() + 1);
  automaton.edges_.reserve(n_edges_);
  for (size_t i = 0; i < edges_.size(); i++) {
    automaton.nodes_[i].first_edge = static_cast<uint32_t>(automaton.edges_.size());
    automaton.nodes_[i].is_end = is_end_[i];
    automaton.edges_.insert(automaton.edges_.end(), edges_[i].begin(), edges_[i].end());
  }
  automaton.nodes_.back().first_edge = static_cast<uint32_t>(automaton.edges_.size());
}

int32_t AutomatonBuilder::AddNode() {
  if (edges_.size() == kMaxNodes) RefuseSize();
  edges_.emplace_back();
  is_end_.push_back(false);
  return static_cast<int32_t>(edges_.size()) - 1;
}

void AutomatonBuilder::AddEdge(int32_t from, GrammarEdge edge) {
  if (++n_edges_ > kMaxEdges) RefuseSize();
  edges_[static_cast<size_t>(from)].push_back(edge);
}

int32_t AutomatonBuilder::AddRule(std::string name) {
  names_.push_back(std::move(name));
  starts_.push_back(0);
  return static_cast<int32_t>(names_.size()) - 1;
}

void AutomatonBuilder::EndRule(int32_t rule, int32_t start, int32_t end) {
  starts_[static_cast<size_t>(rule)] = start;
  is_end_[static_cast<size_t>(end)] = true;
}

int32_t AutomatonBuilder::Add(int32_t from, const GrammarAlternatives& alternatives) {
  const auto behind = AddNode();
  for (const auto& sequence : alternatives) {
    auto node = from;
    for (const auto& item : sequence) node = Add(node, item);
    AddEdge(node, {.kind = Kind::kEmpty, .target = behind});
  }
  return behind;
}

int32_t AutomatonBuilder::Add(int32_t from, const GrammarItem& item) {
  if (item.min == 1 && item.max == 1) return AddOnce(from, item);
  if (item.max != kUnlimited && item.max > 1) return AddRepeated(from, item);
  if (item.max == 0) return from;
  if (item.min > 1) return AddRepeated(from, item);
  // `?`, `*` and `+`. The nodes of their own keep loops of neighbours apart.
  auto loop = AddNode();
  AddEdge(from, {.kind = Kind::kEmpty, .target = loop});
  auto node = loop;
  if (item.max == kUnlimited && item.min == 1) {
    node = AddOnce(loop, item);
    AddEdge(node, {.kind = Kind::kEmpty, .target = loop});
    const auto behind = AddNode();
    AddEdge(node, {.kind = Kind::kEmpty, .target = behind});
    return behind;
  }
  node = AddOnce(loop, item);
  const auto behind = AddNode();
  AddEdge(node, {.kind = Kind::kEmpty, .target = item.max == kUnlimited ? loop : behind});
  AddEdge(loop, {.kind = Kind::kEmpty, .target = behind});
  return behind;
}

int32_t AutomatonBuilder::AddRepeated(int32_t from, const GrammarItem& item) {
  // What is large and comes often gets a rule, so that each time costs one edge.
  int32_t rule = -1;
  if (const auto* group = std::get_if<GrammarAlternatives>(&item.what)) {
    rule = AddRule("a repeated group");
    pending_.push_back({rule, group});
  } else if (const auto* set = std::get_if<CharSet>(&item.what); set && !set->empty() && set->back().last >= 0x80) {
    const auto [found, is_new] = rules_of_sets_.try_emplace(*set, 0);
    if (is_new) {
      found->second = AddRule("a set of characters");
      const auto start = AddNode();
      EndRule(found->second, start, AddSet(start, *set));
    }
    rule = found->second;
  }
  const auto add_one = [&](int32_t node) { return rule >= 0 ? AddCall(node, rule) : AddOnce(node, item); };
  auto node = from;
  for (uint32_t i = 0; i < item.min; i++) node = add_one(node);
  if (item.max == item.min) return node;
  const auto behind = AddNode();
  if (item.max == kUnlimited) {
    const auto loop = AddNode();
    AddEdge(node, {.kind = Kind::kEmpty, .target = loop});
    AddEdge(add_one(loop), {.kind = Kind::kEmpty, .target = loop});
    AddEdge(loop, {.kind = Kind::kEmpty, .target = behind});
    return behind;
  }
  for (uint32_t i = item.min; i < item.max; i++) {
    AddEdge(node, {.kind = Kind::kEmpty, .target = behind});
    node = add_one(node);
  }
  AddEdge(node, {.kind = Kind::kEmpty, .target = behind});
  return behind;
}

int32_t AutomatonBuilder::AddOnce(int32_t from, const GrammarItem& item) {
  if (const auto* literal = std::get_if<std::string>(&item.what)) {
    auto node = from;
    for (const char c : *literal) {
      const auto next = AddNode();
      const auto byte = static_cast<uint8_t>(c);
      AddEdge(node, {.kind = Kind::kBytes, .first = byte, .last = byte, .target = next});
      node = next;
    }
    return node;
  }
  if (const auto* set = std::get_if<CharSet>(&item.what)) return AddSet(from, *set);
  if (const auto* reference = std::get_if<RuleReference>(&item.what))
    return AddCall(from, static_cast<int32_t>(reference->rule));
  if (const auto* token = std::get_if<TokenReference>(&item.what)) {
    const auto behind = AddNode();
    AddEdge(from,
            {.kind = token->is_negated ? Kind::kOtherToken : Kind::kToken, .value = token->token, .target = behind});
    return behind;
  }
  if (std::holds_alternative<QuoteReference>(item.what)) {
    const auto behind = AddNode();
    AddEdge(from, {.kind = Kind::kQuote, .target = behind});
    return behind;
  }
  return Add(from, std::get<GrammarAlternatives>(item.what));
}

int32_t AutomatonBuilder::AddCall(int32_t from, int32_t rule) {
  const auto behind = AddNode();
  AddEdge(from, {.kind = Kind::kCall, .value = rule, .target = behind});
  return behind;
}

int32_t AutomatonBuilder::AddSet(int32_t from, const CharSet& set) {
  const auto behind = AddNode();
  for (const auto& range : set) {
    ForEachUtf8Range(range, [&](std::span<const ByteRange> bytes) {
      auto node = from;
      for (size_t i = 0; i < bytes.size(); i++) {
        const auto next = i + 1 == bytes.size() ? behind : AddNode();
        AddEdge(node, {.kind = Kind::kBytes, .first = bytes[i].first, .last = bytes[i].last, .target = next});
        node = next;
      }
    });
  }
  return behind;
}

}  // namespace aana::llama
