/** A published package at one version. */
export interface PackageSource {
  readonly registry: 'npm' | 'pypi';
  readonly name: string;
  readonly version: string;
  /**
   * `sha512-…` (base64, npm's form) or the hexadecimal sha256 of the archive. Checked by us, whatever the client
   * checked.
   */
  readonly integrity?: string | undefined;
  /**
   * PyPI only: the wheel's platform tag, such as `manylinux_2_28_x86_64`; without it the client takes the one for this
   * machine.
   */
  readonly platform?: string | undefined;
  /** Size of the archive, for progress alone. */
  readonly bytes?: number | undefined;
}

/** `npm:name@1.2.3` */
export function describePackage(source: PackageSource): string {
  return source.registry === 'npm' ? `npm:${source.name}@${source.version}` : `pypi:${source.name}==${source.version}`;
}

/** The archive's name in the cache, the same for every machine. */
export function archiveName(source: PackageSource): string {
  const flat = source.name.replace(/^@/, '').replaceAll('/', '-');
  const platform = source.platform === undefined ? '' : `-${source.platform}`;
  return `${flat}-${source.version}${platform}${source.registry === 'npm' ? '.tgz' : '.whl'}`;
}
