#pragma once

#include <ggml-backend.h>

#include <functional>
#include <utility>

#include "core/pulse.h"

namespace aana {

// While an object of this class lives, `pulse` beats with each node of a graph that this thread computes, if the
// backend supports it (the CPU's does), and `must_stop` may end the graph before its next node.
class ComputeWatch {
 public:
  explicit ComputeWatch(Pulse& pulse, std::function<bool()> must_stop = {})
      : pulse_(pulse), must_stop_(std::move(must_stop)), outer_(std::exchange(current, this)) {}
  ~ComputeWatch() { current = outer_; }
  ComputeWatch(const ComputeWatch&) = delete;
  ComputeWatch& operator=(const ComputeWatch&) = delete;

  // Called before a graph is computed with `backend`. native/cmake/whisper.cmake adds the call to whisper.cpp.
  static void Attach(ggml_backend_t backend, ggml_backend_reg_t registry) {
    if (!registry) return;
    const auto set = reinterpret_cast<ggml_backend_set_abort_callback_t>(
        ggml_backend_reg_get_proc_address(registry, "ggml_backend_set_abort_callback"));
    if (set) set(backend, current ? OnNode : nullptr, current);
  }

 private:
  static bool OnNode(void* data) {
    auto& watch = *static_cast<ComputeWatch*>(data);
    watch.pulse_.Beat();
    return watch.must_stop_ && watch.must_stop_();
  }

  static inline thread_local ComputeWatch* current = nullptr;
  Pulse& pulse_;
  const std::function<bool()> must_stop_;
  ComputeWatch* const outer_;
};

}  // namespace aana
