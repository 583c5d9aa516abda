export { type DeclaredDevices, findMachine, type FindMachineOptions } from './find-machine.ts';
export type { Gpu, Machine, MemoryProbe } from './machine.ts';
export { freeMainBytes } from './main-memory.ts';
export { deviceName, placementEnvironment, placementText } from './placement-environment.ts';
export {
  type Demand,
  type DevicePart,
  type DeviceUse,
  type GpuLoad,
  type Placement,
  PlacementLedger,
} from './placement-ledger.ts';
export { hasEngineKernels } from './processor.ts';
