/** A server sent something else than OpenAI's API says. The message has nothing of the answer, because it is logged. */
export class AnswerFormatError extends Error {
  override readonly name = 'AnswerFormatError';
}
