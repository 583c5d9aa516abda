// Texts that were cut within a character, which JavaScript allows and a component cannot pass on.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { buildTestPlugin } from '../fixtures/build-test-plugin.ts';
import { FakePorts } from '../fixtures/fake-ports.ts';
import { testHost } from '../fixtures/guest-suite.ts';
import { runPlugin } from '../fixtures/run-plugin.ts';

const source = `
import { defineEndpoint, definePlugin, HostError, z } from 'aana-host/plugin';

const cut = 'a😀'.slice(0, 2);
const of = (name, run) => defineEndpoint({
  name, path: '/' + name, summary: '', uses: ['storage'], input: z.strictObject({}), output: z.any(), run });

export const endpoint = definePlugin([
  of('lines', (_, ctx) => { ctx.log.info(cut); console.log(cut); }),
  of('progress', (_, ctx) => { ctx.progress(0.5, cut); }),
  of('stored', async (_, { storage }) => {
    await storage.set(cut, cut);
    return [await storage.get(cut), await storage.keys(cut).all()];
  }),
  of('error', () => { throw new Error(cut); }),
  of('hostError', () => { throw new HostError('Cut', 'conflict', cut, { data: cut }); }),
]);
`;

const Halves = suite('halves of characters in texts of plugins');
const dir = await mkdtemp(join(tmpdir(), 'aana-halves-'));
const ports = new FakePorts();
const host = testHost({ ports });

Halves.after(async () => {
  await host.close();
  await rm(dir, { recursive: true, force: true });
});

Halves('become U+FFFD, and the run goes on', async () => {
  await mkdir(join(dir, 'src'));
  await writeFile(join(dir, 'src/index.ts'), source);
  await writeFile(
    join(dir, 'plugin.json'),
    JSON.stringify({ name: 'cut', version: '1.0.0', capabilities: ['storage'] }),
  );
  await buildTestPlugin(dir);
  const plugin = await host.load(dir);
  const whole = 'a\ufffd';
  await runPlugin(plugin, 'lines');
  assert.is(ports.lines.filter((line) => line.includes(whole)).length, 2, ports.lines.join('\n'));
  await runPlugin(plugin, 'progress');
  assert.equal(await runPlugin(plugin, 'stored'), ['a\ud83d', [whole]]);
  assert.is((await errorOf(runPlugin(plugin, 'error'))).message.includes(whole), true);
  const { name, kind, message, data } = await errorOf(runPlugin(plugin, 'hostError'));
  assert.equal([name, kind, message, data], ['Cut', 'conflict', whole, 'a\ud83d']);
});

Halves.run();
