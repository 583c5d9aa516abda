import { fail } from '../../base/core/errors.ts';
import type { Operations } from '../../apis/http/index.ts';
import type { CatalogueRow, PullState } from '../../setup/models/index.ts';
import type { Services } from '../services.ts';

type ModelOperations = Operations['models'];
type Report = Awaited<ReturnType<ModelOperations['list']>>[number];

/** Returns the models of the store, with the deployments that load them, for admins. */
export function modelOperations(services: Pick<Services, 'models' | 'pulls' | 'manager'>): ModelOperations {
  const { models, pulls } = services;
  return {
    async list({ all }) {
      const states = pulls.states();
      const rows = await models.list();
      const reports = rows.flatMap((row) => {
        const { id, kind, bytes = null, licence, state, sources, path, isDefault } = row;
        if (kind === 'tool' || kind === 'sample') return [];
        const pull = eventOf(states.get(id));
        const isShown = all || isDefault || state !== 'absent' || pull !== null;
        return isShown
          ? [
              {
                id,
                kind,
                state,
                bytes,
                licence,
                sources,
                used_by: services.manager.usersOf(path),
                pull,
              } satisfies Report,
            ]
          : [];
      });
      const known = new Set(rows.map(({ id }) => id));
      return [...reports, ...[...states].flatMap(([id, state]) => (known.has(id) ? [] : [unlisted(id, state)]))];
    },
    async pull(given, signal) {
      const id = await models.idOf(given);
      return events(pulls.pull(id, signal));
    },
    cancel: async (given) => pulls.cancel(await models.idOf(given)),
    async remove(given, { force }) {
      const id = await models.idOf(given);
      const row = (await models.list()).find((one) => one.id === id);
      if (row && !force) requireUnused(row, services.manager.usersOf(row.path));
      await pulls.cancel(id);
      pulls.forget(id);
      return models.remove(id);
    },
  };
}

function requireUnused({ id }: CatalogueRow, users: readonly string[]): void {
  if (users.length === 0) return;
  throw fail(
    'ModelInUse',
    `${id} is loaded by ${users.join(', ')}; give the deployment another model or unload it first, or remove the ` +
      `model with force`,
    { data: { id, deployments: users } },
  );
}

/** A model of the hub that is being pulled, and of which this machine has nothing yet. */
function unlisted(id: string, state: PullState): Report {
  return {
    ...{ id, kind: /\.onnx$/i.test(id) ? 'onnx' : 'gguf', state: 'absent', bytes: state.total ?? null },
    ...{ licence: `as given at hub:${id}`, sources: [], used_by: [], pull: eventOf(state) },
  };
}

function eventOf(state: PullState): NonNullable<Report['pull']>;
function eventOf(state: PullState | undefined): Report['pull'];
function eventOf(state: PullState | undefined): Report['pull'] {
  if (!state) return null;
  const { total, ...rest } = state;
  return { ...rest, total_bytes: total ?? null };
}

async function* events(states: AsyncIterable<PullState>): AsyncGenerator<NonNullable<Report['pull']>, void, undefined> {
  for await (const state of states) yield eventOf(state);
}
