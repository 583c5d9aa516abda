#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/guest/plugin.h"
#include "sandbox/process/channel.h"

namespace aana::sandbox {

// Limits of one run, which the host sends with it, as an array in this order.
struct RunLimits {
  uint64_t cpu_ms;
  // Without a call of the host.
  uint64_t stretch_ms;
  // Calls that the host answers.
  uint64_t calls;
  // Resources that the guest holds at a time.
  uint64_t handles;
  // Bytes of calls without an answer that the guest may send before the host sends credits. The call that uses them up
  // is sent, and the next one waits.
  int64_t credits;
  // Bytes of output. The host answers calls of the function for output beyond it.
  uint64_t output;
};

// Component values in one array, which are released with it.
class Values {
 public:
  explicit Values(size_t count) : values_(count) {}
  ~Values() {
    for (auto& value : values_) wasmtime_component_val_delete(&value);
  }
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;

  wasmtime_component_val_t* data() { return values_.data(); }
  size_t size() const { return values_.size(); }

 private:
  std::vector<wasmtime_component_val_t> values_;
};

// The library writes into the first member. A library with a longer structure would change the second one.
struct GuardedFunction {
  static constexpr uint64_t kIntact = 0x9e3779b97f4a7c15;
  wasmtime_component_func_t function{};
  uint64_t guard = kIntact;
};

// A run of the guest in an instance of its own, on a fiber. It belongs to one thread.
class Invocation {
 public:
  enum class State : uint8_t { kWaiting, kRunnable, kEnded };

  // Reads the payload of `kRun`. When it cannot, it has sent why, and its state is `kEnded`.
  Invocation(Plugin& plugin, Channel& channel, const Settings& settings, uint32_t id, std::string_view payload);
  ~Invocation();
  Invocation(const Invocation&) = delete;
  Invocation& operator=(const Invocation&) = delete;

  State state() const { return state_; }
  // Whether the host has said that it must end soon.
  bool is_ending() const { return is_ending_; }
  // Runs the guest until it waits, its slice is over, or it has ended. Sends how it ended. The first step takes a place
  // of the plugin until the invocation is destroyed: runs that arrive together and wait for nothing use one place.
  void Step();
  // Frames of the host. They make it runnable when it waits for them. Throw `Malformed` for a frame that is cut.
  void Answer(std::string_view payload);
  void Refuse(std::string_view payload);
  void Credit(std::string_view payload);
  void Ending();
  // Ends the guest and sends that it was cancelled.
  void Cancel();

  // Called by the library while the guest runs. They throw what the guest then traps with.
  void Call(const HostFunction& function, std::span<const wasmtime_component_val_t> arguments,
            wasmtime_component_val_t* results, wasmtime_async_continuation_t& continuation);
  void Drop(uint16_t type, uint32_t number);
  void CountHandle();
  // Sends text of standard output or error, up to 16 KiB for each invocation.
  void Print(std::string_view text);

 private:
  struct Ended : std::runtime_error {
    Ended(const char* its_code, const std::string& why) : std::runtime_error(why), code(its_code) {}
    const char* code;
  };

  Plugin& plugin_;
  Channel& channel_;
  const Settings& settings_;
  const uint32_t id_;
  // The number of the export.
  size_t which_ = 0;
  // The arguments as CBOR, until the first step.
  std::string input_;
  RunLimits limits_{};
  State state_ = State::kRunnable;
  Pool* pool_ = nullptr;
  const GuestFunction* function_ = nullptr;
  // The guest's code of a failure that is not a trap of its own.
  const char* limit_ = nullptr;

  // Destroyed in reverse order: the future before what it points to.
  StorePtr store_;
  std::unique_ptr<Values> arguments_;
  std::unique_ptr<Values> result_;
  wasmtime_component_instance_t instance_{};
  GuardedFunction called_;
  wasmtime_error_t* error_ = nullptr;
  FuturePtr future_;
  bool is_instantiated_ = false;

  uint64_t cpu_ns_ = 0;
  uint64_t stretch_ns_ = 0;
  uint64_t step_began_ns_ = 0;
  uint64_t calls_ = 0;
  uint64_t handles_ = 0;
  size_t printed_ = 0;

  // The call that the guest waits in.
  const HostFunction* pending_ = nullptr;
  Way way_ = Way::kAsk;
  wasmtime_component_val_t* pending_result_ = nullptr;
  uint32_t call_ = 0;
  // The arguments of a call that is not sent yet.
  std::string encoded_;
  bool has_answer_ = false;
  bool is_ending_ = false;
  std::string answer_;
  std::string broken_;

  wasmtime_context_t* context() const { return wasmtime_store_context(store_.get()); }
  void Begin();
  // Begins at the first step. Returns false when it has ended instead, and has sent why.
  bool HasBegun();
  void StartCall();
  // Counts a text of output. Returns false when it is over the limit.
  bool TakeOutput(const wasmtime_component_val_t& text);
  void Return();
  void Fail(const char* code, std::string_view why);
  // Send the call that the guest waits in. `Ask` throws `Refused` when it was the last one allowed. `cpu_ns` is what
  // the guest has computed so far.
  void Ask(uint64_t cpu_ns);
  // Sends nothing while credits are used up.
  void SendOnCredit();
  void SendArguments(FrameWriter& frame);
  // Whether the call is over, so that the guest goes on.
  bool Continue();
  bool TakeAnswer();
  bool IsPending(uint32_t call) const;
  static wasmtime_error_t* OnTick(wasmtime_context_t* context, void* data, uint64_t* delta, uint8_t* kind);
};

}  // namespace aana::sandbox
