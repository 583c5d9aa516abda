#pragma once

#include <llama.h>

#include <vector>

#include "core/llama/loop/ubatches.h"

namespace aana::llama {

// The tokens of one decode, of many sequences.
class Batch {
 public:
  explicit Batch(int32_t n_max) : batch_(llama_batch_init(n_max, 0, 1)) {}
  ~Batch() { llama_batch_free(batch_); }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  void Clear() {
    batch_.n_tokens = 0;
    sequences_.clear();
  }

  // Returns the token's index, by which its logits are found after the decode.
  int32_t Add(llama_token token, llama_pos position, llama_seq_id sequence, bool wants_logits) {
    const int32_t index = batch_.n_tokens++;
    batch_.token[index] = token;
    batch_.pos[index] = position;
    batch_.n_seq_id[index] = 1;
    batch_.seq_id[index][0] = sequence;
    batch_.logits[index] = wants_logits ? 1 : 0;
    if (sequences_.empty() || sequences_.back().sequence != sequence) sequences_.push_back({sequence, 0});
    sequences_.back().n_tokens++;
    return index;
  }

  int32_t size() const { return batch_.n_tokens; }
  // In order, each once when its tokens lie together.
  const std::vector<SequenceTokens>& sequences() const { return sequences_; }
  const llama_batch& get() const { return batch_; }

 private:
  llama_batch batch_;
  std::vector<SequenceTokens> sequences_;
};

}  // namespace aana::llama
