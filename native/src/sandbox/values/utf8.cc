#include "sandbox/values/utf8.h"

#include <cstring>

namespace aana::sandbox {

namespace {

// Bytes after the first one; -1 when no character begins with it.
int FollowingBytes(uint8_t first) {
  if (first < 0x80) return 0;
  if (first >= 0xc2 && first < 0xe0) return 1;
  if (first >= 0xe0 && first < 0xf0) return 2;
  return first >= 0xf0 && first < 0xf5 ? 3 : -1;
}

// Whether eight bytes are ASCII, as those of most texts are.
bool AreEightAscii(const char* bytes) {
  uint64_t eight;
  std::memcpy(&eight, bytes, sizeof eight);
  return (eight & 0x8080808080808080) == 0;
}

}  // namespace

bool IsUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    if (text.size() - i >= 8 && AreEightAscii(&text[i])) {
      i += 8;
      continue;
    }
    const auto first = static_cast<uint8_t>(text[i++]);
    const int more = FollowingBytes(first);
    if (more < 0 || i + static_cast<size_t>(more) > text.size()) return false;
    if (more == 0) continue;
    const auto next = static_cast<uint8_t>(text[i]);
    if ((first == 0xe0 && next < 0xa0) || (first == 0xed && next > 0x9f) || (first == 0xf0 && next < 0x90) ||
        (first == 0xf4 && next > 0x8f))
      return false;
    for (int k = 0; k < more; k++)
      if ((static_cast<uint8_t>(text[i++]) & 0xc0) != 0x80) return false;
  }
  return true;
}

void AppendUtf8(std::string& out, uint32_t code) {
  const auto add = [&](uint32_t byte) { out += static_cast<char>(byte); };
  const auto follow = [&](int shift) { add(0x80 | (code >> shift & 0x3f)); };
  if (code < 0x80) return add(code);
  if (code < 0x800) {
    add(0xc0 | code >> 6);
  } else if (code < 0x10000) {
    add(0xe0 | code >> 12);
    follow(6);
  } else {
    add(0xf0 | code >> 18);
    follow(12);
    follow(6);
  }
  follow(0);
}

uint32_t OnlyScalar(std::string_view text) {
  constexpr uint32_t kNone = 0x110000;
  if (text.empty()) return kNone;
  const auto first = static_cast<uint8_t>(text[0]);
  const int more = FollowingBytes(first);
  if (more < 0 || text.size() != static_cast<size_t>(more) + 1) return kNone;
  constexpr uint32_t kBits[] = {0x7f, 0x1f, 0x0f, 0x07};
  uint32_t code = first & kBits[more];
  for (const char c : text.substr(1)) code = code << 6 | (static_cast<uint8_t>(c) & 0x3f);
  return code;
}

}  // namespace aana::sandbox
