#pragma once

#include <chrono>
#include <exception>
#include <string>
#include <thread>
#include <utility>

#include "core/engine_log.h"
#include "core/llama/model/load_error.h"
#include "core/llama/model/model.h"
#include "core/llama/outbox.h"

namespace aana::llama {

// Returns the message of the error; less where there is no memory for it.
inline std::string ReasonOf(const std::exception& error) noexcept {
  try {
    return error.what();
  } catch (...) {
    return "no memory";  // short: it needs none
  }
}

// Runs `work`, which posts kReady, then `clean_up`, and posts how it ended. Listeners must learn of the end, so posting
// is repeated where there is no memory for it.
template <class Event, class Work, class CleanUp>
void RunEngine(OutboxOf<Event>& outbox, Work work, CleanUp clean_up) {
  constexpr auto kRetryInterval = std::chrono::milliseconds(50);
  Phase last = Phase::kClosed;
  std::string failure;
  try {
    work();
  } catch (const std::exception& error) {
    last = Phase::kFailed;
    failure = ReasonOf(error);
  } catch (...) {
    last = Phase::kFailed;
    failure = "unknown";
  }
  clean_up();
  for (;;) {
    try {
      return outbox.PostPhase(last, failure);
    } catch (...) {
      std::this_thread::sleep_for(kRetryInterval);
    }
  }
}

// Calls `load(progress)`, where `progress` reports to the outbox and ends a load that is no longer wanted. Returns
// false when the load was stopped. Throws LoadError, which names the file.
template <class Event, class IsStopping, class Load>
bool LoadReporting(OutboxOf<Event>& outbox, const std::string& model_path, IsStopping is_stopping, Load load) {
  constexpr auto kProgressInterval = std::chrono::milliseconds(100);
  auto told_at = std::chrono::steady_clock::time_point::min();
  const LoadProgress progress = [&](float fraction) {
    const auto now = std::chrono::steady_clock::now();
    if (fraction >= 1.0F || told_at + kProgressInterval <= now) {
      told_at = now;
      outbox.PostProgress(fraction);
    }
    return !is_stopping();
  };
  const ScopedLoadLog load_log;
  try {
    load(progress);
    return !is_stopping();
  } catch (const LoadError& error) {
    if (is_stopping()) return false;
    if (load_log.error().empty()) throw;
    throw LoadError(std::string(error.what()) + " (" + load_log.error() + ")");
  } catch (const std::exception& error) {
    throw LoadError("model file " + model_path + " could not be loaded: " + error.what());
  }
}

}  // namespace aana::llama
