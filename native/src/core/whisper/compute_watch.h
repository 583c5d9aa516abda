#pragma once

#include <ggml-backend.h>

#include <utility>

#include "core/pulse.h"

namespace aana {

// While an object of this class lives, `pulse` beats with each node of a graph that whisper.cpp computes for this
// thread, if the backend supports it (the CPU's does). It only observes, because ending a graph early fails an
// assertion in the pass that aligns words.
class ComputeWatch {
 public:
  explicit ComputeWatch(Pulse& pulse) : outer_(std::exchange(current, &pulse)) {}
  ~ComputeWatch() { current = outer_; }
  ComputeWatch(const ComputeWatch&) = delete;
  ComputeWatch& operator=(const ComputeWatch&) = delete;

  // Called by whisper.cpp before it computes with `backend`. native/cmake/whisper.cmake adds the call.
  static void Attach(ggml_backend_t backend, ggml_backend_reg_t registry) {
    if (!registry) return;
    const auto set = reinterpret_cast<ggml_backend_set_abort_callback_t>(ggml_backend_reg_get_proc_address(registry, "ggml_backend_set_abort_callback"));
    if (set) set(backend, current ? OnNode : nullptr, current);
  }

 private:
  static bool OnNode(void* pulse) {
    static_cast<Pulse*>(pulse)->Beat();
    return false;
  }

  static inline thread_local Pulse* current = nullptr;
  Pulse* const outer_;
};

}  // namespace aana
