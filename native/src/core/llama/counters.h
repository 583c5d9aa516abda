#pragma once

#include <cstdint>
#include <mutex>

namespace aana::llama {

// What an engine has done since its load, and what it has at the moment.
struct Counts {
  uint64_t n_steps = 0;          // decodes
  uint64_t n_ubatches = 0;       // passes over the weights in these decodes
  uint64_t n_computed = 0;       // tokens of these decodes
  uint64_t n_idle = 0;           // further tokens, which only joined sequences in a pass
  uint64_t n_prompt = 0;         // prompt tokens of the requests that began
  uint64_t n_reused = 0;         // those of them whose keys and values were cached
  uint64_t n_restored = 0;       // those of them that came from disk
  uint64_t n_kept_tokens = 0;    // those of them that came from kept states
  uint64_t n_kept_hits = 0;      // sequences that got their beginning from there
  uint64_t n_kept_misses = 0;    // sequences for which there was none
  uint64_t n_preempted = 0;      // sequences that lost their cells while they ran
  uint64_t n_paused = 0;         // times that a sequence made room for one of another tenant
  uint64_t n_shifted = 0;        // times that a full context made room in a sequence
  uint64_t n_drafted = 0;        // guessed tokens
  uint64_t n_accepted = 0;       // those of them that came true
  uint64_t n_generated = 0;      // tokens that were chosen
  uint64_t n_encoded_media = 0;  // images and sounds that were encoded
  uint64_t n_kept_media = 0;     // those whose embeddings an earlier request had left
  // Time of the decodes, divided by the tokens of prompts and of answers in each.
  double prefill_seconds = 0;
  double decode_seconds = 0;

  // At the end of the last step:
  uint64_t n_waiting = 0;      // requests that wait for a slot or for their readers
  uint64_t n_running = 0;      // requests that have a slot
  uint64_t n_used_cells = 0;   // cells with keys and values, also of requests that ended
  uint64_t n_cells = 0;        // of the context
  uint64_t n_kept_states = 0;  // of texts without a slot
  uint64_t n_kept_bytes = 0;   // of these states
};

// The counts of an engine. The engine's thread changes them, any thread reads them.
class Counters {
 public:
  template <class Fn>
  void Change(Fn change) {
    std::lock_guard lock(mutex_);
    change(counts_);
  }
  Counts Read() const {
    std::lock_guard lock(mutex_);
    return counts_;
  }

 private:
  mutable std::mutex mutex_;
  Counts counts_;
};

}  // namespace aana::llama
