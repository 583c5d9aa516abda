// The certificates that `aana-host cluster` makes, with the files on the disk.
import { X509Certificate } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { hasOpenssl } from '../../base/certificates/fixtures/certificates.ts';
import { Membership } from '../../base/certificates/index.ts';
import { silentLogger } from '../../base/core/log/logger.ts';
import { errorOf } from '../../test/helpers/error-of.ts';
import { skip } from '../../test/skip.ts';
import { initCluster, issueCertificates, type IssueOptions } from './cluster.ts';

const Commands = suite('aana-host cluster');

let folder = '';
let text = '';
const options: IssueOptions = { name: 'cluster.test', days: 30, out: { write: (part) => (text += part) } };

Commands.before.each(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aana-cluster-'));
  text = '';
});
Commands.after.each(() => rm(folder, { recursive: true, force: true }));

const files = () => readdir(folder).then((names) => names.sort());
const certificate = async (name: string) => new X509Certificate(await readFile(join(folder, name)));
const opened = (machine: string) =>
  Membership.open(
    {
      ...{ cert: join(folder, `${machine}.pem`), key: join(folder, `${machine}.key`) },
      ...{ ca: join(folder, 'authority.pem'), name: 'cluster.test' },
    },
    silentLogger,
  );

Commands('init makes files that only this user can read, and says where they belong', async () => {
  await initCluster(folder, ['gpu-1', 'web'], options);
  const made = ['authority.key', 'authority.pem', 'gpu-1.key', 'gpu-1.pem', 'web.key', 'web.pem'];
  assert.equal(await files(), made);
  for (const name of made) assert.is((await stat(join(folder, name))).mode & 0o777, 0o600);
  const [authority, member] = [await certificate('authority.pem'), await certificate('gpu-1.pem')];
  assert.ok(authority.ca && !member.ca && member.verify(authority.publicKey));
  assert.match(text, /Copy gpu-1\.pem, gpu-1\.key, authority\.pem from \/.* to gpu-1, for 30 days/);
  assert.match(
    text,
    /"cluster": \{"cert":"gpu-1\.pem","key":"gpu-1\.key","ca":"authority\.pem","name":"cluster\.test"\}/,
  );
  assert.ok(Math.abs(Date.parse(member.validTo) - Date.now() - 30 * 86_400_000) < 3_600_000, member.validTo);
  assert.ok(Date.parse(member.validFrom) < Date.now());
  await opened('web');
});

Commands('issue renews a certificate, and leaves the others', async () => {
  await initCluster(folder, ['gpu-1', 'web'], options);
  const [renewed, kept] = [await certificate('gpu-1.pem'), await certificate('web.pem')];
  await issueCertificates(folder, ['gpu-1', 'new'], { ...options, days: 60 });
  const now = await certificate('gpu-1.pem');
  assert.ok(now.serialNumber !== renewed.serialNumber && Date.parse(now.validTo) > Date.parse(renewed.validTo));
  assert.is((await certificate('web.pem')).serialNumber, kept.serialNumber);
  await Promise.all([opened('gpu-1'), opened('new')]);
});

Commands('refuse what would replace an authority, and names that are none, without a trace', async () => {
  await initCluster(folder, ['a'], options);
  assert.match((await errorOf(initCluster(folder, ['b'], options))).message, /is not empty; "cluster issue" makes/);
  const before = await files();
  for (const name of ['authority', '../a', 'a b', ''])
    assert.is((await errorOf(issueCertificates(folder, ['c', name], options))).name, 'InvalidInput');
  assert.equal(await files(), before);
  const { name, message } = await errorOf(issueCertificates(join(folder, 'none'), ['a'], options));
  assert.is(name, 'InvalidInput');
  assert.match(message, /none\/authority\.pem of the authority cannot be read \(ENOENT\)/);
});

if (hasOpenssl) Commands.run();
else skip('aana-host cluster', 'there is no openssl to make certificates with');
