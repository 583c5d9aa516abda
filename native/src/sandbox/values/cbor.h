#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace aana::sandbox {

// Bytes that break the rules of the frames or of CBOR.
struct Malformed : std::runtime_error {
  using runtime_error::runtime_error;
};

// Most values in one frame, with the names of fields. The host ends a process that sends more (`cbor.ts`).
inline constexpr size_t kMaxWritten = size_t{1} << 20;

// Appends CBOR (RFC 8949) to a text: integers, floats of 64 bits, texts, bytes, arrays, maps, booleans and null. Throws
// `Malformed` when it has written the most values.
class CborWriter {
 public:
  explicit CborWriter(std::string& out) : out_(out) {}

  void Unsigned(uint64_t number) { Head(0, number); }
  void Integer(int64_t number);
  // A whole number up to 2^53 is written as an integer.
  void Number(double number);
  void Text(std::string_view text);
  void Bytes(std::string_view bytes);
  void Array(uint64_t count) { Head(4, count); }
  void Map(uint64_t count) { Head(5, count); }
  void Bool(bool value) { First(value ? 0xf5 : 0xf4); }
  void Null() { First(0xf6); }

 private:
  // Appends the first byte of a value.
  void First(int byte) {
    if (++written_ > kMaxWritten) throw Malformed("it has more than " + std::to_string(kMaxWritten) + " values");
    out_ += static_cast<char>(byte);
  }
  void Head(uint8_t major, uint64_t number);

  std::string& out_;
  size_t written_ = 0;
};

// Reads what `CborWriter` writes, and nothing else: each head must have its shortest form. Throws `Malformed`. Texts
// are UTF-8; they and bytes are views of the input.
class CborReader {
 public:
  explicit CborReader(std::string_view in) : in_(in) {}

  uint64_t Unsigned() { return Head(0); }
  // An integer from `least` to `most`.
  int64_t Integer(int64_t least, int64_t most);
  // A float or an integer up to 2^53.
  double Number();
  std::string_view Text();
  std::string_view Bytes() { return Take(Head(2)); }
  uint64_t Array() { return Counted(4); }
  uint64_t Map() { return Counted(5); }
  bool Bool();
  // Reads null if it is next.
  bool Null();
  // What is not read yet.
  std::string_view rest() const { return in_; }
  // Throws when something is left.
  void End() const;

 private:
  uint64_t Head(uint8_t major);
  // A count of elements that the rest is long enough for.
  uint64_t Counted(uint8_t major);
  uint8_t Peek() const;
  std::string_view Take(uint64_t count);

  std::string_view in_;
};

}  // namespace aana::sandbox
