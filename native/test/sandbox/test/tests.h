#pragma once

namespace aana::test {

void TestCbor();
void TestValues();
void TestFrames();
void TestChannel();

}  // namespace aana::test
