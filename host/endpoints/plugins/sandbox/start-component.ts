import { rm } from 'node:fs/promises';
import { markUsed } from './code-folder.ts';
import { type CompiledComponent, compileComponent, type CompileOptions } from './compiled-code.ts';
import { CodeProblem, type SandboxOptions, SandboxProcess } from './sandbox-process.ts';

/**
 * Starts a process for a component that `compileComponent` has compiled with the same options in `folder`. Code that is
 * gone or cannot be loaded is compiled again, once, unless the component has changed. Throws `PluginLoadError`.
 */
export async function startComponent(
  compiled: CompiledComponent,
  compile: CompileOptions,
  folder: string,
  options: Omit<SandboxOptions, 'command' | 'plugin' | 'code' | 'isFast'>,
): Promise<SandboxProcess> {
  const { plugin, sandbox } = compile;
  const start = ({ code, isFast }: CompiledComponent): Promise<SandboxProcess> =>
    SandboxProcess.start({ ...options, command: { file: sandbox.program, args: [] }, plugin, code, isFast });
  await markUsed(compiled.code);
  try {
    return await start(compiled);
  } catch (error) {
    if (!(error instanceof Error && error.cause instanceof CodeProblem)) throw error;
    await rm(compiled.code, { force: true });
    const again = await compileComponent(compile, folder);
    if (again.digest !== compiled.digest) throw error;
    return start(again);
  }
}
