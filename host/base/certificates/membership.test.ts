// Both ends of connections between members of a cluster: real certificates and real sockets.
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { connect, createServer as createTlsServer, type TLSSocket } from 'node:tls';
import type { AddressInfo } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../core/log/logger.ts';
import { errorOf } from '../../test/helpers/error-of.ts';
import { skip } from '../../test/skip.ts';
import { hasOpenssl } from './fixtures/certificates.ts';
import { CLUSTER, ClusterFolder, type Differences, validity } from './fixtures/cluster-files.ts';
import { type MemberFiles, Membership, tlsReason } from './index.ts';
import { issueMember, makeAuthority } from './issue.ts';

const Members = suite('members of a cluster');
let folder: ClusterFolder;
let good: Membership;
const servers: Server[] = [];

/** Opens a member although its certificate has the name of another cluster. */
const openAny = (files: MemberFiles): Promise<Membership> => Membership.open(files, silentLogger);

Members.before(async () => {
  folder = await ClusterFolder.make();
  good = await openAny(await folder.member('good'));
});
Members.after.each(() => {
  for (const server of servers.splice(0)) server.close();
});
Members.after(() => folder[Symbol.dispose]());

async function portOf(server: Server): Promise<number> {
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** Connects a client to a server. Returns why each refuses the other; `''` if it does not. */
async function meet(server: Membership, client: object): Promise<{ server: string; client: string }> {
  const told: string[] = [];
  const listener = createTlsServer(server.certificate.options, (socket) => {
    told.push(server.refusalOf(socket) ?? '');
    socket.on('error', () => {});
    socket.destroy();
  });
  listener.on('tlsClientError', () => told.push('no handshake'));
  const socket = connect({ host: '127.0.0.1', port: await portOf(listener), ...client });
  const error = await new Promise<string>((resolve) => {
    socket.on('error', (cause) => resolve(tlsReason(cause)));
    socket.on('close', () => resolve(''));
    socket.resume();
  });
  return { server: told[0] ?? 'nothing', client: error };
}

Members('accept each other', async () => {
  const other = await openAny(await folder.member('other'));
  assert.equal(await meet(good, other.clientOptions), { server: '', client: '' });
});

const CASES: readonly [what: string, differences: () => Promise<Differences>, reason: RegExp][] = [
  [
    'an expired certificate',
    async () => ({ from: -3, until: -1 }),
    /has expired; the clock of this machine shows \d{4}-/,
  ],
  ['one of the future, as with a wrong clock', async () => ({ from: 1 }), /not valid yet; the clock of this machine/],
  [
    'one of another authority',
    async () => ({ authority: await makeAuthority('test', validity({})) }),
    /not signed by the/,
  ],
  ['one with another name', async () => ({ name: 'web.test' }), /is for DNS:web\.test, and not for cluster\.test/],
];

for (const [what, differences, reason] of CASES) {
  Members(`are not accepted with ${what}, at either end`, async () => {
    const bad = await openAny(await folder.member('bad', await differences()));
    const asServer = await meet(bad, good.clientOptions);
    assert.match(asServer.client, reason);
    const options = { ...bad.clientOptions, servername: CLUSTER, checkServerIdentity: () => undefined };
    const asClient = await meet(good, { ...options, rejectUnauthorized: false });
    assert.match(asClient.server, reason);
  });
}

Members('are not accepted without a certificate, or with an older TLS', async () => {
  const { ca, servername, checkServerIdentity } = good.clientOptions;
  const anyone = { ca, servername, checkServerIdentity } as object;
  assert.is((await meet(good, anyone)).server, 'it showed no certificate');
  assert.is(
    (await meet(good, { ...good.clientOptions, minVersion: 'TLSv1.2', maxVersion: 'TLSv1.2' })).server,
    'no handshake',
  );
});

Members('are not accepted again by a session, without a certificate', async () => {
  const listener = createTlsServer({ ...good.certificate.options, ticketKeys: Buffer.alloc(48, 7) }, (socket) => {
    socket.on('error', () => {});
    socket.end(good.refusalOf(socket) ?? 'accepted');
  });
  const port = await portOf(listener);
  const visit = async (options: object): Promise<{ answer: string; session: Buffer | undefined }> => {
    const socket: TLSSocket = connect({ host: '127.0.0.1', port, ...options });
    let session: Buffer | undefined;
    let answer = '';
    socket.on('session', (made: Buffer) => (session = made));
    socket.on('data', (part: Buffer) => (answer += part));
    await once(socket, 'close');
    return { answer, session };
  };
  const first = await visit(good.clientOptions);
  assert.is(first.answer, 'accepted');
  assert.ok(first.session);
  assert.is((await visit({ ...good.clientOptions, session: first.session })).answer, 'it showed no certificate');
});

Members('say what else is at an address: HTTP, garbage, or nothing', async () => {
  const reasonAt = async (answer: string | undefined): Promise<string> => {
    const port = await portOf(
      createServer((socket) => {
        socket.on('error', () => {});
        if (answer === undefined) socket.destroy();
        else socket.end(answer);
      }),
    );
    const socket = connect({ host: '127.0.0.1', port, ...good.clientOptions });
    return tlsReason((await once(socket, 'error').then(([error]) => error)) as Error);
  };
  assert.is(await reasonAt('HTTP/1.1 400 Bad Request\r\n\r\n'), 'it does not speak TLS');
  assert.is(await reasonAt('\0\0\0\0\0\0\0\0'), 'it does not speak TLS');
  assert.is(await reasonAt(undefined), 'it closed the connection');
});

Members('must have files that fit together', async () => {
  const files = await folder.member('files');
  const complaint = async (changes: Partial<MemberFiles>): Promise<string> => {
    const { name, message } = await errorOf(openAny({ ...files, ...changes }));
    assert.is(name, 'TlsError');
    return message;
  };
  assert.match(await complaint({ name: 'other.test' }), /files\.pem does not have the DNS name other\.test/);
  assert.match(await complaint({ ca: files.key }), /files\.key has no certificates in PEM/);
  assert.match(await complaint({ key: (await folder.member('stranger')).key }), /is not the key of the certificate/);
  assert.match(await complaint({ cert: folder.file('none.pem') }), /none\.pem cannot be read/);
});

Members('are not those with a certificate for all names of a domain, such as a web server', async () => {
  const { cert, key } = folder.make('wildcard', undefined, 'DNS:*.aana.internal');
  const error = await errorOf(openAny({ cert, key, ca: cert, name: 'cluster.aana.internal' }));
  assert.match(error.message, /does not have the DNS name cluster\.aana\.internal in its subjectAltName/);
});

Members('use renewed files for the next connections', async () => {
  const files = await folder.member('renewed', { from: -3, until: -1 });
  const member = await openAny(files);
  const changed = new Promise((resolve) => member.certificate.watch(resolve));
  assert.match((await meet(good, member.clientOptions)).server, /has expired/);
  await folder.member('renewed');
  await changed;
  assert.equal(await meet(good, member.clientOptions), { server: '', client: '' });
  member.certificate.close();
});

Members('have names without characters of configuration files', async () => {
  for (const name of ['', 'a\nb', 'a b', '-a', '$x', 'x'.repeat(65), 'DNS:a,IP:1.1.1.1']) {
    const attempt = async (): Promise<unknown> =>
      issueMember(folder.authority, { member: name, name: CLUSTER, ...validity({}) });
    assert.is((await errorOf(attempt())).name, 'InvalidInput');
  }
});

if (hasOpenssl) Members.run();
else skip('members of a cluster', 'there is no openssl to make certificates with');
