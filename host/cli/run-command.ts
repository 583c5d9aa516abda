import { CommanderError } from 'commander';
import { type AanaError, toErrorRecord } from '../base/core/errors.ts';
import { program } from './program.ts';

/** Names of errors that the user of the command line can correct. */
const MISTAKES = [
  'PluginNotFound',
  'NotFoundException',
  'ApiKeyAlreadyExists',
  'ApiKeyNotProvided',
  'ApiKeyNotFound',
  'ApiKeyExpired',
  'AdminOnlyAccess',
  'InsufficientScope',
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
  // Not instanceof: an application may use another copy of the package.
  const { kind, name = '', cause } = error as Partial<AanaError>;
  const isUnknownModel = name === 'FailedDeployment' && cause instanceof Error && cause.name === 'ModelNotFound';
  return kind === 'invalid-input' || MISTAKES.includes(name) || isUnknownModel ? 2 : 1;
}

/**
 * Runs a command of `aana-host` in this process. Writes the message of an error to stderr. Returns the exit code.
 *
 * @param args The words after the name of the program.
 */
export async function runCommand(args: readonly string[]): Promise<number> {
  const state = { exitCode: 0 };
  try {
    const command = await program(args, state);
    await command.parseAsync([...args], { from: 'user' });
    return state.exitCode;
  } catch (error) {
    if (!(error instanceof CommanderError)) {
      const { message, stack } = toErrorRecord(error);
      const isDebugging =
        args.includes('debug') || args.includes('--log-level=debug') || process.env['AANA_LOG_LEVEL'] === 'debug';
      process.stderr.write(`error: ${message}\n`);
      if (isDebugging)
        process.stderr.write(
          `${stack ?? ''}\n` +
            (error instanceof Error && error.cause instanceof Error ? `cause: ${error.cause.stack}\n` : ''),
        );
    }
    return exitCodeOf(error);
  }
}
