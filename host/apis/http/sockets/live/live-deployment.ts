import { type AanaError, fail } from '../../../../base/core/errors.ts';
import type { ModelDirectory } from '../../../../inference/deployments/index.ts';
import { badQuery } from '../../request/query.ts';

/** The method of deployments that transcribe live audio. */
export const LIVE_METHOD = 'transcribe_live';

/**
 * Returns the name of the deployment that a request asks for, or else of the only one that can transcribe live audio.
 * Throws `DeploymentNotFound`, and `ValidationError` if the request must choose.
 */
export function liveDeployment(models: ModelDirectory, asked: string | undefined): string {
  const names = models
    .list()
    .filter(({ methods }) => methods.has(LIVE_METHOD))
    .map(({ name }) => name);
  const [only, ...others] = names;
  if (only === undefined)
    throw notFound('no deployment of this server transcribes live audio: add one of WhisperDeployment');
  const known = `the deployments that transcribe live audio are ${names.join(', ')}`;
  if (asked === undefined) {
    if (others.length > 0) throw badQuery('deployment', 'missing', `Field required: ${known}`, '');
    return only;
  }
  if (!names.includes(asked)) throw notFound(`${JSON.stringify(asked)} is not among them: ${known}`);
  return asked;
}

function notFound(message: string): AanaError {
  return fail('DeploymentNotFound', message);
}
