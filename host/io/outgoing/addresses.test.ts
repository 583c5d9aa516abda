import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { isOfPrivateNetwork, isPublicAddress, literalAddress, systemLookup } from './addresses.ts';

const Addresses = suite('addresses');

/** Returns the host of a URL. WHATWG's parser turns number forms into dotted ones. */
const PRIVATE_HOSTS = [
  ...[
    '127.0.0.1',
    '127.1',
    '127.255.255.254',
    '2130706433',
    '0x7f000001',
    '0x7f.1',
    '0177.0.0.1',
    '017700000001',
    '127.0.0.1.',
    '①②⑦.0.0.1',
    '127。0。0。1',
  ],
  ...[
    '0',
    '0.0.0.0',
    '0.1.2.3',
    '10.0.0.1',
    '10.255.255.255',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.0.1',
    '100.64.0.1',
    '100.100.100.200',
    '100.127.255.255',
  ],
  ...[
    '169.254.169.254',
    '0xa9fea9fe',
    '2852039166',
    '169.254.0.1',
    '168.63.129.16',
    '192.0.0.192',
    '192.0.2.1',
    '198.18.0.1',
    '198.51.100.1',
    '203.0.113.1',
  ],
  ...['224.0.0.1', '239.255.255.255', '240.0.0.1', '255.255.255.255', '192.88.99.1'],
  ...[
    '[::]',
    '[::1]',
    '[0:0:0:0:0:0:0:1]',
    '[::127.0.0.1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::ffff:10.0.0.1]',
    '[::ffff:169.254.169.254]',
    '[::ffff:0:8.8.8.8]',
  ],
  ...[
    '[fe80::1]',
    '[fec0::1]',
    '[fc00::1]',
    '[fd00:ec2::254]',
    '[ff02::1]',
    '[100::1]',
    '[2001:db8::1]',
    '[3fff::1]',
    '[5f00::1]',
    '[4000::1]',
  ],
  ...[
    '[64:ff9b::127.0.0.1]',
    '[64:ff9b::a9fe:a9fe]',
    '[64:ff9b:1::808:808]',
    '[2002:7f00:1::]',
    '[2002:808:808::]',
    '[2001::1]',
    '[2001:20::1]',
  ],
];
const PUBLIC_HOSTS = [
  '1.1.1.1',
  '8.8.8.8',
  '0x08080808',
  '172.32.0.1',
  '100.63.255.255',
  '100.128.0.0',
  '[2606:4700:4700::1111]',
  '[2001:4860:4860::8888]',
  '[::ffff:8.8.8.8]',
  '[64:ff9b::808:808]',
];

const judge = (host: string): boolean => {
  const address = literalAddress(new URL(`http://${host}/`).hostname);
  assert.ok(address, `${host} is not a literal address`);
  return isPublicAddress(address);
};

Addresses('refuses every special address in every notation', () => {
  assert.equal(PRIVATE_HOSTS.filter(judge), []);
});

Addresses('accepts addresses of the public internet', () => {
  assert.equal(
    PUBLIC_HOSTS.filter((host) => !judge(host)),
    [],
  );
});

Addresses('refuses other texts, and addresses with a zone', () => {
  for (const text of ['', 'example.org', 'fe80::1%eth0', '2606:4700::1%1'])
    assert.is(isPublicAddress(text), false, text);
});

Addresses('distinguishes names and addresses', () => {
  assert.is(literalAddress('example.org'), undefined);
  assert.is(literalAddress('localhost'), undefined);
  assert.is(literalAddress('[::1]'), '::1');
});

Addresses('resolves localhost to loopback addresses', async () => {
  const addresses = await systemLookup('localhost');
  assert.ok(addresses.length > 0);
  assert.equal(addresses.filter(isPublicAddress), []);
});

Addresses('a private network has no loopback, link-local or metadata address', () => {
  for (const address of ['10.0.0.1', '172.16.0.1', '192.168.1.1', '::ffff:10.0.0.1', 'fc00::1', 'fd12:3456::1'])
    assert.ok(isOfPrivateNetwork(address), address);
  for (const address of [
    ...['127.0.0.1', '0.0.0.0', '169.254.169.254', '168.63.129.16', '100.100.100.200', '192.0.0.192', '8.8.8.8'],
    ...['::1', '::', 'fe80::1', 'fd00:ec2::254', 'fd20:ce::254', '64:ff9b::7f00:1', 'fd12::1%eth0', '2606:4700::1111'],
  ])
    assert.not.ok(isOfPrivateNetwork(address), address);
});

Addresses.run();
