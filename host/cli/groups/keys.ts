import { text } from 'node:stream/consumers';
import { type Command, InvalidArgumentError } from 'commander';
import { addApplicationOptions, applicationOf } from '../application-options.ts';
import type { Config } from '../../base/config/index.ts';
import { configOf } from '../config-options.ts';
import { parseExpiry } from '../duration.ts';
import type { KeysCommand } from '../commands/keys.ts';
import type { MakeCommand } from '../program.ts';

type Options = Readonly<Record<string, unknown>>;

/** Imports what the commands run. */
const keysModule = () => import('../commands/keys.ts');

/** Adds the commands `keys …`, which use the running application or, if none runs, the database. */
export function addKeysCommands(root: Command, command: MakeCommand): void {
  const keys = command(root, 'keys');
  const add = (name: string, description: string): Command =>
    addApplicationOptions(command(keys, name, description)).option('--json', 'print JSON');

  withRights(add('create', 'create a key; it is shown only once'))
    .requiredOption('--user <id>', 'user of the key, to whom its tasks and webhooks belong')
    .option('--id <key_id>', 'name of the key (default: a random name)')
    .option('--subscription <id>', 'subscription of the user (default: the user id)')
    .option('--inactive', 'make the subscription inactive')
    .option('--admin', 'make it a key of an admin, who may create keys and see the state of the server')
    .option('--stdin', 'read a key that was made elsewhere from the standard input')
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
      const { createKey } = await keysModule();
      await createKey(commandOf(options), input, stdin === true ? (await text(process.stdin)).trim() : undefined);
    });
  add('list', 'list all keys, or those of a user')
    .option('--user <id>', 'list only keys of this user')
    .action(async (options: Options) => {
      const { listKeys } = await keysModule();
      await listKeys(commandOf(options), options['user'] as string | undefined);
    });
  withRights(add('update', 'change the rights of a key'))
    .argument('<key_id>')
    .option('--all-scopes', 'allow everything that its user may do')
    .option('--admin', 'make it a key of an admin')
    .option('--no-admin', 'make it an ordinary key')
    .action(async (keyId: string, options: Options) => {
      const { updateKey } = await keysModule();
      await updateKey(commandOf(options), keyId, {
        scopes: options['allScopes'] === true ? null : scopesOf(options),
        expired_at: expiryOf(options),
        is_admin: options['admin'] as boolean | undefined,
      });
    });
  add('revoke', 'remove keys permanently')
    .argument('<key_ids...>')
    .action(async (keyIds: string[], options: Options) => {
      const { revokeKeys } = await keysModule();
      await revokeKeys(commandOf(options), keyIds);
    });
  add('subscription', 'switch the subscription of users on or off')
    .argument('<subscription_id>')
    .argument('<state>', 'on or off', (state: string) => {
      if (state !== 'on' && state !== 'off') throw new InvalidArgumentError('Expected on or off.');
      return state;
    })
    .action(async (id: string, state: string, options: Options) => {
      const { switchSubscription } = await keysModule();
      await switchSubscription(commandOf(options), id, state === 'on');
    });
}

function withRights(command: Command): Command {
  return command
    .option(
      '--scope <scope...>',
      'scopes of the key: endpoints, tasks, webhooks, admin, /a/path or /a/* (default: everything that its ' +
        'user may do)',
    )
    .option('--expires <when>', 'time of expiry: 90d (m, h, d, w, y), 2027-01-31, a time with offset, or never');
}

function scopesOf(options: Options): string[] | undefined {
  return options['scope'] as string[] | undefined;
}

function expiryOf({ expires }: Options): string | null | undefined {
  return expires === undefined ? undefined : parseExpiry(expires as string);
}

function commandOf(options: Options): KeysCommand {
  const { out, ...server } = applicationOf(options);
  const config = (): Config => configOf({ ...options, port: undefined, listen: undefined });
  return { server, config, asJson: options['json'] === true, out, err: process.stderr };
}
