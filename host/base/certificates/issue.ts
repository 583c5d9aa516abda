import { generateKeyPair, randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { fail } from '../core/errors.ts';
import { runContained } from '../processes/index.ts';
import { PLAIN_NAME } from '../core/net/cluster-names.ts';

/** A certificate and its key, as PEM. */
export interface Issued {
  readonly cert: string;
  readonly key: string;
}

/** When a certificate is valid, in milliseconds since 1970. */
export interface Validity {
  readonly from: number;
  readonly until: number;
}

interface Request extends Validity {
  readonly commonName: string;
  /** Section of the configuration with the extensions. */
  readonly kind: 'authority' | 'member';
  /** DNS name of a member. */
  readonly name: string;
  /** Default: the certificate is signed with its own key. */
  readonly authority?: Issued | undefined;
}

const OPENSSL_MS = 30_000;

/** Makes an authority. Throws `CommandNotFound` without openssl, and `TlsError` when openssl refuses. */
export function makeAuthority(commonName: string, validity: Validity): Promise<Issued> {
  return issue({ ...validity, commonName, kind: 'authority', name: 'localhost' });
}

/**
 * Makes the certificate of a member, which has the DNS name `name` and is for both ends of connections. Throws
 * `InvalidInput` for a name with other characters than letters, digits, `-` and `.`, and like {@link makeAuthority}.
 */
export function issueMember(
  authority: Issued,
  { member, name, ...validity }: Validity & { readonly member: string; readonly name: string },
): Promise<Issued> {
  for (const text of [member, name])
    if (!PLAIN_NAME.test(text))
      throw fail('InvalidInput', `${JSON.stringify(text)} is no name: use 1 to 64 letters, digits, "-" and "."`);
  return issue({ ...validity, commonName: member, kind: 'member', name, authority });
}

/** Runs openssl in a folder of its own, because Node cannot make certificates. */
async function issue({ authority, kind, ...request }: Request): Promise<Issued> {
  const folder = await mkdtemp(join(tmpdir(), 'aana-issue-'));
  const write = (name: string, text: string) => writeFile(join(folder, name), text, { mode: 0o600 });
  const openssl = async (...args: string[]): Promise<void> => {
    const { code, stderr } = await runContained('openssl', args, { cwd: folder, timeoutMs: OPENSSL_MS });
    if (code === 0) return;
    throw fail('TlsError', `openssl did not make the certificate: ${stderr.trim()}`);
  };
  try {
    const { privateKey } = await promisify(generateKeyPair)('ec', { namedCurve: 'P-256' });
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
    await Promise.all([
      write('own.key', key),
      write('index.txt', ''),
      write('serial', `01${randomBytes(15).toString('hex')}\n`),
      write('openssl.cnf', configuration(request)),
      ...(authority ? [write('ca.key', authority.key), write('ca.pem', authority.cert)] : []),
    ]);
    await openssl('req', '-new', '-config', 'openssl.cnf', '-key', 'own.key', '-out', 'own.csr');
    const signer = authority ? ['-keyfile', 'ca.key', '-cert', 'ca.pem'] : ['-keyfile', 'own.key', '-selfsign'];
    const dates = ['-startdate', timeOf(request.from), '-enddate', timeOf(request.until)];
    const files = ['-in', 'own.csr', '-out', 'own.pem', '-notext'];
    await openssl('ca', '-batch', '-config', 'openssl.cnf', '-extensions', kind, ...signer, ...dates, ...files);
    return { cert: await readFile(join(folder, 'own.pem'), 'utf8'), key };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** `YYYYMMDDHHMMSSZ`. */
const timeOf = (ms: number): string => `${new Date(ms).toISOString().replaceAll(/[-:T]|\..*$/g, '')}Z`;

const configuration = ({ commonName, name }: Pick<Request, 'commonName' | 'name'>): string => `
[req]
prompt = no
distinguished_name = subject
[subject]
CN = ${commonName}
[ca]
default_ca = own
[own]
new_certs_dir = .
database = index.txt
serial = serial
default_md = sha256
policy = any
unique_subject = no
[any]
commonName = supplied
[authority]
basicConstraints = critical, CA:TRUE, pathlen:0
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[member]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth, clientAuth
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
subjectAltName = DNS:${name}
`;
