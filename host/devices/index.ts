export { type DeclaredDevices, findMachine, type FindMachineOptions } from './find-machine.ts';
export type { Gpu, Machine } from './machine.ts';
export { placementEnvironment, placementText } from './placement-environment.ts';
export { type Demand, type GpuLoad, type Placement, PlacementLedger } from './placement-ledger.ts';
