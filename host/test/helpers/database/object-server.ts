import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { ObjectStoreConfig } from '../../../data/objects/index.ts';
import { pythonPackages } from '../installed-packages.ts';
import { freePort, until } from '../server.ts';

/** A server with S3's API, which keeps everything in memory. */
export interface ObjectServer extends AsyncDisposable {
  readonly url: string;
  readonly process: ChildProcess;
  /** Settings of a host that uses a bucket of this server. */
  settings(bucket: string): ObjectStoreConfig;
  /** Makes an empty bucket. */
  create(bucket: string): Promise<void>;
  /** Lets only a new user use the server, whose signatures it then checks. Returns the access key. */
  allowOnly(user: string): Promise<{ readonly id: string; readonly secret: string }>;
  allowAll(): Promise<void>;
}

/** Starts moto, or returns the reason why it cannot. It is installed once into the cache. */
export async function startObjectServer(): Promise<ObjectServer | string> {
  const folder = await pythonPackages('test-moto-5.2.5', 'moto[server,s3]==5.2.5');
  if (folder === undefined) return 'Python cannot install moto';
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const child = spawn('python3', ['-m', 'moto.server', '-H', '127.0.0.1', '-p', String(port)], {
    env: { ...process.env, PYTHONPATH: join(folder, 'lib') },
    stdio: 'ignore',
  });
  child.unref();
  process.once('exit', () => child.kill('SIGKILL'));
  const isUp = async (): Promise<boolean> => {
    if (child.exitCode !== null) throw new Error(`moto ended with code ${child.exitCode}`);
    return fetch(url).then(
      ({ ok }) => ok,
      () => false,
    );
  };
  try {
    await until(isUp, 60_000);
  } catch (error) {
    child.kill('SIGKILL');
    return String(error);
  }
  return {
    url,
    process: child,
    settings: (bucket) => ({
      url: `s3://${bucket}/hosts`,
      endpoint: url,
      region: 'us-east-1',
      session_token: null,
      access_key_id: 'test',
      secret_access_key: 'test-secret',
      timeout: 2,
    }),
    create: async (bucket) => {
      const answer = await fetch(`${url}/${bucket}`, { method: 'PUT' });
      if (!answer.ok) throw new Error(`the bucket ${bucket} was not made: ${answer.status}`);
    },
    allowOnly: async (user) => {
      const ask = async (parameters: Readonly<Record<string, string>>): Promise<string> => {
        const body = new URLSearchParams({ Version: '2010-05-08', UserName: user, ...parameters });
        // It knows by this header which service is meant.
        const authorization = 'AWS4-HMAC-SHA256 Credential=x/20260101/us-east-1/iam/aws4_request';
        const answer = await fetch(url, { method: 'POST', body, headers: { authorization } });
        if (!answer.ok) throw new Error(`${parameters['Action']}: ${answer.status} ${await answer.text()}`);
        return answer.text();
      };
      await ask({ Action: 'CreateUser' });
      const statement = { Effect: 'Allow', Action: '*', Resource: '*' };
      const policy = JSON.stringify({ Version: '2012-10-17', Statement: [statement] });
      await ask({ Action: 'PutUserPolicy', PolicyName: 'all', PolicyDocument: policy });
      const key = await ask({ Action: 'CreateAccessKey' });
      await fetch(`${url}/moto-api/reset-auth`, { method: 'POST', body: '0' });
      const textOf = (name: string): string => new RegExp(`<${name}>([^<]*)<`).exec(key)?.[1] ?? '';
      return { id: textOf('AccessKeyId'), secret: textOf('SecretAccessKey') };
    },
    allowAll: async () => {
      await fetch(`${url}/moto-api/reset-auth`, { method: 'POST', body: 'inf' });
    },
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode !== null) return;
      child.ref();
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}
