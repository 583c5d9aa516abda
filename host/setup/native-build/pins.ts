import type { PackageSource } from '../packages/index.ts';

/**
 * Version of `node-llama-cpp`, which publishes the sources of llama.cpp with ggml and libraries built from them.
 * Headers and libraries must have the same version, so there is only this one.
 */
export const LLAMA_VERSION = '3.22.1';
export const WHISPER_PACKAGE_VERSION = '1.1.3';
/** Version that `whisper_version()` of that package returns. */
export const WHISPER_VERSION = '1.9.3';

/** The package contains a git bundle with one commit: the whole source tree. */
export const LLAMA_SOURCE: PackageSource = {
  registry: 'npm',
  name: 'node-llama-cpp',
  version: LLAMA_VERSION,
  integrity: 'sha512-bltIipuWmc123H7tMIgDGKSsSrhmhlQYeVUC48XTjVW7XGJJiJJyCdlTMzQ/LiWoPkGDpcL4FviDpgw7qfTiDw==',
};

export const WHISPER_SOURCE: PackageSource = {
  registry: 'npm',
  name: '@fugood/whisper.node',
  version: WHISPER_PACKAGE_VERSION,
  integrity: 'sha512-wiDjBuKUa6ji6HItkW99TwQI3Q4wf7yh0W/xeroJfZLctQrSM+xfUcoY9iH/w7su3gjW5R6z3tTHJPaF468kig==',
};

/**
 * Published libraries by `<process.platform>-<process.arch>`. On other platforms everything is compiled from source.
 */
export const PREBUILT_LIBRARIES: Readonly<Record<string, PackageSource>> = {
  'linux-x64': {
    registry: 'npm',
    name: '@node-llama-cpp/linux-x64',
    version: LLAMA_VERSION,
    integrity: 'sha512-5uCCDNqWCNfaAm8aR/Uzxbo4HBpKgNF91kCHPepKhgMgV2OAmatoefbOlMihsqCiH2Od35E/eUHQCFbfRBJuOg==',
  },
  'linux-arm64': {
    registry: 'npm',
    name: '@node-llama-cpp/linux-arm64',
    version: LLAMA_VERSION,
    integrity: 'sha512-W+7naKCXX9/eEjjFmRS8vvx91QyLXDbeFxexZc3bh/PtQABZgmRL3C0AtYYXn4YGTj/3Qor4lWZn2tpjZFPLdQ==',
  },
};

/**
 * ggml's backends for GPUs, which are loaded at run time. They are large, so one is fetched only where it is used.
 * CUDA's has 160 MB, Vulkan's has 43 MB.
 */
export const GPU_BACKENDS: Readonly<Record<'cuda' | 'vulkan', Readonly<Record<string, PackageSource>>>> = {
  cuda: {
    'linux-x64': {
      registry: 'npm',
      name: '@node-llama-cpp/linux-x64-cuda',
      version: LLAMA_VERSION,
      integrity: 'sha512-8rQCjyNNLZJUFit+YpjwlC4hwkKgOMIkB2wuycKBf8NU2O3ySKbiWZQ8aw9ku2nUTXjSnUIrE6KB88itduTBuA==',
    },
  },
  vulkan: {
    'linux-x64': {
      registry: 'npm',
      name: '@node-llama-cpp/linux-x64-vulkan',
      version: LLAMA_VERSION,
      integrity: 'sha512-bBxqU+JOcBu1nb5Qj2zcMci+JByT1E8EajHvYodyNfVIPkEhXh+/HMwR1/BT7xP08YK0hks+kM8fglER0P8JEg==',
    },
  },
};

const CUDA_RUNTIME: PackageSource = {
  registry: 'pypi',
  name: 'nvidia-cuda-runtime',
  version: '13.0.96',
  platform: 'manylinux2014_x86_64',
  integrity: '7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548',
  bytes: 2_243_632,
};

const CUBLAS: PackageSource = {
  registry: 'pypi',
  name: 'nvidia-cublas',
  version: '13.1.0.3',
  platform: 'manylinux_2_27_x86_64',
  integrity: 'ee8722c1f0145ab246bccb9e452153b5e0515fd094c3678df50b2a0888b8b171',
  bytes: 423_133_236,
};

/**
 * The libraries of CUDA that its backend needs beside the driver's, with their wheels. The wheels belong to CUDA 13.0,
 * which runs with the oldest drivers that the backend runs with.
 */
export const CUDA_LIBRARIES: Readonly<Record<string, PackageSource>> = {
  'libcudart.so.13': CUDA_RUNTIME,
  'libcublasLt.so.13': CUBLAS,
  'libcublas.so.13': CUBLAS,
};

/** The `sqlite3` package, which contains the sources of SQLite and of its binding. */
export const SQLITE_SOURCE: PackageSource = {
  registry: 'npm',
  name: 'sqlite3',
  version: '6.0.1',
  integrity: 'sha512-X0czUUMG2tmSqJpEQa3tCuZSHKIx8PwM53vLZzKp/o6Rpy25fiVfjdbnZ988M8+O3ZWR1ih0K255VumCb3MAnQ==',
};

/** Version of Wasmtime. The sandbox knows the structures of this version only. */
export const WASMTIME_VERSION = '50.0.1';

const wasmtimeWheel = (platform: string, integrity: string, bytes: number): PackageSource => ({
  ...{ registry: 'pypi', name: 'wasmtime', version: WASMTIME_VERSION, platform, integrity, bytes },
});

/**
 * Wheels with the library that runs plugins in the sandbox, by `<process.platform>-<process.arch>` and the C library
 * where it is not the usual one.
 */
export const WASMTIME_WHEELS: Readonly<Record<string, PackageSource>> = {
  'linux-x64': wasmtimeWheel(
    'manylinux1_x86_64',
    'cc14c3a17654e0394e0225b11813532ef0cd7bd1e222a0c5494cdedaabeddac4',
    9_586_999,
  ),
  'linux-arm64': wasmtimeWheel(
    'manylinux2014_aarch64',
    '675484e525c028dc02762b777f1db4477ea70caa3fec6775426daff4d64edfb1',
    8_540_007,
  ),
  'linux-x64-musl': wasmtimeWheel(
    'musllinux_1_2_x86_64',
    'e3e2051b02b8a47e2418f569e380843e87c1d74c40cd843bfa14c223245d420b',
    9_620_371,
  ),
  'darwin-x64': wasmtimeWheel(
    'macosx_10_13_x86_64',
    '13fe813b922712a9e10fe0f48b2c56da06432eea4b24269bb7cd3a6b2720560b',
    9_081_696,
  ),
  'darwin-arm64': wasmtimeWheel(
    'macosx_11_0_arm64',
    'ff4fc58ed3cbdb919d056accd4d280be13962a542754aaefd8a9b4654efa9bd9',
    8_096_649,
  ),
};
