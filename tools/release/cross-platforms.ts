import type { Toolchain } from '../../host/setup/native-build/index.ts';

/** A platform for which a release is compiled on Linux x64. */
export interface CrossPlatform extends Toolchain {
  /** A program of the compiler, and how to install it. */
  readonly needs: { readonly command: string; readonly install: string };
}

/**
 * Linux needs GCC, because the interface of the published libllama-common has types of its C++ library, such as
 * `std::string`, which are others in the C++ library of Clang.
 */
export const CROSS_PLATFORMS: readonly CrossPlatform[] = [
  {
    platform: 'linux-arm64',
    definitions: {
      CMAKE_SYSTEM_NAME: 'Linux',
      CMAKE_SYSTEM_PROCESSOR: 'aarch64',
      CMAKE_C_COMPILER: 'aarch64-linux-gnu-gcc',
      CMAKE_CXX_COMPILER: 'aarch64-linux-gnu-g++',
    },
    needs: { command: 'aarch64-linux-gnu-g++', install: 'Debian/Ubuntu: apt-get install g++-aarch64-linux-gnu' },
  },
];
