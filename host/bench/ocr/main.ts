// Measures `OcrDeployment` beside RapidOCR with the same networks, on one thread each: the character error rate over
// generated pages, and the CPU seconds of a page. The time of ours has both processes, the host and the replica. They
// take turns page by page. Prints JSON. Python needs PyPI's rapidocr-onnxruntime 1.4.4 and what that depends on.
// `npm run bench:ocr -- --python venv/bin/python [--pages 200] [--fonts /usr/share/fonts/truetype/dejavu]`
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { packageRoot } from '../../base/core/package-root.ts';
import type { OcrOutput } from '../../base/schemas/index.ts';
import { deployed } from '../../inference/engines/fixtures/real-models.ts';
import { artifactOf } from '../../io/artifacts/index.ts';
import { edits } from '../../test/helpers/media/word-errors.ts';
import { cpuSeconds } from '../../test/helpers/server.ts';
import { machineLoad, reportHead, round } from '../report.ts';

const { values: flags } = parseArgs({
  options: {
    python: { type: 'string', default: 'python3' },
    pages: { type: 'string', default: '200' },
    fonts: { type: 'string', default: '/usr/share/fonts/truetype/dejavu' },
  },
});

interface Page {
  readonly file: string;
  readonly width: number;
  readonly height: number;
  readonly lines: readonly string[];
  /** Whether it stands on its head. */
  readonly turned: boolean;
}

interface Reading {
  readonly lines: readonly string[];
  readonly seconds: number;
}

interface Subject {
  readonly name: string;
  read(page: Page): Promise<Reading>;
  close(): Promise<unknown>;
}

const script = (name: string): string => join(packageRoot, 'host/bench/ocr', name);

async function ours(): Promise<Subject> {
  const manager = deployed({ type: 'OcrDeployment', user_config: { threads: 1 } });
  await manager.start();
  const ocr = manager.handle('model');
  const replica = manager.status()['model']?.replicas[0]?.pid ?? 0;
  const cpu = async (): Promise<number> => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6 + (await cpuSeconds(replica));
  };
  return {
    name: 'aana-host',
    async read({ file, width, height }) {
      const sha256 = createHash('sha256').update(await readFile(file));
      const image = { pixels: await artifactOf(tmpdir(), file, sha256.digest('hex')), width, height };
      const before = await cpu();
      const { lines } = (await ocr.call('recognize', { image })) as OcrOutput;
      return { lines: lines.map(({ text }) => text), seconds: (await cpu()) - before };
    },
    close: () => manager.shutdown({ graceMs: 0 }),
  };
}

async function rapidOcr(): Promise<Subject> {
  const child = spawn(flags.python, [script('rapidocr_side.py')], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const answer = async (): Promise<Reading> => {
    const next = (await lines.next()) as IteratorResult<string, undefined>;
    if (next.done) throw new Error(`${flags.python} ended`);
    return JSON.parse(next.value) as Reading;
  };
  await answer();
  return {
    name: 'RapidOCR',
    read({ file, width, height }) {
      child.stdin.write(`${JSON.stringify({ file, width, height })}\n`);
      return answer();
    },
    async close() {
      child.stdin.end();
      await once(child, 'exit');
    },
  };
}

/** What a subject made of some pages. */
class Score {
  #wrong = 0;
  #characters = 0;

  add(page: Page, { lines }: Reading): void {
    const text = [...page.lines.join('\n')];
    this.#wrong += edits([...lines.join('\n')], text);
    this.#characters += text.length;
  }

  get errorRate(): number {
    return round(this.#wrong / this.#characters, 4);
  }
}

const loadBefore = machineLoad();
const folder = await mkdtemp(join(tmpdir(), 'aana-pages-'));
try {
  const words = join(packageRoot, 'docs/deployments.md');
  execFileSync(flags.python, [script('pictures.py'), folder, flags.pages, words, flags.fonts]);
  const pages = JSON.parse(await readFile(join(folder, 'pages.json'), 'utf8')) as Page[];
  const subjects = await Promise.all([ours(), rapidOcr()]);
  const totals = subjects.map(({ name }) => ({ name, upright: new Score(), turned: new Score(), seconds: 0 }));
  const order = [...totals.keys()];
  for (const page of pages) {
    for (const at of order) {
      const reading = await subjects[at]!.read(page);
      const total = totals[at]!;
      total[page.turned ? 'turned' : 'upright'].add(page, reading);
      total.seconds += reading.seconds;
    }
    order.reverse();
  }
  for (const { close } of subjects) await close();
  const report = totals.map(({ name, upright, turned, seconds }) => ({
    name,
    characterErrorRate: { upright: upright.errorRate, turned: turned.errorRate },
    cpuSecondsPerPage: round(seconds / pages.length),
  }));
  const facts = { pages: pages.length, turnedPages: pages.filter(({ turned }) => turned).length, results: report };
  process.stdout.write(`${JSON.stringify({ ...reportHead('ocr', loadBefore), ...facts }, null, 2)}\n`);
} finally {
  await rm(folder, { recursive: true });
}
