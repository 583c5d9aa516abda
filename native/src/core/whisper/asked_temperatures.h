#pragma once

#include <utility>
#include <vector>

namespace aana {

// While an object of this class lives, whisper.cpp tries these temperatures in turn for each window of this thread. native/cmake/whisper.cmake adds the
// question.
class AskedTemperatures {
 public:
  // `temperatures` must outlive this.
  explicit AskedTemperatures(const std::vector<float>& temperatures) : outer_(std::exchange(current, &temperatures)) {}
  ~AskedTemperatures() { current = outer_; }
  AskedTemperatures(const AskedTemperatures&) = delete;
  AskedTemperatures& operator=(const AskedTemperatures&) = delete;

  static const std::vector<float>* Current() { return current; }

 private:
  static inline thread_local const std::vector<float>* current = nullptr;
  const std::vector<float>* const outer_;
};

}  // namespace aana
