#pragma once

#include <napi.h>

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace aana {

// Runs functions on the JavaScript thread, in order. Any number that were posted since share one wake-up.
class JsQueue : public std::enable_shared_from_this<JsQueue> {
 public:
  using Task = std::function<void(Napi::Env)>;

  // JavaScript thread. Does not keep the process alive until Ref().
  JsQueue(Napi::Env env, const char* name)
      : tsfn_(Napi::ThreadSafeFunction::New(env, Napi::Function::New(env, [](const Napi::CallbackInfo&) {}), name, 0, 1)) {
    tsfn_.Unref(env);
  }

  // Any thread. Dropped after Close() and once the environment ends.
  void Post(Task task) {
    std::lock_guard lock(mutex_);
    if (closed_) return;
    tasks_.push_back(std::move(task));
    if (tasks_.size() > 1) return;
    tsfn_.NonBlockingCall([self = shared_from_this()](Napi::Env env, Napi::Function) {
      if (env) self->Run(env);
    });
  }

  // JavaScript thread: while there is something to wait for.
  void Ref(Napi::Env env) {
    if (!closed_) tsfn_.Ref(env);
  }
  void Unref(Napi::Env env) {
    if (!closed_) tsfn_.Unref(env);
  }

  void Close() {
    std::lock_guard lock(mutex_);
    if (std::exchange(closed_, true)) return;
    tasks_.clear();
    tsfn_.Release();
  }

 private:
  void Run(Napi::Env env) {
    std::vector<Task> tasks;
    {
      std::lock_guard lock(mutex_);
      tasks.swap(tasks_);
    }
    for (const auto& task : tasks) {
      Napi::HandleScope scope(env);
      try {
        task(env);
      } catch (const Napi::Error&) {
        // a listener threw, or the environment ends; the others still get theirs
      }
    }
  }

  std::mutex mutex_;
  std::vector<Task> tasks_;
  Napi::ThreadSafeFunction tsfn_;
  bool closed_ = false;
};

}  // namespace aana
