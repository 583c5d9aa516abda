#include "core/llama/prompt_cache/prompt_cache.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "core/engine_log.h"
#include "core/llama/common_prefix.h"
#include "core/thread_name.h"

namespace aana::llama {
namespace {

// States that wait for the disk.
constexpr size_t kMostQueuedBytes = 256U << 20;
// A state is read if at least this part of its tokens is of use, because all of it is read.
constexpr size_t kReadPerUsed = 16;

}  // namespace

PromptCache::PromptCache(PromptFiles files, size_t n_least, bool takes_whole)
    : files_(std::move(files)), n_least_(n_least), takes_whole_(takes_whole), known_(files_.List()), thread_([this] {
        Run();
      }) {}

PromptCache::~PromptCache() {
  {
    std::lock_guard lock(mutex_);
    is_stopping_ = true;
    changed_.notify_one();
  }
  thread_.join();
}

size_t PromptCache::Spared(std::span<const TokenId> prompt, std::span<const TokenId> tokens) const {
  const size_t n = CommonPrefix(prompt, tokens);
  return takes_whole_ && n < prompt.size() ? 0 : n;
}

std::optional<PromptCache::Match> PromptCache::Find(const std::string& key, std::span<const TokenId> tokens,
                                                    size_t n_there, size_t n_most) const {
  std::lock_guard lock(mutex_);
  std::optional<Match> best;
  for (const auto& file : known_) {
    if (file.name.empty() || file.key != key || file.tokens.size() > n_most) continue;
    const size_t n = Spared(file.tokens, tokens);
    if (n < n_there + n_least_ || (best && n <= best->n_tokens) || n * kReadPerUsed < file.tokens.size()) continue;
    best = Match{file.name, key, n};
  }
  return best;
}

void PromptCache::Fetch(Match match, OnFetched on_fetched) {
  std::lock_guard lock(mutex_);
  // Before what is to be written, because a request waits for it.
  const auto first_written =
      std::ranges::find_if(jobs_, [](const Job& job) { return std::holds_alternative<SavedPrompt>(job); });
  jobs_.insert(first_written, Fetching{std::move(match), std::move(on_fetched)});
  changed_.notify_one();
}

bool PromptCache::Wants(const std::string& key, std::span<const TokenId> tokens) const {
  std::lock_guard lock(mutex_);
  if (tokens.size() < n_least_ || is_stopping_ || n_queued_bytes_ > kMostQueuedBytes) return false;
  return std::ranges::none_of(known_, [&](const PromptFile& file) {
    return file.key == key && Spared(file.tokens, tokens) + n_least_ > tokens.size();
  });
}

void PromptCache::Save(SavedPrompt prompt) {
  std::lock_guard lock(mutex_);
  if (is_stopping_) return;
  known_.push_back({"", prompt.key, prompt.tokens});
  n_queued_bytes_ += prompt.state.size;
  jobs_.emplace_back(std::move(prompt));
  changed_.notify_one();
}

void PromptCache::Run() {
  NameThread("aana-states");
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return is_stopping_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    auto job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    try {
      std::visit([this](auto& specific) { Do(specific); }, job);
    } catch (const std::exception& error) {
      Log(LogLevel::kWarn, std::string("a saved prompt could not be used: ") + error.what());
    }
    lock.lock();
  }
}

void PromptCache::Do(Fetching& job) {
  std::unique_ptr<SavedPrompt> fetched;
  try {
    auto prompt = files_.Read(job.match.name);
    // Another process may have replaced the file.
    if (prompt && prompt->key == job.match.key) fetched = std::make_unique<SavedPrompt>(std::move(*prompt));
  } catch (const std::exception& error) {
    Log(LogLevel::kWarn, std::string("a saved prompt could not be read: ") + error.what());
  }
  if (fetched) {
    files_.Touch(job.match.name);
  } else {
    Forget(job.match.name);
  }
  job.on_fetched(std::move(fetched));
}

void PromptCache::Do(SavedPrompt& prompt) {
  Write(prompt);
  {
    std::lock_guard lock(mutex_);
    n_queued_bytes_ -= prompt.state.size;
    const auto pending = std::ranges::find_if(known_, [&](const PromptFile& file) {
      return file.name.empty() && file.key == prompt.key && file.tokens == prompt.tokens;
    });
    if (pending != known_.end()) known_.erase(pending);
  }
  Refresh();
}

void PromptCache::Write(SavedPrompt& prompt) {
  try {
    const auto name = files_.Write(prompt);
    if (name.empty()) {
      Log(LogLevel::kDebug,
          "a prompt of " + std::to_string(prompt.tokens.size()) + " tokens is too large for the prompt cache");
      return;
    }
    has_failed_ = false;
  } catch (const std::exception& error) {
    // Once, until it works again.
    if (!std::exchange(has_failed_, true)) Log(LogLevel::kWarn, std::string("prompts are not saved: ") + error.what());
    return;
  }
  if (takes_whole_) return;
  // Files that have few tokens besides the beginning of the new one are of no further use.
  std::vector<std::string> replaced;
  {
    std::lock_guard lock(mutex_);
    for (const auto& file : known_) {
      if (file.name.empty() || file.key != prompt.key || file.tokens.size() >= prompt.tokens.size()) continue;
      if (CommonPrefix(file.tokens, prompt.tokens) + n_least_ > file.tokens.size()) replaced.push_back(file.name);
    }
  }
  for (const auto& name : replaced) files_.Remove(name);
}

void PromptCache::Refresh() {
  auto names = files_.Names();
  std::vector<std::string> added;
  {
    std::lock_guard lock(mutex_);
    std::erase_if(known_, [&](const PromptFile& file) {
      return !file.name.empty() && std::ranges::find(names, file.name) == names.end();
    });
    for (auto& name : names) {
      if (std::ranges::find(known_, name, &PromptFile::name) == known_.end()) added.push_back(std::move(name));
    }
  }
  for (const auto& name : added) {
    auto file = files_.ReadHead(name);
    if (!file) continue;
    std::lock_guard lock(mutex_);
    known_.push_back(std::move(*file));
  }
}

void PromptCache::Forget(const std::string& name) {
  std::lock_guard lock(mutex_);
  std::erase_if(known_, [&](const PromptFile& file) { return file.name == name; });
}

}  // namespace aana::llama
