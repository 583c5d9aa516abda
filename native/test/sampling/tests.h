#pragma once

namespace aana::test {

void TestSelections();
void TestPenalties();
void TestSampler();
void TestStopMatcher();
void TestGrammar();
void TestQuotes();
void TestSpeculation();
void TestThreadChoice();
// Against the samplers of llama.cpp.
void TestAgainstUpstream();
void TestRecorded();

}  // namespace aana::test
