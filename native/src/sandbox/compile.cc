#include "sandbox/commands.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

#include "sandbox/description.h"
#include "sandbox/library/engine.h"
#include "sandbox/process/confinement.h"
#include "sandbox/process/filter.h"

namespace aana::sandbox {

namespace {

constexpr int kCodeDescriptor = 3;
// Other processes compute, too. More threads also take more memory.
constexpr unsigned kMostThreads = 4;

std::string ReadComponent(uint64_t most) {
  std::string bytes;
  std::string chunk(size_t{1} << 20, '\0');
  for (;;) {
    const ssize_t got = read(STDIN_FILENO, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw std::runtime_error("the component cannot be read");
    if (got == 0) return bytes;
    bytes.append(chunk, 0, static_cast<size_t>(got));
    if (bytes.size() > most) throw Refused("it has more than " + std::to_string(most) + " bytes, which is the limit");
  }
}

void WriteAll(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = write(descriptor, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0)
      throw std::runtime_error(errno == ENOSPC ? "no space is left on the disk for compiled code"
                                               : "compiled code cannot be written");
    bytes.remove_prefix(static_cast<size_t>(wrote));
  }
}

}  // namespace

void RunCompiler(const Settings& settings, bool with_code) {
  const rlimit time{settings.compile_seconds, settings.compile_seconds + 1};
  setrlimit(RLIMIT_CPU, &time);
  DropInheritance(kCodeDescriptor + (with_code ? 1 : 0));
  // The library reads it when it first compiles.
  setenv("RAYON_NUM_THREADS", std::to_string(std::clamp(std::thread::hardware_concurrency(), 1U, kMostThreads)).c_str(),
         1);
  const EnginePtr engine = MakeCompiler(settings);
  ConfineProcess(settings.compile_bytes);
  FilterSystemCalls(Work::kCompile);
  const ComponentPtr component = Compile(engine.get(), ReadComponent(settings.component_bytes));
  WriteAll(STDOUT_FILENO, Describe(engine.get(), component.get()));
  if (!with_code) return;
  wasm_byte_vec_t code;
  Require(wasmtime_component_serialize(component.get(), &code), "its code cannot be kept");
  WriteAll(kCodeDescriptor, {code.data, code.size});
  wasm_byte_vec_delete(&code);
}

}  // namespace aana::sandbox
