#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>

#include "sandbox/guest/invocation.h"
#include "sandbox/guest/ticker.h"

namespace aana::sandbox {

// A thread with a socket, and the invocations that came over it. Guests that begin or got an answer run before those
// that have used a whole slice, of which one runs in each round.
class Worker {
 public:
  Worker(Plugin& plugin, Ticker& ticker, const Settings& settings, int socket)
      : plugin_(plugin), ticker_(ticker), settings_(settings), channel_(socket) {}

  Channel& channel() { return channel_; }
  // Runs until the host closes the socket. Throws `Malformed` when a frame breaks the protocol.
  void Run();

 private:
  Plugin& plugin_;
  Ticker& ticker_;
  const Settings& settings_;
  Channel channel_;
  std::unordered_map<uint32_t, std::unique_ptr<Invocation>> invocations_;
  std::deque<uint32_t> fresh_;
  std::deque<uint32_t> used_;

  void Take(const Frame& frame);
  void RunRound();
  void Step(uint32_t id);
};

}  // namespace aana::sandbox
