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

// While it lives, on this thread: a model is being loaded. What the libraries warn of then is for those who look into the model, so it
// counts as info; their errors are kept for the reason of a failure.
class ScopedLoadLog {
 public:
  ScopedLoadLog();
  ~ScopedLoadLog();
  ScopedLoadLog(const ScopedLoadLog&) = delete;
  ScopedLoadLog& operator=(const ScopedLoadLog&) = delete;

  // The first error that the libraries logged, which says most; empty without one.
  const std::string& error() const { return error_; }
  // The level that a line of a library gets.
  LogLevel Note(LogLevel level, const std::string& line);

 private:
  ScopedLoadLog* const outer_;
  std::string error_;
};

// Takes over the log callbacks of the three libraries and starts llama.cpp's backend; the first call counts, any thread.
void InitEngines();

}  // namespace aana
