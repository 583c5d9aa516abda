import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type Issued, issueMember, makeAuthority, type Validity } from '../../base/certificates/issue.ts';
import { fail } from '../../base/core/errors.ts';
import { randomSuffix } from '../../base/core/ids.ts';

export interface IssueOptions {
  /** DNS name of all machines of the cluster. */
  readonly name: string;
  readonly days: number;
  readonly out: { write(text: string): unknown };
}

const AUTHORITY_DAYS = 3650;
const DAY_MS = 86_400_000;
/** Machines whose clocks are behind accept a new certificate, too. */
const EARLIER_MS = 3_600_000;

/** Files of an authority in its folder. Only `authority.pem` is for other machines. */
const AUTHORITY = { cert: 'authority.pem', key: 'authority.key' };

/**
 * Makes an authority in a folder, and certificates for machines. Throws `InvalidInput` when the folder is not empty:
 * another authority would make all its certificates useless.
 */
export async function initCluster(folder: string, machines: readonly string[], options: IssueOptions): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if ((await readdir(folder)).length > 0)
    throw fail('InvalidInput', `${folder} is not empty; "cluster issue" makes certificates with the authority in it`);
  const authority = await makeAuthority('aana-host cluster', validityOf(AUTHORITY_DAYS));
  const issued = await issueAll(authority, machines, options); // before files, so that a mistake leaves none
  await write(folder, AUTHORITY, authority);
  await writeAll(folder, issued, options);
}

/** Makes or renews certificates of machines with the authority in the folder. Throws `InvalidInput` without one. */
export async function issueCertificates(
  folder: string,
  machines: readonly string[],
  options: IssueOptions,
): Promise<void> {
  await writeAll(folder, await issueAll(await authorityIn(folder), machines, options), options);
}

async function authorityIn(folder: string): Promise<Issued> {
  const read = async (name: string): Promise<string> => {
    try {
      return await readFile(join(folder, name), 'utf8');
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      throw fail('InvalidInput', `${join(folder, name)} of the authority cannot be read (${code})`, { cause: error });
    }
  };
  return { cert: await read(AUTHORITY.cert), key: await read(AUTHORITY.key) };
}

async function issueAll(
  authority: Issued,
  machines: readonly string[],
  { name, days }: IssueOptions,
): Promise<ReadonlyMap<string, Issued>> {
  const issued = new Map<string, Issued>();
  for (const member of machines) {
    if (member === 'authority') throw fail('InvalidInput', 'a machine cannot have the name of the authority');
    issued.set(member, await issueMember(authority, { member, name, ...validityOf(days) }));
  }
  return issued;
}

async function writeAll(
  folder: string,
  issued: ReadonlyMap<string, Issued>,
  { name, days, out }: IssueOptions,
): Promise<void> {
  for (const [machine, made] of issued) {
    const files = { cert: `${machine}.pem`, key: `${machine}.key` };
    await write(folder, files, made);
    const cluster = { cert: files.cert, key: files.key, ca: AUTHORITY.cert, name };
    out.write(
      `Copy ${[...Object.values(files), AUTHORITY.cert].join(', ')} from ${resolve(folder)} to ${machine}, ` +
        `for ${days} days, with this in its aana.config.json:\n  "cluster": ${JSON.stringify(cluster)}\n`,
    );
  }
  out.write(`Keep ${AUTHORITY.key} where no machine of the cluster has it: it makes further members.\n`);
}

/** Replaces the files of a certificate, which only this user can read. */
async function write(
  folder: string,
  names: { readonly cert: string; readonly key: string },
  made: Issued,
): Promise<void> {
  for (const part of ['key', 'cert'] as const) {
    const path = join(folder, names[part]);
    const unfinished = `${path}.${randomSuffix()}`;
    await writeFile(unfinished, made[part], { mode: 0o600, flag: 'wx' });
    await rename(unfinished, path);
  }
}

const validityOf = (days: number): Validity => {
  const now = Date.now();
  return { from: now - EARLIER_MS, until: now + days * DAY_MS };
};
