#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/llama/model/adapter_use.h"
#include "core/llama/schedule/suspended.h"

namespace aana::llama {

// What a slot held of a text when another sequence got the slot.
struct KeptState : Suspended {
  AdapterUse adapter;     // with which it was computed
  std::string cache_key;  // only sequences with this key may use it
  std::string tenant;     // whose text it is
  uint64_t used_at = 0;

  size_t n_bytes() const { return state.size + decoded.size() * sizeof(llama_token); }
};

// States of texts that have no slot, in main memory. When they have too many bytes, the tenant with the most bytes
// loses the state that it used the longest ago, so that a tenant with many conversations does not drive out those of
// others. One thread.
class KeptStates {
 public:
  // A state that spares or covers fewer tokens is not worth its copy.
  static constexpr size_t kLeast = 32;

  // `takes_whole`: a sequence can use only the whole of a state. 0 bytes: nothing is kept.
  KeptStates(uint64_t max_bytes, bool takes_whole) : max_bytes_(max_bytes), takes_whole_(takes_whole) {}

  // Whether the first `n` tokens of `text`, which has no state, are worth keeping: no state has most of them.
  bool Wants(const KeptState& text, size_t n) const;
  // Keeps the state, in place of those that it covers.
  void Add(KeptState state);
  // Notes that the state was used.
  void Touch(const KeptState& state);
  // Gives up states until they have at most so many bytes, also later.
  void Limit(uint64_t max_bytes);

  uint64_t max_bytes() const { return max_bytes_; }
  uint64_t n_bytes() const { return n_bytes_; }
  // They live as long as somebody has them, also when they are given up.
  std::span<const std::shared_ptr<KeptState>> states() const { return states_; }

 private:
  // Whether all but a few of the first `n` tokens of `text` are in `state`.
  bool Covers(const KeptState& state, const KeptState& text, size_t n) const;
  void GiveUpBeyond(uint64_t n_bytes);

  uint64_t max_bytes_;
  const bool takes_whole_;
  std::vector<std::shared_ptr<KeptState>> states_;
  uint64_t n_bytes_ = 0;
  uint64_t clock_ = 0;
};

}  // namespace aana::llama
