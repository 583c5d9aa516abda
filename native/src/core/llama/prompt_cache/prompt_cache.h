#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "core/llama/prompt_cache/prompt_files.h"

namespace aana::llama {

// Saved prompts on disk, for requests with the same beginning, also after a restart. It knows the tokens of all files,
// so finding one takes no reading. A thread of it reads and writes the states. Its functions may be called on any
// thread.
class PromptCache {
 public:
  // Called on the cache's thread with what was read; null when the file is gone or damaged.
  using OnFetched = std::function<void(std::unique_ptr<SavedPrompt> prompt)>;

  // A prompt has at least `n_least` tokens that no other one has. `takes_whole`: only whole prompts can be used,
  // because no part of a state can be taken back. Throws as PromptFiles.
  PromptCache(PromptFiles files, size_t n_least, bool takes_whole);
  // Ends the thread. Prompts that are to be written are written before.
  ~PromptCache();
  PromptCache(const PromptCache&) = delete;
  PromptCache& operator=(const PromptCache&) = delete;

  // A beginning of a text that a file has.
  struct Match {
    std::string name;
    std::string key;
    size_t n_tokens = 0;
  };
  // Returns the file with the longest beginning of `tokens`, if it has at least the least number of tokens more than
  // `n_there`, and at most `n_most` in all.
  std::optional<Match> Find(const std::string& key, std::span<const TokenId> tokens, size_t n_there,
                            size_t n_most) const;
  void Fetch(Match match, OnFetched on_fetched);

  // Whether these tokens should be saved: no file has most of them, and the disk has kept up with what was saved
  // before.
  bool Wants(const std::string& key, std::span<const TokenId> tokens) const;
  void Save(SavedPrompt prompt);
  // Longer states are not kept.
  uint64_t max_bytes() const { return files_.max_bytes(); }

 private:
  struct Fetching {
    Match match;
    OnFetched on_fetched;
  };
  using Job = std::variant<Fetching, SavedPrompt>;

  // Tokens of the beginning of `tokens` that the prompt spares.
  size_t Spared(std::span<const TokenId> prompt, std::span<const TokenId> tokens) const;
  void Run();
  void Do(Fetching& job);
  void Do(SavedPrompt& prompt);
  void Write(SavedPrompt& prompt);
  // Learns of files that other processes wrote or deleted.
  void Refresh();
  void Forget(const std::string& name);

  PromptFiles files_;
  const size_t n_least_;
  const bool takes_whole_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<PromptFile> known_;  // those that are to be written, too; these have no name
  std::deque<Job> jobs_;
  size_t n_queued_bytes_ = 0;
  bool is_stopping_ = false;
  bool has_failed_ = false;  // the last write did; only used by the thread
  std::thread thread_;       // last, because it uses all the others
};

}  // namespace aana::llama
