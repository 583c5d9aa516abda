#pragma once

#include <napi.h>

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace aana {

// Runs functions on the JavaScript thread, in order. Functions posted before the next run share one wake-up.
class JsQueue : public std::enable_shared_from_this<JsQueue> {
 public:
  using Callback = std::function<void(Napi::Env)>;

  // JavaScript thread. Does not keep the process alive before Ref().
  JsQueue(Napi::Env env, const char* name)
      : tsfn_(Napi::ThreadSafeFunction::New(env, Napi::Function::New(env, [](const Napi::CallbackInfo&) {}), name, 0,
                                            1)) {
    tsfn_.Unref(env);
  }

  // Any thread. The function is dropped after Close() and when the environment has ended.
  void Post(Callback callback) {
    std::lock_guard lock(mutex_);
    if (closed_) return;
    callbacks_.push_back(std::move(callback));
    if (callbacks_.size() > 1) return;
    tsfn_.NonBlockingCall([self = shared_from_this()](Napi::Env env, Napi::Function) {
      if (env) self->Run(env);
    });
  }

  // JavaScript thread. Keeps the process alive until Unref().
  void Ref(Napi::Env env) {
    if (!closed_) tsfn_.Ref(env);
  }
  void Unref(Napi::Env env) {
    if (!closed_) tsfn_.Unref(env);
  }

  void Close() {
    std::lock_guard lock(mutex_);
    if (std::exchange(closed_, true)) return;
    callbacks_.clear();
    tsfn_.Release();
  }

 private:
  void Run(Napi::Env env) {
    std::vector<Callback> callbacks;
    {
      std::lock_guard lock(mutex_);
      callbacks.swap(callbacks_);
    }
    for (const auto& callback : callbacks) {
      Napi::HandleScope scope(env);
      try {
        callback(env);
      } catch (const Napi::Error&) {
        // A listener threw, or the environment is ending. The other functions still run.
      }
    }
  }

  std::mutex mutex_;
  std::vector<Callback> callbacks_;
  Napi::ThreadSafeFunction tsfn_;
  bool closed_ = false;
};

}  // namespace aana
