import { cryptoLimits, refuse } from './limits.ts';

/** The lengths of the digests, in bits. */
const digests: Readonly<Record<string, number>> = { 'SHA-1': 160, 'SHA-256': 256, 'SHA-384': 384, 'SHA-512': 512 };
const rsa = ['RSASSA-PKCS1-v1_5', 'RSA-PSS', 'RSA-OAEP'];
const aes = ['AES-GCM', 'AES-CBC', 'AES-CTR', 'AES-KW'];
/** Algorithms whose keys are never exported. */
const derivations: readonly string[] = ['HKDF', 'PBKDF2'];

/** What plugins have on every Node. Later ones have more, whose cost nothing here bounds. */
const known: ReadonlyMap<string, string> = new Map(
  [...Object.keys(digests), ...rsa, ...aes, ...derivations, 'HMAC', 'ECDSA', 'ECDH', 'Ed25519', 'X25519'].map(
    (name) => [name.toUpperCase(), name],
  ),
);

/** An algorithm with its canonical name, for Node. Its other members are as the guest gave them. */
export interface Algorithm {
  readonly name: string;
  readonly [member: string]: unknown;
}

/** Returns an algorithm that a guest gave: its name, or an object with it. */
export function algorithmOf(given: unknown): Algorithm {
  const all = typeof given === 'object' && given !== null ? given : { name: given };
  const { name, hash } = all as { name?: unknown; hash?: unknown };
  if (name === undefined) throw new TypeError('an algorithm needs a name');
  return { ...all, name: knownName(name), ...(hash !== undefined && { hash: digestOf(hash) }) };
}

export const isDerivation = ({ name }: Algorithm): boolean => derivations.includes(name);

/** Returns what the import of a key with this algorithm needs. */
export function importAlgorithm(given: unknown): Algorithm {
  const { name, hash, namedCurve } = algorithmOf(given);
  return { name, ...(hash !== undefined && { hash }), ...(namedCurve !== undefined && { namedCurve }) };
}

/** Throws `OperationError` when a new key would be too long or take too long to find. Returns the milliseconds. */
export function generationCost({ name, modulusLength, publicExponent, length }: Algorithm): number {
  if (!rsa.includes(name)) {
    requireAtMost('the length of a key', length, 8 * cryptoLimits.keyBytes, 'bits');
    return 0.1;
  }
  requireAtMost('the modulus of a new RSA key', modulusLength, cryptoLimits.newModulusBits, 'bits');
  if (publicExponent instanceof Uint8Array && !['03', '010001'].includes(withoutZeros(publicExponent)))
    throw refuse('OperationError', 'the public exponent of a new RSA key is 3 or 65537');
  return 200 * Math.max(0, Number(modulusLength) / 2048) ** 4;
}

/** Throws `OperationError` when `bits` of a derivation would take too long. Returns the milliseconds. */
export function derivationCost({ name, hash, iterations }: Algorithm, bits: unknown): number {
  requireAtMost('the length of what is derived', bits, 8 * cryptoLimits.derivedBytes, 'bits');
  if (name !== 'PBKDF2') return 0.5;
  const blocks = Math.max(1, Math.ceil(Number(bits) / (digests[String(hash)] ?? 160)) || 1);
  requireAtMost(
    'the iterations of PBKDF2, times the digests in the result,',
    Number(iterations) * blocks,
    cryptoLimits.iterations,
    'in all',
  );
  return ((Number(iterations) || 0) * blocks) / 1_000;
}

/** Returns the bits of a key that is derived for an algorithm. Node itself refuses what is no algorithm for it. */
export function derivedBits({ name, hash, length }: Algorithm): unknown {
  if (length !== undefined) return length;
  return name === 'HMAC' ? ((digests[String(hash)] ?? 0) > 256 ? 1024 : 512) : 0;
}

function knownName(name: unknown): string {
  const found = known.get(String(name).toUpperCase());
  if (found === undefined) throw refuse('NotSupportedError', `${JSON.stringify(name)?.slice(0, 64)} is no algorithm`);
  return found;
}

function digestOf(given: unknown): string {
  const { name } = algorithmOf(given);
  if (digests[name] === undefined) throw refuse('NotSupportedError', `${name} is no digest`);
  return name;
}

/** Numbers of the web may be given as texts, so the value is converted as Node converts it. */
function requireAtMost(what: string, value: unknown, most: number, unit: string): void {
  if (Number(value) > most) throw refuse('OperationError', `${what} is over the limit of ${most} ${unit}`);
}

const withoutZeros = (bytes: Uint8Array): string =>
  Buffer.from(bytes)
    .toString('hex')
    .replace(/^(00)+/, '');
