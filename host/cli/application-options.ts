import { type Command, InvalidArgumentError } from 'commander';
import { fail } from '../base/core/errors.ts';
import { isLoopback } from '../base/core/net/loopback.ts';
import type { LocalApplication } from '../apis/control/index.ts';
import type { ApplicationCommand } from './commands/application.ts';
import { withEnvFile } from '../base/config/index.ts';
import { addConfigOptions, configOf } from './config-options.ts';

type Options = Readonly<Record<string, unknown>>;

/** Adds the options that select an application of this user. */
export function addLocalOptions(command: Command): Command {
  return addConfigOptions(command, 'common')
    .option('--port <number>', 'port of the application, if several run', portOf)
    .option('--listen <address>', 'socket of the application, if several run');
}

/** Adds the options that select an application, also on another machine. */
export function addApplicationOptions(command: Command): Command {
  return addLocalOptions(command)
    .option('--url <address>', 'address of an application on another machine (AANA_URL)')
    .option(
      '--address <address>',
      'cluster.listen of an application on another machine, with the certificate of this one in cluster.cert',
    )
    .option(
      '--api-key <key>',
      'API key of an admin of that application; other users of this machine can see it here, but not in AANA_API_KEY',
    );
}

/** Returns the selected application. Here `--port` and `--listen` select an application; they do not set an address. */
export function localApplicationOf({ port, listen, ...options }: Options): LocalApplication {
  return {
    runtimeDir: configOf(options).runtime_dir,
    host: listen as string | undefined,
    port: port as number | undefined,
  };
}

/**
 * Returns the selected application of this user, of a command that has no `--url`. Throws when the other commands
 * would go to another application.
 */
export function onlyLocalApplicationOf(options: Options): LocalApplication {
  if (!namesLocal(options) && remoteVariables(options).AANA_URL)
    throw fail(
      'InvalidInput',
      'AANA_URL is set, and this command is only for applications of this machine: give --port, or unset AANA_URL',
    );
  return localApplicationOf(options);
}

/**
 * Returns the selected application, with the output of its command. Options that name an application of this machine
 * go before `AANA_URL`.
 */
export function applicationOf({ url: given, apiKey: givenKey, address, ...options }: Options): ApplicationCommand {
  if (typeof address === 'string') {
    if ((given ?? givenKey ?? options['port'] ?? options['listen']) !== undefined)
      throw fail('InvalidInput', '--address goes without --url, --api-key, --port and --listen');
    return { url: address, cluster: configOf(options).cluster, out: process.stdout };
  }
  const isLocal = namesLocal(options);
  const { AANA_URL: usual, AANA_API_KEY: usualKey } = remoteVariables(options);
  if (given !== undefined && isLocal)
    throw fail(
      'InvalidInput',
      'give --url, or --port, --listen, --runtime-dir or --data-dir for an application of this machine',
    );
  const url = (given as string | undefined) ?? (isLocal ? undefined : usual);
  if (url === undefined || url === '') {
    if (givenKey !== undefined) throw fail('InvalidInput', '--api-key needs --url');
    return { ...localApplicationOf(options), out: process.stdout };
  }
  const server = { url: checkedUrl(url), apiKey: checkedKey((givenKey as string | undefined) ?? usualKey) };
  if (server.apiKey !== undefined) warnOfPlainHttp(server.url);
  return { ...server, out: process.stdout };
}

/** Warns if requests to the address show their key to the network. */
function warnOfPlainHttp(address: string): void {
  const { protocol, hostname, host } = new URL(address);
  if (protocol === 'http:' && !isLoopback(hostname.replaceAll(/[[\]]/g, '')))
    process.stderr.write(`warning: the API key goes to ${host} without encryption; use https:// if it has it
`);
}

const namesLocal = (options: Options): boolean =>
  ['port', 'listen', 'runtimeDir', 'dataDir'].some((name) => options[name] !== undefined);

/**
 * Returns the variables of the environment and of an `--env-file`. `.env` of the working directory does not count:
 * a folder of somebody else must not choose the server that gets the key.
 */
function remoteVariables({ envFile }: Options): { AANA_URL?: string; AANA_API_KEY?: string } {
  return withEnvFile(process.env, process.cwd(), typeof envFile === 'string' ? envFile : false).variables;
}

/**
 * Returns the address of a server, without a slash at the end. An error does not repeat it, because it may have
 * credentials.
 */
function checkedUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol))
    throw fail('InvalidInput', 'the address of an application begins with http:// or https://');
  if (`${url.username}${url.password}${url.search}${url.hash}` !== '')
    throw fail('InvalidInput', 'the address of an application has no user, password, query or fragment');
  return url.href.replace(/\/+$/, '');
}

function checkedKey(text: string | undefined): string | undefined {
  if (text === undefined || text === '') return undefined;
  if (!/^[\x21-\x7e]+$/.test(text)) throw fail('InvalidInput', 'the API key has characters that no key has');
  return text;
}

/** Parses a port that selects an application. */
function portOf(text: string): number {
  if (!/^[1-9]\d{0,4}$/.test(text)) throw new InvalidArgumentError('Expected a number from 1 to 65535.');
  return Number(text);
}
