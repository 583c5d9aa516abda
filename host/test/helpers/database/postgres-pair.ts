import type { ChildProcess } from 'node:child_process';
import { appendFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { delay } from '../../../base/core/abort.ts';
import {
  endServer,
  findPostgres,
  initData,
  makeServerFolder,
  type PostgresPrograms,
  runProgram,
  startServer,
} from './postgres.ts';
import { freePort } from '../server.ts';

interface Member {
  readonly data: string;
  readonly port: number;
  server: ChildProcess;
}

const USER = 'aana';
/** Nothing is committed before the replica has it, so that confirmed writes survive the loss of the primary. */
const SETTINGS = [
  'wal_level=replica',
  'max_wal_senders=8',
  'hot_standby=on',
  'fsync=off',
  'synchronous_commit=on',
  'wal_receiver_timeout=5s',
];
const WAIT_MS = 30_000;

/** A primary and its replica with synchronous streaming replication. The replica can replace the primary. */
export class PostgresPair {
  readonly user = USER;
  readonly database = 'postgres';
  readonly #programs: PostgresPrograms;
  readonly #folder: string;
  #primary: Member;
  #replica: Member | undefined;
  #made = 1;

  private constructor(programs: PostgresPrograms, folder: string, primary: Member) {
    this.#programs = programs;
    this.#folder = folder;
    this.#primary = primary;
  }

  /** Starts both. Returns the reason if PostgreSQL is missing. */
  static async start(): Promise<PostgresPair | string> {
    const programs = await findPostgres();
    if (typeof programs === 'string') return programs;
    const folder = await makeServerFolder(programs);
    const data = join(folder, 'data-0');
    await initData(programs, data);
    await appendFile(join(data, 'pg_hba.conf'), 'host replication all 127.0.0.1/32 trust\n');
    const port = await freePort();
    const pair = new PostgresPair(programs, folder, {
      data,
      port,
      server: await startServer(programs, { folder, data, port, settings: SETTINGS }),
    });
    await pair.addReplica(await freePort());
    return pair;
  }

  /** The addresses of the servers, the primary first. */
  get addresses(): readonly { readonly host: string; readonly port: number }[] {
    return [this.#primary, ...(this.#replica ? [this.#replica] : [])].map(({ port }) => ({ host: '127.0.0.1', port }));
  }

  /** Makes a replica of the primary. From then on nothing is committed without it. */
  async addReplica(port: number): Promise<void> {
    const data = join(this.#folder, `data-${this.#made}`);
    this.#made += 1;
    await runProgram(
      this.#programs,
      'pg_basebackup',
      [
        '-h',
        '127.0.0.1',
        '-p',
        String(this.#primary.port),
        '-U',
        USER,
        '-D',
        data,
        '-R',
        '-X',
        'stream',
        '--checkpoint=fast',
        '--no-sync',
      ],
      this.#folder,
    );
    // The copy has the settings of the primary. It gets its own replica later.
    await rm(join(data, 'postgresql.auto.conf.bak'), { force: true });
    const server = await startServer(this.#programs, { folder: this.#folder, data, port, settings: SETTINGS });
    this.#replica = { data, port, server };
    await this.#until("select 1 from pg_stat_replication where state = 'streaming'");
    await this.#admin("alter system set synchronous_standby_names = '*'", 'select pg_reload_conf()');
    await this.#until("select 1 from pg_stat_replication where sync_state = 'sync'");
  }

  /**
   * Ends the primary, in order or like a crash, and makes the replica the primary. Returns the port of the ended
   * server.
   */
  async failOver(how: 'stop' | 'crash'): Promise<number> {
    const [gone, next] = [this.#primary, this.#replica];
    if (!next) throw new Error('the replica is missing');
    await endServer(gone.server, how === 'stop' ? 'SIGINT' : 'SIGQUIT');
    this.#primary = next;
    this.#replica = undefined;
    await this.#admin("alter system set synchronous_standby_names = ''", 'select pg_reload_conf()');
    await this.#admin('select pg_promote()');
    await rm(gone.data, { recursive: true, force: true, maxRetries: 3 });
    return gone.port;
  }

  async stop(): Promise<void> {
    for (const member of [this.#replica, this.#primary]) if (member) await endServer(member.server, 'SIGQUIT');
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 3 });
  }

  async #until(sql: string): Promise<void> {
    for (const end = performance.now() + WAIT_MS; (await this.#admin(sql)) === 0;) {
      if (performance.now() > end) throw new Error(`PostgreSQL did not reach this state in time: ${sql}`);
      await delay(50);
    }
  }

  /** Runs statements on the primary. Returns the number of rows of the last one. */
  async #admin(...statements: readonly string[]): Promise<number> {
    const client = new Client({ host: '127.0.0.1', port: this.#primary.port, user: USER, database: this.database });
    await client.connect();
    try {
      let rows = 0;
      for (const sql of statements) rows = (await client.query(sql)).rowCount ?? 0;
      return rows;
    } finally {
      await client.end();
    }
  }
}
