#include "sandbox/guest/worker.h"

namespace aana::sandbox {

void Worker::Run() {
  for (;;) {
    const bool can_run = !channel_.is_full() && !(fresh_.empty() && used_.empty());
    if (!channel_.Exchange(!can_run)) return;
    for (Frame frame; channel_.Next(frame);) Take(frame);
    if (!channel_.is_full()) RunRound();
  }
}

void Worker::Take(const Frame& frame) {
  const auto found = invocations_.find(frame.invocation);
  if (frame.kind == FrameKind::kRun) {
    if (found != invocations_.end()) throw Malformed("two invocations have one number");
    auto begun = std::make_unique<Invocation>(plugin_, channel_, settings_, frame.invocation, frame.payload);
    if (begun->state() == Invocation::State::kEnded) return;
    invocations_.emplace(frame.invocation, std::move(begun));
    fresh_.push_back(frame.invocation);
    return;
  }
  if (frame.kind > FrameKind::kEnding) throw Malformed("a frame has an unknown kind");
  if (found == invocations_.end()) return;  // it has ended meanwhile
  auto& invocation = *found->second;
  const bool was_waiting = invocation.state() == Invocation::State::kWaiting;
  switch (frame.kind) {
    case FrameKind::kAnswer:
      invocation.Answer(frame.payload);
      break;
    case FrameKind::kRefuse:
      invocation.Refuse(frame.payload);
      break;
    case FrameKind::kCredit:
      invocation.Credit(frame.payload);
      break;
    case FrameKind::kEnding:
      invocation.Ending();
      break;
    case FrameKind::kCancel:
      invocation.Cancel();
      break;
    default:
      throw Malformed("a frame has an unknown kind");
  }
  if (invocation.state() == Invocation::State::kEnded)
    invocations_.erase(found);
  else if (was_waiting && invocation.state() == Invocation::State::kRunnable)
    fresh_.push_back(frame.invocation);
}

void Worker::RunRound() {
  if (fresh_.empty() && used_.empty()) return;
  const Ticker::Running running(ticker_);
  // Not those that become fresh meanwhile: the socket comes first.
  for (size_t count = fresh_.size(); count > 0 && !channel_.is_full(); count--) {
    const uint32_t id = fresh_.front();
    fresh_.pop_front();
    Step(id);
  }
  if (used_.empty() || channel_.is_full()) return;
  const uint32_t id = used_.front();
  used_.pop_front();
  Step(id);
}

void Worker::Step(uint32_t id) {
  const auto found = invocations_.find(id);
  if (found == invocations_.end()) return;  // cancelled meanwhile
  auto& invocation = *found->second;
  invocation.Step();
  if (invocation.state() == Invocation::State::kEnded)
    invocations_.erase(found);
  else if (invocation.state() == Invocation::State::kRunnable)
    used_.push_back(id);
}

}  // namespace aana::sandbox
