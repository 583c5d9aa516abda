import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { runContained } from '../../base/processes/index.ts';

export interface ForwardProxy extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  /** `CONNECT host:port` or `GET http://…` for each request that it let through. */
  readonly asked: string[];
}

/** Starts a forward proxy that resolves every name to 127.0.0.1. */
export async function startForwardProxy({
  credentials,
  refuses,
}: { readonly credentials?: string; readonly refuses?: RegExp } = {}): Promise<ForwardProxy> {
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
  };
  const addressOf = (host: string): string => (/^[\d.]+$/.test(host) ? host : '127.0.0.1');
  const statusFor = (what: string, given: string | undefined): number => {
    if (credentials !== undefined && given !== `Basic ${Buffer.from(credentials).toString('base64')}`) return 407;
    if (refuses?.test(what)) return 403;
    asked.push(what);
    return 200;
  };
  const server = createServer((incoming, response) => {
    const status = statusFor(`${incoming.method} ${incoming.url}`, incoming.headers['proxy-authorization']);
    if (status !== 200) {
      response.writeHead(status).end();
      return;
    }
    const url = new URL(incoming.url ?? '');
    const { 'proxy-authorization': _, ...headers } = incoming.headers;
    const outgoing = request({
      host: addressOf(url.hostname),
      port: url.port,
      path: url.pathname,
      method: incoming.method,
      headers,
      agent: false,
    });
    outgoing.on('response', (message) => message.pipe(response.writeHead(message.statusCode ?? 502, message.headers)));
    outgoing.on('error', () => response.destroy());
    incoming.pipe(outgoing);
  });
  server.on('connection', keep);
  server.on('connect', (incoming, client: Socket) => {
    const status = statusFor(`CONNECT ${incoming.url}`, incoming.headers['proxy-authorization']);
    if (status !== 200) {
      client.end(`HTTP/1.1 ${status} no\r\n\r\n`);
      return;
    }
    const [host = '', port] = (incoming.url ?? '').split(':');
    const target = connect(Number(port), addressOf(host), () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      client.pipe(target).pipe(client);
    });
    keep(target);
    target.on('close', () => client.destroy());
    client.on('close', () => target.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://${credentials === undefined ? '' : `${credentials}@`}127.0.0.1:${port}`,
    asked,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

export interface TestCertificates {
  readonly authorityFile: string;
  readonly key: string;
  readonly cert: string;
}

/** Makes a certificate for the hosts, signed by its own authority. Returns `undefined` if openssl is missing. */
export async function makeCertificates(
  folder: string,
  ...hosts: readonly string[]
): Promise<TestCertificates | undefined> {
  const openssl = async (...args: string[]): Promise<void> => {
    const { code, stderr } = await runContained('openssl', args, { cwd: folder });
    if (code !== 0) throw new Error(`openssl ${args[0]}: ${stderr}`);
  };
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  try {
    await openssl(
      'req',
      '-x509',
      ...curve,
      '-keyout',
      'ca.key',
      '-out',
      'ca.pem',
      '-days',
      '3650',
      '-subj',
      '/CN=test authority',
    );
    await openssl('req', ...curve, '-keyout', 'host.key', '-out', 'host.csr', '-subj', `/CN=${hosts[0]}`);
    writeFileSync(join(folder, 'host.ext'), `subjectAltName=${hosts.map((host) => `DNS:${host}`).join()}\n`);
    await openssl(
      'x509',
      '-req',
      '-in',
      'host.csr',
      '-CA',
      'ca.pem',
      '-CAkey',
      'ca.key',
      '-CAcreateserial',
      '-out',
      'host.pem',
      '-days',
      '3650',
      '-extfile',
      'host.ext',
    );
  } catch (error) {
    if (error instanceof Error && error.name === 'CommandNotFound') return undefined;
    throw error;
  }
  return {
    authorityFile: join(folder, 'ca.pem'),
    key: readFileSync(join(folder, 'host.key'), 'utf8'),
    cert: readFileSync(join(folder, 'host.pem'), 'utf8'),
  };
}

export interface NameServer extends AsyncDisposable {
  /** Asks this server over UDP, like a lookup of host names. */
  lookup(hostname: string): Promise<string[]>;
  /** Names that it was asked for, in order. */
  readonly asked: string[];
}

/**
 * Starts a name server for A records. `answers` returns the addresses for a name when it is asked for the `count`th
 * time (from 0).
 */
export async function startNameServer(
  answers: (name: string, count: number) => readonly string[],
): Promise<NameServer> {
  const asked: string[] = [];
  const socket = createSocket('udp4');
  socket.on('message', (query, from) => {
    const labels: string[] = [];
    let at = 12;
    for (; query[at]; at += query[at]! + 1) labels.push(query.toString('latin1', at + 1, at + 1 + query[at]!));
    const name = labels.join('.').toLowerCase();
    const isA = query.readUInt16BE(at + 1) === 1;
    const addresses = isA ? answers(name, asked.filter((one) => one === name).length) : [];
    if (isA) asked.push(name);
    const head = Buffer.from(query.subarray(0, 12));
    head.writeUInt16BE(0x8180, 2); // flags of an answer
    head.writeUInt16BE(addresses.length, 6);
    head.writeUInt32BE(0, 8);
    const records = addresses.map((address) =>
      Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split('.').map(Number)]),
    ); // with a time to live of 0 seconds
    socket.send(Buffer.concat([head, query.subarray(12, at + 5), ...records]), from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const resolver = new Resolver({ timeout: 5000, tries: 2 });
  resolver.setServers([`127.0.0.1:${socket.address().port}`]);
  return {
    asked,
    lookup: (hostname) => resolver.resolve4(hostname),
    async [Symbol.asyncDispose]() {
      socket.close();
      await once(socket, 'close');
    },
  };
}
