#include "core/compute/device/work_team.h"

#include <chrono>
#include <exception>

#include "core/thread_name.h"

namespace aana::compute {
namespace {

constexpr int kPartsBits = 16;
constexpr uint64_t kPartsMask = (uint64_t{1} << kPartsBits) - 1;

uint64_t NextOf(uint64_t ticket) { return ticket & kPartsMask; }
uint64_t PartsOf(uint64_t ticket) { return ticket >> kPartsBits & kPartsMask; }
bool HasParts(uint64_t ticket) { return NextOf(ticket) < PartsOf(ticket); }

void Relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

// Waits for what is about to happen: first without giving the processor away, then letting other threads go first.
class Patience {
 public:
  // Returns false when it is time to sleep.
  bool Wait() {
    using namespace std::chrono_literals;
    for (int i = 0; i < kRelaxations; i++) Relax();
    const auto waited = std::chrono::steady_clock::now() - began_;
    if (waited > kAwake) return false;
    if (waited > kBusy) std::this_thread::yield();
    return true;
  }

 private:
  static constexpr int kRelaxations = 16;
  static constexpr std::chrono::microseconds kBusy{20};
  // Waking a thread takes some tens of microseconds.
  static constexpr std::chrono::microseconds kAwake{100};

  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace

WorkTeam::WorkTeam(int n_helpers) {
  try {
    for (int i = 0; i < n_helpers; i++) helpers_.emplace_back([this] { Help(); });
  } catch (const std::exception&) {
    // The caller and the threads that did start do all the work.
  }
}

WorkTeam::~WorkTeam() {
  is_stopping_ = true;
  WakeHelpers();
  for (auto& helper : helpers_) helper.join();
}

void WorkTeam::SetExpecting(bool is_expecting) {
  is_expecting_ = is_expecting;
  if (is_expecting) WakeHelpers();
}

void WorkTeam::WakeHelpers() {
  // A helper that counts itself later sees what there is to do before it sleeps.
  if (n_sleeping_ == 0) return;
  n_wakes_++;
  n_wakes_.notify_all();
}

void WorkTeam::Run(int n_parts, Work work, void* data) {
  work_ = work;
  data_ = data;
  n_done_.store(0, std::memory_order_relaxed);
  const uint64_t piece = (ticket_.load(std::memory_order_relaxed) >> 2 * kPartsBits) + 1;
  ticket_ = (piece << kPartsBits | static_cast<uint64_t>(n_parts)) << kPartsBits;
  WakeHelpers();
  while (TakePart()) {
  }
  for (Patience patience;;) {
    const int n_done = n_done_.load(std::memory_order_acquire);
    if (n_done == n_parts) return;
    if (!patience.Wait()) n_done_.wait(n_done, std::memory_order_acquire);
  }
}

bool WorkTeam::TakePart() {
  auto ticket = ticket_.load(std::memory_order_acquire);
  while (HasParts(ticket)) {
    if (!ticket_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_acq_rel)) continue;
    work_(data_, static_cast<int>(NextOf(ticket)), static_cast<int>(PartsOf(ticket)));
    n_done_.fetch_add(1, std::memory_order_acq_rel);
    n_done_.notify_one();
    return true;
  }
  return false;
}

void WorkTeam::Help() {
  NameThread("aana-compute");
  while (!is_stopping_) {
    for (Patience patience; is_expecting_ && !HasParts(ticket_);) {
      if (!patience.Wait()) break;
    }
    while (TakePart()) {
    }
    const uint32_t n_wakes = n_wakes_;
    n_sleeping_++;
    if (!HasParts(ticket_) && !is_stopping_) n_wakes_.wait(n_wakes);
    n_sleeping_--;
  }
}

}  // namespace aana::compute
