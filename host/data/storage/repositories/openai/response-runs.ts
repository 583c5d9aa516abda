import type { Connection } from '../../database.ts';
import { CallerRepository, loadStatements } from '../../statements.ts';
import type { TaskStatus } from '../../task-state.ts';
import { type NewAnswer, type NewResponse, ResponseRepository, type RunStatus, runStatusOf } from './responses.ts';

const sql = loadStatements('response-runs', [
  'insert',
  'begin',
  'read',
  'positions',
  'count',
  'isCounted',
  'addEvents',
  'removeEvents',
  'events',
  'finish',
  'cancel',
  'task',
]);

/** Limits of the events that are read at a time. */
const PAGE_ROWS = 64;
const PAGE_CHARACTERS = 2 ** 20;

/** How a task makes a response. */
export interface NewRun {
  readonly taskId: string;
  /** The request without its input, as JSON. */
  readonly request: string;
  /** The first events; none for a response whose events are not stored. */
  readonly events: readonly object[];
}

/** An attempt at a response. A later attempt makes its writes fail. */
export interface RunLease {
  readonly id: string;
  readonly attempt: number;
}

/** What an attempt begins with. */
export interface BegunRun extends RunLease {
  /** As of {@link NewRun}. */
  readonly request: string;
  /** The number of events so far, also of earlier attempts; 0 for a response whose events are not stored. */
  readonly eventCount: number;
}

/** Where a response is. */
export interface RunState {
  readonly status: RunStatus;
  /** As of {@link BegunRun}. */
  readonly eventCount: number;
}

/** Events that follow each other. */
export interface EventPage {
  /** The number of the first event. */
  readonly first: number;
  /** JSON. */
  readonly events: string;
}

/** Returns the notification that a response has further events, or has ended. */
export const responseChanged = (id: string): string => `response ${id}`;

/** The responses of a user that tasks make, or those of all callers where the host requires no keys (null). */
export class ResponseRunRepository extends CallerRepository {
  readonly #responses: ResponseRepository;

  constructor(connection: Connection, userId: string | null) {
    super(connection, userId);
    this.#responses = new ResponseRepository(connection, userId);
  }

  /**
   * Stores a response without an answer. Does nothing for one that is stored again after an unknown commit. Throws like
   * {@link ResponseRepository.save}.
   */
  async insert(response: NewResponse, { taskId, request, events }: NewRun, maxBytes?: number): Promise<void> {
    if (await this.#responses.read(response.id)) return;
    await this.#responses.save(response, maxBytes);
    await this.connection.query(sql.insert, [response.id, taskId, request, events.length]);
    if (events.length > 0) await this.connection.query(sql.addEvents, [response.id, 0, JSON.stringify(events)]);
  }

  /**
   * Begins an attempt; undefined for a response that has ended or is gone. Events of earlier attempts are removed if
   * there are more than `keptEvents`.
   */
  async begin(id: string, keptEvents: number): Promise<BegunRun | undefined> {
    const [run] = await this.connection.query<{ attempt: number; request: string; event_count: number }>(sql.begin, [
      id,
    ]);
    if (!run) return undefined;
    if (run.event_count > keptEvents) await this.connection.query(sql.removeEvents, [id]);
    await this.connection.notify(responseChanged(id));
    return { id, attempt: run.attempt, request: run.request, eventCount: run.event_count };
  }

  /**
   * Stores events, the first of which has the number `first`. Events that are stored again, after an unknown commit,
   * count once. Returns false when the response has ended or another attempt has begun.
   */
  async report({ id, attempt }: RunLease, first: number, events: readonly string[]): Promise<boolean> {
    const counted = await this.connection.query(sql.count, [id, attempt, first, events.length]);
    if (counted.length === 0) {
      const values = [id, attempt, first + events.length];
      return (await this.connection.query(sql.isCounted, values)).length > 0;
    }
    await this.connection.query(sql.addEvents, [id, first, `[${events.join(',')}]`]);
    await this.connection.notifyHere(responseChanged(id)); // not to all hosts, as for the values of tasks
    return true;
  }

  /** Ends a response with its answer. Returns false when it has ended or another attempt has begun. */
  async finish({ id, attempt }: RunLease, status: RunStatus, answer: NewAnswer, maxBytes?: number): Promise<boolean> {
    if ((await this.connection.query(sql.finish, [id, attempt, status])).length === 0) return false;
    await this.#responses.complete(id, answer, maxBytes);
    await this.connection.notify(responseChanged(id));
    return true;
  }

  /** Ends a response without an answer. Returns its task; undefined if it has ended or is gone. */
  async cancel(id: string): Promise<string | undefined> {
    const [run] = await this.connection.query<{ task_id: string }>(sql.cancel, [id, this.owner]);
    if (run) await this.connection.notify(responseChanged(id));
    return run?.task_id;
  }

  /** Returns the task of a response that has not ended. */
  async taskOf(id: string): Promise<string | undefined> {
    return (await this.connection.query<{ task_id: string }>(sql.task, [id, this.owner]))[0]?.task_id;
  }

  /** Returns where a response is; undefined for one that no task makes. */
  async state(id: string): Promise<RunState | undefined> {
    const [row] = await this.connection.query<{
      status: RunStatus;
      task_status: TaskStatus | null;
      event_count: number;
    }>(sql.read, [id, this.owner]);
    if (!row) return undefined;
    const { status, task_status: task, event_count: eventCount } = row;
    return { status: runStatusOf(status, task), eventCount };
  }

  /** Returns the numbers of events of those of the responses that have not ended, by response, whoever owns them. */
  async positions(ids: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const rows = await this.connection.query<{ id: string; position: number }>(sql.positions, [JSON.stringify(ids)]);
    return new Map(rows.map(({ id, position }) => [id, position]));
  }

  /**
   * Returns pages of stored events from the event `first` on, a limited number and length. The first page can begin
   * with earlier events.
   */
  async events(id: string, first: number): Promise<readonly EventPage[]> {
    const values = [id, first, PAGE_ROWS, PAGE_CHARACTERS];
    const rows = await this.connection.query<{ first_number: number; events: string }>(sql.events, values);
    return rows.map(({ first_number: number, events }) => ({ first: number, events }));
  }
}
