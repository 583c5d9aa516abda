#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <variant>
#include <vector>

#include "core/llama/prompt_cache/prompt_cache.h"
#include "core/llama/request.h"
#include "core/request_terms.h"

namespace aana::llama {

struct Cancel {
  RequestId id;
};

struct Acknowledge {
  RequestId id;
  int64_t n_events;
};

// A saved prompt for a request; null when it could not be read.
struct Fetched {
  RequestId id;
  std::unique_ptr<SavedPrompt> prompt;
};

// States outside of the context may have at most so many bytes from now on.
struct LimitKept {
  uint64_t n_bytes;
};

using Command = std::variant<ReadRequest, Cancel, Acknowledge, Fetched, LimitKept>;

// Requests to the engine's thread, from any thread. Also says when the decode that runs is no longer worth finishing.
class Inbox {
 public:
  void Post(Command command) {
    std::lock_guard lock(mutex_);
    if (const auto* cancel = std::get_if<Cancel>(&command); cancel && cancel->id == main_id_) abandon_ = true;
    commands_.push_back(std::move(command));
    changed_.notify_one();
  }

  void Stop() {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    abandon_ = true;
    changed_.notify_one();
  }

  bool IsStopping() const { return stopping_; }

  // What was posted since the last time; when `wait`, waits for something, the stop or the time `until`.
  std::vector<Command> Take(bool wait, const Deadline& until = std::nullopt) {
    std::unique_lock lock(mutex_);
    waiting_ = wait;
    const auto is_due = [&] { return stopping_ || !commands_.empty(); };
    if (wait && until) changed_.wait_until(lock, *until, is_due);
    if (wait && !until) changed_.wait(lock, is_due);
    waiting_ = false;
    return std::exchange(commands_, {});
  }

  // The engine's thread has something to do: it waits for nothing, or what it waits for is there.
  bool HasWork() {
    std::lock_guard lock(mutex_);
    return !waiting_ || !commands_.empty();
  }

  // A decode begins; cancelling the request `main_id`, which most of its work is for, abandons it.
  void BeginDecode(RequestId main_id) {
    std::lock_guard lock(mutex_);
    main_id_ = main_id;
    // It may have been cancelled after the last Take.
    for (const auto& command : commands_) {
      if (const auto* cancel = std::get_if<Cancel>(&command); cancel && cancel->id == main_id) abandon_ = true;
    }
  }
  void EndDecode() {
    std::lock_guard lock(mutex_);
    main_id_ = kNone;
    abandon_ = stopping_.load();
  }
  // Read often, by the threads that decode.
  const std::atomic<bool>& is_abandoned() const { return abandon_; }

 private:
  static constexpr RequestId kNone = -1;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Command> commands_;
  bool waiting_ = false;
  RequestId main_id_ = kNone;
  std::atomic<bool> stopping_ = false;
  std::atomic<bool> abandon_ = false;
};

}  // namespace aana::llama
