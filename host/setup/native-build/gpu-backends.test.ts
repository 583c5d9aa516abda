// Shell scripts stand for `nvidia-smi`, and empty files for libraries: only their names count here.
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { hasNvidiaGpu, hasOtherGpu, isComplete, wantedGpuBackend } from './gpu-backends.ts';
import { CUDA_LIBRARIES } from './pins.ts';
import { platformName } from './platform.ts';

const Backends = suite('backends for GPUs');
let folder = '';

Backends.before.each(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aana-gpu-backends-'));
});
Backends.after.each(() => rm(folder, { recursive: true }));

/** Returns an environment with this `nvidia-smi`, or without one. */
async function environment(script?: string): Promise<NodeJS.ProcessEnv> {
  const bin = join(folder, `bin-${script?.length ?? 0}`);
  await mkdir(bin, { recursive: true });
  if (script !== undefined) {
    await writeFile(join(bin, 'nvidia-smi'), `#!/bin/sh\n${script}\n`);
    await chmod(join(bin, 'nvidia-smi'), 0o755);
  }
  return { PATH: bin };
}

async function filesIn(name: string, files: readonly string[]): Promise<string> {
  const made = join(folder, name);
  await mkdir(made, { recursive: true });
  for (const file of files) await writeFile(join(made, file), '');
  return made;
}

const LISTS_ONE = "echo 'GPU 0: NVIDIA H100 (UUID: GPU-aaaa1111)'";

Backends('a GPU of NVIDIA is what nvidia-smi lists, or else a file of a device', async () => {
  const devices = await filesIn('dev', ['nvidia0', 'nvidiactl']);
  const container = await filesIn('container', ['nvidiactl', 'nvidia-uvm']);
  assert.is(await hasNvidiaGpu(await environment(LISTS_ONE), container), true);
  assert.is(await hasNvidiaGpu(await environment("echo 'No devices found.'"), devices), false);
  assert.is(await hasNvidiaGpu(await environment('exit 9'), devices), false);
  assert.is(await hasNvidiaGpu(await environment(), devices), true);
  assert.is(await hasNvidiaGpu(await environment(), container), false);
  assert.is(await hasNvidiaGpu(await environment(), join(folder, 'none')), false);
});

Backends('another GPU is a node for computing of a vendor of GPUs', async () => {
  const devices = await filesIn('dri', ['card0', 'renderD128']);
  const vendor = join(await filesIn(join('drm', 'renderD128', 'device'), []), 'vendor');
  await writeFile(vendor, '0x1af4\n'); // of a virtual machine
  assert.is(await hasOtherGpu(devices, join(folder, 'drm')), false);
  await writeFile(vendor, '0x1002\n');
  assert.is(await hasOtherGpu(devices, join(folder, 'drm')), true);
  assert.is(await hasOtherGpu(join(folder, 'none'), join(folder, 'drm')), false);
});

Backends('the settings decide about the backend, and the machine where they leave it open', async () => {
  const published = platformName === 'linux-x64';
  const [gpu, none] = [await environment(LISTS_ONE), await environment('exit 9')];
  const wanted = async (cuda: 'auto' | 'on' | 'off', vulkan: 'auto' | 'on' | 'off', env: NodeJS.ProcessEnv) =>
    wantedGpuBackend({ cuda, vulkan }, env);
  const expected = (backend: string) => (published ? backend : undefined);
  assert.is(await wanted('on', 'on', none), expected('cuda'));
  assert.is(await wanted('off', 'on', gpu), expected('vulkan'));
  assert.is(await wanted('auto', 'on', gpu), expected('vulkan'));
  assert.is(await wanted('auto', 'off', gpu), expected('cuda'));
  assert.is(await wanted('auto', 'auto', gpu), expected('cuda'));
  assert.is(await wanted('auto', 'off', none), undefined);
  assert.is(await wanted('off', 'auto', gpu), undefined);
  assert.is(await wanted('off', 'off', gpu), undefined);
});

Backends('a backend is complete with the libraries beside it or in a folder of the environment', async () => {
  const names = Object.keys(CUDA_LIBRARIES);
  const beside = await filesIn('beside', ['libggml-cuda.so', 'libggml-vulkan.so']);
  // No cache of the loader, because this machine may have the libraries.
  const env = await environment();
  await writeFile(join(env['PATH'] ?? '', 'ldconfig'), '#!/bin/sh\n');
  await chmod(join(env['PATH'] ?? '', 'ldconfig'), 0o755);
  assert.is(await isComplete(beside, 'vulkan', env), true);
  assert.is(await isComplete(beside, 'cuda', env), false);
  const elsewhere = await filesIn('elsewhere', names);
  assert.is(await isComplete(beside, 'cuda', { ...env, LD_LIBRARY_PATH: `${folder}:${elsewhere}` }), true);
  for (const name of names) await symlink(join(elsewhere, name), join(beside, name));
  assert.is(await isComplete(beside, 'cuda', env), true);
  for (const name of names) {
    await rm(join(elsewhere, name));
    assert.is(await isComplete(beside, 'cuda', env), false, name);
    await writeFile(join(elsewhere, name), '');
  }
  assert.is(await isComplete(join(folder, 'none'), 'cuda', env), false);
});

Backends('a library in the cache of the loader counts while its file exists', async () => {
  const beside = await filesIn('beside', ['libggml-cuda.so']);
  const system = await filesIn('system', Object.keys(CUDA_LIBRARIES));
  const env = await environment();
  const lines = Object.keys(CUDA_LIBRARIES).map((name) => `\t${name} (libc6,x86-64) => ${join(system, name)}`);
  await writeFile(join(env['PATH'] ?? '', 'ldconfig'), `#!/bin/sh\necho '2 libs found\n${lines.join('\n')}'\n`);
  await chmod(join(env['PATH'] ?? '', 'ldconfig'), 0o755);
  assert.is(await isComplete(beside, 'cuda', env), true);
  await rm(join(system, 'libcublas.so.13'));
  assert.is(await isComplete(beside, 'cuda', env), false);
});

Backends.run();
