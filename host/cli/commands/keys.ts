import {
  type ApiKeyInfo,
  apiKeyInfo,
  ApiKeys,
  type KeyChangesInput,
  type NewKeyInput,
} from '../../data/access/index.ts';
import { childEnvironment, type Config } from '../../base/config/index.ts';
import { AanaError, fail } from '../../base/core/errors.ts';
import type { Logger } from '../../base/core/log/logger.ts';
import { buildSqlite } from '../../setup/native-build/index.ts';
import { withProgress } from '../../setup/packages/index.ts';
import { type ValidationEntry, validationMessage } from '../../base/schemas/index.ts';
import { Storage } from '../../data/storage/index.ts';
import { untilSignal } from '../until-signal.ts';

export interface KeysCommand {
  readonly config: Config;
  readonly log: Logger;
  readonly asJson: boolean;
  readonly out: { write(text: string): unknown };
  readonly err: { write(text: string): unknown };
}

/** The command `keys create`. Prints the key, which cannot be read again. `given` is a key that was made elsewhere. */
export function createKey(command: KeysCommand, input: NewKeyInput, given: string | undefined): Promise<void> {
  return withKeys(command, async (keys) => {
    const { apiKey, record } = await keys.create(input, given);
    const info = apiKeyInfo(record);
    if (command.asJson) print(command, given === undefined ? { api_key: apiKey, ...info } : info);
    else {
      command.err.write(
        `${describe(info)}\n${given === undefined ? 'this is the only time that the key is shown:\n' : ''}`,
      );
      command.out.write(given === undefined ? `${apiKey}\n` : '');
    }
    if (!command.config.api_service.enabled)
      command.err.write(
        'note: servers with this configuration do not require keys, because api_service.enabled ' +
          '(API_SERVICE__ENABLED) is false\n',
      );
  });
}

/** The command `keys list`. */
export function listKeys(command: KeysCommand, userId: string | undefined): Promise<void> {
  return withKeys(command, async (keys) => {
    const found = (await keys.list(userId ?? null)).map(apiKeyInfo);
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
  return withKeys(command, async (keys) => {
    const info = apiKeyInfo(await keys.update(keyId, changes));
    if (command.asJson) print(command, info);
    else command.out.write(`${describe(info)}\n`);
  });
}

/** The command `keys revoke`. */
export function revokeKeys(command: KeysCommand, keyIds: readonly string[]): Promise<void> {
  return withKeys(command, async (keys) => {
    for (const keyId of keyIds) {
      await keys.revoke(keyId);
      if (!command.asJson)
        command.out.write(`revoked ${keyId}; running servers accept it for at most a few more seconds\n`);
    }
    if (command.asJson) print(command, { revoked: keyIds });
  });
}

/** The command `keys subscription`. */
export function switchSubscription(command: KeysCommand, subscriptionId: string, isActive: boolean): Promise<void> {
  return withKeys(command, async (keys) => {
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

/** Opens the database and runs `work`, whether a server is running or not. */
function withKeys({ config, log }: KeysCommand, work: (keys: ApiKeys) => Promise<void>): Promise<void> {
  return untilSignal((signal) => withStorage(config, log, signal, (storage) => work(new ApiKeys({ storage, log }))));
}

async function withStorage(
  config: Config,
  log: Logger,
  signal: AbortSignal,
  work: (storage: Storage) => Promise<void>,
): Promise<void> {
  const { cache_dir: cacheDir, db_config: database } = config;
  const sqliteModule = (): Promise<string> => buildSqlite({ cacheDir, log, signal, env: childEnvironment(config) });
  const storage = new Storage({ config: database, log, sqliteModule });
  try {
    await withProgress('opening the database', undefined, () => storage.migrate());
    await work(storage);
  } catch (error) {
    const entries =
      error instanceof AanaError && error.name === 'ValidationError' && Array.isArray(error.data)
        ? (error.data as ValidationEntry[])
        : undefined;
    throw entries ? fail('ValidationError', validationMessage(entries)) : error;
  } finally {
    await storage.close();
  }
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
