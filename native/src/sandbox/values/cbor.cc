#include "sandbox/values/cbor.h"

#include <bit>
#include <cmath>

#include "sandbox/values/utf8.h"

namespace aana::sandbox {

namespace {

constexpr double kMaxWhole = 9007199254740992.0;  // 2^53

}  // namespace

void CborWriter::Head(uint8_t major, uint64_t number) {
  const int first = major << 5;
  if (number < 24) return First(first | static_cast<int>(number));
  const int size = number < 0x100 ? 0 : number < 0x10000 ? 1 : number < 0x100000000 ? 2 : 3;
  First(first | (24 + size));
  for (int shift = (8 << size) - 8; shift >= 0; shift -= 8) out_ += static_cast<char>(number >> shift);
}

void CborWriter::Integer(int64_t number) {
  if (number < 0)
    Head(1, static_cast<uint64_t>(-1 - number));
  else
    Head(0, static_cast<uint64_t>(number));
}

void CborWriter::Number(double number) {
  if (number == std::floor(number) && std::fabs(number) < kMaxWhole && !(number == 0 && std::signbit(number)))
    return Integer(static_cast<int64_t>(number));
  First(0xfb);
  const auto bits = std::bit_cast<uint64_t>(number);
  for (int shift = 56; shift >= 0; shift -= 8) out_ += static_cast<char>(bits >> shift);
}

void CborWriter::Text(std::string_view text) {
  Head(3, text.size());
  out_ += text;
}

void CborWriter::Bytes(std::string_view bytes) {
  Head(2, bytes.size());
  out_ += bytes;
}

uint8_t CborReader::Peek() const {
  if (in_.empty()) throw Malformed("the value is cut");
  return static_cast<uint8_t>(in_[0]);
}

std::string_view CborReader::Take(uint64_t count) {
  if (count > in_.size()) throw Malformed("the value is cut");
  const auto taken = in_.substr(0, count);
  in_.remove_prefix(count);
  return taken;
}

uint64_t CborReader::Head(uint8_t major) {
  const uint8_t first = Peek();
  if (first >> 5 != major) throw Malformed("a value has another type than expected");
  in_.remove_prefix(1);
  const unsigned info = first & 31;
  if (info < 24) return info;
  if (info > 27) throw Malformed("a value has no length");
  uint64_t number = 0;
  for (const char c : Take(1U << (info - 24))) number = number << 8 | static_cast<uint8_t>(c);
  const uint64_t least = info == 24 ? 24 : uint64_t{1} << (8U << (info - 25));
  if (number < least) throw Malformed("a number is longer than necessary");
  return number;
}

uint64_t CborReader::Counted(uint8_t major) {
  const uint64_t count = Head(major);
  if (count > in_.size()) throw Malformed("the value is cut");
  return count;
}

int64_t CborReader::Integer(int64_t least, int64_t most) {
  const bool is_negative = Peek() >> 5 == 1;
  const uint64_t size = Head(is_negative ? 1 : 0);
  if (size > INT64_MAX) throw Malformed("a number is out of range");
  const int64_t number = is_negative ? -1 - static_cast<int64_t>(size) : static_cast<int64_t>(size);
  if (number < least || number > most) throw Malformed("a number is out of range");
  return number;
}

double CborReader::Number() {
  if (Peek() != 0xfb) {
    constexpr auto kMost = static_cast<int64_t>(kMaxWhole);
    return static_cast<double>(Integer(-kMost, kMost));
  }
  in_.remove_prefix(1);
  uint64_t bits = 0;
  for (const char c : Take(8)) bits = bits << 8 | static_cast<uint8_t>(c);
  return std::bit_cast<double>(bits);
}

std::string_view CborReader::Text() {
  const auto text = Take(Head(3));
  if (!IsUtf8(text)) throw Malformed("a text is not UTF-8");  // the library would end the process
  return text;
}

bool CborReader::Bool() {
  const uint8_t byte = Peek();
  if (byte != 0xf4 && byte != 0xf5) throw Malformed("a value has another type than expected");
  in_.remove_prefix(1);
  return byte == 0xf5;
}

bool CborReader::Null() {
  if (Peek() != 0xf6) return false;
  in_.remove_prefix(1);
  return true;
}

void CborReader::End() const {
  if (!in_.empty()) throw Malformed("bytes follow the value");
}

}  // namespace aana::sandbox
