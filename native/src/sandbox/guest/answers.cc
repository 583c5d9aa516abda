#include "sandbox/guest/answers.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <memory>
#include <span>
#include <string_view>
#include <sys/random.h>
#include <unistd.h>

#include "sandbox/guest/invocation.h"
#include "sandbox/values/values.h"

namespace aana::sandbox {

namespace {

// A call of a function whose types were compared when it was linked.
struct LocalCall {
  Invocation& invocation;
  wasmtime_context_t* context;
  std::span<const wasmtime_component_val_t> arguments;
  wasmtime_component_val_t& result;
  // The resource type of the result.
  uint32_t resource;
};

using Answer = void (*)(const LocalCall&);

// Values of results. The library releases them.
wasmtime_component_val_t U64(uint64_t number) {
  wasmtime_component_val_t value{};
  value.kind = kU64;
  value.of.u64 = number;
  return value;
}
wasmtime_component_val_t EmptyList() {
  wasmtime_component_val_t value{};
  value.kind = kList;
  wasmtime_component_vallist_new_uninit(&value.of.list, 0);
  return value;
}
wasmtime_component_val_t None() {
  wasmtime_component_val_t value{};
  value.kind = kOption;
  value.of.option = nullptr;
  return value;
}
wasmtime_component_val_t Ok(wasmtime_component_val_t* inner = nullptr) {
  wasmtime_component_val_t value{};
  value.kind = kResult;
  value.of.result = {true, inner ? wasmtime_component_val_new(inner) : nullptr};
  return value;
}

uint64_t Nanoseconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// Clocks that tell less make it hard to measure what other invocations do.
constexpr uint64_t kClockStep = 1'000'000;
uint64_t Coarse(clockid_t clock) { return Nanoseconds(clock) / kClockStep * kClockStep; }

wasmtime_component_val_t Datetime(uint64_t nanoseconds) {
  wasmtime_component_val_t value{};
  value.kind = kRecord;
  wasmtime_component_valrecord_new_uninit(&value.of.record, 2);
  auto* fields = value.of.record.data;
  wasm_byte_vec_new(&fields[0].name, 7, "seconds");
  fields[0].val = U64(nanoseconds / 1'000'000'000);
  wasm_byte_vec_new(&fields[1].name, 11, "nanoseconds");
  fields[1].val = {};
  fields[1].val.kind = kU32;
  fields[1].val.of.u32 = static_cast<uint32_t>(nanoseconds % 1'000'000'000);
  return value;
}

void FillRandom(void* out, size_t count) {
  auto* at = static_cast<char*>(out);
  while (count > 0) {
    const size_t some = std::min<size_t>(count, 256);
    if (getentropy(at, some) != 0) throw Refused("the kernel gives no random bytes");
    at += some;
    count -= some;
  }
}

uint64_t RandomNumber() {
  uint64_t number = 0;
  FillRandom(&number, sizeof number);
  return number;
}

constexpr uint64_t kMaxRandom = 65'536;

wasmtime_component_val_t RandomBytes(uint64_t count) {
  std::string bytes(count, '\0');
  FillRandom(bytes.data(), count);
  wasmtime_component_val_t value{};
  value.kind = kList;
  wasmtime_component_vallist_new_uninit(&value.of.list, count);
  for (size_t i = 0; i < count; i++) {
    value.of.list.data[i] = {};
    value.of.list.data[i].kind = kU8;
    value.of.list.data[i].of.u8 = static_cast<uint8_t>(bytes[i]);
  }
  return value;
}

// The guest of WASI expects as many bytes as it asks for.
void AnswerRandomBytes(const LocalCall& call) {
  const uint64_t count = call.arguments[0].of.u64;
  if (count > kMaxRandom) throw Refused("more than 65536 random bytes at a time");
  call.result = RandomBytes(count);
}

void AnswerSeed(const LocalCall& call) {
  wasmtime_component_val_t value{};
  value.kind = kTuple;
  wasmtime_component_valtuple_new_uninit(&value.of.tuple, 2);
  value.of.tuple.data[0] = U64(RandomNumber());
  value.of.tuple.data[1] = U64(RandomNumber());
  call.result = value;
}

// A stream is a handle without state.
void AnswerStream(const LocalCall& call) {
  call.invocation.CountHandle();
  call.result = {};
  call.result.of.resource = MakeResource(call.context, true, 0, call.resource);
  call.result.kind = kResource;
}

void AnswerClosed(const LocalCall& call) {
  wasmtime_component_val_t closed{};
  closed.kind = kVariant;
  wasm_byte_vec_new(&closed.of.variant.discriminant, 6, "closed");
  closed.of.variant.val = nullptr;
  wasmtime_component_val_t value{};
  value.kind = kResult;
  value.of.result = {false, wasmtime_component_val_new(&closed)};
  call.result = value;
}

void AnswerWrite(const LocalCall& call) {
  const auto& list = call.arguments[1].of.list;
  std::string text(std::min<size_t>(list.size, 8'192), '\0');
  for (size_t i = 0; i < text.size(); i++) text[i] = static_cast<char>(list.data[i].of.u8);
  call.invocation.Print(text);
  call.result = Ok();
}

void AnswerRoom(const LocalCall& call) {
  auto room = U64(65'536);
  call.result = Ok(&room);
}

void AnswerOk(const LocalCall& call) { call.result = Ok(); }
void AnswerEmptyList(const LocalCall& call) { call.result = EmptyList(); }
void AnswerNone(const LocalCall& call) { call.result = None(); }

struct Answered {
  std::string_view interface;
  std::string_view name;
  std::string_view type;
  Answer answer;
};

#define STREAM_ERROR "variant{last-operation-failed(own<wasi:io/error.error>), closed}"
#define OUTPUT "self: borrow<wasi:io/streams.output-stream>"
#define INPUT "self: borrow<wasi:io/streams.input-stream>"
constexpr Answered kAnswered[] = {
    {"wasi:cli/environment", "get-environment", "func() -> list<tuple<string, string>>", AnswerEmptyList},
    {"wasi:cli/environment", "get-arguments", "func() -> list<string>", AnswerEmptyList},
    {"wasi:cli/environment", "initial-cwd", "func() -> option<string>", AnswerNone},
    {"wasi:cli/stdin", "get-stdin", "func() -> own<wasi:io/streams.input-stream>", AnswerStream},
    {"wasi:cli/stdout", "get-stdout", "func() -> own<wasi:io/streams.output-stream>", AnswerStream},
    {"wasi:cli/stderr", "get-stderr", "func() -> own<wasi:io/streams.output-stream>", AnswerStream},
    {"wasi:cli/terminal-stdin", "get-terminal-stdin", "func() -> option<own<wasi:cli/terminal-input.terminal-input>>",
     AnswerNone},
    {"wasi:cli/terminal-stdout", "get-terminal-stdout",
     "func() -> option<own<wasi:cli/terminal-output.terminal-output>>", AnswerNone},
    {"wasi:cli/terminal-stderr", "get-terminal-stderr",
     "func() -> option<own<wasi:cli/terminal-output.terminal-output>>", AnswerNone},
    {"wasi:io/streams", "[method]output-stream.check-write", "func(" OUTPUT ") -> result<u64, " STREAM_ERROR ">",
     AnswerRoom},
    {"wasi:io/streams", "[method]output-stream.write",
     "func(" OUTPUT ", contents: list<u8>) -> result<_, " STREAM_ERROR ">", AnswerWrite},
    {"wasi:io/streams", "[method]output-stream.blocking-write-and-flush",
     "func(" OUTPUT ", contents: list<u8>) -> result<_, " STREAM_ERROR ">", AnswerWrite},
    {"wasi:io/streams", "[method]output-stream.flush", "func(" OUTPUT ") -> result<_, " STREAM_ERROR ">", AnswerOk},
    {"wasi:io/streams", "[method]output-stream.blocking-flush", "func(" OUTPUT ") -> result<_, " STREAM_ERROR ">",
     AnswerOk},
    {"wasi:io/streams", "[method]input-stream.read", "func(" INPUT ", len: u64) -> result<list<u8>, " STREAM_ERROR ">",
     AnswerClosed},
    {"wasi:io/streams", "[method]input-stream.blocking-read",
     "func(" INPUT ", len: u64) -> result<list<u8>, " STREAM_ERROR ">", AnswerClosed},
    {"wasi:clocks/monotonic-clock", "now", "func() -> u64",
     [](const LocalCall& call) { call.result = U64(Coarse(CLOCK_MONOTONIC)); }},
    {"wasi:clocks/monotonic-clock", "resolution", "func() -> u64",
     [](const LocalCall& call) { call.result = U64(kClockStep); }},
    {"wasi:clocks/wall-clock", "now", "func() -> record{seconds: u64, nanoseconds: u32}",
     [](const LocalCall& call) { call.result = Datetime(Coarse(CLOCK_REALTIME)); }},
    {"wasi:clocks/wall-clock", "resolution", "func() -> record{seconds: u64, nanoseconds: u32}",
     [](const LocalCall& call) { call.result = Datetime(kClockStep); }},
    {"wasi:filesystem/preopens", "get-directories",
     "func() -> list<tuple<own<wasi:filesystem/types.descriptor>, string>>", AnswerEmptyList},
    {"wasi:random/random", "get-random-bytes", "func(len: u64) -> list<u8>", AnswerRandomBytes},
    {"wasi:random/random", "get-random-u64", "func() -> u64",
     [](const LocalCall& call) { call.result = U64(RandomNumber()); }},
    {"wasi:random/insecure", "get-insecure-random-bytes", "func(len: u64) -> list<u8>", AnswerRandomBytes},
    {"wasi:random/insecure", "get-insecure-random-u64", "func() -> u64",
     [](const LocalCall& call) { call.result = U64(RandomNumber()); }},
    {"wasi:random/insecure-seed", "insecure-seed", "func() -> tuple<u64, u64>", AnswerSeed},
    {"aana:host/invocation", "is-cancelled", "func() -> bool",
     [](const LocalCall& call) {
       call.result = {};
       call.result.kind = kBool;
       call.result.of.boolean = call.invocation.is_ending();
     }},
    {"aana:host/random", "bytes", "func(length: u32) -> list<u8>",
     [](const LocalCall& call) {
       call.result = RandomBytes(std::min<uint64_t>(call.arguments[0].of.u32, kMaxRandom));
     }},
};
#undef STREAM_ERROR
#undef OUTPUT
#undef INPUT

// A guest lends the streams that it passes, and its call fails unless the host gives them back.
void GiveBack(wasmtime_context_t* context, std::span<const wasmtime_component_val_t> arguments) {
  for (const auto& argument : arguments) {
    if (argument.kind != kResource) continue;
    wasmtime_component_resource_host_t* found = nullptr;
    Require(wasmtime_component_resource_any_to_host(context, argument.of.resource, &found),
            "a resource is not the host's");
    const ResourceHostPtr given(found);
  }
}

struct Environment {
  std::string name;
  Answer answer;  // null: denied
  uint32_t resource;
};

// No exception may cross the library.
wasmtime_error_t* OnLocalCall(void* given, wasmtime_context_t* context, const wasmtime_component_func_type_t*,
                              wasmtime_component_val_t* arguments, size_t count, wasmtime_component_val_t* results,
                              size_t) {
  const auto& environment = *static_cast<const Environment*>(given);
  try {
    if (!environment.answer) throw Refused("denied: " + environment.name);
    auto& invocation = *static_cast<Invocation*>(wasmtime_context_get_data(context));
    GiveBack(context, {arguments, count});
    environment.answer({invocation, context, {arguments, count}, *results, environment.resource});
    return nullptr;
  } catch (const std::exception& thrown) {
    return wasmtime_error_new(thrown.what());
  }
}

}  // namespace

bool IsAnsweredHere(std::string_view interface, std::string_view name) {
  return interface.starts_with("wasi:") || std::ranges::any_of(kAnswered, [&](const Answered& one) {
           return one.interface == interface && one.name == name;
         });
}

void AddAnswer(wasmtime_component_linker_instance_t& instance, const std::string& interface, const std::string& name,
               const FunctionType& type, const ResourceTypes& resources) {
  auto environment = std::make_unique<Environment>(Environment{interface + " " + name, nullptr, 0});
  for (const auto& answered : kAnswered) {
    if (answered.interface != interface || answered.name != name) continue;
    const auto text = TextOf(type, resources);
    if (text != answered.type)
      throw Refused(interface + " " + name + " has another type: " + text + " instead of " +
                    std::string(answered.type));
    environment->answer = answered.answer;
    environment->resource = type.result ? type.result->resource : 0;
  }
  Require(wasmtime_component_linker_instance_add_func(
              &instance, name.data(), name.size(), OnLocalCall, environment.release(),
              [](void* owned) { std::default_delete<Environment>()(static_cast<Environment*>(owned)); }),
          interface + " " + name);
}

}  // namespace aana::sandbox
