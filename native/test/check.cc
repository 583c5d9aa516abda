#include "check.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <stdexcept>

namespace aana::test {
namespace {

int exit_status = 0;

}  // namespace

void Test(const std::string& title, const std::function<void()>& run) {
  try {
    run();
    std::printf("ok  %s\n", title.c_str());
  } catch (const std::exception& error) {
    std::printf("FAIL %s: %s\n", title.c_str(), error.what());
    exit_status = 1;
  }
}

void Expect(bool is_true, const std::string& reason) {
  if (!is_true) throw std::runtime_error(reason);
}

void ExpectSame(const std::string& actual, const std::string& expected) {
  const auto at = static_cast<size_t>(std::ranges::mismatch(actual, expected).in1 - actual.begin());
  const size_t begin = at > 40 ? at - 40 : 0;
  if (actual != expected)
    throw std::runtime_error("\"" + actual.substr(begin, 80) + "\", not \"" + expected.substr(begin, 80) + "\"");
}

void ExpectNear(double actual, double expected, double tolerance, const std::string& what) {
  if (std::fabs(actual - expected) <= tolerance) return;
  throw std::runtime_error(what + " is " + std::to_string(actual) + ", not " + std::to_string(expected));
}

int ExitStatus() { return exit_status; }

}  // namespace aana::test
