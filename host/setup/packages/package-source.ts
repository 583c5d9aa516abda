/** A published package at one version. */
export interface PackageSource {
  readonly registry: 'npm' | 'pypi';
  readonly name: string;
  readonly version: string;
  /**
   * Checksum of the archive: `sha512-…` (base64, npm's form) or the hexadecimal sha256. It is checked in addition to
   * the checks of the client.
   */
  readonly integrity?: string | undefined;
  /** PyPI only: the wheel's platform tag, such as `manylinux_2_28_x86_64`. Default: the platform of this machine. */
  readonly platform?: string | undefined;
  /**
   * PyPI only: the version of CPython whose wheel is taken, such as `311`. Nothing of the wheel runs. Default: a wheel
   * that fits the Python of this machine.
   */
  readonly cpython?: string | undefined;
  /** Size of the archive in bytes, only for progress. */
  readonly bytes?: number | undefined;
}

/** Returns `npm:name@1.2.3` or `pypi:name==1.2.3`. */
export function describePackage(source: PackageSource): string {
  return source.registry === 'npm' ? `npm:${source.name}@${source.version}` : `pypi:${source.name}==${source.version}`;
}

/** Returns the archive's name in the cache, which is the same on every machine. */
export function archiveName(source: PackageSource): string {
  const flat = source.name.replace(/^@/, '').replaceAll('/', '-');
  const platform = source.platform === undefined ? '' : `-${source.platform}`;
  return `${flat}-${source.version}${platform}${source.registry === 'npm' ? '.tgz' : '.whl'}`;
}
