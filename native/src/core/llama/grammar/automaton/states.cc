#include "core/llama/grammar/automaton/states.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <utility>

#include "core/llama/grammar/char_set.h"
#include "core/llama/sampling/sampling_error.h"

namespace aana::llama {
namespace {

using Kind = GrammarEdge::Kind;

// Readings of a text at the same time, and steps to find those after a byte.
constexpr size_t kMaxThreads = 4096;
constexpr size_t kMaxSteps = 100'000;
// Steps to find what may follow a token; about half a second.
constexpr size_t kMaxStepsPerToken = 4'000'000;
// Calls in calls. A text that nests deeper cannot go on so.
constexpr uint32_t kMaxDepth = 2000;

// States within a character, of a text that may go on with any character.
constexpr size_t kMostPlaces = 8;

[[noreturn]] void RefuseReadings() {
  throw SamplingError(Fault::kCaller, "the grammar is too ambiguous: a text has more than " +
                                          std::to_string(kMaxThreads) + " readings at the same time");
}

std::vector<uint8_t> OneOfEachClass(const GrammarAutomaton& automaton, std::span<const uint8_t> bytes) {
  std::vector<uint8_t> found;
  std::array<bool, 256> is_known{};
  for (const auto byte : bytes) {
    if (!std::exchange(is_known[automaton.ClassOf(byte)], true)) found.push_back(byte);
  }
  return found;
}

}  // namespace

size_t GrammarStates::HashThreads::operator()(const Threads& threads) const {
  uint64_t hash = threads.size();
  for (const auto& [node, frame] : threads) {
    hash = (hash ^ (static_cast<uint64_t>(static_cast<uint32_t>(node)) << 32 | static_cast<uint32_t>(frame))) *
           0x9E3779B97F4A7C15ULL;
    hash ^= hash >> 29;
  }
  return hash;
}

GrammarStates::GrammarStates(const GrammarAutomaton& automaton)
    : automaton_(automaton), n_classes_(automaton.n_classes()) {
  std::vector<uint8_t> plain;
  for (int byte = 0; byte < 0x80; byte++) {
    if (TokenTrie::IsPlain(static_cast<uint8_t>(byte))) plain.push_back(static_cast<uint8_t>(byte));
  }
  plain_characters_.push_back({OneOfEachClass(automaton_, plain)});
  for (const auto& range : Normalized({{0x80, kLastChar}})) {
    ForEachUtf8Range(range, [&](std::span<const ByteRange> bytes) {
      auto& character = plain_characters_.emplace_back();
      for (const auto& [first, last] : bytes) {
        std::vector<uint8_t> all(last - first + 1U);
        std::iota(all.begin(), all.end(), first);
        character.push_back(OneOfEachClass(automaton_, all));
      }
    });
  }
  Keep({});  // kDead
  for (size_t i = 0; i < n_classes_; i++) next_[i] = kDead;
  next_plain_[kDead] = kDead;
  start_ = Close({{automaton.StartOf(automaton.root()), kBottom}});
}

GrammarStates::Id GrammarStates::FindNext(Id state, uint8_t byte) {
  Threads threads;
  const bool has_quotes = states_[static_cast<size_t>(state)].has_quotes;
  for (const auto& thread : states_[static_cast<size_t>(state)].threads) {
    if (thread.node < 0) {
      next_places_.clear();
      automaton_.quotes()->AddNext(places_[static_cast<size_t>(~thread.node)], byte, next_places_);
      for (const auto& place : next_places_) threads.push_back({~FindPlace(place), thread.frame});
      continue;
    }
    for (const auto& edge : automaton_.EdgesOf(thread.node)) {
      if (edge.kind == Kind::kBytes && edge.first <= byte && byte <= edge.last)
        threads.push_back({edge.target, thread.frame});
    }
  }
  const Id next = threads.empty() ? kDead : Close(std::move(threads));
  if (has_quotes) return next;
  next_[static_cast<size_t>(state) * n_classes_ + automaton_.ClassOf(byte)] = next;
  return next;
}

GrammarStates::Id GrammarStates::NextPlain(Id state) {
  if (next_plain_[static_cast<size_t>(state)] != kUnknown) return next_plain_[static_cast<size_t>(state)];
  Id next = states_[static_cast<size_t>(state)].has_quotes ? kDead : kUnknown;
  for (const auto& characters : plain_characters_) {
    const Id after = NextOf(state, characters);
    next = next == kUnknown || next == after ? after : kDead;
    if (next == kDead) break;
  }
  next_plain_[static_cast<size_t>(state)] = next;
  return next;
}

GrammarStates::Id GrammarStates::NextOf(Id state, std::span<const std::vector<uint8_t>> characters) {
  std::vector<Id> places{state};
  for (const auto& bytes : characters) {
    std::vector<Id> behind;
    for (const auto place : places) {
      if (states_[static_cast<size_t>(place)].has_quotes) return kDead;
      for (const auto byte : bytes) {
        const Id next = Next(place, byte);
        if (next == kDead) return kDead;
        if (std::ranges::find(behind, next) == behind.end()) behind.push_back(next);
        if (behind.size() > kMostPlaces) return kDead;
      }
    }
    places = std::move(behind);
  }
  return places.size() == 1 ? places.front() : kDead;
}

bool GrammarStates::AllowsPlain(Id state, uint8_t n_characters) {
  for (; n_characters > 0; n_characters--) {
    const Id next = NextPlain(state);
    if (next == state) return true;
    if (next == kDead) return false;
    state = next;
  }
  return true;
}

GrammarStates::Id GrammarStates::Next(Id state, TokenId token, std::string_view piece) {
  n_steps_ = 0;
  Id next = piece.empty() ? kDead : state;
  for (const char c : piece) {
    if (next == kDead) break;
    next = Next(next, static_cast<uint8_t>(c));
  }
  if (!states_[static_cast<size_t>(state)].has_tokens) return next;
  Threads threads = states_[static_cast<size_t>(next)].threads;
  const bool is_accepting = IsAccepting(next);
  for (const auto& thread : states_[static_cast<size_t>(state)].threads) {
    if (thread.node < 0) continue;
    for (const auto& edge : automaton_.EdgesOf(thread.node)) {
      if (edge.Names(token)) threads.push_back({edge.target, thread.frame});
    }
  }
  if (threads.size() == states_[static_cast<size_t>(next)].threads.size()) return next;
  return Close(std::move(threads), is_accepting);
}

GrammarStates::Id GrammarStates::Close(Threads threads, bool is_accepting) {
  const Id closed = Close(std::move(threads));
  if (!is_accepting || IsAccepting(closed)) return closed;
  auto both = states_[static_cast<size_t>(closed)];
  both.is_accepting = true;
  return Keep(std::move(both));
}

GrammarStates::Id GrammarStates::Union(Id a, Id b) {
  if (a == b || b == kDead) return a;
  if (a == kDead) return b;
  auto threads = states_[static_cast<size_t>(a)].threads;
  const auto& others = states_[static_cast<size_t>(b)].threads;
  threads.insert(threads.end(), others.begin(), others.end());
  return Close(std::move(threads), IsAccepting(a) || IsAccepting(b));
}

GrammarStates::Id GrammarStates::Close(Threads threads) {
  State state;
  seen_.clear();
  const auto see = [&](const Thread& thread) {
    const auto key =
        static_cast<uint64_t>(static_cast<uint32_t>(thread.node)) << 32 | static_cast<uint32_t>(thread.frame);
    return seen_.insert(key).second;
  };
  const auto leave = [&](const Thread& thread) {
    if (thread.frame == kBottom) {
      state.is_accepting = true;
    } else {
      const auto& frame = frames_[static_cast<size_t>(thread.frame)];
      threads.push_back({frame.node, frame.parent});
    }
  };
  const auto call = [&](int32_t start, const GrammarEdge& edge, int32_t frame) {
    // A call at the end of a rule needs no return, so lists that are written as recursion stay flat.
    if (automaton_.IsTail(edge.target)) {
      threads.push_back({start, frame});
    } else if (const auto inner = FindFrame(edge.target, frame)) {
      threads.push_back({start, *inner});
    }
  };
  while (!threads.empty()) {
    const auto thread = threads.back();
    threads.pop_back();
    if (thread.node >= 0 && automaton_.CostOf(thread.node) == GrammarAutomaton::kNever) continue;
    if (!see(thread)) continue;
    if (seen_.size() > kMaxSteps) RefuseReadings();
    if (thread.node < 0) {
      const auto& place = places_[static_cast<size_t>(~thread.node)];
      if (automaton_.quotes()->IsEnd(place)) leave(thread);
      if (!automaton_.quotes()->CanContinue(place)) continue;
      state.threads.push_back(thread);
      state.has_quotes = true;
      continue;
    }
    if (automaton_.IsEnd(thread.node)) leave(thread);
    bool is_kept = false;
    for (const auto& edge : automaton_.EdgesOf(thread.node)) {
      switch (edge.kind) {
        case Kind::kEmpty:
          threads.push_back({edge.target, thread.frame});
          break;
        case Kind::kCall: {
          const auto start = automaton_.StartOf(edge.value);
          if (automaton_.CostOf(edge.target) == GrammarAutomaton::kNever ||
              automaton_.CostOf(start) == GrammarAutomaton::kNever)
            break;
          call(start, edge, thread.frame);
          break;
        }
        case Kind::kQuote:
          if (automaton_.CostOf(edge.target) == GrammarAutomaton::kNever) break;
          call(~FindPlace(automaton_.quotes()->Start()), edge, thread.frame);
          break;
        case Kind::kToken:
        case Kind::kOtherToken:
          state.has_tokens = is_kept = true;
          break;
        case Kind::kBytes:
          is_kept = true;
          break;
      }
    }
    if (is_kept) state.threads.push_back(thread);
    if (state.threads.size() > kMaxThreads) RefuseReadings();
  }
  n_steps_ += seen_.size();
  if (n_steps_ > kMaxStepsPerToken)
    throw SamplingError(Fault::kCaller, "the grammar is too ambiguous: it takes too long to find what may follow");
  std::ranges::sort(state.threads);
  return Keep(std::move(state));
}

GrammarStates::Id GrammarStates::Keep(State state) {
  const size_t hash = HashThreads()(state.threads) + (state.is_accepting ? 1 : 0);
  const auto [begin, end] = ids_.equal_range(hash);
  for (auto found = begin; found != end; ++found) {
    const auto& other = states_[static_cast<size_t>(found->second)];
    if (other.is_accepting == state.is_accepting && other.threads == state.threads) return found->second;
  }
  const auto id = static_cast<Id>(states_.size());
  constexpr size_t kBytesPerState = 128;
  Count((n_classes_ + 1) * sizeof(Id) + state.threads.size() * sizeof(Thread) + kBytesPerState);
  states_.push_back(std::move(state));
  next_.resize(next_.size() + n_classes_, kUnknown);
  next_plain_.push_back(kUnknown);
  ids_.emplace(hash, id);
  return id;
}

std::optional<int32_t> GrammarStates::FindFrame(int32_t node, int32_t parent) {
  const auto [found, is_new] = frame_ids_.try_emplace({node, parent}, static_cast<int32_t>(frames_.size()));
  if (!is_new) return found->second < 0 ? std::nullopt : std::optional(found->second);
  constexpr size_t kBytesPerFrame = 64;
  Count(kBytesPerFrame);
  const auto* below = parent == kBottom ? nullptr : &frames_[static_cast<size_t>(parent)];
  const uint32_t depth = below ? below->depth + 1 : 1;
  if (depth > kMaxDepth) {
    found->second = -1;
    return std::nullopt;
  }
  const uint64_t cost = static_cast<uint64_t>(automaton_.CostOf(node)) + (below ? below->cost : 0);
  frames_.push_back({node, parent, depth, static_cast<uint32_t>(std::min(cost, GrammarAutomaton::kMostCost))});
  return found->second;
}

int32_t GrammarStates::FindPlace(const QuotePlace& place) {
  const auto key = static_cast<uint64_t>(place.first) << 32 | place.length;
  const auto [found, is_new] = place_ids_.try_emplace(key, static_cast<int32_t>(places_.size()));
  if (!is_new) return found->second;
  constexpr size_t kBytesPerPlace = 64;
  Count(kBytesPerPlace);
  places_.push_back(place);
  return found->second;
}

void GrammarStates::Count(size_t n_bytes) {
  n_bytes_ += n_bytes;
  if (n_bytes_ > kMaxBytes) {
    throw SamplingError(Fault::kCaller, "the grammar has too many states: those for one token take more than " +
                                            std::to_string(kMaxBytes >> 20) + " MiB");
  }
}

const GrammarStates::TokenSet& GrammarStates::FindAllowed(Id state, const TokenTrie& trie) {
  const auto known = allowed_.find(state);
  if (known != allowed_.end()) return known->second;
  n_steps_ = 0;
  found_.clear();
  const bool has_quotes = states_[static_cast<size_t>(state)].has_quotes;
  if (has_quotes) {
    FindInQuotes(state, trie);
  } else {
    FindElsewhere(state, trie);
  }
  if (states_[static_cast<size_t>(state)].has_tokens) {
    for (TokenId token = 0; std::cmp_less(token, trie.n_vocab()); token++) {
      if (NamesToken(state, token)) found_.push_back(token);
    }
  }
  TokenSet set;
  const size_t n_words = (trie.n_vocab() + 63) / 64;
  if (found_.size() <= n_words) {
    set.tokens = found_;
  } else {
    set.bits.resize(n_words);
    for (const auto token : found_)
      set.bits[static_cast<size_t>(token) / 64] |= uint64_t{1} << (static_cast<size_t>(token) % 64);
  }
  Count(set.bits.size() * sizeof(uint64_t) + set.tokens.size() * sizeof(TokenId));
  return allowed_.emplace(state, std::move(set)).first->second;
}

void GrammarStates::FindInQuotes(Id state, const TokenTrie& trie) {
  readings_.resize(trie.max_depth() + 1);
  auto& begin = readings_[0];
  begin.quoted.clear();
  Threads others;
  for (const auto& thread : states_[static_cast<size_t>(state)].threads) {
    if (thread.node < 0) {
      begin.quoted.push_back({places_[static_cast<size_t>(~thread.node)], thread.frame});
    } else {
      others.push_back(thread);
    }
  }
  begin.rest = Close(std::move(others));
  const auto nodes = trie.nodes();
  for (uint32_t i = 0; i < nodes.size();) {
    const auto& node = nodes[i];
    auto& next = readings_[node.depth + 1U];
    ReadByte(readings_[node.depth], node.byte, next);
    if (next.quoted.empty() && next.rest == kDead) {
      i = node.behind;
      continue;
    }
    const auto tokens = trie.TokensAt(node);
    found_.insert(found_.end(), tokens.begin(), tokens.end());
    i++;
  }
}

void GrammarStates::ReadByte(const Reading& reading, uint8_t byte, Reading& next) {
  const auto& quotes = *automaton_.quotes();
  next.quoted.clear();
  next.rest = Next(reading.rest, byte);
  for (const auto& [place, frame] : reading.quoted) {
    std::vector<QuotePlace> places;
    quotes.AddNext(place, byte, places);
    for (const auto& after : places) {
      if (quotes.IsEnd(after)) next.rest = Union(next.rest, StateBehind(frame));
      if (quotes.CanContinue(after)) next.quoted.push_back({after, frame});
    }
  }
}

GrammarStates::Id GrammarStates::StateBehind(int32_t frame) {
  if (frame == kBottom) return Keep({.threads = {}, .is_accepting = true});
  const auto [node, parent, depth, cost] = frames_[static_cast<size_t>(frame)];
  return Close({{node, parent}});
}

void GrammarStates::FindElsewhere(Id state, const TokenTrie& trie) {
  path_.resize(trie.max_depth() + 1);
  path_[0] = state;
  const auto nodes = trie.nodes();
  for (uint32_t i = 0; i < nodes.size();) {
    const auto& node = nodes[i];
    const Id next = Next(path_[node.depth], node.byte);
    if (next == kDead) {
      i = node.behind;
      continue;
    }
    // Within a text that may have any characters, whole branches need no walk.
    // The state is asked first, because a processor guesses that better than what the node is.
    const bool may_go_on = next_plain_[static_cast<size_t>(next)] != kDead;
    if (may_go_on && node.plain_height != 0 && node.plain_height != TokenTrie::kNotPlain &&
        AllowsPlain(next, node.plain_height)) {
      const auto tokens = trie.TokensFrom(node);
      found_.insert(found_.end(), tokens.begin(), tokens.end());
      i = node.behind;
      continue;
    }
    path_[node.depth + 1U] = next;
    const auto tokens = trie.TokensAt(node);
    found_.insert(found_.end(), tokens.begin(), tokens.end());
    i++;
  }
}

bool GrammarStates::NamesToken(Id state, TokenId token) const {
  return std::ranges::any_of(states_[static_cast<size_t>(state)].threads, [&](const Thread& thread) {
    return thread.node >= 0 && std::ranges::any_of(automaton_.EdgesOf(thread.node),
                                                   [&](const GrammarEdge& edge) { return edge.Names(token); });
  });
}

uint32_t GrammarStates::CostOf(const Thread& thread) const {
  const uint64_t below = thread.frame == kBottom ? 0 : frames_[static_cast<size_t>(thread.frame)].cost;
  const uint64_t own = thread.node < 0 ? automaton_.quotes()->CostOf(places_[static_cast<size_t>(~thread.node)])
                                       : automaton_.CostOf(thread.node);
  return static_cast<uint32_t>(std::min(own + below, GrammarAutomaton::kMostCost));
}

std::optional<std::string> GrammarStates::FindCompletion(Id state, size_t n_most) const {
  if (IsAccepting(state)) return "";
  const auto& threads = states_[static_cast<size_t>(state)].threads;
  const auto shortest = std::ranges::min_element(threads, {}, [this](const Thread& thread) { return CostOf(thread); });
  if (shortest == threads.end() || CostOf(*shortest) > n_most) return std::nullopt;
  std::string text;
  std::vector<int32_t> returns;  // of calls on the way, before those of the thread
  auto [node, frame] = *shortest;
  for (;;) {
    if (node < 0) text += automaton_.quotes()->ShortestEnd(places_[static_cast<size_t>(~node)]);
    if (node < 0 || automaton_.IsEnd(node)) {
      if (!returns.empty()) {
        node = returns.back();
        returns.pop_back();
      } else if (frame == kBottom) {
        return text;
      } else {
        node = frames_[static_cast<size_t>(frame)].node;
        frame = frames_[static_cast<size_t>(frame)].parent;
      }
      continue;
    }
    const auto& edge = automaton_.ShortestEdge(node);
    node = edge.target;
    if (edge.kind == Kind::kBytes) text += static_cast<char>(edge.first);
    if (edge.kind == Kind::kQuote) text += automaton_.quotes()->ShortestEnd(automaton_.quotes()->Start());
    if (edge.kind == Kind::kToken || edge.kind == Kind::kOtherToken) return std::nullopt;
    if (edge.kind != Kind::kCall) continue;
    returns.push_back(edge.target);
    node = automaton_.StartOf(edge.value);
  }
}

GrammarStates::Id GrammarStates::Adopt(const GrammarStates& other, Id state) {
  if (state == kDead) return kDead;
  const auto& from = other.states_[static_cast<size_t>(state)];
  State copy = from;
  copy.threads.clear();
  std::unordered_map<int32_t, int32_t> adopted{{kBottom, kBottom}};
  for (const auto& thread : from.threads) {
    std::vector<int32_t> frames;  // the deepest last
    for (auto frame = thread.frame; !adopted.contains(frame); frame = other.frames_[static_cast<size_t>(frame)].parent)
      frames.push_back(frame);
    for (; !frames.empty(); frames.pop_back()) {
      const auto& frame = other.frames_[static_cast<size_t>(frames.back())];
      adopted[frames.back()] = FindFrame(frame.node, adopted[frame.parent]).value();
    }
    const auto node = thread.node < 0 ? ~FindPlace(other.places_[static_cast<size_t>(~thread.node)]) : thread.node;
    copy.threads.push_back({node, adopted[thread.frame]});
  }
  std::ranges::sort(copy.threads);
  return Keep(std::move(copy));
}

}  // namespace aana::llama
