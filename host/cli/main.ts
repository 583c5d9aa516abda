#!/usr/bin/env node
import { CommanderError } from 'commander';
import { ignoresOutputErrors } from '../application/start/output-errors.ts';
import { type AanaError, toErrorRecord } from '../core/errors.ts';
import { program } from './program.ts';

/** Names of errors that the user of the command line can correct. */
const MISTAKES = [
  'PluginNotFound',
  'NotFoundException',
  'ApiKeyAlreadyExists',
  'DeploymentNotFound',
  'NotRunning',
  'SeveralRunning',
  'ListenError',
  'AlreadyConnected',
  'AlreadyDeployed',
];

/** Returns 2 for mistakes in the command line or the configuration, and 1 for failures. */
function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  const { kind, name = '', cause } = error as Partial<AanaError>; // not instanceof: an application may use another copy of the package
  const isUnknownModel = name === 'FailedDeployment' && cause instanceof Error && cause.name === 'ModelNotFound';
  return kind === 'invalid-input' || MISTAKES.includes(name) || isUnknownModel ? 2 : 1;
}

async function main(argv: readonly string[]): Promise<number> {
  const state = { exitCode: 0 };
  try {
    const command = await program(argv.slice(2), state);
    await command.parseAsync([...argv]);
    return state.exitCode;
  } catch (error) {
    if (!(error instanceof CommanderError)) {
      const { message, stack } = toErrorRecord(error);
      const isDebugging =
        argv.includes('debug') || argv.includes('--log-level=debug') || process.env['AANA_LOG_LEVEL'] === 'debug';
      process.stderr.write(`error: ${message}\n`);
      if (isDebugging)
        process.stderr.write(
          `${stack ?? ''}\n${error instanceof Error && error.cause instanceof Error ? `cause: ${error.cause.stack}\n` : ''}`,
        );
    }
    return exitCodeOf(error);
  }
}

// `aana-host models list | head` must not fail.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (ignoresOutputErrors()) return; // a server keeps running
  if (error.code === 'EPIPE') process.exit(0);
  process.stderr.write(`error: the output cannot be written: ${error.message}\n`);
  process.exit(1);
});
process.stderr.on('error', () => {}); // it cannot be reported anywhere

process.exitCode = await main(process.argv);
// Everything has been closed by now. Resources that are still open must not keep the process running.
setTimeout(() => process.exit(), 2000).unref();
