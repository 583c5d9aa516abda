#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "sandbox/guest/idle_memory.h"
#include "sandbox/settings.h"
#include "sandbox/values/types.h"

namespace aana::sandbox {

// How the host takes the calls of a function.
enum class Way : uint8_t {
  kAsk,     // the guest waits for the answer
  kTell,    // the function has no result, so the guest waits for credits only
  kOutput,  // the result is a success in runs that stream, so the guest waits for credits only
};

// A function of the host that the component imports.
struct HostFunction {
  uint16_t number;
  std::string name;  // `aana:host/log@0.1.0#log`
  FunctionType type;
  Way way;
};

// A function of the component that the host calls.
struct GuestFunction {
  std::string name;
  FunctionType type;
  ExportIndexPtr index;
};

// A compiled component, linked, in an engine with places for some invocations.
struct Pool {
  EnginePtr engine;
  ComponentPtr component;
  ResourceTypes resources;
  std::vector<std::unique_ptr<HostFunction>> functions;  // the linker points to them
  LinkerPtr linker;
  std::vector<GuestFunction> exports;
  uint32_t slots = 0;
  std::atomic<uint32_t> used = 0;
};

// The component that this process runs. All threads use it.
class Plugin {
 public:
  // Loads compiled code from a file. Throws `Unloadable` and `Refused`.
  Plugin(const Settings& settings, const char* code);

  // The pools have the same functions, exports and resource types.
  const Pool& description() const { return *pools_.front(); }
  // Returns a pool with a free place, which is then taken until `Give`. Null when all are taken.
  Pool* Take();
  static void Give(Pool& pool) { pool.used--; }
  // Ends the present slices of all guests.
  void Tick();
  // Gives back memory that waits for guests, if there are none.
  void Rest();

 private:
  std::vector<std::unique_ptr<Pool>> pools_;
  // Held while a place is taken or while none may be.
  std::mutex taking_;
  std::optional<IdleMemory> idle_;
};

}  // namespace aana::sandbox
