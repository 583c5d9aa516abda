// How collectors are reached: through proxies, with certificates of private authorities, over kept connections.
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createLogger } from '../base/core/log/logger.ts';
import type { AanaApp } from 'aana-host';
import { Collector } from '../base/telemetry/fixtures/collector.ts';
import { makeCertificates, startForwardProxy } from '../test/helpers/outgoing.ts';
import { until } from '../test/helpers/server.ts';
import { skip } from '../test/skip.ts';
import { makeApp, makeFolder, started } from './fixtures/test-app.ts';

const Reached = suite('collectors');
const folder = makeFolder();
const certificates = await makeCertificates(folder, 'collector.test', 'localhost');
Reached.after(() => rmSync(folder, { recursive: true, force: true }));

/** Every span is sent at once. */
const exportingApp = (env: Readonly<Record<string, string>>): Promise<AanaApp> =>
  started(makeApp(folder, {}, {}, { OTEL_BSP_SCHEDULE_DELAY: '1', OTEL_LOGS_EXPORTER: 'none', ...env }));

/** Sends a request, and waits for its span. */
async function oneMore(app: AanaApp, collector: Collector): Promise<void> {
  const before = collector.spans.length;
  await (await fetch(`${app.url}/api/status`)).text();
  await until(async () => collector.spans.length > before);
}

/** Starts a server that answers without end, as fast as it is read. */
async function endlessServer(onSent: () => void, chunk: Buffer): Promise<{ readonly url: string } & AsyncDisposable> {
  const server = createServer((_, response) => {
    const more = (): void => {
      while (!response.destroyed && response.write(chunk)) onSent();
      if (!response.destroyed) response.once('drain', more);
    };
    more();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

Reached('of an http URL are reached through the proxy, which knows their names', async () => {
  await using collector = await Collector.start();
  await using proxy = await startForwardProxy({ credentials: 'user:pass' });
  const endpoint = `http://collector.test:${collector.port}`;
  await using app = await exportingApp({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, HTTP_PROXY: proxy.url });
  await oneMore(app, collector);
  assert.is(proxy.asked[0], `POST ${endpoint}/v1/traces`);
});

if (certificates) {
  const { key, cert, authorityFile } = certificates;
  Reached('of an https URL are reached through a tunnel, with the authorities of the configuration', async () => {
    await using collector = await Collector.start({ key, cert });
    await using proxy = await startForwardProxy();
    const address = `collector.test:${collector.port}`;
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: `https://${address}`, HTTPS_PROXY: proxy.url };
    await using app = await exportingApp({ ...env, SSL_CERT_FILE: authorityFile });
    for (let count = 0; count < 3; count += 1) await oneMore(app, collector);
    assert.equal(proxy.asked, [`CONNECT ${address}`], 'one tunnel for all exports');
  });

  Reached('with a certificate of an unknown authority get nothing, and a line says which key is missing', async () => {
    await using collector = await Collector.start({ key, cert });
    const lines: string[] = [];
    const log = createLogger({ level: 'warn', format: 'text', write: (line) => lines.push(line) });
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: `https://localhost:${collector.port}`,
      OTEL_BSP_SCHEDULE_DELAY: '1',
      OTEL_BSP_EXPORT_TIMEOUT: '750',
      OTEL_LOGS_EXPORTER: 'none',
    };
    await using app = await started(makeApp(folder, { log }, {}, env));
    await (await fetch(`${app.url}/api/status`)).text();
    await until(async () => lines.length > 0);
    assert.match(
      lines[0] ?? '',
      /spans dropped .*not signed by a trusted authority; name the authority with outgoing\.ca_file/,
    );
    assert.is(collector.requests, 0);
  });
} else skip('collectors of https', 'openssl is missing');

Reached('keep their connection between exports, and are found again after a restart of it', async () => {
  await using collector = await Collector.start();
  await using app = await exportingApp({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_METRICS_EXPORTER: 'none' });
  for (let count = 0; count < 5; count += 1) await oneMore(app, collector);
  assert.is(collector.connections, 1);
  collector.dropConnections();
  await oneMore(app, collector);
  assert.is(collector.connections, 2);
});

Reached('have no connection left when the application has shut down', async () => {
  await using collector = await Collector.start();
  const app = await exportingApp({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
  await oneMore(app, collector);
  await app.shutdown();
  await until(async () => (await collector.openConnections()) === 0);
});

Reached('whose answer does not end are left, and a line says why', async () => {
  const chunk = Buffer.alloc(65_536, 'x');
  let sent = 0;
  await using server = await endlessServer(() => (sent += chunk.length), chunk);
  const lines: string[] = [];
  const log = createLogger({ level: 'warn', format: 'text', write: (line) => lines.push(line) });
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: server.url, OTEL_BSP_SCHEDULE_DELAY: '1', OTEL_BSP_EXPORT_TIMEOUT: '750' };
  await using app = await started(makeApp(folder, { log }, {}, { ...env, OTEL_LOGS_EXPORTER: 'none' }));
  await (await fetch(`${app.url}/api/status`)).text();
  await until(async () => lines.some((line) => line.includes('its answer is longer than 1048576 bytes')));
  assert.ok(sent < 16 * 2 ** 20, `${sent} bytes were taken`);
});

Reached('get the user and the password of their URL', async () => {
  await using collector = await Collector.start();
  const endpoint = collector.url.replace('//', '//operator:p%40ss@');
  await using app = await exportingApp({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint });
  await oneMore(app, collector);
  assert.is(collector.exports[0]?.headers.authorization, `Basic ${Buffer.from('operator:p@ss').toString('base64')}`);
});

Reached.run();
