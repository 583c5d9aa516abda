#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/llama/grammar/automaton/automaton.h"
#include "core/llama/grammar/quotes/quote_sources.h"
#include "core/llama/grammar/token_trie.h"

namespace aana::llama {

// The states that texts lead to, found when they are needed first and kept: for each byte a text then costs one
// look-up. A state is a set of threads, each with the nodes to which its calls return. Returns are shared, so the same
// state is the same number. One thread at a time.
class GrammarStates {
 public:
  using Id = int32_t;
  // No text can follow that meets the grammar.
  static constexpr Id kDead = 0;

  // The automaton must outlive it. Throws SamplingError (fault kCaller) when the beginning has too many readings.
  explicit GrammarStates(const GrammarAutomaton& automaton);

  Id start() const { return start_; }
  // Throws SamplingError (fault kCaller) for a grammar with too many readings or too many states.
  Id Next(Id state, uint8_t byte) {
    const Id next = next_[static_cast<size_t>(state) * n_classes_ + automaton_.ClassOf(byte)];
    return next != kUnknown ? next : FindNext(state, byte);
  }
  // The state after a token: its text, or a step that names the token.
  Id Next(Id state, TokenId token, std::string_view piece);
  // The text so far meets the grammar.
  bool IsAccepting(Id state) const { return states_[static_cast<size_t>(state)].is_accepting; }
  // Something may follow.
  bool CanContinue(Id state) const { return !states_[static_cast<size_t>(state)].threads.empty(); }

  // Tokens of a vocabulary: by their numbers when they are few, otherwise one bit for each token, the lowest first.
  struct TokenSet {
    std::vector<TokenId> tokens;
    std::vector<uint64_t> bits;
  };
  // The tokens that may follow. They stay where they are and as they are for the life of this, also while other threads
  // use it.
  const TokenSet& FindAllowed(Id state, const TokenTrie& trie);

  // The shortest text after which the grammar is met; empty when it has more than `n_most` bytes.
  std::optional<std::string> FindCompletion(Id state, size_t n_most) const;

  size_t n_bytes() const { return n_bytes_; }
  // It has grown so much that a new one should take its place.
  bool IsLarge() const { return n_bytes_ > kLargeBytes; }
  // The number of another one's state here.
  Id Adopt(const GrammarStates& other, Id state);

 private:
  static constexpr Id kUnknown = -1;
  static constexpr int32_t kBottom = -1;
  static constexpr size_t kLargeBytes = 16U << 20;
  static constexpr size_t kMaxBytes = 64U << 20;

  // A call that has not returned.
  struct Frame {
    int32_t node = 0;          // to which it returns
    int32_t parent = kBottom;  // the frame below
    uint32_t depth = 1;
    uint32_t cost = 0;  // bytes of the shortest text from `node` to the end of everything
  };
  struct Thread {
    int32_t node = 0;  // negative: in a quotation, at the place ~node
    int32_t frame = kBottom;

    auto operator<=>(const Thread&) const = default;
  };
  using Threads = std::vector<Thread>;
  struct State {
    Threads threads;  // at nodes with a byte or a token, and in quotations
    bool is_accepting = false;
    bool has_tokens = false;  // a thread is at a token
    bool has_quotes = false;  // a thread is in a quotation: its bytes have no classes, so nothing behind it is kept
  };
  // What a token may mean from a state in a quotation on: places in quotations, and a state for everything else. The
  // places are not kept as states, because at the beginning of a quotation there are very many.
  struct Quoted {
    QuotePlace place;
    int32_t frame = kBottom;
  };
  struct Reading {
    std::vector<Quoted> quoted;
    Id rest = kDead;
  };
  struct HashThreads {
    size_t operator()(const Threads& threads) const;
  };
  struct HashFrame {
    size_t operator()(const Thread& key) const {
      return static_cast<size_t>(key.node) * 0x9E3779B97F4A7C15ULL ^ static_cast<uint32_t>(key.frame);
    }
  };

  Id FindNext(Id state, uint8_t byte);
  // The state after any plain character (TokenTrie::IsPlain), if it is the same for all of them and not dead; otherwise
  // kDead.
  Id NextPlain(Id state);
  // The state after all of these characters, if it is the same one and not dead; otherwise kDead.
  Id NextOf(Id state, std::span<const std::vector<uint8_t>> characters);
  // Whether so many plain characters may follow, whichever they are.
  bool AllowsPlain(Id state, uint8_t n_characters);
  // A step from the state names the token.
  bool NamesToken(Id state, TokenId token) const;
  // The state of these threads and of those that they lead to without a byte.
  Id Close(Threads threads);
  // The same, also accepting if `is_accepting`.
  Id Close(Threads threads, bool is_accepting);
  Id Union(Id a, Id b);
  // Both add the tokens whose bytes may follow to `found_`.
  void FindInQuotes(Id state, const TokenTrie& trie);
  void FindElsewhere(Id state, const TokenTrie& trie);
  void ReadByte(const Reading& reading, uint8_t byte, Reading& next);
  // The state behind a quotation.
  Id StateBehind(int32_t frame);
  int32_t FindPlace(const QuotePlace& place);
  Id Keep(State state);
  // Empty when calls are nested too deep.
  std::optional<int32_t> FindFrame(int32_t node, int32_t parent);
  uint32_t CostOf(const Thread& thread) const;
  void Count(size_t n_bytes);

  const GrammarAutomaton& automaton_;
  size_t n_classes_;
  std::vector<State> states_;
  std::vector<Id> next_;        // of each state by the class of the byte
  std::vector<Id> next_plain_;  // of each state
  // All plain characters: sequences of bytes in UTF-8, with one byte of each class that may be at a place.
  std::vector<std::vector<std::vector<uint8_t>>> plain_characters_;
  std::vector<Frame> frames_;
  std::unordered_map<Thread, int32_t, HashFrame> frame_ids_;  // by node and parent
  std::unordered_multimap<size_t, Id> ids_;                   // by the hash of threads
  std::vector<QuotePlace> places_;
  std::unordered_map<uint64_t, int32_t> place_ids_;  // by first passage and length
  std::unordered_map<Id, TokenSet> allowed_;
  Id start_ = kDead;
  size_t n_bytes_ = 0;
  size_t n_steps_ = 0;  // since the last token
  // Memory of Close and FindAllowed.
  std::unordered_set<uint64_t> seen_;
  std::vector<Id> path_;
  std::vector<TokenId> found_;
  std::vector<Reading> readings_;
  std::vector<QuotePlace> next_places_;
};

}  // namespace aana::llama
