#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "binding/exports.h"
#include "binding/values.h"
#include "core/engine_log.h"

namespace aana {
namespace {

constexpr Named<LogLevel> kLevels[] = {
    {"debug", LogLevel::kDebug},
    {"info", LogLevel::kInfo},
    {"warn", LogLevel::kWarn},
    {"error", LogLevel::kError},
};

// Collects lines on any thread. One wake-up of the JavaScript thread delivers all collected lines.
class LogDelivery : public std::enable_shared_from_this<LogDelivery> {
 public:
  LogDelivery(Napi::Env env, Napi::Function listener)
      : tsfn_(Napi::ThreadSafeFunction::New(env, listener, "aana log", 0, 1)) {
    tsfn_.Unref(env);
  }

  // Any thread.
  void Push(LogLevel level, std::string line) {
    std::lock_guard lock(mutex_);
    if (closed_ || lines_.size() >= kMaxLines) return;
    lines_.emplace_back(level, std::move(line));
    if (lines_.size() > 1) return;
    tsfn_.NonBlockingCall([self = shared_from_this()](Napi::Env env, Napi::Function listener) {
      if (!env) return;
      self->Deliver(env, listener);
    });
  }

  void Close() {
    std::lock_guard lock(mutex_);
    if (std::exchange(closed_, true)) return;
    tsfn_.Release();
  }

 private:
  static constexpr size_t kMaxLines = 10000;  // further lines are dropped until JavaScript takes them

  void Deliver(Napi::Env env, Napi::Function listener) {
    std::vector<std::pair<LogLevel, std::string>> lines;
    {
      std::lock_guard lock(mutex_);
      lines.swap(lines_);
    }
    try {
      for (const auto& [level, line] : lines)
        listener.Call({Napi::String::New(env, NameOf(level, kLevels)), Napi::String::New(env, line)});
    } catch (const Napi::Error&) {
      // The listener threw, or the environment is ending.
    }
  }

  std::mutex mutex_;
  std::vector<std::pair<LogLevel, std::string>> lines_;
  Napi::ThreadSafeFunction tsfn_;
  bool closed_ = false;
};

std::mutex current_mutex;
std::shared_ptr<LogDelivery> current;

void Replace(std::shared_ptr<LogDelivery> next) {
  std::lock_guard lock(current_mutex);
  SetLogSink(!next ? LogSink() : [next](LogLevel level, std::string line) {
    if (level != LogLevel::kDebug) next->Push(level, std::move(line));
  });
  if (current) current->Close();
  current = std::move(next);
}

}  // namespace

Napi::Value SetLogger(const Napi::CallbackInfo& info) {
  auto env = info.Env();
  if (!info[0].IsFunction()) throw Napi::TypeError::New(env, "listener is not a function");
  auto delivery = std::make_shared<LogDelivery>(env, info[0].As<Napi::Function>());
  Replace(delivery);
  env.AddCleanupHook([weak = std::weak_ptr(delivery)] {
    bool is_current;
    {
      std::lock_guard lock(current_mutex);
      is_current = current && current == weak.lock();
    }
    if (is_current) Replace(nullptr);
  });
  return env.Undefined();
}

}  // namespace aana
