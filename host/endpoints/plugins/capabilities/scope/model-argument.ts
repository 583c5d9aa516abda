import type { DeploymentCallOptions, DeploymentPort } from '../../ports.ts';
import { invalid } from './json-members.ts';

/** The argument that names the model of a deployment with many. */
const MODEL = '$model';

/** Returns a deployment whose calls take the model out of the arguments, where guests name it. */
export const withModelArgument = (deployment: DeploymentPort): DeploymentPort => ({
  call: (method, args, options) => deployment.call(method, ...separate(args, options)),
  stream: (method, args, options) => deployment.stream(method, ...separate(args, options)),
});

function separate(
  args: Record<string, unknown>,
  options: DeploymentCallOptions,
): [args: Record<string, unknown>, options: DeploymentCallOptions] {
  if (!Object.hasOwn(args, MODEL)) return [args, options];
  const { [MODEL]: model, ...others } = args;
  if (typeof model !== 'string') throw invalid(`the argument ${MODEL} is not a text`);
  return [others, Object.assign({}, options, { multiplexedModelId: model })];
}
