#pragma once

#include <memory>
#include <string>

#include "sandbox/process/frames.h"

namespace aana::sandbox {

// One socket to the host, of one thread. Frames that the host does not take yet wait in memory.
class Channel {
 public:
  explicit Channel(int descriptor);
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // Frames to the host are appended here.
  std::string& out() { return out_; }
  // Whether more waits than a thread may have waiting. Guests then do not run.
  bool is_full() const { return out_.size() - sent_ > kMaxWaiting; }

  // Sends what the host takes, and receives. With `wait` it waits until it can do one of them. Returns false when the
  // host has closed the socket.
  bool Exchange(bool wait);
  // Takes a frame that has been received. Its payload is valid until the next call of `Exchange`.
  bool Next(Frame& frame);

 private:
  static constexpr size_t kMaxWaiting = size_t{4} << 20;

  enum class Received : uint8_t { kSome, kNothing, kEnd };

  int descriptor_;
  std::unique_ptr<char[]> chunk_;
  std::string in_;
  size_t taken_ = 0;
  std::string out_;
  size_t sent_ = 0;

  bool Send();
  // Forgets frames that have been taken.
  void Drop();
  Received Receive();
};

}  // namespace aana::sandbox
