// `crypto.subtle` of plugins in the real sandbox, beside Node's.
import { webcrypto } from 'node:crypto';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { runEndpoint } from 'aana-host/plugin/testing';
import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { packageRoot } from '../../../base/core/package-root.ts';
import { skip } from '../../../test/skip.ts';
import { buildTestPlugin, testCacheDir } from '../fixtures/build-test-plugin.ts';
import { FakePorts } from '../fixtures/fake-ports.ts';
import { runPlugin } from '../fixtures/run-plugin.ts';
import { testSandbox } from '../fixtures/test-sandbox.ts';
import { type LoadedPlugin, PluginHost } from '../set/plugin-host.ts';

interface Step {
  readonly method: string;
  readonly args: readonly unknown[];
}
type Script = readonly Step[];

const fixture = join(packageRoot, 'host', 'endpoints', 'plugins', 'fixtures', 'crypto');
const bytes = (data: Uint8Array | string): object => ({
  $bytes: Buffer.from(data as string, typeof data === 'string' ? 'hex' : undefined).toString('base64'),
});
const step = (method: string, ...args: readonly unknown[]): Step => ({ method, args });
const ref = ($ref: number, of?: string): object => ({ $ref, ...(of !== undefined && { of }) });

const hashes = ['SHA-1', 'SHA-256', 'SHA-384', 'SHA-512'];
const publicExponent = bytes('010001');
const curves = ['P-256', 'P-384', 'P-521'];

/** What makes keys of each asymmetric algorithm, and its usages. */
const pairs: Readonly<
  Record<string, { readonly algorithms: readonly object[]; readonly usages: readonly string[][] }>
> = Object.fromEntries(
  [
    ...['RSASSA-PKCS1-v1_5', 'RSA-PSS', 'RSA-OAEP'].map((name) => ({
      ...{
        name,
        usages:
          name === 'RSA-OAEP'
            ? [
                ['encrypt', 'wrapKey'],
                ['decrypt', 'unwrapKey'],
              ]
            : [['verify'], ['sign']],
      },
      algorithms: hashes.slice(0, 2).map((hash) => ({ name, modulusLength: 1024, publicExponent, hash })),
    })),
    {
      name: 'ECDSA',
      usages: [['verify'], ['sign']],
      algorithms: curves.map((namedCurve) => ({ name: 'ECDSA', namedCurve })),
    },
    {
      ...{ name: 'ECDH', usages: [[], ['deriveBits', 'deriveKey']] },
      algorithms: curves.map((namedCurve) => ({ name: 'ECDH', namedCurve })),
    },
    { name: 'Ed25519', usages: [['verify'], ['sign']], algorithms: [{ name: 'Ed25519' }] },
    { name: 'X25519', usages: [[], ['deriveBits', 'deriveKey']], algorithms: [{ name: 'X25519' }] },
  ].map(({ name, ...of }) => [name, of]),
);

/** How the keys of an algorithm are used for data. */
const uses = (name: string, hash = 'SHA-256'): { readonly algorithm: object; readonly methods: readonly string[] } =>
  ({
    'RSASSA-PKCS1-v1_5': { algorithm: { name }, methods: ['sign', 'verify'] },
    'RSA-PSS': { algorithm: { name, saltLength: 20 }, methods: ['sign', 'verify'] },
    'RSA-OAEP': { algorithm: { name, label: bytes('00ff') }, methods: ['encrypt', 'decrypt'] },
    ECDSA: { algorithm: { name, hash }, methods: ['sign', 'verify'] },
    Ed25519: { algorithm: { name }, methods: ['sign', 'verify'] },
  })[name]!;

interface Context {
  readonly inGuest: (scripts: readonly Script[]) => Promise<readonly (readonly unknown[])[]>;
  readonly inNode: (script: Script) => Promise<readonly unknown[]>;
}

const Crypto = suite<Context>('crypto.subtle in the sandbox');
let dir = '';
let host: PluginHost | undefined;
let plugin: LoadedPlugin;
Crypto.before(async (context) => {
  dir = await mkdtemp(join(tmpdir(), 'aana-crypto-'));
  await cp(fixture, dir, { recursive: true });
  await buildTestPlugin(dir);
  host = new PluginHost({
    sandbox: testSandbox,
    ports: new FakePorts(),
    cacheDir: testCacheDir(),
    log: silentLogger,
  });
  plugin = await host.load(dir);
  const { perform } = await import(pathToFileURL(join(fixture, 'src', 'steps.mjs')).href);
  Object.assign(context, {
    inGuest: async (scripts: readonly Script[]) =>
      (await runPlugin(plugin, 'perform', { scripts })) as readonly (readonly unknown[])[],
    inNode: async (script: Script) => JSON.parse(JSON.stringify(await perform(script))),
  } satisfies Context);
});
Crypto.after(async () => {
  await host?.close(); // undefined when `before` failed
  await rm(dir, { recursive: true, force: true });
});

const data = fc.uint8Array({ maxLength: 200 });
const oneOf = <T>(...values: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...values);
const someOf = (...values: readonly string[]): fc.Arbitrary<string[]> => fc.subarray([...values]);
const hash = oneOf(...hashes);
const lengths = oneOf(16, 24, 32, 16, 24, 32, 0, 15);
const ofLength = (length: number): fc.Arbitrary<Uint8Array> => fc.uint8Array({ minLength: length, maxLength: length });
const keyBytes = lengths.chain(ofLength);

const digests = fc
  .tuple(oneOf(...hashes, 'sha-256', 'MD5', 'HMAC'), data)
  .map(([name, of]) => [step('digest', name, bytes(of)), step('digest', { name }, bytes(of))]);

const macs = fc
  .tuple(hash, fc.uint8Array({ maxLength: 80 }), data, someOf('sign', 'verify'), fc.boolean())
  .map(([of, key, text, usages, extractable]) => [
    step('importKey', 'raw', bytes(key), { name: 'HMAC', hash: of }, extractable, usages),
    step('sign', 'HMAC', ref(0), bytes(text)),
    step('verify', 'HMAC', ref(0), ref(1), bytes(text)),
    step('verify', { name: 'HMAC' }, ref(0), ref(1), bytes('00')),
    step('exportKey', 'jwk', ref(0)),
    step('importKey', 'jwk', ref(4), { name: 'HMAC', hash: { name: of } }, false, usages),
    step('exportKey', 'raw', ref(5)),
  ]);

const ciphers = fc
  .record({
    ...{ name: oneOf('AES-GCM', 'AES-CBC', 'AES-CTR', 'aes-gcm'), key: keyBytes, text: data, more: data },
    iv: oneOf(16, 16, 12, 1, 0).chain(ofLength),
    ...{ tagLength: oneOf(undefined, 128, 96, 32, 33), length: oneOf(64, 1, 128, 0, 129) },
    usages: someOf('encrypt', 'decrypt', 'wrapKey'),
  })
  .map(({ name, key, text, more, iv, tagLength, length, usages }) => {
    const algorithm = { name, iv: bytes(iv), counter: bytes(iv), length, additionalData: bytes(more), tagLength };
    return [
      step('importKey', 'raw', bytes(key), name, true, usages),
      step('encrypt', algorithm, ref(0), bytes(text)),
      step('decrypt', algorithm, ref(0), ref(1)),
      step('decrypt', algorithm, ref(0), bytes(text)),
      step('exportKey', 'jwk', ref(0)),
      step('exportKey', 'spki', ref(0)),
    ];
  });

const wrappings = fc
  .record({
    ...{ key: keyBytes, wrapped: keyBytes, format: oneOf('raw', 'raw', 'jwk', 'spki'), extractable: fc.boolean() },
    ...{ isKw: fc.boolean(), iv: ofLength(12), usages: someOf('wrapKey', 'unwrapKey', 'encrypt') },
  })
  .map(({ key, wrapped, format, extractable, isKw, iv, usages }) => {
    const algorithm = isKw ? { name: 'AES-KW' } : { name: 'AES-GCM', iv: bytes(iv) };
    const type = { name: 'HMAC', hash: 'SHA-256' };
    return [
      step(
        'importKey',
        'raw',
        bytes(key),
        algorithm,
        true,
        isKw ? usages.filter((each) => each !== 'encrypt') : usages,
      ),
      step('importKey', 'raw', bytes(wrapped), type, extractable, ['sign']),
      step('wrapKey', format, ref(1), ref(0), algorithm),
      step('unwrapKey', format, ref(2), ref(0), algorithm, type, false, ['sign']),
      step('sign', 'HMAC', ref(3), bytes('ff')),
      step('unwrapKey', format, ref(2), ref(0), algorithm, 'AES-GCM', true, ['decrypt']),
      step('unwrapKey', format, ref(2), ref(0), algorithm, 'PBKDF2', false, ['deriveBits']),
    ];
  });

const derivations = fc
  .record({
    ...{ name: oneOf('HKDF', 'PBKDF2'), hash, key: data, salt: data, info: data },
    ...{ iterations: oneOf(1, 2, 77, 0), length: oneOf<number | null>(8, 256, 520, 7, 0, null) },
    ...{ usages: someOf('deriveBits', 'deriveKey'), type: oneOf('AES-GCM', 'HMAC', 'HKDF') },
  })
  .map(({ name, hash: of, key, salt, info, iterations, length, usages, type }) => {
    const algorithm = { name, hash: of, salt: bytes(salt), info: bytes(info), iterations };
    const derived = { name: type, ...(type === 'AES-GCM' && { length: 256 }), ...(type === 'HMAC' && { hash: of }) };
    return [
      step('importKey', 'raw', bytes(key), name, false, usages),
      step('deriveBits', algorithm, ref(0), length),
      step('deriveKey', algorithm, ref(0), derived, true, type === 'HMAC' ? ['sign'] : ['encrypt']),
      step('exportKey', 'raw', ref(2)),
    ];
  });

/** Plugins have the same on every Node. Later ones check wrong arguments in another order, and take some of them. */
const asOnNode20 = process.versions.node.startsWith('20.')
  ? Crypto
  : (title: string) => skip(`crypto.subtle: ${title}`, 'wrong arguments have other errors on this Node');

asOnNode20('random calls, also wrong ones, give what Node gives', async ({ inGuest, inNode }) => {
  const scripts = fc.array(fc.oneof(digests, macs, ciphers, wrappings, derivations), { minLength: 10, maxLength: 10 });
  await fc.assert(
    fc.asyncProperty(scripts, async (all) => {
      const inBoth = await inGuest(all);
      for (const [at, script] of all.entries())
        assert.equal(inBoth[at], await inNode(script), JSON.stringify(script, undefined, 1));
    }),
    { numRuns: 40 },
  );
});

for (const [name, { algorithms, usages }] of Object.entries(pairs))
  for (const [at, algorithm] of algorithms.entries())
    Crypto(`${name}, ${at + 1}: keys of a guest are those of Node, in every format`, async ({ inGuest, inNode }) => {
      const [made] = await inGuest([
        [
          step('generateKey', algorithm, true, usages.flat()),
          ...['jwk', 'spki'].map((format) => step('exportKey', format, ref(0, 'publicKey'))),
          ...['jwk', 'pkcs8'].map((format) => step('exportKey', format, ref(0, 'privateKey'))),
        ],
      ]);
      const [keys, publicJwk, spki, privateJwk, pkcs8] = made as [
        Record<string, Record<string, unknown>>,
        ...unknown[],
      ];
      const given = [publicJwk, { $bytes: spki }, privateJwk, { $bytes: pkcs8 }];
      const formats = ['jwk', 'spki', 'jwk', 'pkcs8'];
      const imports = (extractable: boolean): Script =>
        given.map((key, of) => step('importKey', formats[of], key, algorithm, extractable, usages[of < 2 ? 0 : 1]));
      const exports = formats.flatMap((_, of) =>
        [...new Set([...formats, 'raw'])].map((format) => step('exportKey', format, ref(of))),
      );
      const [one, other] = [
        [...imports(true), ...exports],
        [...imports(false), ...exports],
      ];
      const [inOne, inOther] = await inGuest([one, other]);
      assert.equal(inOne, await inNode(one));
      assert.equal(inOther, await inNode(other));
      assert.is((inOne![0] as { type: string }).type, 'public', JSON.stringify(inOne![0]));
      assert.is(keys['privateKey']!['type'], 'private');
      assert.equal(keys['privateKey'], inOne![3]);
    });

for (const name of Object.keys(pairs).filter((each) => uses(each)))
  Crypto(
    `${name}: what a guest signs or encrypts, Node verifies or decrypts, and the reverse`,
    async ({ inGuest, inNode }) => {
      const { algorithms, usages } = pairs[name]!;
      const { algorithm, methods } = uses(name);
      const isCipher = methods[0] === 'encrypt';
      for (const generated of algorithms) {
        const [keys, spki, pkcs8] = await inNode([
          step('generateKey', generated, true, usages.flat()),
          step('exportKey', 'spki', ref(0, 'publicKey')),
          step('exportKey', 'pkcs8', ref(0, 'privateKey')),
        ]);
        assert.ok(keys);
        const both = [
          step('importKey', 'spki', { $bytes: spki }, generated, true, usages[0]),
          step('importKey', 'pkcs8', { $bytes: pkcs8 }, generated, true, usages[1]),
        ];
        const text = bytes('00010203');
        const make = [...both, step(methods[0]!, algorithm, ref(isCipher ? 0 : 1), text)];
        const check = (result: unknown): Script =>
          isCipher
            ? [...both, step('decrypt', algorithm, ref(1), { $bytes: result })]
            : [
                ...both,
                step('verify', algorithm, ref(0), { $bytes: result }, text),
                step('verify', algorithm, ref(0), text, text),
              ];
        const right = isCipher ? ['AAECAw=='] : [true, false];
        const [ofGuest] = await inGuest([make]);
        const ofNode = await inNode(make);
        assert.equal((await inNode(check(ofGuest![2]))).slice(2), right);
        assert.equal((await inGuest([check(ofNode[2])]))[0]!.slice(2), right);
      }
    },
  );

Crypto('secrets are agreed on with keys of Node', async ({ inGuest, inNode }) => {
  for (const { algorithms, usages } of [pairs['ECDH']!, pairs['X25519']!])
    for (const algorithm of algorithms) {
      const exported = async (): Promise<readonly unknown[]> =>
        inNode([
          step('generateKey', algorithm, true, usages.flat()),
          step('exportKey', 'raw', ref(0, 'publicKey')),
          step('exportKey', 'jwk', ref(0, 'privateKey')),
        ]);
      const [mine, theirs] = [await exported(), await exported()];
      const agreed = { ...algorithm, public: ref(1) };
      const script = [
        step('importKey', 'jwk', mine[2], algorithm, false, usages[1]),
        step('importKey', 'raw', { $bytes: theirs[1] }, algorithm, true, []),
        step('deriveBits', agreed, ref(0), 128),
        step('deriveBits', agreed, ref(0), null),
        step('deriveBits', agreed, ref(0), 4096),
        step('deriveBits', { ...agreed, public: ref(0) }, ref(0), 128),
        step('deriveKey', agreed, ref(0), { name: 'AES-GCM', length: 128 }, true, ['encrypt']),
        step('exportKey', 'raw', ref(6)),
        step('deriveKey', agreed, ref(0), 'HKDF', false, ['deriveBits']),
        step('deriveBits', { name: 'HKDF', hash: 'SHA-256', salt: bytes(''), info: bytes('') }, ref(8), 256),
      ];
      assert.equal((await inGuest([script]))[0], await inNode(script), JSON.stringify(algorithm));
    }
});

/** A right call of each method, behind keys that it needs. */
const rightCalls: Readonly<Record<string, readonly unknown[]>> = {
  digest: ['SHA-1', bytes('00')],
  sign: ['HMAC', ref(0), bytes('00')],
  verify: ['HMAC', ref(0), bytes('00'), bytes('00')],
  encrypt: [{ name: 'AES-CBC', iv: bytes('00'.repeat(16)) }, ref(1), bytes('00')],
  decrypt: [{ name: 'AES-CBC', iv: bytes('00'.repeat(16)) }, ref(1), bytes('00'.repeat(16))],
  deriveBits: [{ name: 'PBKDF2', hash: 'SHA-1', salt: bytes('00'), iterations: 1 }, ref(2), 128],
  deriveKey: [
    ...[{ name: 'PBKDF2', hash: 'SHA-1', salt: bytes('00'), iterations: 1 }, ref(2)],
    ...[{ name: 'AES-CBC', length: 128 }, true, ['encrypt']],
  ],
  generateKey: [{ name: 'AES-CBC', length: 128 }, true, ['encrypt']],
  importKey: ['raw', bytes('00'.repeat(16)), 'AES-CBC', true, ['encrypt']],
  exportKey: ['raw', ref(0)],
  wrapKey: ['raw', ref(0), ref(3), 'AES-KW'],
  unwrapKey: ['raw', bytes('00'.repeat(24)), ref(3), 'AES-KW', 'AES-CBC', true, ['encrypt']],
};
const neededKeys = [
  step('importKey', 'raw', bytes('01'.repeat(16)), { name: 'HMAC', hash: 'SHA-256' }, true, ['sign', 'verify']),
  step('importKey', 'raw', bytes('02'.repeat(16)), 'AES-CBC', true, ['encrypt', 'decrypt']),
  step('importKey', 'raw', bytes('03'.repeat(16)), 'PBKDF2', false, ['deriveBits', 'deriveKey']),
  step('importKey', 'raw', bytes('04'.repeat(16)), 'AES-KW', true, ['wrapKey', 'unwrapKey']),
];
const wrongValues = [
  ...[
    null,
    5,
    'x',
    'AES-CBC',
    'ECDSA',
    '',
    true,
    {},
    [],
    ['x'],
    ['sign'],
    { name: 'AES-CBC' },
    { name: 7 },
    { name: 'AES-GCM', length: 129 },
  ],
  ...[
    ref(0),
    ref(1),
    ref(2),
    bytes('00'),
    { name: 'PBKDF2' },
    { name: 'HMAC', hash: 'MD5' },
    { name: 'RSA-PSS', hash: 'SHA-1' },
  ],
];

asOnNode20('wrong arguments give the errors of Node', async ({ inGuest, inNode }) => {
  const wrong = Object.entries(rightCalls).flatMap(([method, args]) => [
    ...args.map((_, length) => step(method, ...args.slice(0, length))),
    ...args.flatMap((_, at) => wrongValues.map((value) => step(method, ...args.with(at, value)))),
  ]);
  // Node looks at no digest there, because the key has one. Here a digest that is none is refused everywhere.
  const isStricter = ({ method, args }: Step): boolean =>
    ['sign', 'verify'].includes(method) && (args[0] as { hash?: string } | undefined)?.hash === 'MD5';
  const script = [...neededKeys, ...wrong.filter((each) => !isStricter(each))];
  const expected = await inNode(script);
  const [given] = await inGuest([script]);
  const nameOf = (value: unknown): unknown => (value as { error?: string } | undefined)?.error ?? 'none';
  const differences = script.flatMap(({ method, args }, at) =>
    nameOf(expected[at]) === nameOf(given![at])
      ? []
      : [`${method} ${JSON.stringify(args)}: ${nameOf(given![at])}, in Node ${nameOf(expected[at])}`],
  );
  assert.equal(differences, []);
  const names = new Set(expected.map(nameOf));
  for (const name of [
    'TypeError',
    'DataError',
    'NotSupportedError',
    'InvalidAccessError',
    'OperationError',
    'SyntaxError',
  ])
    assert.ok(names.has(name), `no case gives ${name}`);
});

const hex = (base64: unknown): string => Buffer.from(String(base64), 'base64').toString('hex');

Crypto('values of the standards', async ({ inGuest }) => {
  const [sha, mac, hkdf, pbkdf2, gcm, kw, ed] = await inGuest([
    [step('digest', 'SHA-256', bytes(Buffer.from('abc')))], // FIPS 180-2, B.1
    [
      step('importKey', 'raw', bytes('0b'.repeat(20)), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']),
      step('sign', 'HMAC', ref(0), bytes(Buffer.from('Hi There'))), // RFC 4231, 4.2
    ],
    [
      step('importKey', 'raw', bytes('0b'.repeat(22)), 'HKDF', false, ['deriveBits']), // RFC 5869, A.1
      step(
        'deriveBits',
        {
          name: 'HKDF',
          hash: 'SHA-256',
          salt: bytes('000102030405060708090a0b0c'),
          info: bytes('f0f1f2f3f4f5f6f7f8f9'),
        },
        ref(0),
        42 * 8,
      ),
    ],
    [
      step('importKey', 'raw', bytes(Buffer.from('password')), 'PBKDF2', false, ['deriveBits']), // RFC 6070
      step(
        'deriveBits',
        { name: 'PBKDF2', hash: 'SHA-1', salt: bytes(Buffer.from('salt')), iterations: 4096 },
        ref(0),
        160,
      ),
    ],
    [
      step('importKey', 'raw', bytes('00'.repeat(16)), 'AES-GCM', false, ['encrypt']), // GCM specification, case 2
      step('encrypt', { name: 'AES-GCM', iv: bytes('00'.repeat(12)) }, ref(0), bytes('00'.repeat(16))),
    ],
    [
      // RFC 3394, 4.1
      step('importKey', 'raw', bytes('000102030405060708090a0b0c0d0e0f'), 'AES-KW', false, ['wrapKey']),
      step('importKey', 'raw', bytes('00112233445566778899aabbccddeeff'), 'AES-CBC', true, ['encrypt']),
      step('wrapKey', 'raw', ref(1), ref(0), 'AES-KW'),
    ],
    [
      // RFC 8032, 7.1, test 2
      step(
        'importKey',
        'jwk',
        {
          ...{ kty: 'OKP', crv: 'Ed25519', d: 'TM0Imyj_ltqdtsNG7BFOD1uKMZ81q6Yk2oz27U-4pvs' },
          x: 'PUAXw-hDiVqStwqnTRt-vJyYLM8uxJaMwM1V8Sr0Zgw',
        },
        ...['Ed25519', false, ['sign']],
      ),
      step('sign', 'Ed25519', ref(0), bytes('72')),
    ],
  ]);
  assert.is(hex(sha![0]), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  assert.is(hex(mac![1]), 'b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7');
  assert.is(hex(hkdf![1]), '3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865');
  assert.is(hex(pbkdf2![1]), '4b007901b765489abead49d926f721d065a429c1');
  assert.is(hex(gcm![1]), '0388dace60b6a392f328c2b971b2fe78ab6e47d42cec13bdf53a67b21257bddf');
  assert.is(hex(kw![2]), '1fa68b0a8112b447aef34bd8fb5a7b829d3e862371d2cfe5');
  assert.is(
    hex(ed![1]),
    '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da' +
      '085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
  );
});

Crypto('what would take too long is refused, and says the limit', async () => {
  assert.equal(await runPlugin(plugin, 'limits'), [
    'OperationError: the data is over the limit of 8388608 bytes',
    'OperationError: the modulus of a new RSA key is over the limit of 4096 bits',
    'OperationError: the modulus of a new RSA key is over the limit of 4096 bits',
    'OperationError: the public exponent of a new RSA key is 3 or 65537',
    'OperationError: the iterations of PBKDF2, times the digests in the result, is over the limit of 1000000 in all',
    'OperationError: the iterations of PBKDF2, times the digests in the result, is over the limit of 1000000 in all',
    'OperationError: the length of what is derived is over the limit of 524288 bits',
    'OperationError: the length of a key is over the limit of 131072 bits',
    'DataError: a key is over the limit of 16384 bytes',
    'OperationError: the arguments are over the limit of 65536 characters',
    'DataError: the modulus of an RSA key has at most 8192 bits',
    'NotSupportedError: "SHA3-256" is no algorithm',
    'TypeError: Illegal constructor',
  ]);
});

Crypto('8 MiB are digested, and several calls at once', async () => {
  assert.is(await runPlugin(plugin, 'digest', { bytes: 8 * 1024 * 1024, times: 2 }), 1);
  assert.is(await runPlugin(plugin, 'digest', { bytes: 1000, times: 100 }), 1);
  assert.is(await runPlugin(plugin, 'wait'), 20);
});

Crypto('the same plugin runs in Node, with its own crypto', async () => {
  const { endpoint } = await import(pathToFileURL(join(fixture, 'src', 'index.mjs')).href);
  const scripts = [[step('digest', 'SHA-256', bytes(Buffer.from('abc')))]];
  const { output } = await runEndpoint(endpoint, 'perform', { scripts });
  const expected = await webcrypto.subtle.digest('SHA-256', Buffer.from('abc'));
  assert.equal(output, [[Buffer.from(expected).toString('base64')]]);
});

Crypto.run();
