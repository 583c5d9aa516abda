import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { writeTinyLlama } from '../../../../native/lib/fixtures/tiny-llama.ts';
import { writeTinyProjector } from '../../../../native/lib/fixtures/tiny-projector.ts';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { prefixBytes } from './prompt-cache-config.ts';
import { LlamaTextGenerationConfig, LlamaTextGenerationDeployment } from './llama-text-generation-deployment.ts';

const Config = suite('the configuration of a language model');

const folder = mkdtempSync(join(tmpdir(), 'aana-llama-config-'));
Config.before(() => void writeTinyLlama(join(folder, 'model.gguf')));
Config.after(() => rmSync(folder, { recursive: true }));

const messageOf = (modelKwargs: object): string => {
  try {
    const accepted = new LlamaTextGenerationConfig({ model_kwargs: modelKwargs });
    return `accepted: ${JSON.stringify(accepted.model_kwargs)}`;
  } catch (error) {
    return (error as Error).message;
  }
};

for (const [kwargs, message] of [
  [
    { trust_remote_code: false, quantization_config: { load_in_8bit: false, load_in_4bit: true } },
    /^accepted: .*"load_in_4bit":true/,
  ],
  [{ quantization_config: { weight_type: 'auto' } }, /^accepted/],
  [{ quantization_config: { weight_type: 'q9' } }, /model_kwargs\.quantization_config\.weight_type/],
  [
    { quantization_config: { load_in_8bit: true, load_in_4bit: true } },
    /only one of load_in_4bit, load_in_8bit and weight_type/,
  ],
  [{ quantization_config: { bnb_4bit_quant_type: 'nf4' } }, /bnb_4bit_quant_type: .*write weight_type/],
  [{ torch_dtype: 'float16' }, /torch_dtype: .*write quantization_config\.weight_type/],
  [{ device_map: 'auto' }, /device_map: .*write ray_actor_options\.num_gpus and n_gpu_layers/],
  [{ speculative_config: { method: 'ngram' } }, /^accepted: .*"num_speculative_tokens":8/],
  [{ speculative_config: { method: 'draft_model', model: 'smollm2-135m-instruct' } }, /^accepted: .*"p_min":0\.5/],
  [{ speculative_config: { method: 'draft_model' } }, /model_kwargs\.speculative_config\.model/],
  [{ speculative_config: { method: 'ngram', model: 'x' } }, /model_kwargs\.speculative_config.*model/],
  [{ speculative_config: { method: 'medusa' } }, /model_kwargs\.speculative_config\.method/],
  [{ prompt_cache: { path: 'prompts' } }, /^accepted: .*"max_bytes":4294967296,"min_tokens":256/],
  [{ prompt_cache: {} }, /model_kwargs\.prompt_cache\.path/],
  [{ prompt_cache: { path: 'prompts', max_bytes: 10 } }, /model_kwargs\.prompt_cache\.max_bytes/],
  [{}, /^accepted: .*"prefix_memory_bytes":"auto"/],
  [{ prefix_memory_bytes: 0 }, /^accepted/],
  [{ prefix_memory_bytes: -1 }, /model_kwargs\.prefix_memory_bytes/],
  [{ prefix_memory_bytes: 'much' }, /model_kwargs\.prefix_memory_bytes/],
  [{ type_k: 'q8_0', type_v: 'q4_0', use_mlock: true, use_mmap: false, n_gpu_layers: 'auto' }, /^accepted/],
  [{ type_k: 'q8_0', flash_attn: 'off' }, /^accepted/],
  [{ type_k: 'f16', kv_type: 'q8_0', flash_attn: 'off' }, /model_kwargs\.flash_attn.*type_v or kv_type/],
  [{ type_v: 'q2_k' }, /model_kwargs\.type_v/],
  [{ n_gpu_layers: 'most' }, /model_kwargs\.n_gpu_layers/],
  [{ flash_attn: true }, /model_kwargs\.flash_attn/],
  [{ rope_scaling: { rope_type: 'yarn', factor: 4 } }, /^accepted: .*"beta_fast":32,"beta_slow":1/],
  [{ rope_scaling: { rope_type: 'dynamic', factor: 4 } }, /model_kwargs\.rope_scaling\.rope_type/],
  [{ rope_scaling: { rope_type: 'yarn', factor: 0.5 } }, /model_kwargs\.rope_scaling\.factor/],
  [{ rope_scaling: { type: 'yarn', factor: 4 } }, /model_kwargs\.rope_scaling.*type/],
  [{ swa_full: false, n_ubatch: 2048, n_seq_max: 256 }, /^accepted: .*"swa_full":false/],
  [{ swa_full: false, n_ctx_total: 9000 }, /model_kwargs\.swa_full.*n_ctx_total/],
  [{ n_ubatch: 31 }, /model_kwargs\.n_ubatch/],
  [{ n_seq_max: 257 }, /model_kwargs\.n_seq_max/],
  [{ n_batch: 2048 }, /n_batch: .*write n_prefill/],
  [{ max_model_len: 4096 }, /max_model_len: .*write n_ctx/],
] as const) {
  Config(`${JSON.stringify(kwargs)}: ${String(message)}`, () => assert.match(messageOf(kwargs), message));
}

Config('only a request chooses the number of answers', () => {
  const config = { default_sampling_params: { n: 2 } };
  assert.throws(() => new LlamaTextGenerationConfig(config), /default_sampling_params\.n.*only a request chooses/);
});

for (const [projector, expected] of [
  [undefined, ['model.gguf']],
  ['mlp', ['images', 'model.gguf', 'mlp']],
  ['ultravox', ['images', 'model.gguf', 'ultravox']],
  ['mlp+ultravox', ['images', 'model.gguf', 'mlp+ultravox']],
] as const)
  Config(`the library for images is ${projector ? '' : 'not '}built for the projector ${projector}`, async () => {
    const prepared: string[] = [];
    const config = new LlamaTextGenerationConfig({ model_id: 'model.gguf', model_kwargs: { mmproj: projector } });
    if (projector) writeTinyProjector(join(folder, projector), projector);
    const spec = await LlamaTextGenerationDeployment.prepare(config, {
      models: { pull: async (id) => (prepared.push(id), { path: join(folder, id) }) },
      log: silentLogger,
      signal: new AbortController().signal,
      env: {},
      cpus: async () => 1,
      buildImages: async () => prepared.push('images'),
      numGpus: 0,
      progress: () => {},
    });
    assert.equal(prepared, expected);
    assert.is(spec['mmproj_path'], projector && join(folder, projector));
    assert.is(LlamaTextGenerationDeployment.takesAudio!(spec), projector?.includes('ultravox') === true);
  });

Config('prefixes get twice the context, a sixteenth of the machine, or what a model leaves of half of it', async () => {
  const need = async () => ({ weightsBytes: 1000, contextBytes: 500 });
  for (const [machine, expected] of [
    [100_000, 1000],
    [8000, 500],
    [3500, 218],
    [3200, 100],
    [2000, 0],
  ] as const)
    assert.is(await prefixBytes('auto', need, machine), expected, `a machine with ${machine}`);
  assert.is(await prefixBytes(7, need, 2000), 7);
  assert.is(await prefixBytes('auto', async () => Promise.reject(new Error('there is no file')), 2000), 0);
});

Config('the memory of prefixes counts for a replica on the CPU', async () => {
  const spec = {
    model_path: fileURLToPath(import.meta.url),
    n_ctx: 10,
    n_seq_max: 1,
    type_k: 'f16',
    type_v: 'f16',
    n_gpu_layers: -1,
  };
  const bytesOf = async (prefixes: number, gpu: boolean): Promise<number | undefined> =>
    (await LlamaTextGenerationDeployment.memory?.({ ...spec, prefix_memory_bytes: prefixes }, { gpu }))?.contextBytes;
  assert.equal([await bytesOf(5000, false), await bytesOf(0, false), await bytesOf(5000, true)], [5000, 0, 0]);
});

Config.run();
