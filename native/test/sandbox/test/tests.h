#pragma once

namespace aana::test {

void TestCbor();
void TestValues();
void TestFrames();

}  // namespace aana::test
