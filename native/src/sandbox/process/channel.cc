#include "sandbox/process/channel.h"

#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>
#include <utility>

namespace aana::sandbox {

namespace {

constexpr size_t kChunk = size_t{64} << 10;
// Memory that an empty buffer keeps.
constexpr size_t kKept = size_t{1} << 20;
// What one call of `Exchange` receives, at most. Guests run in between.
constexpr size_t kMaxReceived = size_t{4} << 20;

bool IsLater() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

Channel::Channel(int descriptor) : descriptor_(descriptor), chunk_(std::make_unique_for_overwrite<char[]>(kChunk)) {
  fcntl(descriptor_, F_SETFL, fcntl(descriptor_, F_GETFL) | O_NONBLOCK);
}

bool Channel::Exchange(bool wait) {
  Drop();
  if (!Send()) return false;
  // Under load something is there, and no system call asks before.
  Received received = Receive();
  if (received == Received::kNothing && wait) {
    pollfd interest{descriptor_, static_cast<int16_t>(POLLIN | (out_.empty() ? 0 : POLLOUT)), 0};
    if (poll(&interest, 1, -1) <= 0) return true;
    if ((interest.revents & POLLOUT) != 0 && !Send()) return false;
    if ((interest.revents & ~POLLOUT) != 0) received = Receive();
  }
  return received != Received::kEnd;
}

bool Channel::Next(Frame& frame) {
  std::string_view rest = std::string_view(in_).substr(taken_);
  if (!TakeFrame(rest, frame)) return false;
  taken_ = in_.size() - rest.size();
  return true;
}

bool Channel::Send() {
  while (sent_ < out_.size()) {
    const ssize_t wrote = write(descriptor_, &out_[sent_], out_.size() - sent_);
    if (wrote < 0 && IsLater()) {
      // A host that takes less than guests send never empties the buffer.
      if (sent_ > kKept) out_.erase(0, std::exchange(sent_, 0));
      return true;
    }
    if (wrote <= 0) return false;
    sent_ += static_cast<size_t>(wrote);
  }
  out_.clear();
  sent_ = 0;
  if (out_.capacity() > kKept) out_.shrink_to_fit();
  return true;
}

void Channel::Drop() {
  in_.erase(0, taken_);
  taken_ = 0;
  if (in_.empty() && in_.capacity() > kKept) in_.shrink_to_fit();
  // A buffer that grows copies the beginning of a large frame each time, and ends far beyond it.
  in_.reserve(BytesOfFrame(in_));
}

Channel::Received Channel::Receive() {
  for (size_t received = 0; received < kMaxReceived;) {
    const ssize_t got = read(descriptor_, chunk_.get(), kChunk);
    if (got < 0 && IsLater()) return received > 0 ? Received::kSome : Received::kNothing;
    if (got <= 0) return Received::kEnd;
    in_.append(chunk_.get(), static_cast<size_t>(got));
    received += static_cast<size_t>(got);
    // The socket is empty, most likely, which another system call would only confirm.
    if (static_cast<size_t>(got) < kChunk) break;
  }
  return Received::kSome;
}

}  // namespace aana::sandbox
