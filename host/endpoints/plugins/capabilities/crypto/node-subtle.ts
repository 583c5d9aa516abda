import { webcrypto } from 'node:crypto';

type Result<T> = (...args: readonly unknown[]) => Promise<T>;

/**
 * Node's `SubtleCrypto` for arguments of any type, because it checks them itself: it throws a `TypeError` for those of
 * a wrong type, as the standard demands.
 */
export const subtle = webcrypto.subtle as unknown as {
  readonly [M in 'digest' | 'sign' | 'encrypt' | 'decrypt' | 'deriveBits' | 'wrapKey']: Result<ArrayBuffer>;
} & {
  readonly verify: Result<boolean>;
  readonly generateKey: Result<webcrypto.CryptoKey | webcrypto.CryptoKeyPair>;
  readonly importKey: Result<webcrypto.CryptoKey>;
  readonly deriveKey: Result<webcrypto.CryptoKey>;
  readonly unwrapKey: Result<webcrypto.CryptoKey>;
  readonly exportKey: Result<ArrayBuffer | webcrypto.JsonWebKey>;
};
