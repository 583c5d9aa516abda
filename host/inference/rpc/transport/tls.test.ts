// Connections over a network that is taken away: real ones, in a network namespace.
import { execFile, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { hasOpenssl } from '../../../base/certificates/fixtures/certificates.ts';
import { skip } from '../../../test/skip.ts';

const Cut = suite('a TLS connection over a network that is cut');
const OWN_NETWORK = ['--map-root-user', '--net'];
const hasNetworks = spawnSync('unshare', [...OWN_NETWORK, 'ip', 'link', 'set', 'lo', 'up']).status === 0;

Cut('ends, also if nothing is sent', async () => {
  const program = fileURLToPath(new URL('../fixtures/cut-network.js', import.meta.url));
  const printed = await new Promise<string>((resolve) => {
    execFile('unshare', [...OWN_NETWORK, process.execPath, program], { timeout: 60_000 }, (_, text) => resolve(text));
  });
  assert.is(printed, 'ETIMEDOUT');
});

if (hasOpenssl && hasNetworks) Cut.run();
else skip('a TLS connection over a network that is cut', 'networks or certificates cannot be made here');
