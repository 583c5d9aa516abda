import type { CatalogueEntry } from './catalogue-types.ts';

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
