#pragma once

namespace aana::test {

void TestPrompts();
void TestAnswers();
void TestCallGrammar();

}  // namespace aana::test
