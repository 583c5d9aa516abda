#pragma once

#include <atomic>
#include <cstdint>
#include <semaphore>

#include "sandbox/guest/plugin.h"

namespace aana::sandbox {

// Ends the slices of running guests every millisecond. It rests when it has found no thread that runs guests for some
// ticks, and after some seconds of rest it gives memory back.
class Ticker {
 public:
  explicit Ticker(Plugin& plugin) : plugin_(plugin) {}

  // Exists while a thread runs guests. The ticker does not rest meanwhile.
  class Running {
   public:
    explicit Running(Ticker& ticker) : ticker_(ticker) {
      if (ticker_.running_.fetch_add(1) == 0 && ticker_.is_resting_.exchange(false)) ticker_.wake_.release();
    }
    ~Running() { ticker_.running_.fetch_sub(1); }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    Ticker& ticker_;
  };
  // Runs for ever.
  [[noreturn]] void Run();

 private:
  static constexpr uint32_t kRestAfter = 20;

  Plugin& plugin_;
  std::atomic<uint32_t> running_ = 0;
  // Whoever sets it to false releases or takes `wake_`.
  std::atomic<bool> is_resting_ = false;
  std::binary_semaphore wake_{0};

  void Rest();
};

}  // namespace aana::sandbox
