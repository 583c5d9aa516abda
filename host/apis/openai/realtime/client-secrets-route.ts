import { answers } from '../../openapi/index.ts';
import { CLIENT_SECRET_FIELDS, ClientSecretAnswer, ClientSecretRequest, secretSeconds } from './client-secret.ts';
import { firstSettings, sessionObject, updatedSettings } from './session.ts';
import { invalidValue } from '../fields.ts';
import { prefixedId } from '../text/values.ts';
import { resolveModel } from '../models/model-names.ts';
import { allowedModels } from '../../http/guards/allowed-models.ts';
import { callerOf } from '../../http/guards/caller.ts';
import { CLIENT_SECRET_PATH } from '../../http/guards/client-secret-guard.ts';
import { refusalToRun } from '../../http/guards/run-rights.ts';
import { type HostRouter, serveRoute } from '../../http/routes/serve-route.ts';
import { type OpenAiHttpOptions, readJsonRequest } from '../http/openai-request.ts';

/** Adds `POST /v1/realtime/client_secrets`. */
export function clientSecretsRoute(router: HostRouter, options: OpenAiHttpOptions): void {
  const { clientSecrets, models, strict } = options.openai;
  serveRoute(
    router,
    {
      id: 'create_client_secret',
      at: 'post /v1/realtime/client_secrets',
      summary: 'Makes a short-lived secret with which a page opens realtime sessions',
      body: ClientSecretRequest,
      idle: CLIENT_SECRET_FIELDS.idle,
      answers: answers('The secret.', ClientSecretAnswer),
      fails: [401, 403, 404, 429, 500, 503],
    },
    async ({ ctx }) => {
      const request = await readJsonRequest(ctx, CLIENT_SECRET_FIELDS, options);
      const caller = callerOf(ctx);
      const refusal = refusalToRun(caller, CLIENT_SECRET_PATH, undefined);
      if (refusal) throw refusal;
      const first = firstSettings(undefined);
      const settings = request.session ? updatedSettings(first, request.session, { strict }) : first;
      const { model } = settings.transcription;
      if (model !== null) resolveModel(allowedModels(ctx, models, CLIENT_SECRET_PATH), model, 'realtime');
      const expiresAt = Math.floor(Date.now() / 1000) + secretSeconds(request);
      const { keyId, userId } = caller;
      const key = keyId === null || userId === null ? null : { id: keyId, userId };
      const value = await clientSecrets.seal({ key, session: settings, expiresAt });
      if (value === undefined)
        throw invalidValue('session', 'it is too long for a secret, which clients send in a header');
      return { value, expires_at: expiresAt, session: sessionObject({ id: prefixedId('sess_'), expiresAt }, settings) };
    },
  );
}
