#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sandbox/values/cbor.h"

namespace aana::sandbox {

// A frame is `u32 length of the rest | u32 invocation | u8 kind | payload`, little endian. A call has a number, because
// a later version of the world may have several at a time.
enum class FrameKind : uint8_t {
  // From the host.
  kRun = 1,     // CBOR: [export, limits, arguments], see `RunLimits`
  kAnswer = 2,  // u32 call | CBOR of the result's type
  kRefuse = 3,  // u32 call | text: the guest traps with it
  kCancel = 4,  // nothing; `kFailed` follows, unless the invocation has ended
  kCredit = 5,  // u32 bytes of `kTell` and `kOutput` that the host has handled
  kEnding = 6,  // nothing; the guest learns that it is cancelled, and further output comes as `kCall`
  // From the process.
  kReturned = 16,  // CBOR: [microseconds of CPU, result]
  kFailed = 17,    // CBOR: [microseconds of CPU, code, text]
  kCall = 18,    // u32 call | u32 microseconds of CPU so far | u16 function | CBOR array of arguments. The guest waits.
  kTell = 19,    // u16 function | CBOR array of arguments. It is sent while credits are not below 0.
  kOutput = 20,  // CBOR array of arguments of the function for output. Credits as for `kTell`.
  kDrop = 21,    // u16 resource type | u32 number
  kPrinted = 22,  // CBOR: bytes that it wrote to standard output or error
  kReady = 23,    // CBOR: see `serve.cc`
};

struct Frame {
  uint32_t invocation;
  FrameKind kind;
  std::string_view payload;
};

inline constexpr size_t kFrameHead = 9;
// Most bytes of a frame after its length.
inline constexpr uint32_t kMaxFrame = uint32_t{96} << 20;

// Appends a frame to `out`. Without `Commit` the frame is taken back.
class FrameWriter {
 public:
  FrameWriter(std::string& out, uint32_t invocation, FrameKind kind);
  ~FrameWriter();
  FrameWriter(const FrameWriter&) = delete;
  FrameWriter& operator=(const FrameWriter&) = delete;

  void Number16(uint16_t number);
  void Number32(uint32_t number);
  CborWriter cbor() { return CborWriter(out_); }
  // Throws `Malformed` when the frame is too long.
  void Commit();

 private:
  std::string& out_;
  size_t start_;
  bool is_committed_ = false;
};

// Takes numbers from the front of a payload. Throw `Malformed` when it is cut.
uint16_t TakeNumber16(std::string_view& payload);
uint32_t TakeNumber32(std::string_view& payload);

// Returns the bytes of the frame at the front of `in`, which need not be complete; 0 when its length is not there yet.
// Throws `Malformed` for a length that no frame has.
size_t BytesOfFrame(std::string_view in);

// Takes the next frame from the front of `in`. Returns false when it is not complete. Throws `Malformed` for a length
// that no frame has.
bool TakeFrame(std::string_view& in, Frame& frame);

}  // namespace aana::sandbox
