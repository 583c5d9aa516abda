#pragma once

#include <atomic>
#include <functional>
#include <string>

namespace aana {

enum class LogLevel { kDebug, kInfo, kWarn, kError };

// Receives whole lines without a newline, on whatever thread logs them; must not block.
using LogSink = std::function<void(LogLevel level, std::string line)>;

// Replaces the sink of everything that llama.cpp, whisper.cpp and ggml log. An empty sink drops the lines.
void SetLogSink(LogSink sink);

// Sends a line of our own to the sink.
void Log(LogLevel level, std::string line);

// While it lives and `when` is true, what the libraries log on this thread counts as debug: work that we abandon is no error.
class ScopedLogDemotion {
 public:
  explicit ScopedLogDemotion(const std::atomic<bool>& when);
  ~ScopedLogDemotion();
  ScopedLogDemotion(const ScopedLogDemotion&) = delete;
  ScopedLogDemotion& operator=(const ScopedLogDemotion&) = delete;
};

// Takes over the log callbacks of the three libraries and starts llama.cpp's backend; the first call counts, any thread.
void InitEngines();

}  // namespace aana
