#include "sandbox/process/channel.h"

#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace aana::sandbox {

namespace {

constexpr size_t kChunk = size_t{64} << 10;

bool IsLater() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

Channel::Channel(int descriptor) : descriptor_(descriptor) {
  fcntl(descriptor_, F_SETFL, fcntl(descriptor_, F_GETFL) | O_NONBLOCK);
}

bool Channel::Exchange(bool wait) {
  if (!Send()) return false;
  const bool has_more = !out_.empty();
  pollfd interest{descriptor_, static_cast<int16_t>(POLLIN | (has_more ? POLLOUT : 0)), 0};
  if (poll(&interest, 1, wait ? -1 : 0) <= 0) return true;
  if ((interest.revents & POLLOUT) != 0 && !Send()) return false;
  return (interest.revents & ~POLLOUT) == 0 || Receive();
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
    if (wrote < 0 && IsLater()) return true;
    if (wrote <= 0) return false;
    sent_ += static_cast<size_t>(wrote);
  }
  out_.clear();
  sent_ = 0;
  if (out_.capacity() > (size_t{1} << 20)) out_.shrink_to_fit();
  return true;
}

bool Channel::Receive() {
  in_.erase(0, taken_);
  taken_ = 0;
  if (in_.empty() && in_.capacity() > (size_t{1} << 20)) in_.shrink_to_fit();
  const size_t had = in_.size();
  in_.resize(had + kChunk);
  const ssize_t got = read(descriptor_, &in_[had], kChunk);
  in_.resize(had + (got > 0 ? static_cast<size_t>(got) : 0));
  return got > 0 || (got < 0 && IsLater());
}

}  // namespace aana::sandbox
