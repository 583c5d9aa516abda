#include "core/llama/prompt_cache/prompt_cache.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "core/checksum.h"
#include "core/engine_log.h"
#include "core/llama/prompt_cache/state_parts.h"
#include "core/thread_name.h"

namespace aana::llama {
namespace {

// States that wait for the disk.
constexpr size_t kMostQueuedBytes = 256U << 20;
// Prompts that wait to be read. One takes tens of milliseconds, and a request does not wait long for it.
constexpr std::ptrdiff_t kMostFetches = 64;

size_t WholeBlocks(size_t n_tokens) { return n_tokens / PromptCache::kBlockTokens * PromptCache::kBlockTokens; }

}  // namespace

PromptCache::PromptCache(PromptFiles files, size_t n_least, uint32_t n_caches, bool cuts)
    : files_(std::move(files)), n_least_(std::max<size_t>(n_least, 1)), n_caches_(n_caches), cuts_(cuts) {
  for (const auto number : files_.List()) written_.insert(number);
  thread_ = std::thread([this] { Run(); });
}

PromptCache::~PromptCache() {
  {
    std::lock_guard lock(mutex_);
    is_stopping_ = true;
    changed_.notify_one();
  }
  thread_.join();
}

PromptCache::Sums PromptCache::SumsOf(const std::string& key, std::span<const TokenId> tokens) {
  Sums sums;
  sums.reserve(tokens.size());
  uint64_t sum = Checksum(key.data(), key.size());
  for (const auto token : tokens) sums.push_back(sum = Checksum(&token, sizeof token, sum));
  return sums;
}

std::vector<uint64_t> PromptCache::BlocksOf(const Sums& sums) {
  std::vector<uint64_t> numbers;
  for (size_t end = kBlockTokens; end <= sums.size(); end += kBlockTokens) numbers.push_back(sums[end - 1]);
  return numbers;
}

uint64_t PromptCache::WholeOf(uint64_t sum) const { return Checksum(&sum, sizeof sum, n_caches_); }

PromptCache::Beginning PromptCache::Longest(const Sums& sums, bool with_pending) const {
  size_t n = 0;
  while (n + kBlockTokens <= sums.size() && Has(sums[n + kBlockTokens - 1], with_pending)) n += kBlockTokens;
  for (size_t end = sums.size(); end > n; end--) {
    if (Has(WholeOf(sums[end - 1]), with_pending)) return {end, true};
  }
  return {n, false};
}

bool PromptCache::Fetch(const std::string& key, std::span<const TokenId> tokens, size_t n_there, OnFetched on_fetched) {
  const auto sums = SumsOf(key, tokens);
  std::lock_guard lock(mutex_);
  const auto longest = Longest(sums, false);
  if (longest.n_tokens < n_there + n_least_) return false;
  const auto found = tokens.first(longest.n_tokens);
  // Before what is to be written, because a request waits for it.
  const auto first_saved =
      std::ranges::find_if(jobs_, [](const Job& job) { return std::holds_alternative<Saving>(job); });
  if (first_saved - jobs_.begin() >= kMostFetches) return false;
  jobs_.insert(first_saved, Fetching{key, {found.begin(), found.end()}, longest.is_whole, std::move(on_fetched)});
  changed_.notify_one();
  return true;
}

bool PromptCache::Wants(const std::string& key, std::span<const TokenId> tokens) const {
  const size_t n = cuts_ ? WholeBlocks(tokens.size()) : tokens.size();
  if (n < n_least_) return false;
  const auto sums = SumsOf(key, tokens);
  std::lock_guard lock(mutex_);
  return !is_stopping_ && n_queued_bytes_ <= kMostQueuedBytes && Longest(sums, true).n_tokens + n_least_ <= n;
}

void PromptCache::Save(SavedPrompt prompt) {
  const auto sums = SumsOf(prompt.key, prompt.tokens);
  auto numbers = cuts_ ? BlocksOf(sums) : std::vector{WholeOf(sums.back())};
  std::lock_guard lock(mutex_);
  if (is_stopping_) return;
  std::erase_if(numbers, [&](uint64_t number) { return Has(number, true); });
  pending_.insert(numbers.begin(), numbers.end());
  n_queued_bytes_ += prompt.state.size;
  jobs_.emplace_back(Saving{std::move(prompt), std::move(numbers)});
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
    fetched = job.is_whole ? ReadWhole(job) : ReadBlocks(job);
  } catch (const std::exception& error) {
    Log(LogLevel::kWarn, std::string("a saved prompt could not be read: ") + error.what());
  }
  job.on_fetched(std::move(fetched));
}

std::unique_ptr<SavedPrompt> PromptCache::ReadWhole(Fetching& job) {
  const auto number = WholeOf(SumsOf(job.key, job.tokens).back());
  auto state = Read(number, job, 0, job.tokens.size());
  if (!state) return nullptr;
  files_.Touch({&number, 1});
  return std::make_unique<SavedPrompt>(SavedPrompt{std::move(job.key), std::move(job.tokens), std::move(*state)});
}

std::unique_ptr<SavedPrompt> PromptCache::ReadBlocks(Fetching& job) {
  const auto numbers = BlocksOf(SumsOf(job.key, job.tokens));
  std::vector<StateBytes> states;
  std::vector<StateParts> parts;
  for (const auto number : numbers) {
    const size_t first = states.size() * kBlockTokens;
    auto state = Read(number, job, first, kBlockTokens);
    if (!state) break;
    auto part = StateParts::Of(state->span(), kBlockTokens, first);
    if (!part) break;
    states.push_back(std::move(*state));
    parts.push_back(std::move(*part));
  }
  auto state = StateParts::Join(parts, n_caches_);
  if (state.size == 0) return nullptr;
  files_.Touch(std::span(numbers).first(states.size()));
  job.tokens.resize(states.size() * kBlockTokens);
  return std::make_unique<SavedPrompt>(SavedPrompt{std::move(job.key), std::move(job.tokens), std::move(state)});
}

std::optional<StateBytes> PromptCache::Read(uint64_t number, const Fetching& job, size_t first, size_t n) {
  auto state = files_.Read(number, job.key, first, std::span(job.tokens).subspan(first, n));
  if (state) return state;
  std::lock_guard lock(mutex_);
  written_.erase(number);
  return std::nullopt;
}

void PromptCache::Do(Saving& job) {
  const size_t n_bytes = job.prompt.state.size;
  try {
    Write(job.prompt);
    has_failed_ = false;
  } catch (const std::exception& error) {
    // Once, until it works again.
    if (!std::exchange(has_failed_, true)) Log(LogLevel::kWarn, std::string("prompts are not saved: ") + error.what());
  }
  std::vector<uint64_t> there;
  try {
    there = files_.List();  // other processes write and delete files, too
  } catch (const std::exception& error) {
    Log(LogLevel::kWarn, std::string("the folder of saved prompts could not be read: ") + error.what());
  }
  std::lock_guard lock(mutex_);
  n_queued_bytes_ -= n_bytes;
  for (const auto number : job.pending) pending_.erase(number);
  written_ = Numbers(there.begin(), there.end());
}

void PromptCache::Write(SavedPrompt& prompt) {
  const auto sums = SumsOf(prompt.key, prompt.tokens);
  if (const auto parts = cuts_ ? StateParts::Of(prompt.state.span(), prompt.tokens.size()) : std::nullopt) {
    return Write(BlocksOf(sums), [&](size_t index) {
      const size_t first = index * kBlockTokens;
      const auto tokens = std::span(prompt.tokens).subspan(first, kBlockTokens);
      return PromptBlock{prompt.key, first, {tokens.begin(), tokens.end()}, parts->Cut(first, kBlockTokens)};
    });
  }
  const auto number = WholeOf(sums.back());
  Write({&number, 1},
        [&](size_t) { return PromptBlock{prompt.key, 0, std::move(prompt.tokens), std::move(prompt.state)}; });
}

void PromptCache::Write(std::span<const uint64_t> numbers, const std::function<PromptBlock(size_t index)>& block_at) {
  std::vector<size_t> missing;
  {
    std::lock_guard lock(mutex_);
    for (size_t i = 0; i < numbers.size(); i++) {
      if (!written_.contains(numbers[i])) missing.push_back(i);
    }
  }
  for (const auto i : missing) {
    const auto block = block_at(i);
    if (i == missing.front()) {
      const auto n_bytes = PromptFiles::SizeOf(block);
      if (n_bytes * numbers.size() > files_.max_bytes()) {
        Log(LogLevel::kDebug, "a prompt is too large for the prompt cache");
        return;
      }
      // Those that are there are not to make room for those that follow them.
      files_.Touch(numbers);
      files_.MakeRoom(n_bytes * missing.size());
    }
    files_.Write(numbers[i], block);
  }
  files_.Touch(numbers);
}

}  // namespace aana::llama
