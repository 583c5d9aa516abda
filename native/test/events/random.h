#pragma once

#include <cstdint>
#include <random>

namespace aana::test {

// Numbers that follow from a seed, on every machine.
class Random {
 public:
  explicit Random(uint32_t seed) : numbers_(seed) {}

  // From 0 to `most`, with it.
  int UpTo(int most) { return static_cast<int>(numbers_() % static_cast<uint32_t>(most + 1)); }
  bool OneIn(int n) { return UpTo(n - 1) == 0; }

 private:
  std::mt19937 numbers_;
};

}  // namespace aana::test
