#include "sandbox/process/frames.h"

#include "../../check.h"
#include "tests.h"

namespace aana::test {

using namespace sandbox;

void TestFrames() {
  Test("frames are taken one by one, and not before they are complete", [] {
    std::string bytes;
    for (const uint32_t id : {1U, 2U}) {
      FrameWriter frame(bytes, id, FrameKind::kTell);
      frame.Number16(7);
      frame.cbor().Text("hello");
      frame.Commit();
    }
    for (size_t length = 0; length < bytes.size() / 2; length++) {
      std::string_view in(bytes.data(), length);
      Frame frame{};
      Expect(!TakeFrame(in, frame), "taken after " + std::to_string(length) + " bytes");
    }
    std::string_view in(bytes);
    Frame frame{};
    for (const uint32_t id : {1U, 2U}) {
      Expect(TakeFrame(in, frame), "not taken");
      Expect(frame.invocation == id && frame.kind == FrameKind::kTell, "its head differs");
      auto payload = frame.payload;
      Expect(TakeNumber16(payload) == 7, "its number differs");
      Expect(CborReader(payload).Text() == "hello", "its payload differs");
    }
    Expect(in.empty(), "something is left");
  });
  Test("a frame that is not committed leaves nothing", [] {
    std::string bytes = "before";
    {
      FrameWriter frame(bytes, 1, FrameKind::kCall);
    }
    Expect(bytes == "before", "it has " + std::to_string(bytes.size()) + " bytes");
  });
  Test("lengths that no frame has are refused", [] {
    for (const uint32_t length : {0U, 4U, kMaxFrame + 1, 0xffffffffU}) {
      std::string bytes(16, '\0');
      for (int i = 0; i < 4; i++) bytes[static_cast<size_t>(i)] = static_cast<char>(length >> (8 * i));
      std::string_view in(bytes);
      Frame frame{};
      bool is_refused = false;
      try {
        TakeFrame(in, frame);
      } catch (const Malformed&) {
        is_refused = true;
      }
      Expect(is_refused, std::to_string(length));
    }
  });
}

}  // namespace aana::test
