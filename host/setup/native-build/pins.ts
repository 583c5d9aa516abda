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

/** ggml's CUDA backend, which is loaded at run time. It has 160 MB, so it is fetched only for machines with a GPU. */
export const CUDA_BACKENDS: Readonly<Record<string, PackageSource>> = {
  'linux-x64': {
    registry: 'npm',
    name: '@node-llama-cpp/linux-x64-cuda',
    version: LLAMA_VERSION,
    integrity: 'sha512-8rQCjyNNLZJUFit+YpjwlC4hwkKgOMIkB2wuycKBf8NU2O3ySKbiWZQ8aw9ku2nUTXjSnUIrE6KB88itduTBuA==',
  },
};

/** The `sqlite3` package, which contains the sources of SQLite and of its binding. */
export const SQLITE_SOURCE: PackageSource = {
  registry: 'npm',
  name: 'sqlite3',
  version: '6.0.1',
  integrity: 'sha512-X0czUUMG2tmSqJpEQa3tCuZSHKIx8PwM53vLZzKp/o6Rpy25fiVfjdbnZ988M8+O3ZWR1ih0K255VumCb3MAnQ==',
};
