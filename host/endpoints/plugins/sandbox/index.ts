export { Base64Bytes, type CborValue } from './cbor.ts';
export {
  compileComponent,
  type CompiledComponent,
  type CompileOptions,
  describeComponent,
  firstCauses,
  type SandboxProgram,
} from './compiled-code.ts';
export { type ComponentTypes, type OfferedTypes, offeredTypes, typeProblem } from './component-types.ts';
export { confinementHere, missingConfinement, requireConfinement } from './confinement.ts';
export { SandboxInvocation, type RunLimits, type SandboxOutcome, type SandboxRun } from './sandbox-invocation.ts';
export { markUsed, prepareFolder, tidyFolder } from './code-folder.ts';
export { startComponent } from './start-component.ts';
export { type Confinement, type ProcessLimits, type SandboxOptions, SandboxProcess } from './sandbox-process.ts';
