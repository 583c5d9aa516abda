import type { ApiKeyInfo, KeyChangesInput, NewKeyInput } from '../../data/access/index.ts';
import { fail } from '../../base/core/errors.ts';
import { untilSignal } from '../until-signal.ts';
import { type KeyAccess, type KeyAccessOptions, withKeys } from './key-access.ts';

export interface KeysCommand extends Pick<KeyAccessOptions, 'server' | 'config'> {
  readonly asJson: boolean;
  readonly out: { write(text: string): unknown };
  readonly err: { write(text: string): unknown };
}

/** The command `keys create`. Prints the key, which cannot be read again. `given` is a key that was made elsewhere. */
export function createKey(command: KeysCommand, input: NewKeyInput, given: string | undefined): Promise<void> {
  const create = async (keys: KeyAccess): Promise<void> => {
    const { apiKey, info } = await keys.create(input, given);
    if (command.asJson) print(command, given === undefined ? { api_key: apiKey, ...info } : info);
    else {
      command.err.write(
        `${describe(info)}\n${given === undefined ? 'this is the only time that the key is shown:\n' : ''}`,
      );
      command.out.write(given === undefined ? `${apiKey}\n` : '');
    }
    if (keys.database?.api_service.enabled === false)
      command.err.write(
        'note: servers with this configuration do not require keys, because api_service.enabled ' +
          '(API_SERVICE__ENABLED) is false\n',
      );
  };
  return run(command, create, given !== undefined);
}

/** The command `keys list`. */
export function listKeys(command: KeysCommand, userId: string | undefined): Promise<void> {
  return run(command, async (keys) => {
    const found = await keys.list(userId);
    if (command.asJson) return print(command, found);
    for (const info of found) command.out.write(`${describe(info)}\n`);
    if (found.length === 0)
      command.out.write(
        userId === undefined
          ? 'there are no API keys; create the first with: aana-host keys create --user <name> --admin\n'
          : `${userId} has no API keys\n`,
      );
  });
}

/** The command `keys update`. */
export function updateKey(command: KeysCommand, keyId: string, changes: KeyChangesInput): Promise<void> {
  if (Object.values(changes).every((value) => value === undefined))
    throw fail('ValidationError', 'nothing to change: give --expires, --scope, --all-scopes, --admin or --no-admin');
  return run(command, async (keys) => {
    const info = await keys.update(keyId, changes);
    if (command.asJson) print(command, info);
    else command.out.write(`${describe(info)}\n`);
  });
}

/** The command `keys revoke`. */
export function revokeKeys(command: KeysCommand, keyIds: readonly string[]): Promise<void> {
  return run(command, async (keys) => {
    for (const keyId of keyIds) {
      await keys.revoke(keyId);
      if (!command.asJson)
        command.out.write(
          `revoked ${keyId}; ${keys.database ? 'running' : 'other'} servers of the database accept it for at most a ` +
            'few more seconds\n',
        );
    }
    if (command.asJson) print(command, { revoked: keyIds });
  });
}

/** The command `keys subscription`. */
export function switchSubscription(command: KeysCommand, subscriptionId: string, isActive: boolean): Promise<void> {
  return run(command, async (keys) => {
    const changed = await keys.setSubscription(subscriptionId, isActive);
    if (changed === 0)
      throw fail('NotFoundException', `no API key has the subscription ${JSON.stringify(subscriptionId)}`);
    if (command.asJson) print(command, { subscription_id: subscriptionId, is_active: isActive, keys: changed });
    else
      command.out.write(
        `subscription ${subscriptionId} is ${isActive ? 'active' : 'inactive'}: ${changed} ` +
          `${changed === 1 ? 'key' : 'keys'}\n`,
      );
  });
}

function run(command: KeysCommand, work: (keys: KeyAccess) => Promise<void>, storesGiven = false): Promise<void> {
  return untilSignal((signal) => withKeys({ ...command, signal, storesGiven }, work));
}

function print({ out }: KeysCommand, value: unknown): void {
  out.write(`${JSON.stringify(value, undefined, 2)}\n`);
}

function describe({
  key_id: keyId,
  user_id: user,
  subscription_id: subscription,
  is_subscription_active: isActive,
  is_admin: isAdmin,
  scopes,
  expired_at: expiredAt,
  last_used_at: usedAt,
}: ApiKeyInfo): string {
  const facts = [
    `user ${user}`,
    isAdmin ? 'admin' : '',
    subscription === user && isActive ? '' : `subscription ${subscription}${isActive ? '' : ' (inactive)'}`,
    scopes === null ? '' : `for ${scopes.join(' ')}`,
    expiredAt === null ? '' : `${Date.parse(expiredAt) <= Date.now() ? 'expired' : 'expires'} ${expiredAt}`,
    usedAt === null ? 'never used' : `last used ${usedAt}`,
  ];
  return `${keyId}  ${facts.filter((fact) => fact !== '').join(', ')}`;
}
