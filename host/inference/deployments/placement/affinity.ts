import { fail } from '../../../base/core/errors.ts';
import { parseProcessorList, processorListText } from '../../../base/core/machine/processor-list.ts';
import type { Processor } from '../../../base/core/machine/processors.ts';
import type { Machine } from '../../devices/index.ts';
import type { DeploymentOptions } from '../class/deployment-options.ts';

/** Returns the processors that `cpu_affinity` lists and the machine has; undefined when it lists none. */
export function listedProcessors(
  { cpu_affinity: affinity }: Pick<DeploymentOptions, 'cpu_affinity'>,
  { processors }: Pick<Machine, 'processors'>,
): readonly Processor[] | undefined {
  if (affinity === undefined || affinity === 'auto') return undefined;
  const ids = new Set(parseProcessorList(affinity));
  return processors?.filter(({ id }) => ids.has(id)) ?? [];
}

/** Throws `ValidationError` when `cpu_affinity` lists processors on which replicas of this host cannot run. */
export function checkAffinity(
  name: string,
  { cpu_affinity: affinity }: Pick<DeploymentOptions, 'cpu_affinity'>,
  { processors }: Pick<Machine, 'processors'>,
): void {
  if (affinity === undefined || affinity === 'auto') return;
  const refuse = (why: string): never => {
    throw fail('ValidationError', `deployment ${name}: cpu_affinity: ${why}`);
  };
  if (!processors) refuse('a list of processors needs Linux and the native build; leave it out, or use "auto"');
  const allowed = new Set(processors?.map(({ id }) => id));
  const others = (parseProcessorList(affinity) ?? []).filter((id) => !allowed.has(id));
  if (others.length > 0)
    refuse(
      `the host cannot use ${others.length === 1 ? 'processor' : 'processors'} ${processorListText(others)}; it may ` +
        `use ${processorListText([...allowed])}`,
    );
}
