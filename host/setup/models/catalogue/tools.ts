import type { CatalogueEntry } from './types.ts';

interface FfmpegBuild {
  readonly platform: string;
  readonly wheelTag: string;
  readonly wheelSha256: string;
  readonly wheelBytes: number;
  readonly member: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** Static builds by platform. The package has no build for macOS at this version. */
const FFMPEG_BUILDS: readonly FfmpegBuild[] = [
  {
    platform: 'linux-x64',
    wheelTag: 'manylinux_2_28_x86_64',
    wheelSha256: '050d6850601c3b3890bd2b28306f3b842b3daea390a561101174375a1c460bda',
    wheelBytes: 67_998_402,
    member: 'ffmpeg-linux-x86_64-v9.0.2',
    bytes: 172_692_552,
    sha256: '0d709a0bed1a43f24cd2c420878c63afea4580671b6949ad19ed124572f3bc3d',
  },
  {
    platform: 'linux-arm64',
    wheelTag: 'manylinux_2_28_aarch64',
    wheelSha256: 'fad3176f859b25869e60a8ed79957d4e3ed74a97a95e5f0cdcb91455f6c6d00e',
    wheelBytes: 60_956_631,
    member: 'ffmpeg-linux-aarch64-v9.0.2',
    bytes: 130_865_896,
    sha256: '0b0b5ac30495b4e07ce1321b8d58200f901f57782884a8b6b264c7528c2c9e77',
  },
  {
    platform: 'win32-x64',
    wheelTag: 'win_amd64',
    wheelSha256: 'f27ca4cb85e2d4946deedbce1a81245dfd942a2bcf94b53676fb3956aa95bf1b',
    wheelBytes: 38_893_483,
    member: 'ffmpeg-win-x86_64-v9.0.2.exe',
    bytes: 105_423_872,
    sha256: '3256173f3f8bffd7df12227c68adf68025edb1832273a9530688a7bb1ed8edec',
  },
];

/** Returns the programs and samples. They are not models, but are stored, fetched and verified like models. */
export function toolEntries(platform: string): readonly CatalogueEntry[] {
  const build = FFMPEG_BUILDS.find((candidate) => candidate.platform === platform);
  return [...(build ? [ffmpegEntry(build)] : []), speechSample, redoc];
}

function ffmpegEntry(build: FfmpegBuild): CatalogueEntry {
  return {
    id: 'ffmpeg:9.0.2',
    name: 'ffmpeg',
    variant: '9.0.2',
    isDefault: true,
    aliases: [],
    kind: 'tool',
    fileName: build.member,
    bytes: build.bytes,
    sha256: build.sha256,
    licence: 'GPL-3.0-or-later',
    executable: true,
    sources: [
      {
        from: 'package',
        parts: [
          {
            package: {
              registry: 'pypi',
              name: 'imageio-ffmpeg',
              version: '0.8.1',
              integrity: build.wheelSha256,
              platform: build.wheelTag,
              bytes: build.wheelBytes,
            },
            members: [`imageio_ffmpeg/binaries/${build.member}`],
          },
        ],
      },
    ],
  };
}

/** Eleven seconds of John F. Kennedy's inaugural address, 16 kHz mono. */
const speechSample: CatalogueEntry = {
  id: 'speech-sample:wav',
  name: 'speech-sample',
  variant: 'wav',
  isDefault: true,
  aliases: [],
  kind: 'sample',
  fileName: 'jfk.wav',
  bytes: 352_078,
  sha256: '59dfb9a4acb36fe2a2affc14bacbee2920ff435cb13cc314a08c13f66ba7860e',
  licence: 'public domain',
  sources: [
    {
      from: 'package',
      parts: [
        {
          package: {
            registry: 'npm',
            name: 'nodejs-whisper',
            version: '0.3.1',
            integrity:
              'sha512-ceoilUVraRuR5FnNyXpGQT2auAR48Oc3AQBEmkXnVpSn9iN6yVRzQBFCqVTGWbk6Wdi95NhvwXNzFvuR7erLWw==',
            bytes: 5_660_411,
          },
          members: ['package/cpp/whisper.cpp/bindings/go/samples/jfk.wav'],
        },
      ],
    },
  ],
};

/** The page of `/redoc`: the package's bundle for browsers, without the packages that it depends on. */
const redoc: CatalogueEntry = {
  id: 'redoc:2.5.4',
  name: 'redoc',
  variant: '2.5.4',
  isDefault: true,
  aliases: [],
  kind: 'tool',
  fileName: 'redoc.standalone.js',
  bytes: 1_103_471,
  sha256: 'dcaf76612bc4a3fbcc923a8966dee2f6146a5f32e5ce1b6f02dd60cbbf89500b',
  licence: 'MIT',
  sources: [
    {
      from: 'package',
      parts: [
        {
          package: {
            registry: 'npm',
            name: 'redoc',
            version: '2.5.4',
            integrity:
              'sha512-M6jWhG1qoBnH6TFmzJnstyCZ87HmOY/UzDm78mHiYihEdlV/YcS9ogOo1NlElnJMeLsyxHFe2yFc4sNjHTrABQ==',
            bytes: 2_075_017,
          },
          members: ['package/bundles/redoc.standalone.js'],
        },
      ],
    },
  ],
};

const ONNX_RUNTIME = '1.30.0';
/** The platforms for which the package has libraries. */
const ONNX_PLATFORMS = new Set(['linux-x64', 'linux-arm64', 'darwin-arm64', 'win32-x64', 'win32-arm64']);

/** The version of Transformers.js, which needs the version of the runtime above. */
const TRANSFORMERS = '4.3.2';
/** Loads the runtime out of its own folder, so that the cache has it once. */
const SHARED_RUNTIME = `module.exports = require('../../../../onnxruntime/onnxruntime-${ONNX_RUNTIME}.cjs');\n`;

/**
 * Returns the programs that run ONNX models: the package for Node with the library of this platform, and
 * Transformers.js over it. The former is no dependency of this package, because it has the libraries of all platforms
 * (113 MB), and its install script downloads libraries for CUDA, which are not needed.
 */
export function runtimeEntries(platform: string, arch: string): readonly CatalogueEntry[] {
  if (!ONNX_PLATFORMS.has(`${platform}-${arch}`)) return [];
  return [
    {
      id: `onnxruntime:${ONNX_RUNTIME}`,
      name: 'onnxruntime',
      variant: ONNX_RUNTIME,
      isDefault: true,
      aliases: [],
      kind: 'tool',
      fileName: `onnxruntime-${ONNX_RUNTIME}.cjs`,
      bytes: 93,
      sha256: '0a39f730d37718e9a8848f9d733bebcb10ab1e953dfeed570b0758df010d8cdb',
      licence: 'MIT',
      sources: [
        {
          from: 'node-packages',
          packages: [
            {
              package: {
                registry: 'npm',
                name: 'onnxruntime-node',
                version: ONNX_RUNTIME,
                integrity:
                  'sha512-twhs1C2C/BFkz1yc5OY0KIU2GUq6DURO7hD4bx5Q2Qy3nAMJwRXW8xU3NVczE29VA9lolLOYepoD8fjTGOfIqw==',
                bytes: 113_507_888,
              },
              members: new RegExp(`^package/(package\\.json|dist/.*\\.js|bin/napi-v6/${platform}/${arch}/.*)$`),
            },
            {
              package: {
                registry: 'npm',
                name: 'onnxruntime-common',
                version: ONNX_RUNTIME,
                integrity:
                  'sha512-7fdVWjAID1dVhH/G8qK3APARunV4VkBFoCQAP7qp4Wkab0mrorvmc+sqiT+mKXOzDqdjN5j+/Z9nb4gzNPWcyA==',
                bytes: 66_795,
              },
              members: /^package\/(package\.json|dist\/cjs\/.*\.(js|json))$/,
            },
          ],
        },
      ],
    },
    {
      id: `transformers:${TRANSFORMERS}`,
      name: 'transformers',
      variant: TRANSFORMERS,
      isDefault: true,
      aliases: [],
      kind: 'tool',
      fileName: `transformers-${TRANSFORMERS}.cjs`,
      bytes: 102,
      sha256: '5ac1f4adbd2464afd3ae36eec43a547ac68ee4634d11606b23dbfcc07c8205f0',
      licence: 'Apache-2.0',
      sources: [
        {
          from: 'node-packages',
          packages: [
            {
              package: {
                registry: 'npm',
                name: '@huggingface/transformers',
                version: TRANSFORMERS,
                integrity:
                  'sha512-V3+dqf3iWlRYJ9I9GreM3zGQd0lAXnnoPeddmkOQYWAEE4l/+Fi6p7tx/qVUJlKQgLXGim2W76rTOzz+eC0i7g==',
                bytes: 2_273_070,
              },
              members: /^package\/(package\.json|LICENSE|dist\/transformers\.node\.cjs)$/,
            },
          ],
          standIns: {
            'onnxruntime-node': SHARED_RUNTIME,
            'onnxruntime-common': SHARED_RUNTIME,
            sharp: `module.exports = () => { throw new Error('images are not read') };\n`,
          },
        },
      ],
    },
  ];
}
