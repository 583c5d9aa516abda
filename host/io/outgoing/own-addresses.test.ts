// The addresses are added to the loopback interface of a separate network namespace, so that no other process of this
// machine sees them.
import { spawnSync } from 'node:child_process';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { skip } from '../../test/skip.ts';

const OwnAddresses = suite('addresses of this machine');

/**
 * Requests both addresses before and after the interface has them. Prints the names of the errors, and the requests
 * that the server got.
 */
const PROGRAM = `
import { execFileSync } from 'node:child_process';
import { createServer } from 'node:http';
import { isForeignAddress, requestGuarded } from ${JSON.stringify(new URL('./index.js', import.meta.url).href)};
const ADDRESSES = ['8.8.4.4', '2606:4700:4700::99'];
const options = { maxBytes: 100, timeoutMs: 20_000, idleTimeoutMs: 20_000, maxRedirects: 0, allowPrivate: false };
let asked = 0;
const server = createServer((_, response) => { asked++; response.end('secret'); }).listen(0, '::');
await new Promise((resolve) => server.once('listening', resolve));
const ask = async (host) => {
  try {
    const url = 'http://' + host + ':' + server.address().port + '/';
    return (await requestGuarded({ method: 'get', url, headers: [] }, options)).status;
  } catch (error) {
    return error.name;
  }
};
const HOSTS = ['8.8.4.4', '[2606:4700:4700::99]', '[::ffff:8.8.4.4]', '[64:ff9b::808:404]'];
const askAll = async () => {
  const answers = [];
  for (const host of HOSTS) answers.push(await ask(host));
  return answers;
};
execFileSync('ip', ['link', 'set', 'lo', 'up']);
const before = await askAll();
for (const address of ADDRESSES) execFileSync('ip', ['addr', 'add', address, 'dev', 'lo']);
const after = await askAll();
const url = 'http://8.8.4.4:' + server.address().port + '/';
const request = { method: 'get', url, headers: [] };
const allowed = (await requestGuarded(request, { ...options, allowPrivate: true })).status;
const foreign = ['8.8.4.4', '8.8.8.8', 'nonsense'].map(isForeignAddress);
console.log(JSON.stringify({ before, after, allowed, asked, foreign }));
process.exit();
`;

const isolated = ['--net', '--map-root-user', process.execPath, '--input-type=module', '--eval'];
const canIsolate =
  process.platform === 'linux' &&
  spawnSync('unshare', ['--net', '--map-root-user', 'ip', 'link', 'set', 'lo', 'up']).status === 0;

if (canIsolate) {
  OwnAddresses('are refused like private ones, although they are public, from the moment an interface has them', () => {
    const { stdout, stderr } = spawnSync('unshare', [...isolated, PROGRAM], { encoding: 'utf8' });
    assert.is(stderr, '');
    const { before, after, allowed, asked, foreign } = JSON.parse(stdout);
    assert.equal(before, Array(4).fill('DownloadException'), 'no way to them yet');
    assert.equal(after, Array(4).fill('PrivateAddressException'));
    assert.equal([allowed, asked], [200, 1]);
    assert.equal(foreign, [false, true, false]);
  });
} else {
  skip('addresses of this machine', 'this system has no network namespaces (unshare --net, ip)');
}

OwnAddresses.run();
