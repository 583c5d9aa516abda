#pragma once

namespace aana::test {

void TestSelections();
void TestPenalties();
void TestSampler();
// Against the samplers of llama.cpp.
void TestAgainstUpstream();

}  // namespace aana::test
