// Stands for core/engine_log.cc, which needs the libraries of all engines. The libraries' log lines are dropped.
#include <llama.h>

#include <cstdio>
#include <mutex>

#include "core/engine_log.h"

namespace aana {

void Log(LogLevel level, std::string line) {
  if (level == LogLevel::kError || level == LogLevel::kWarn) std::fprintf(stderr, "%s\n", line.c_str());
}

ScopedLogDemotion::ScopedLogDemotion(const std::atomic<bool>&) {}
ScopedLogDemotion::~ScopedLogDemotion() = default;

ScopedLoadLog::ScopedLoadLog() : outer_(nullptr) {}
ScopedLoadLog::~ScopedLoadLog() = default;

void InitEngines() {
  static std::once_flag once;
  std::call_once(once, [] {
    llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
    llama_backend_init();
  });
}

}  // namespace aana
