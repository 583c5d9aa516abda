#pragma once

namespace aana::test {

void TestPrompts();
void TestAnswers();
void TestCallGrammar();
void TestShortening();
void TestSharedCopies();

}  // namespace aana::test
