import type { Socket } from 'node:net';
import { AnswerReader } from './read-answers.ts';
import type { Sequence } from './make-sequence.ts';

/** Time after which an answer that has not come is lost. */
const LOST_MS = 30_000;

/** Sends a sequence on a connection, and returns what is wrong with its answers. */
export async function runSequence(socket: Socket, { items, pieces, ending }: Sequence): Promise<string[]> {
  const reader = new AnswerReader();
  const last = items.findIndex(({ isLast }) => isLast);
  const expected = last < 0 ? items : items.slice(0, last + 1);
  let isClosed = false;
  let onChange = (): void => {};
  socket.on('data', (bytes: Buffer) => {
    reader.push(bytes.toString('latin1'));
    onChange();
  });
  socket.on('close', () => {
    isClosed = true;
    onChange();
  });
  for (const piece of pieces) {
    if (socket.writable) socket.write(piece, 'latin1');
    await new Promise((resolve) => setImmediate(resolve));
  }
  if (ending === 'end') socket.end();
  if (ending === 'break') socket.destroy();
  const isDone = (): boolean =>
    isClosed ||
    reader.answers.at(-1)?.status === 101 ||
    (ending === 'read' && last < 0 && reader.answers.length >= items.length);
  let isLost = false;
  if (!isDone())
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => {
        isLost = true;
        resolve();
      }, LOST_MS);
      onChange = () => {
        if (!isDone()) return;
        clearTimeout(timer);
        resolve();
      };
    });
  socket.destroy();
  const { answers } = reader;
  const wrong = answers.flatMap((answer, i) =>
    expected[i]?.isRight(answer)
      ? []
      : [
          `${expected[i]?.what ?? 'what comes after the end'} was answered ${answer.status} ` +
            `${JSON.stringify(answer.body)}`,
        ],
  );
  if (isLost) wrong.push(`the connection was open without an answer for ${LOST_MS} ms`);
  const isExplained =
    /^connection: close/im.test(answers.at(-1)?.head ?? '') ||
    (expected[answers.length]?.mayBreak && reader.rest !== '');
  if (ending === 'read' && answers.length < expected.length && !isExplained)
    wrong.push(
      `${expected[answers.length]?.what} got no answer, only ${JSON.stringify(reader.rest)}, after ` +
        `${answers.length} of ${expected.length}`,
    );
  return wrong;
}
