#pragma once

#include <ggml.h>

#include <atomic>
#include <functional>
#include <string>

namespace aana {

enum class LogLevel { kDebug, kInfo, kWarn, kError };

// Receives whole lines without a newline, on the thread that logs them. Must not block.
using LogSink = std::function<void(LogLevel level, std::string line)>;

// Sets the sink for all log lines of llama.cpp, whisper.cpp and ggml. An empty sink drops the lines.
void SetLogSink(LogSink sink);

// Sends a line of our code to the sink.
void Log(LogLevel level, std::string line);

// While an object of this class lives and `when` is true, log lines of the libraries on this thread get the level
// debug, because failures of abandoned work are not errors.
class ScopedLogDemotion {
 public:
  explicit ScopedLogDemotion(const std::atomic<bool>& when);
  ~ScopedLogDemotion();
  ScopedLogDemotion(const ScopedLogDemotion&) = delete;
  ScopedLogDemotion& operator=(const ScopedLogDemotion&) = delete;
};

// Marks that this thread loads a model while an object of this class lives. Warnings of the libraries then get the
// level info, because they concern only people who examine the model. Their errors are kept as the reason of a failed
// load.
class ScopedLoadLog {
 public:
  ScopedLoadLog();
  ~ScopedLoadLog();
  ScopedLoadLog(const ScopedLoadLog&) = delete;
  ScopedLoadLog& operator=(const ScopedLoadLog&) = delete;

  // Returns the first error that the libraries logged, which is usually the cause; empty without an error. For memory
  // that a device lacks, it says how much was needed and how much was free.
  const std::string& error() const { return error_; }
  // Returns the level for a line of a library.
  LogLevel Note(LogLevel level, const std::string& line);

 private:
  ScopedLoadLog* const outer_;
  std::string error_;
  bool is_about_memory_ = false;
};

// Sends text that llama.cpp, whisper.cpp, ggml or mtmd logs to the sink. They log parts of lines.
void OnLibraryLog(ggml_log_level level, const char* text, void*);

// Installs the log callbacks of llama.cpp, whisper.cpp and ggml and starts llama.cpp's backend. Only the first call has
// an effect. Any thread.
void InitEngines();

}  // namespace aana
