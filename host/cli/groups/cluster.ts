import { hostname } from 'node:os';
import { type Command, InvalidArgumentError } from 'commander';
import { CLUSTER_NAME } from '../../base/core/net/cluster-names.ts';
import type { IssueOptions } from '../commands/cluster.ts';
import type { MakeCommand } from '../program.ts';

type Options = Readonly<Record<string, unknown>>;

/** Imports what the commands run. */
const clusterModule = () => import('../commands/cluster.ts');

/** Adds the commands `cluster …`, which make the certificates of a cluster in a folder. */
export function addClusterCommands(root: Command, command: MakeCommand): void {
  const cluster = command(root, 'cluster');
  const add = (name: string, description: string): Command =>
    command(cluster, name, description)
      .option('--name <name>', 'DNS name of all machines, as in cluster.name', CLUSTER_NAME)
      .option('--days <number>', 'days until the certificates of machines end', daysOf, 365);
  const optionsOf = ({ name, days }: Options): IssueOptions => ({
    ...{ name: name as string, days: days as number },
    out: process.stdout,
  });
  add('init', 'make the authority of a cluster, and certificates for these machines (default: this one)')
    .argument('<folder>', 'new or empty folder')
    .argument('[machines...]', 'names for the files, such as gpu-1')
    .action(async (folder: string, machines: string[], options: Options) => {
      const { initCluster } = await clusterModule();
      await initCluster(folder, machines.length > 0 ? machines : [hostname()], optionsOf(options));
    });
  add('issue', 'make or renew the certificates of these machines')
    .argument('<folder>', 'folder of the authority')
    .argument('<machines...>', 'names for the files, such as gpu-1')
    .action(async (folder: string, machines: string[], options: Options) => {
      const { issueCertificates } = await clusterModule();
      await issueCertificates(folder, machines, optionsOf(options));
    });
}

function daysOf(text: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new InvalidArgumentError('Expected a number of days from 1 to 9999.');
  return Number(text);
}
