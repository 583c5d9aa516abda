#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace aana {

// Returns a number of 64 bits that shows whether bytes were damaged. It is no protection against bytes that somebody
// made on purpose.
inline uint64_t Checksum(const void* bytes, size_t n, uint64_t seed = 0) {
  constexpr uint64_t kPrime = 0x9E3779B185EBCA87ULL;
  const auto* at = static_cast<const unsigned char*>(bytes);
  uint64_t sum = (seed ^ n) * kPrime + 1;
  const auto mix = [&](uint64_t word) {
    // Each step is reversible, so a single damaged word always changes the sum.
    sum = (sum ^ word) * kPrime;
    sum ^= sum >> 29;
  };
  for (; n >= sizeof(uint64_t); n -= sizeof(uint64_t), at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    mix(word);
  }
  uint64_t rest = 0;
  std::memcpy(&rest, at, n);
  mix(rest);
  return sum;
}

}  // namespace aana
