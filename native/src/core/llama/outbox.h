#pragma once

#include <algorithm>
#include <functional>
#include <iterator>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/llama/event.h"

namespace aana::llama {

// Life of an engine; it only moves forward.
enum class Phase { kLoading, kReady, kFailed, kClosed };

// All that an engine has to tell since the last time.
template <class Event>
struct DeliveryOf {
  float progress = 0.0F;
  Phase phase = Phase::kLoading;
  std::string failure;  // of kFailed
  std::vector<Event> events;
};

// Between the engine's threads, which post, and the thread that takes everything at once. The reader is woken once
// for all that is posted until it takes.
template <class Event>
class OutboxOf {
 public:
  // `wake` is called by the posting thread and must not block. What it throws comes from Post; what was posted stays to
  // be taken.
  explicit OutboxOf(std::function<void()> wake) : wake_(std::move(wake)) {}

  using Delivery = DeliveryOf<Event>;

  void Post(std::vector<Event> events) {
    if (events.empty()) return;
    Change([&](Delivery& delivery) { std::move(events.begin(), events.end(), std::back_inserter(delivery.events)); });
  }
  void PostProgress(float progress) {
    Change([&](Delivery& delivery) { delivery.progress = progress; });
  }
  void PostPhase(Phase phase, std::string failure = {}) {
    Change([&](Delivery& delivery) {
      delivery.phase = phase;
      delivery.failure = std::move(failure);
    });
  }

  Delivery Take() {
    std::lock_guard lock(mutex_);
    is_woken_ = false;
    auto events = std::exchange(delivery_.events, {});
    Delivery taken = delivery_;
    taken.events = std::move(events);
    return taken;
  }

 private:
  template <class Fn>
  void Change(Fn change) {
    {
      std::lock_guard lock(mutex_);
      change(delivery_);
      if (std::exchange(is_woken_, true)) return;
    }
    try {
      wake_();
    } catch (...) {
      std::lock_guard lock(mutex_);
      is_woken_ = false;  // the next one wakes
      throw;
    }
  }

  std::function<void()> wake_;
  std::mutex mutex_;
  Delivery delivery_;
  bool is_woken_ = false;
};

using Delivery = DeliveryOf<Event>;
using Outbox = OutboxOf<Event>;

}  // namespace aana::llama
