#include "core/engine_log.h"

#include <ggml-backend.h>
#include <ggml.h>
#include <llama.h>
#include <whisper.h>

#include <array>
#include <cstdio>
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

std::string SizeText(size_t bytes) {
  constexpr double kMebibyte = 1U << 20U;
  const auto mebibytes = static_cast<double>(bytes) / kMebibyte;
  std::array<char, 32> text{};
  if (mebibytes < 1024) {
    std::snprintf(text.data(), text.size(), "%.1f MiB", mebibytes);
  } else {
    std::snprintf(text.data(), text.size(), "%.2f GiB", mebibytes / 1024);
  }
  return text.data();
}

// Returns a sentence for ggml's line about memory that it did not get, which is the same for all devices; otherwise "".
std::string LackOfMemory(const std::string& line) {
  std::array<char, 64> name{};
  size_t needed = 0;
  const auto begin = line.find("failed to allocate ");
  if (begin == std::string::npos) return "";
  if (std::sscanf(line.c_str() + begin, "failed to allocate %63s buffer of size %zu", name.data(), &needed) != 2)
    return "";
  std::string text = std::string(name.data()) + " has no room for " + SizeText(needed);
  if (auto* device = ggml_backend_dev_by_name(name.data())) {
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    ggml_backend_dev_memory(device, &free_bytes, &total_bytes);
    text += ": " + SizeText(free_bytes) + " of " + SizeText(total_bytes) + " are free";
  }
  return text;
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
  if (level != LogLevel::kError) return level == LogLevel::kWarn ? LogLevel::kInfo : level;
  if (error_.empty()) error_ = line;
  if (auto lack = is_about_memory_ ? "" : LackOfMemory(line); !lack.empty()) {
    error_ = std::move(lack);
    is_about_memory_ = true;
  }
  return level;
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
