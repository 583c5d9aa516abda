#include "sandbox/process/frames.h"

#include <bit>
#include <cstring>

namespace aana::sandbox {

static_assert(std::endian::native == std::endian::little);

namespace {

template <class Number>
void Append(std::string& out, Number number) {
  char bytes[sizeof number];
  memcpy(bytes, &number, sizeof number);
  out.append(bytes, sizeof number);
}

template <class Number>
Number Take(std::string_view& payload) {
  Number number;
  if (payload.size() < sizeof number) throw Malformed("a frame is cut");
  memcpy(&number, payload.data(), sizeof number);
  payload.remove_prefix(sizeof number);
  return number;
}

}  // namespace

FrameWriter::FrameWriter(std::string& out, uint32_t invocation, FrameKind kind) : out_(out), start_(out.size()) {
  Append(out_, uint32_t{0});
  Append(out_, invocation);
  Append(out_, static_cast<uint8_t>(kind));
}

FrameWriter::~FrameWriter() {
  if (!is_committed_) out_.resize(start_);
}

void FrameWriter::Number16(uint16_t number) { Append(out_, number); }

void FrameWriter::Number32(uint32_t number) { Append(out_, number); }

void FrameWriter::Commit() {
  const size_t length = out_.size() - start_ - sizeof(uint32_t);
  if (length > kMaxFrame) throw Malformed("it has more than " + std::to_string(kMaxFrame) + " bytes");
  const auto number = static_cast<uint32_t>(length);
  memcpy(&out_[start_], &number, sizeof number);
  is_committed_ = true;
}

uint16_t TakeNumber16(std::string_view& payload) { return Take<uint16_t>(payload); }

uint32_t TakeNumber32(std::string_view& payload) { return Take<uint32_t>(payload); }

size_t BytesOfFrame(std::string_view in) {
  if (in.size() < sizeof(uint32_t)) return 0;
  const auto length = Take<uint32_t>(in);
  if (length < kFrameHead - sizeof(uint32_t) || length > kMaxFrame) throw Malformed("a frame has a wrong length");
  return sizeof(uint32_t) + length;
}

bool TakeFrame(std::string_view& in, Frame& frame) {
  const size_t bytes = BytesOfFrame(in);
  if (bytes == 0 || in.size() < bytes) return false;
  std::string_view rest = in.substr(sizeof(uint32_t), bytes - sizeof(uint32_t));
  frame.invocation = Take<uint32_t>(rest);
  frame.kind = static_cast<FrameKind>(Take<uint8_t>(rest));
  frame.payload = rest;
  in.remove_prefix(bytes);
  return true;
}

}  // namespace aana::sandbox
