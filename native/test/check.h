#pragma once

#include <functional>
#include <string>

// A test program of a few functions: it prints `ok  title` or `FAIL title: reason` for each test.
namespace aana::test {

void Test(const std::string& title, const std::function<void()>& run);
// Throw, with the reason, when it is not so.
void Expect(bool is_true, const std::string& reason);
// Shows where the texts begin to differ.
void ExpectSame(const std::string& actual, const std::string& expected);
void ExpectNear(double actual, double expected, double tolerance, const std::string& what);

// 1 when a test failed.
int ExitStatus();

}  // namespace aana::test
