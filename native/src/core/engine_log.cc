#include "core/engine_log.h"

#include <ggml.h>
#include <llama.h>
#include <whisper.h>

#include <memory>
#include <mutex>
#include <utility>

namespace aana {
namespace {

// Never destroyed, because libraries may log while the process ends.
struct SinkHolder {
  std::mutex mutex;
  std::shared_ptr<LogSink> sink;
};

SinkHolder& Holder() {
  static auto* holder = new SinkHolder;
  return *holder;
}

thread_local const std::atomic<bool>* demote_when = nullptr;
thread_local ScopedLoadLog* load_log = nullptr;

LogLevel LevelOf(ggml_log_level level) {
  switch (level) {
    case GGML_LOG_LEVEL_ERROR:
      return LogLevel::kError;
    case GGML_LOG_LEVEL_WARN:
      return LogLevel::kWarn;
    case GGML_LOG_LEVEL_INFO:
      return LogLevel::kInfo;
    default:
      return LogLevel::kDebug;
  }
}

}  // namespace

// The libraries log parts of lines. A part that continues a line has the level CONT.
void OnLibraryLog(ggml_log_level level, const char* text, void*) {
  thread_local std::string pending;
  thread_local LogLevel pending_level = LogLevel::kDebug;
  try {
    if (level != GGML_LOG_LEVEL_CONT) pending_level = demote_when && *demote_when ? LogLevel::kDebug : LevelOf(level);
    pending += text;
    size_t start = 0;
    for (size_t end; (end = pending.find('\n', start)) != std::string::npos; start = end + 1) {
      if (end == start) continue;
      auto line = pending.substr(start, end - start);
      const auto line_level = load_log ? load_log->Note(pending_level, line) : pending_level;
      Log(line_level, std::move(line));
    }
    pending.erase(0, start);
  } catch (...) {
    // Out of memory: the line is lost.
  }
}

void SetLogSink(LogSink sink) {
  auto replacement = sink ? std::make_shared<LogSink>(std::move(sink)) : nullptr;
  std::lock_guard lock(Holder().mutex);
  Holder().sink = std::move(replacement);
}

void Log(LogLevel level, std::string line) {
  std::shared_ptr<LogSink> sink;
  {
    std::lock_guard lock(Holder().mutex);
    sink = Holder().sink;
  }
  if (sink) (*sink)(level, std::move(line));
}

ScopedLogDemotion::ScopedLogDemotion(const std::atomic<bool>& when) { demote_when = &when; }

ScopedLogDemotion::~ScopedLogDemotion() { demote_when = nullptr; }

ScopedLoadLog::ScopedLoadLog() : outer_(std::exchange(load_log, this)) {}

ScopedLoadLog::~ScopedLoadLog() { load_log = outer_; }

LogLevel ScopedLoadLog::Note(LogLevel level, const std::string& line) {
  if (level == LogLevel::kError && error_.empty()) error_ = line;
  return level == LogLevel::kWarn ? LogLevel::kInfo : level;
}

void InitEngines() {
  static std::once_flag once;
  std::call_once(once, [] {
    ggml_log_set(OnLibraryLog, nullptr);
    llama_log_set(OnLibraryLog, nullptr);
    whisper_log_set(OnLibraryLog, nullptr);
    llama_backend_init();
  });
}

}  // namespace aana
