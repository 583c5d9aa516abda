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
#include <unordered_set>
#include <variant>
#include <vector>

#include "core/llama/prompt_cache/prompt_files.h"

namespace aana::llama {

// Tokens and what a model computed for them.
struct SavedPrompt {
  std::string key;  // of what else the state depends on: the model, the adapter, the tenant
  std::vector<TokenId> tokens;
  StateBytes state;
};

// Saved prompts on disk, for requests with the same beginning, also after a restart. A prompt is cut into blocks of
// `kBlockTokens` tokens, each a file whose number follows from all tokens up to its end. So a prompt that goes on
// writes only what is new, prompts with the same beginning have its files in common, and the numbers alone tell which
// files there are of a prompt. A state that cannot be cut is one file, whose number follows from its tokens. A thread
// reads and writes the files. The functions may be called on any thread, and none waits for the disk.
class PromptCache {
 public:
  // Smaller blocks lose fewer tokens at the end of a prompt, and need more files.
  static constexpr size_t kBlockTokens = 64;

  // Called on the cache's thread with what was read: the tokens that were asked for, or fewer of them, whose state is
  // for a context with as many separate caches as that of the cache. Null when the files are gone or damaged.
  using OnFetched = std::function<void(std::unique_ptr<SavedPrompt> prompt)>;

  // Prompts are saved and fetched in steps of at least `n_least` tokens. Their states are those of a context with
  // `n_caches` separate caches. `cuts`: states may be cut. Throws as PromptFiles.
  PromptCache(PromptFiles files, size_t n_least, uint32_t n_caches, bool cuts);
  // Ends the thread. Prompts that are to be written are written before.
  ~PromptCache();
  PromptCache(const PromptCache&) = delete;
  PromptCache& operator=(const PromptCache&) = delete;

  // Fetches the longest beginning of these tokens that there is, if it has at least the least number of tokens more
  // than `n_there`. False when there is none, or when so many are asked for that it would come too late.
  bool Fetch(const std::string& key, std::span<const TokenId> tokens, size_t n_there, OnFetched on_fetched);
  // Whether these tokens should be saved: the files lack enough of them, and the disk has kept up with what was saved
  // before.
  bool Wants(const std::string& key, std::span<const TokenId> tokens) const;
  void Save(SavedPrompt prompt);
  // Longer states are not kept.
  uint64_t max_bytes() const { return files_.max_bytes(); }

 private:
  // Numbers for each beginning of a prompt.
  using Sums = std::vector<uint64_t>;
  using Numbers = std::unordered_set<uint64_t>;
  // A beginning of a prompt that files have.
  struct Beginning {
    size_t n_tokens = 0;
    bool is_whole = false;  // it was not cut
  };
  struct Fetching {
    std::string key;
    std::vector<TokenId> tokens;
    bool is_whole;
    OnFetched on_fetched;
  };
  struct Saving {
    SavedPrompt prompt;
    std::vector<uint64_t> pending;
  };
  using Job = std::variant<Fetching, Saving>;

  static Sums SumsOf(const std::string& key, std::span<const TokenId> tokens);
  // The numbers of the files of the blocks.
  static std::vector<uint64_t> BlocksOf(const Sums& sums);
  // The number of the file of a prompt that is not cut.
  uint64_t WholeOf(uint64_t sum) const;

  // `with_pending`: also where files are still to be written.
  Beginning Longest(const Sums& sums, bool with_pending) const;
  bool Has(uint64_t number, bool with_pending) const {
    return written_.contains(number) || (with_pending && pending_.contains(number));
  }

  void Run();
  void Do(Fetching& job);
  void Do(Saving& job);
  std::unique_ptr<SavedPrompt> ReadBlocks(Fetching& job);
  std::unique_ptr<SavedPrompt> ReadWhole(Fetching& job);
  // Empty when the file has not these tokens.
  std::optional<StateBytes> Read(uint64_t number, const Fetching& job, size_t first, size_t n);
  void Write(SavedPrompt& prompt);
  // Writes those of the files of a prompt that are not there. `block_at` returns what belongs in each.
  void Write(std::span<const uint64_t> numbers, const std::function<PromptBlock(size_t index)>& block_at);

  PromptFiles files_;
  const size_t n_least_;
  const uint32_t n_caches_;
  const bool cuts_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Numbers written_;  // files
  Numbers pending_;  // those that are to be written
  std::deque<Job> jobs_;
  size_t n_queued_bytes_ = 0;
  bool is_stopping_ = false;
  bool has_failed_ = false;  // the last write did; only used by the thread
  std::thread thread_;       // last, because it uses all the others
};

}  // namespace aana::llama
