import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { formatBytes, shareProgress, withProgress } from './progress.ts';

function recorder(isTTY: boolean) {
  const stream = { isTTY, columns: 40, text: '', write: (text: string) => void (stream.text += text) };
  return stream;
}

async function written(stream: { text: string }, pattern: RegExp): Promise<void> {
  while (!pattern.test(stream.text)) await turn();
}
const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 2));

const Progress = suite('withProgress');

Progress('writes nothing for work that ends sooner than the limit', async () => {
  const stream = recorder(true);
  assert.is(await withProgress('x', 10, async (report) => (report(10), 'done'), { stream, quietMs: 5_000 }), 'done');
  assert.is(stream.text, '');
});

Progress('writes whole lines without a terminal', async () => {
  const stream = recorder(false);
  await withProgress(
    'model',
    undefined,
    async (report) => {
      report(500_000, 1_000_000, 'downloading');
      await written(stream, /\n/);
    },
    { stream, quietMs: 10 },
  );
  const lines = stream.text.split('\n');
  assert.match(lines[0] ?? '', /^model, downloading: 50 % of 1\.0 MB/);
  assert.match(lines[1] ?? '', /^model: done, 500 kB in \d+\.\d s$/);
  assert.not.match(stream.text, '\r');
});

Progress('writes each stage once without a terminal, when it begins', async () => {
  const stream = recorder(false);
  await withProgress(
    'starting',
    undefined,
    async (report) => {
      report(0, undefined, 'model: fetching 1 %');
      await written(stream, /fetching/);
      for (let percent = 2; percent <= 30; percent++) {
        report(0, undefined, `model: fetching ${percent} %`);
        await turn();
      }
      report(0, undefined, 'model: loading');
      await written(stream, /loading/);
    },
    { stream, quietMs: 1, stepMs: 1 },
  );
  assert.match(
    stream.text,
    /^starting, model: fetching 1 %: \d+ s\nstarting, model: loading: \d+ s\nstarting: done in /,
  );
});

Progress('names each piece of work that has not ended', () => {
  const told: unknown[] = [];
  const begin = shareProgress((...args) => void told.push(args));
  const [native, model, silent] = [begin(), begin(), begin()];
  native.report(0, undefined, 'building');
  model.report(50, 100, 'fetching');
  native.done();
  silent.done();
  model.report(100, 100, 'fetching');
  model.done();
  assert.equal(told, [
    [0, undefined, 'building'],
    [0, undefined, 'building; fetching 50 %'],
    [50, 100, 'fetching'],
    [50, 100, 'fetching'],
    [100, 100, 'fetching'],
    [0, undefined, undefined],
  ]);
});

Progress('overwrites one line on a terminal, within its width', async () => {
  const stream = recorder(true);
  await withProgress('a label that is longer than forty characters', 100, () => written(stream, /label/), {
    stream,
    quietMs: 10,
  });
  const first = stream.text.split('\r').find((part) => part.length > 0) ?? '';
  assert.is(first.replace('\u001b[2K', '').length, 39);
});

Progress('passes on the error of the work', async () => {
  const reason = new Error('broken');
  const error = await withProgress('x', undefined, () => Promise.reject(reason), { stream: recorder(false) }).catch(
    (thrown: unknown) => thrown,
  );
  assert.is(error, reason);
});

Progress('writes sizes in decimal units with three digits', () => {
  assert.equal([0, 999, 1_000, 99_940, 352_078, 999_960, 81_768_585, 3_095_033_483].map(formatBytes), [
    '0 B',
    '999 B',
    '1.0 kB',
    '99.9 kB',
    '352 kB',
    '1.0 MB',
    '81.8 MB',
    '3.1 GB',
  ]);
});

Progress.run();
