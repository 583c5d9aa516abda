import { text } from 'node:stream/consumers';
import { type Command, InvalidArgumentError } from 'commander';
import { createLogger } from '../../core/log/logger.ts';
import { addConfigOptions, configForApps } from '../config-options.ts';
import { parseExpiry } from '../duration.ts';
import { createKey, type KeysCommand, listKeys, revokeKeys, switchSubscription, updateKey } from './keys.ts';

type Options = Readonly<Record<string, unknown>>;

/** `keys …`: API keys, in the database of the configuration. */
export function addKeysCommands(
  root: Command,
  command: (parent: Command, name: string, description: string) => Command,
): void {
  const keys = command(root, 'keys', 'API keys: make, list, change and revoke them, also while a server runs');
  const add = (name: string, description: string): Command =>
    addConfigOptions(command(keys, name, description), 'common').option('--json', 'as JSON');

  withRights(add('create', 'make a key; it is shown once'))
    .requiredOption('--user <id>', 'whose key it is: tasks and webhooks belong to users')
    .option('--id <key_id>', 'what to call the key (default: a random name)')
    .option('--subscription <id>', 'what the user has subscribed to (default: the user)')
    .option('--inactive', 'the subscription is not active yet')
    .option('--admin', 'of an admin: may make keys and see the state of the server')
    .option('--stdin', 'take a key that was made elsewhere from the standard input')
    .action(async (options: Options) => {
      const { user, id, subscription, inactive, admin, stdin } = options as {
        user: string;
        id?: string;
        subscription?: string;
        inactive?: boolean;
        admin?: boolean;
        stdin?: boolean;
      };
      const input = {
        user_id: user,
        key_id: id,
        subscription_id: subscription,
        is_subscription_active: inactive !== true,
        is_admin: admin === true,
        scopes: scopesOf(options) ?? null,
        expired_at: expiryOf(options) ?? null,
      };
      await createKey(commandOf(options), input, stdin === true ? (await text(process.stdin)).trim() : undefined);
    });
  add('list', 'all keys, or those of a user')
    .option('--user <id>', 'those of this user')
    .action((options: Options) => listKeys(commandOf(options), options['user'] as string | undefined));
  withRights(add('update', 'change what a key is for'))
    .argument('<key_id>')
    .option('--all-scopes', 'for everything that its user may do')
    .option('--admin', 'make it a key of an admin')
    .option('--no-admin', 'make it an ordinary key')
    .action((keyId: string, options: Options) =>
      updateKey(commandOf(options), keyId, {
        scopes: options['allScopes'] === true ? null : scopesOf(options),
        expired_at: expiryOf(options),
        is_admin: options['admin'] as boolean | undefined,
      }),
    );
  add('revoke', 'remove keys for good')
    .argument('<key_ids...>')
    .action((keyIds: string[], options: Options) => revokeKeys(commandOf(options), keyIds));
  add('subscription', 'switch the subscription of users on or off')
    .argument('<subscription_id>')
    .argument('<state>', 'on or off', (state: string) => {
      if (state !== 'on' && state !== 'off') throw new InvalidArgumentError('on or off is expected.');
      return state;
    })
    .action((id: string, state: string, options: Options) =>
      switchSubscription(commandOf(options), id, state === 'on'),
    );
}

function withRights(command: Command): Command {
  return command
    .option(
      '--scope <scope...>',
      'what it is for: endpoints, tasks, webhooks, admin, /a/path or /a/* (default: everything that its user may do)',
    )
    .option('--expires <when>', '90d (m, h, d, w, y), 2027-01-31, a time with its offset, or never');
}

function scopesOf(options: Options): string[] | undefined {
  return options['scope'] as string[] | undefined;
}

function expiryOf({ expires }: Options): string | null | undefined {
  return expires === undefined ? undefined : parseExpiry(expires as string);
}

function commandOf(options: Options): KeysCommand {
  const config = configForApps(options);
  const log = createLogger({ level: 'warn', format: config.log.format, write: (line) => process.stderr.write(line) });
  return { config, log, asJson: options['json'] === true, out: process.stdout, err: process.stderr };
}
