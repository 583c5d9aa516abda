import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { exposureOf } from './exposure.ts';

const Exposure = suite('exposure');

const at = (host: string, { keys = false, tls = false, clients = false, proxies = [] as string[] } = {}) =>
  exposureOf(
    {
      api_service: { enabled: keys },
      tls: { cert: tls ? 'cert.pem' : null, client_ca: clients ? 'ca.pem' : null },
      trusted_proxies: proxies,
    },
    host,
  );

Exposure('is none on loopback and on a Unix socket', () => {
  for (const host of ['127.0.0.1', '127.1.2.3', '::1', 'localhost', 'unix:/run/aana.sock'])
    assert.is(at(host), undefined);
});

Exposure('names the settings that are missing on other addresses', () => {
  for (const host of ['0.0.0.0', '::', '192.168.1.5', 'gpubox.example.org']) {
    assert.match(at(host)?.found ?? '', `${host} without API keys and without encryption`);
    assert.match(at(host)?.advice ?? '', /host .*127\.0\.0\.1.*api_service\.enabled.*tls\.cert/);
  }
});

Exposure('is about keys or encryption alone where the other one is on', () => {
  assert.match(at('0.0.0.0', { keys: true })?.found ?? '', /0\.0\.0\.0 without encryption$/);
  assert.match(at('0.0.0.0', { tls: true })?.found ?? '', /0\.0\.0\.0 without API keys$/);
  assert.match(at('0.0.0.0', { proxies: ['10.0.0.1'] })?.found ?? '', /without API keys$/);
});

Exposure('is none with keys or certificates of clients, and encryption here or at a trusted proxy', () => {
  assert.is(at('0.0.0.0', { keys: true, tls: true }), undefined);
  assert.is(at('0.0.0.0', { clients: true, tls: true }), undefined);
  assert.is(at('0.0.0.0', { keys: true, proxies: ['10.0.0.1'] }), undefined);
});

Exposure.run();
