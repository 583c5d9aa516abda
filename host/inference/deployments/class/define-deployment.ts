import type * as z from 'zod';
import { bind, type BoundDeployment, type OptionsOf } from './bound-deployment.ts';
import type { DeploymentDefinition } from './deployment-definition.ts';
import type { MethodTable } from './method.ts';

/** A type of deployment that this package defines. */
export interface DeploymentType<
  Methods extends MethodTable,
  Schema extends z.core.$ZodType,
> extends DeploymentDefinition<Methods, Schema> {
  /**
   * Returns the argument of `AanaApp.registerDeployment`. Throws `ValidationError`, which names the unknown or invalid
   * key.
   */
  options(options?: OptionsOf<z.core.input<Schema>>): BoundDeployment<Methods>;
}

export function defineDeployment<const Methods extends MethodTable, Schema extends z.core.$ZodType>(
  definition: DeploymentDefinition<Methods, Schema>,
): DeploymentType<Methods, Schema> {
  const type: DeploymentType<Methods, Schema> = {
    ...definition,
    options: (options = {}) => bind(type, options, `${definition.name}.options`),
  };
  return type;
}
