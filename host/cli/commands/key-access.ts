import {
  type ApiKeyInfo,
  apiKeyInfo,
  ApiKeys,
  type KeyChangesInput,
  type NewKeyInput,
} from '../../data/access/index.ts';
import { childEnvironment, type Config, type ConfigValue, describeConfig } from '../../base/config/index.ts';
import { AanaError, fail } from '../../base/core/errors.ts';
import {
  type LocalApplication,
  matchingServers,
  type OperatedServer,
  OperatorClient,
} from '../../apis/control/index.ts';
import { type ValidationEntry, validationMessage } from '../../base/schemas/index.ts';
import { Storage } from '../../data/storage/index.ts';
import { buildSqlite } from '../../setup/native-build/index.ts';
import { withProgress } from '../../setup/packages/index.ts';
import { loggerOf } from '../config-options.ts';

/** What the commands `keys …` do. */
export interface KeyAccess {
  /** The configuration of the database that is changed directly, so that servers hear of it later; else undefined. */
  readonly database: Config | undefined;
  /** `given` is a key that was made elsewhere. */
  create(
    input: NewKeyInput,
    given: string | undefined,
  ): Promise<{ readonly apiKey: string; readonly info: ApiKeyInfo }>;
  list(userId: string | undefined): Promise<readonly ApiKeyInfo[]>;
  update(keyId: string, changes: KeyChangesInput): Promise<ApiKeyInfo>;
  revoke(keyId: string): Promise<unknown>;
  /** Returns the number of keys. */
  setSubscription(subscriptionId: string, isActive: boolean): Promise<number>;
}

export interface KeyAccessOptions {
  readonly server: OperatedServer;
  /** Returns the configuration, which an application at a URL does not need. */
  readonly config: () => Config;
  readonly signal: AbortSignal;
  /** Whether a key that was made elsewhere is stored, which no route does. */
  readonly storesGiven: boolean;
}

/**
 * Runs `work` with the routes of the application at a URL, or of one of this user that has the database of the
 * configuration. If none runs, it uses the database.
 */
export async function withKeys(options: KeyAccessOptions, work: (keys: KeyAccess) => Promise<void>): Promise<void> {
  const { server, storesGiven, signal } = options;
  if ('url' in server) {
    if (storesGiven) throw fail('InvalidInput', '--stdin stores a key in the database, so it takes no --url');
    return work(keysOverApi(await OperatorClient.open(server), signal));
  }
  const config = options.config();
  const operator = storesGiven ? undefined : await operatorOf(server, config);
  if (operator) return work(keysOverApi(operator, signal));
  return withStorage(config, signal, (keys) => work(keysInDatabase(keys, config)));
}

/**
 * Returns a client of the selected application or, if none is selected, of one with keys in the database of the
 * configuration; undefined if none runs.
 */
async function operatorOf(server: LocalApplication, config: Config): Promise<OperatorClient | undefined> {
  if (server.port !== undefined || server.host !== undefined) return OperatorClient.open(server);
  const wanted = databaseOf(describeConfig(config));
  for (const address of await matchingServers(server.runtimeDir, {})) {
    try {
      const operator = await OperatorClient.at(address);
      const { values } = await operator.ask('get /api/configuration', {});
      const hasKeys = values.some(({ key, value }) => key === 'api_service.enabled' && value === true);
      if (hasKeys && databaseOf(values) === wanted) return operator;
    } catch (error) {
      // An application that ends or has another version does not keep the database from being used.
      if (!(error instanceof AanaError && ['NotRunning', 'ConnectionLost', 'OtherVersion'].includes(error.name)))
        throw error;
    }
  }
  return undefined;
}

/** Returns what tells a database from another one. */
function databaseOf(values: readonly Pick<ConfigValue, 'key' | 'value'>[]): string {
  const valueOf = (key: string): unknown => values.find((one) => one.key === `db_config.${key}`)?.value;
  const isFile = valueOf('datastore_type') === 'sqlite';
  const names = isFile ? ['path'] : ['host', 'port', 'database'];
  return JSON.stringify([isFile, ...names.map((name) => valueOf(`datastore_config.${name}`))]);
}

const PER_PAGE = 1000;

function keysOverApi(operator: OperatorClient, signal: AbortSignal): KeyAccess {
  const options = { signal };
  return {
    database: undefined,
    create: async (input) => {
      const { api_key: apiKey, ...info } = await operator.ask('post /api/keys', { body: input }, options);
      return { apiKey, info };
    },
    list: async (userId) => {
      const found: ApiKeyInfo[] = [];
      for (let page = 1; found.length === (page - 1) * PER_PAGE; page += 1) {
        const query = { user_id: userId, page, per_page: PER_PAGE };
        const { keys } = await operator.ask('get /api/keys', { query }, options);
        if (keys.length === 0) break;
        found.push(...keys);
      }
      return found;
    },
    update: (keyId, body) => operator.ask('put /api/keys/{key_id}', { params: { key_id: keyId }, body }, options),
    revoke: (keyId) => operator.ask('delete /api/keys/{key_id}', { params: { key_id: keyId } }, options),
    setSubscription: async (id, isActive) => {
      const given = { params: { subscription_id: id }, body: { is_active: isActive } };
      return (await operator.ask('put /api/subscriptions/{subscription_id}', given, options)).keys;
    },
  };
}

function keysInDatabase(keys: ApiKeys, database: Config): KeyAccess {
  return {
    database,
    create: async (input, given) => {
      const { apiKey, record } = await keys.create(input, given);
      return { apiKey, info: apiKeyInfo(record) };
    },
    list: async (userId) => (await keys.list(userId ?? null)).map(apiKeyInfo),
    update: async (keyId, changes) => apiKeyInfo(await keys.update(keyId, changes)),
    revoke: (keyId) => keys.revoke(keyId),
    setSubscription: (id, isActive) => keys.setSubscription(id, isActive),
  };
}

async function withStorage(config: Config, signal: AbortSignal, work: (keys: ApiKeys) => Promise<void>): Promise<void> {
  const { cache_dir: cacheDir, db_config: database } = config;
  const log = loggerOf(config, 'warn');
  const sqliteModule = (): Promise<string> => buildSqlite({ cacheDir, log, signal, env: childEnvironment(config) });
  const storage = new Storage({ config: database, log, sqliteModule });
  try {
    await withProgress('opening the database', undefined, () => storage.migrate());
    await work(new ApiKeys({ storage, log }));
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
