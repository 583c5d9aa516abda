// Changed components: each is refused with a sentence, or it runs, and no process crashes.
import { randomInt } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AanaError } from '../../../base/core/errors.ts';
import { compileComponent } from './compiled-code.ts';
import { typeProblem } from './component-types.ts';
import { endpoint, go, offered, output, processLimits, sandbox, waiting, withWat } from './fixtures/serve-component.ts';
import { randomOf } from './fixtures/random-of.ts';
import { SandboxProcess } from './sandbox-process.ts';

const Fuzz = suite('changed components');
const limits = { cpuMs: 200, stretchMs: 200, hostCalls: 100 };

/** Compiles a component and runs it, if it can be. Returns what became of it. */
async function tryComponent(component: string, folder: string): Promise<'refused' | 'ran'> {
  try {
    const { code, types } = await compileComponent({ sandbox, plugin: 'test', component, isFast: true }, folder);
    if (typeProblem(types, offered) !== undefined) return 'refused';
    await using process = await SandboxProcess.start({
      ...{
        command: { file: sandbox.program, args: [] },
        plugin: 'test',
        code,
        isFast: true,
        endpoint,
        output,
        types: offered,
      },
      limits: { ...processLimits, slots: 4, warmSlots: 0 },
    });
    const outcome = await go(process, '{}', { answer: () => 7, limits, signal: AbortSignal.timeout(10_000) });
    assert.is.not(outcome.state, 'lost', JSON.stringify(outcome));
    return 'ran';
  } catch (error) {
    if (!(error instanceof AanaError) || error.name !== 'PluginLoadError') throw error;
    assert.match(
      error.message,
      /^plugin test (has a component that cannot be used: |cannot be run: its process ended with 2: )/,
    );
    return 'refused';
  }
}

Fuzz('are refused with a sentence or run, and nothing crashes', async () => {
  const seed = Number(process.env['AANA_TEST_SEED'] ?? randomInt(2 ** 31));
  const cases = Number(process.env['AANA_TEST_CASES'] ?? 60);
  process.stdout.write(`seed ${seed}\n`);
  const random = randomOf(seed);
  const good = await withWat(waiting, (file) => readFile(file));
  const folder = await mkdtemp(join(tmpdir(), 'aana-fuzz-'));
  const counts = { refused: 0, ran: 0 };
  try {
    for (let n = 0; n < cases; n++) {
      const bytes = Buffer.from(good);
      // A change in the code of a function often leaves a component that runs.
      for (let changes = random(3); changes >= 0; changes--) bytes[8 + random(bytes.length - 8)] = random(256);
      const component = join(folder, 'changed.wasm');
      await writeFile(component, bytes);
      const ending = await tryComponent(component, join(folder, 'code')).catch((error: unknown) => {
        throw new Error(`case ${n} of seed ${seed}: ${error instanceof Error ? error.message : String(error)}`);
      });
      counts[ending]++;
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  assert.ok(counts.refused > 0 && counts.ran > 0, JSON.stringify(counts));
});

Fuzz.run();
