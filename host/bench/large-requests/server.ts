// A host with a text model, and one that takes images. Started by main.ts.
import { dirname } from 'node:path';
import { writeSeeing } from '../../apis/openai/fixtures/images.ts';
import { llamaOptions, startOpenAiApp } from '../../apis/openai/fixtures/openai-app.ts';
import { served } from '../plugins/served.ts';

const at = await startOpenAiApp({
  prepare: (app, tiny) => {
    const { model, mmproj } = writeSeeing(dirname(tiny));
    app.registerDeployment('seeing', llamaOptions(model, { model_kwargs: { n_ctx: 512, n_threads: 1, mmproj } }));
  },
});
served({ port: Number(new URL(at.url).port), close: async () => at[Symbol.asyncDispose]() });
