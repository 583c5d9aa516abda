import type { JSX } from 'preact';
import type { ApplicationState, DeploymentState } from './api.ts';
import { bytes, number } from './format.ts';

type Device = ApplicationState['application']['devices'][number];

/** One part of a bar. */
interface Part {
  readonly label: string;
  readonly value: number;
  /** Text of the value for people. */
  readonly text: string;
  /** One of the colours of parts, from 1; undefined for other programs. */
  readonly color: number | undefined;
}

/** Number of colours of parts. Deployments beyond it share them. */
const COLORS = 6;

/** The devices of the machine as bars: what each replica has of them, and what is free. */
export function Devices({
  devices,
  deployments,
}: {
  readonly devices: readonly Device[];
  readonly deployments: readonly DeploymentState[];
}): JSX.Element {
  return (
    <div class="devices">
      {devices.map((device) => (
        <DeviceCard key={device.name} device={device} deployments={deployments} />
      ))}
    </div>
  );
}

function DeviceCard({
  device,
  deployments,
}: {
  readonly device: Device;
  readonly deployments: readonly DeploymentState[];
}): JSX.Element {
  const users = deployments.flatMap(({ replicas }, index) =>
    replicas.flatMap(({ name, shares }) =>
      shares
        .filter((share) => share.device === device.name)
        .map((share) => ({ ...share, replica: name, color: (index % COLORS) + 1 })),
    ),
  );
  const memory = users.map(({ replica, memory_bytes: value, color }) => {
    return { label: replica, value, text: bytes(value), color };
  });
  const others = {
    label: 'other programs',
    value: device.other_bytes,
    text: bytes(device.other_bytes),
    color: undefined,
  };
  const isGpu = device.cpus === null && device.name !== 'CPU';
  return (
    <figure class="device">
      <figcaption>
        <span class="title">{device.name}</span>
        <span class="quiet">{device.model}</span>
      </figcaption>
      {isGpu ? (
        <Bar
          title="Share"
          total={1}
          text={(value) => `${number(value * 100)} %`}
          parts={users.map(({ replica, share, color }) => {
            return { label: replica, value: share, text: `${number(share * 100)} %`, color };
          })}
        />
      ) : users.every(({ cpus }) => cpus === 0) ? (
        <p class="quiet">{device.cpus === null ? '' : `${number(device.cpus)} processors, none reserved`}</p>
      ) : (
        <Bar
          title="Reserved processors"
          total={device.cpus}
          text={number}
          parts={users
            .filter(({ cpus }) => cpus > 0)
            .map(({ replica, cpus, color }) => ({ label: replica, value: cpus, text: number(cpus), color }))}
        />
      )}
      {device.problems.map((problem) => (
        <p key={problem} class="problem">
          {problem}
        </p>
      ))}
      <Bar title="Memory" total={device.memory_bytes} text={bytes} parts={[...memory, others]} />
    </figure>
  );
}

/** A bar of parts. The list below it says the same in words. */
function Bar({
  title,
  total,
  parts,
  text,
}: {
  readonly title: string;
  /** Null when it is unknown. */
  readonly total: number | null;
  readonly parts: readonly Part[];
  readonly text: (value: number) => string;
}): JSX.Element {
  const shown = parts.filter(({ value }) => value > 0);
  const used = shown.reduce((sum, { value }) => sum + value, 0);
  const whole = Math.max(total ?? used, used, Number.MIN_VALUE);
  return (
    <div class="bar-of">
      <div class="bar-title">
        <span>{title}</span>
        <span class="quiet">{total === null ? text(used) : `${text(used)} of ${text(total)}`}</span>
      </div>
      <div class="parts" aria-hidden="true">
        {shown.map(({ label, value, text: words, color }) => (
          <span
            key={label}
            class={`part color-${color ?? 'other'}`}
            style={{ width: `${(100 * value) / whole}%` }}
            title={`${label}: ${words}`}
          />
        ))}
      </div>
      <ul class="keys">
        {shown.map(({ label, text: words, color }) => (
          <li key={label} class={`key color-${color ?? 'other'}`}>
            {label} <b>{words}</b>
          </li>
        ))}
      </ul>
    </div>
  );
}
