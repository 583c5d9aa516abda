#pragma once

#include <llama.h>

#include <span>
#include <vector>

#include "core/llama/loop/ubatches.h"
#include "core/llama/vision/prompt_image.h"

namespace aana::llama {

// What one decode computes: tokens of many sequences, or cells of an image of one.
class Batch {
 public:
  explicit Batch(int32_t n_max) : batch_(llama_batch_init(n_max, 0, 1)) {}
  ~Batch() { llama_batch_free(batch_); }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  void Clear() {
    batch_.n_tokens = 0;
    sequences_.clear();
    cells_.image = nullptr;
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

  // Adds cells of an image to a batch that is empty, from its cell `begin` on. `numbers` are theirs in the history, and
  // the first one of the image has the position `first_position`. `image` is used until Clear. Returns the index of the
  // last one.
  int32_t AddImage(const PromptImage& image, size_t begin, std::span<const llama_token> numbers,
                   llama_pos first_position, llama_seq_id sequence, bool wants_last_logits) {
    const size_t n = numbers.size();
    const size_t n_embedding = image.embeddings->size() / image.n_cells;
    cells_.image = &image;
    cells_.numbers.assign(numbers.begin(), numbers.end());
    cells_.sequence = sequence;
    cells_.n_sequences.assign(n, 1);
    cells_.sequences.assign(n, &cells_.sequence);
    cells_.logits.assign(n, 0);
    cells_.logits.back() = wants_last_logits ? 1 : 0;
    cells_.positions.clear();
    if (image.positions.empty()) {
      for (size_t i = 0; i < n; i++) cells_.positions.push_back(first_position + static_cast<llama_pos>(begin + i));
    } else {
      for (size_t dimension = 0; dimension < 4; dimension++) {
        for (size_t i = 0; i < n; i++) cells_.positions.push_back(image.positions[begin + i][dimension]);
      }
    }
    cells_.batch = {.n_tokens = static_cast<int32_t>(n),
                    .token = nullptr,
                    // llama.cpp only reads it.
                    .embd = const_cast<float*>(image.embeddings->data() + begin * n_embedding),
                    .pos = cells_.positions.data(),
                    .n_seq_id = cells_.n_sequences.data(),
                    .seq_id = cells_.sequences.data(),
                    .logits = cells_.logits.data()};
    sequences_.push_back({sequence, static_cast<int32_t>(n)});
    return static_cast<int32_t>(n) - 1;
  }

  // The image of a batch that has cells of one; else null.
  const PromptImage* image() const { return cells_.image; }
  int32_t size() const { return get().n_tokens; }
  // In order, each once when its tokens lie together.
  const std::vector<SequenceTokens>& sequences() const { return sequences_; }
  // As the history has them.
  const llama_token* tokens() const { return cells_.image ? cells_.numbers.data() : batch_.token; }
  const llama_batch& get() const { return cells_.image ? cells_.batch : batch_; }

 private:
  struct Cells {
    const PromptImage* image = nullptr;  // null: the batch has tokens
    llama_batch batch{};
    std::vector<llama_token> numbers;
    std::vector<llama_pos> positions;
    std::vector<int32_t> n_sequences;
    llama_seq_id sequence = 0;
    std::vector<llama_seq_id*> sequences;
    std::vector<int8_t> logits;
  };

  llama_batch batch_;
  std::vector<SequenceTokens> sequences_;
  Cells cells_;
};

}  // namespace aana::llama
