#include "sandbox/guest/invocation.h"

#include <algorithm>
#include <ctime>

#include "sandbox/library/engine.h"
#include "sandbox/values/utf8.h"
#include "sandbox/values/values.h"

namespace aana::sandbox {

namespace {

constexpr size_t kMaxPrinted = 16'384;
constexpr size_t kMaxReason = 16'384;
// Bytes of a frame of a call before its arguments.
constexpr size_t kMaxCallHead = 64;
// Memory that an empty buffer keeps.
constexpr size_t kMaxKept = 4'096;
constexpr uint64_t kMs = 1'000'000;

uint64_t ThreadCpuNs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// The beginning of a text, cut between characters.
std::string_view Cut(std::string_view text, size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<uint8_t>(text[most]) & 0xc0) == 0x80) most--;
  return text.substr(0, most);
}

}  // namespace

Invocation::Invocation(Plugin& plugin, Channel& channel, const Settings& settings, uint32_t id,
                       std::string_view payload)
    : plugin_(plugin), channel_(channel), settings_(settings), id_(id) {
  try {
    CborReader in(payload);
    if (in.Array() != 3) throw Malformed("a run has another form");
    which_ = static_cast<size_t>(in.Integer(0, UINT16_MAX));
    if (in.Array() != 6) throw Malformed("limits have another form");
    const auto number = [&] { return static_cast<uint64_t>(in.Integer(0, INT64_MAX / 1'000'000)); };
    limits_.cpu_ms = number();
    limits_.stretch_ms = number();
    limits_.calls = number();
    limits_.handles = number();
    limits_.credits = static_cast<int64_t>(number());
    limits_.output = number();
    input_ = in.rest();
  } catch (const std::exception& error) {
    Fail("input", error.what());
  }
}

Invocation::~Invocation() {
  future_.reset();  // unwinds the guest's fiber
  if (error_) wasmtime_error_delete(error_);
  arguments_.reset();
  result_.reset();
  store_.reset();
  if (pool_) Plugin::Give(*pool_);
}

void Invocation::Begin() {
  pool_ = plugin_.Take();
  if (!pool_) throw Ended("busy", "all places are taken");
  if (which_ >= pool_->exports.size()) throw Malformed("the component has no such export");
  function_ = &pool_->exports[which_];
  store_.reset(wasmtime_store_new(pool_->engine.get(), this, nullptr));
  wasmtime_store_limiter(store_.get(), static_cast<int64_t>(settings_.memory_bytes), kTableElements, kCoreInstances,
                         kTables, kMemories);
  wasmtime_store_epoch_deadline_callback(store_.get(), OnTick, this, nullptr);

  const auto& params = function_->type.params;
  arguments_ = std::make_unique<Values>(params.size());
  result_ = std::make_unique<Values>(function_->type.result ? 1 : 0);
  CborReader in(input_);
  if (in.Array() != params.size()) throw Malformed("the function takes another number of arguments");
  ReadCounts counts;
  for (size_t i = 0; i < params.size(); i++) ReadValue(in, arguments_->data()[i], params[i], context(), counts);
  in.End();
  std::string().swap(input_);
  future_.reset(wasmtime_component_linker_instantiate_async(pool_->linker.get(), context(), pool_->component.get(),
                                                            &instance_, &error_));
}

bool Invocation::HasBegun() {
  if (pool_) return true;
  try {
    Begin();
    return true;
  } catch (const Ended& ended) {
    Fail(ended.code, ended.what());
  } catch (const std::exception& error) {
    Fail("input", error.what());
  }
  return false;
}

wasmtime_error_t* Invocation::OnTick(wasmtime_context_t*, void* data, uint64_t* delta, uint8_t* kind) {
  constexpr uint8_t kContinue = 0;
  constexpr uint8_t kYield = 1;
  auto& self = *static_cast<Invocation*>(data);
  const uint64_t now = ThreadCpuNs() - self.step_began_ns_;
  if (self.stretch_ns_ + now > self.limits_.stretch_ms * kMs) {
    self.limit_ = "stretch";
    return wasmtime_error_new("it has computed for too long without a call");
  }
  if (self.cpu_ns_ + now > self.limits_.cpu_ms * kMs) {
    self.limit_ = "cpu";
    return wasmtime_error_new("it has computed for too long in all");
  }
  *delta = 1;
  // The clock ticks for all guests. One that has just begun is not over with its slice, and would wait for all others.
  *kind = now < kMs ? kContinue : kYield;
  return nullptr;
}

void Invocation::Step() {
  if (state_ == State::kEnded || !HasBegun()) return;
  step_began_ns_ = ThreadCpuNs();
  // A slice begins here, however long the guest has waited.
  wasmtime_context_set_epoch_deadline(context(), 1);
  bool is_done = wasmtime_call_future_poll(future_.get());
  if (is_done && !error_ && !is_instantiated_) {
    is_instantiated_ = true;
    future_.reset();
    try {
      StartCall();
    } catch (const std::exception& error) {
      return Fail("trap", error.what());
    }
    is_done = wasmtime_call_future_poll(future_.get());
  }
  const uint64_t spent = ThreadCpuNs() - step_began_ns_;
  cpu_ns_ += spent;
  stretch_ns_ += spent;
  if (is_done) {
    future_.reset();
    if (!error_) return Return();
    const auto message = TakeMessage(std::exchange(error_, nullptr));
    return Fail(limit_ ? limit_ : "trap", message);
  }
  if (!broken_.empty()) return Fail(limit_, broken_);
  state_ = pending_ && !has_answer_ ? State::kWaiting : State::kRunnable;
}

void Invocation::StartCall() {
  auto& function = called_.function;
  if (!wasmtime_component_instance_get_func(&instance_, context(), function_->index.get(), &function))
    throw Refused("the function is not exported");
  if (called_.guard != GuardedFunction::kIntact) throw Refused("libwasmtime has another layout than expected");
  future_.reset(wasmtime_component_func_call_async(&function, context(), arguments_->data(), arguments_->size(),
                                                   result_->data(), result_->size(), &error_));
}

void Invocation::Return() {
  try {
    FrameWriter frame(channel_.out(), id_, FrameKind::kReturned);
    auto out = frame.cbor();
    out.Array(2);
    out.Unsigned(cpu_ns_ / 1'000);
    if (result_->size() == 1)
      WriteValue(out, *result_->data(), *function_->type.result, context());
    else
      out.Null();
    frame.Commit();
    state_ = State::kEnded;
  } catch (const std::exception& error) {
    Fail("result", error.what());
  }
}

void Invocation::Fail(const char* code, std::string_view why) {
  FrameWriter frame(channel_.out(), id_, FrameKind::kFailed);
  auto out = frame.cbor();
  out.Array(3);
  out.Unsigned(cpu_ns_ / 1'000);
  out.Text(code);
  out.Text(IsUtf8(why) ? Cut(why, kMaxReason) : "its message is not UTF-8");
  frame.Commit();
  state_ = State::kEnded;
}

void Invocation::Call(const HostFunction& function, std::span<const wasmtime_component_val_t> arguments,
                      wasmtime_component_val_t* results, wasmtime_async_continuation_t& continuation) {
  encoded_.clear();
  CborWriter out(encoded_);
  out.Array(arguments.size());
  for (size_t i = 0; i < arguments.size(); i++) WriteValue(out, arguments[i], function.type.params[i], context());
  if (encoded_.size() > kMaxFrame - kMaxCallHead) throw Malformed("a call has too many bytes of arguments");
  pending_ = &function;
  pending_result_ = results;
  has_answer_ = false;
  way_ = function.way == Way::kOutput && !TakeOutput(arguments[0]) ? Way::kAsk : function.way;
  if (way_ == Way::kAsk)
    Ask(cpu_ns_ + ThreadCpuNs() - step_began_ns_);
  else
    SendOnCredit();
  continuation = {[](void* self) noexcept { return static_cast<Invocation*>(self)->Continue(); }, this, nullptr};
}

bool Invocation::TakeOutput(const wasmtime_component_val_t& text) {
  const uint64_t bytes = std::max<uint64_t>(text.of.string.size, 1);
  const bool fits = bytes <= limits_.output;
  limits_.output = fits ? limits_.output - bytes : 0;
  return fits;
}

void Invocation::Ask(uint64_t cpu_ns) {
  if (++calls_ > limits_.calls) {
    limit_ = "calls";
    throw Refused("it has called the host more than " + std::to_string(limits_.calls) + " times");
  }
  FrameWriter frame(channel_.out(), id_, FrameKind::kCall);
  frame.Number32(++call_);
  frame.Number32(static_cast<uint32_t>(std::min<uint64_t>(cpu_ns / 1'000, UINT32_MAX)));
  frame.Number16(pending_->number);
  SendArguments(frame);
}

void Invocation::SendOnCredit() {
  if (limits_.credits < 0) return;
  const size_t before = channel_.out().size();
  FrameWriter frame(channel_.out(), id_, way_ == Way::kTell ? FrameKind::kTell : FrameKind::kOutput);
  if (way_ == Way::kTell) frame.Number16(pending_->number);
  SendArguments(frame);
  limits_.credits -= static_cast<int64_t>(channel_.out().size() - before);
  has_answer_ = true;
}

void Invocation::SendArguments(FrameWriter& frame) {
  channel_.out() += encoded_;
  frame.Commit();
  encoded_.clear();
  if (encoded_.capacity() > kMaxKept) encoded_.shrink_to_fit();
}

bool Invocation::Continue() {
  // A full channel stops guests between their calls, so that what waits for the host stays bounded.
  if (!has_answer_ || !broken_.empty() || channel_.is_full()) return false;
  if (way_ == Way::kAsk && !TakeAnswer()) return false;
  if (way_ == Way::kOutput) {
    *pending_result_ = {};
    pending_result_->kind = kResult;
    pending_result_->of.result = {true, nullptr};
  }
  pending_ = nullptr;
  stretch_ns_ = 0;
  return true;
}

bool Invocation::TakeAnswer() {
  try {
    Value value;
    ReadCounts counts;
    CborReader in(answer_);
    ReadValue(in, value.raw(), *pending_->type.result, context(), counts);
    in.End();
    handles_ += counts.owned;
    if (handles_ > limits_.handles) {
      limit_ = "handles";
      broken_ = "it holds more than " + std::to_string(limits_.handles) + " resources";
      return false;
    }
    *pending_result_ = value.Release();
    answer_.clear();
    answer_.shrink_to_fit();
    return true;
  } catch (const std::exception& error) {
    // A continuation cannot make the guest trap, so the invocation ends.
    limit_ = "answer";
    broken_ = pending_->name + ": the host's answer is not valid: " + error.what();
    return false;
  }
}

bool Invocation::IsPending(uint32_t call) const {
  return state_ == State::kWaiting && pending_ && way_ == Way::kAsk && call == call_ && !has_answer_;
}

void Invocation::Answer(std::string_view payload) {
  if (!IsPending(TakeNumber32(payload))) throw Malformed("an answer is to no call");
  answer_ = payload;
  has_answer_ = true;
  state_ = State::kRunnable;
}

void Invocation::Refuse(std::string_view payload) {
  if (!IsPending(TakeNumber32(payload))) throw Malformed("a refusal is to no call");
  CborReader in(payload);
  const std::string why(in.Text());
  in.End();
  Fail("refused", why);
}

void Invocation::Credit(std::string_view payload) {
  limits_.credits += TakeNumber32(payload);
  if (state_ != State::kWaiting || !pending_ || way_ == Way::kAsk) return;
  SendOnCredit();
  if (has_answer_) state_ = State::kRunnable;
}

void Invocation::Ending() {
  is_ending_ = true;
  limits_.output = 0;
  if (state_ != State::kWaiting || !pending_ || way_ != Way::kOutput) return;
  // The output that waits is further output, too.
  way_ = Way::kAsk;
  try {
    Ask(cpu_ns_);
  } catch (const Refused& refused) {
    Fail(limit_, refused.what());
  }
}

void Invocation::Cancel() {
  if (state_ != State::kEnded) Fail("cancelled", "it was cancelled");
}

void Invocation::Drop(uint16_t type, uint32_t number) {
  if (handles_ > 0) handles_--;
  if (type == 0) return;
  FrameWriter frame(channel_.out(), id_, FrameKind::kDrop);
  frame.Number16(type);
  frame.Number32(number);
  frame.Commit();
}

void Invocation::CountHandle() {
  if (++handles_ <= limits_.handles) return;
  limit_ = "handles";
  throw Refused("it holds more than " + std::to_string(limits_.handles) + " resources");
}

void Invocation::Print(std::string_view text) {
  const auto shown = text.substr(0, kMaxPrinted - printed_);
  if (shown.empty()) return;
  printed_ += shown.size();
  FrameWriter frame(channel_.out(), id_, FrameKind::kPrinted);
  frame.cbor().Bytes(shown);
  frame.Commit();
}

}  // namespace aana::sandbox
